import { useQuery } from 'urql';
import { useCommand } from '../api/use-command.ts';
import { DeleteDraftDocument, type DraftRowFragment as Draft, DraftsDocument } from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { Refusal } from '../ui/form.tsx';
import { Item, ItemList, Moment } from '../writing/item.tsx';
import { PlaceLink } from '../writing/place-link.tsx';
import { keeperOf } from './drafts.ts';
import { placeOf } from './place.ts';

/** The viewer's drafts, the one last written first. */
export function DraftsList() {
  const [{ data }] = useQuery({ query: DraftsDocument });
  const drafts = data?.drafts?.nodes.toSorted((a, b) => Date.parse(b.lastEditedAt) - Date.parse(a.lastEditedAt));
  return (
    <ItemList
      count={drafts?.length}
      total={data?.drafts?.totalCount}
      label="Drafts"
      empty="What you write and do not send is kept here."
    >
      {drafts?.map((draft) => (
        <DraftItem key={draft.id} draft={draft} />
      ))}
    </ItemList>
  );
}

function DraftItem({ draft }: { readonly draft: Draft }) {
  const { run, refusal, isBusy } = useCommand(DeleteDraftDocument);
  const goOn = () => {
    const place = placeOf(draft);
    if (place !== undefined) void keeperOf(place).take(draft);
  };
  return (
    <Item
      title={<PlaceLink of={draft} onFollow={goOn} />}
      detail={<Moment at={draft.lastEditedAt} />}
      actions={
        <>
          <Button kind="quiet" disabled={isBusy} onClick={() => void run({ input: { draftId: draft.id } })}>
            Delete
          </Button>
          <Refusal>{refusal}</Refusal>
        </>
      }
    >
      {draft.content}
    </Item>
  );
}
