import type { FormEvent } from 'react';
import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import {
  ArchiveFolderDocument,
  CreateFolderDocument,
  FoldersDocument,
  type FoldersQuery,
  ReorderFoldersDocument,
  UpdateFolderDocument,
} from '../generated/graphql.ts';
import { spoken } from '../markdown/markup.ts';
import { useRights } from '../people/use-viewer.ts';
import { Button } from '../ui/button.tsx';
import { Dialog, openDialog, useClose } from '../ui/dialog.tsx';
import { changesIn, DraftForm } from '../ui/draft-form.tsx';
import { Refusal, TextField } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { OrderedList } from './ordered-list.tsx';

type Folder = NonNullable<FoldersQuery['channelFolders']>['nodes'][number];

/** The channel folders, whose order is the same for all users. */
export function FolderList() {
  const { viewerCanManageChannelFolders: mayManage = false } = useRights();
  const read = useData(FoldersDocument, {}, { requestPolicy: 'cache-and-network' });
  const { data } = read;
  const reorder = useCommand(ReorderFoldersDocument);
  const archive = useCommand(ArchiveFolderDocument);
  const folders = (data?.channelFolders?.nodes ?? []).toSorted((a, b) => a.order - b.order);
  const total = data?.channelFolders?.totalCount ?? 0;
  // The service requires the order of all folders, so the list can be reordered only if it is complete.
  const isWhole = total <= folders.length;
  return (
    <>
      <NotReady of={read} />
      {data !== undefined && (
        <OrderedList
          label="Folders"
          entries={folders}
          onReorder={
            mayManage && isWhole ? (ids) => void reorder.run({ input: { channelFolderIds: [...ids] } }) : undefined
          }
          detailOf={({ renderedDescription }) => spoken(renderedDescription)}
          empty="No folders."
        >
          {(folder) =>
            mayManage && (
              <>
                <Button aria-label={`Edit ${folder.name}`} onClick={() => openDialog(<EditFolder folder={folder} />)}>
                  Edit
                </Button>
                <Button onClick={() => void archive.run({ input: { channelFolderId: folder.id } })}>
                  Archive<span className="only-heard"> {folder.name}</span>
                </Button>
              </>
            )
          }
        </OrderedList>
      )}
      {!isWhole && (
        <p className="soft">{`Only ${folders.length} of ${total} folders are shown, so they cannot be reordered.`}</p>
      )}
      <Refusal>{reorder.refusal ?? archive.refusal}</Refusal>
      {mayManage ? <NewFolder /> : <p className="soft">Only administrators can create and reorder folders.</p>}
    </>
  );
}

const EditFolder = ({ folder }: { readonly folder: Folder }) => (
  <Dialog title={`Edit ${folder.name}`}>
    <EditForm folder={folder} />
  </Dialog>
);

function EditForm({ folder: { id, name, description } }: { readonly folder: Folder }) {
  const close = useClose();
  const { run, refusal, isBusy } = useCommand(UpdateFolderDocument);
  return (
    <DraftForm
      before={{ name, description }}
      saveAs="Save"
      isBusy={isBusy}
      refusal={refusal}
      save={async (draft, begun) => {
        if (await run({ input: { channelFolderId: id, ...changesIn(draft, begun) } })) close();
      }}
      nameLimit={60}
      description={{ label: 'Description', hint: 'Supports Markdown.' }}
    />
  );
}

function NewFolder() {
  const { run, refusal, isBusy } = useCommand(CreateFolderDocument);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const data = new FormData(form);
    const input = { name: String(data.get('name')), description: String(data.get('description')) };
    if (await run({ input })) form.reset();
  };
  return (
    <form className="form" onSubmit={submit}>
      <TextField label="New folder" name="name" required maxLength={60} />
      <TextField label="Description" name="description" maxLength={1024} />
      <Refusal>{refusal}</Refusal>
      <div className="form-actions">
        <Button kind="primary" type="submit" disabled={isBusy}>
          Create folder
        </Button>
      </div>
    </form>
  );
}
