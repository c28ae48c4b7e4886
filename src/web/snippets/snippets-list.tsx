import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import {
  DeleteSavedSnippetDocument,
  SavedSnippetsDocument,
  type SnippetRowFragment as Snippet,
} from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { Confirmation } from '../ui/confirmation.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { Item, ItemList } from '../writing/item.tsx';
import { SnippetDialog } from './snippet-dialog.tsx';

/** List of the viewer's saved snippets, by title. */
export function SnippetsList() {
  const read = useData(SavedSnippetsDocument, {});
  const { data } = read;
  const list = data?.savedSnippets;
  return (
    <>
      <div className="written-tools">
        <Button onClick={() => openDialog(<SnippetDialog />)}>New snippet</Button>
      </div>
      <ItemList
        read={read}
        count={list?.nodes.length}
        total={list?.totalCount}
        label="Saved snippets"
        empty="You have no saved snippets. A snippet is text that you can insert into any message."
      >
        {byTitle(list?.nodes ?? []).map((snippet) => (
          <SnippetItem key={snippet.id} snippet={snippet} />
        ))}
      </ItemList>
    </>
  );
}

/** Returns snippets sorted by title. The order from the service may be outdated, because titles can change later. */
export const byTitle = (snippets: readonly Snippet[]): readonly Snippet[] =>
  snippets.toSorted((a, b) => a.title.localeCompare(b.title));

function SnippetItem({ snippet }: { readonly snippet: Snippet }) {
  return (
    <Item
      title={snippet.title}
      actions={
        <>
          <Button kind="quiet" onClick={() => openDialog(<SnippetDialog snippet={snippet} />)}>
            Edit
          </Button>
          <Button kind="quiet" onClick={() => openDialog(<DeleteDialog snippet={snippet} />)}>
            Delete
          </Button>
        </>
      }
    >
      {snippet.content}
    </Item>
  );
}

function DeleteDialog({ snippet: { id, title } }: { readonly snippet: Snippet }) {
  const { run, refusal, isBusy } = useCommand(DeleteSavedSnippetDocument);
  return (
    <Confirmation
      title="Delete this snippet?"
      action="Delete"
      refusal={refusal}
      isBusy={isBusy}
      onConfirm={() => run({ input: { savedSnippetId: id } })}
    >
      “{title}” will be deleted. Messages that contain its text do not change.
    </Confirmation>
  );
}
