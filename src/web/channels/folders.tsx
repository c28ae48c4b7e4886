import type { FormEvent } from 'react';
import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import {
  ArchiveFolderDocument,
  CreateFolderDocument,
  FoldersDocument,
  ReorderFoldersDocument,
} from '../generated/graphql.ts';
import { spoken } from '../markdown/markup.ts';
import { useRights } from '../people/use-viewer.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Refusal, TextField } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';

/** Dialog with the channel folders, whose order is the same for all users. */
export function Folders() {
  const { viewerCanManageChannelFolders: mayManage = false } = useRights();
  const read = useData(FoldersDocument, {}, { requestPolicy: 'cache-and-network' });
  const { data } = read;
  const reorder = useCommand(ReorderFoldersDocument);
  const archive = useCommand(ArchiveFolderDocument);
  const folders = (data?.channelFolders?.nodes ?? []).toSorted((a, b) => a.order - b.order);
  const total = data?.channelFolders?.totalCount ?? 0;
  // The service requires the order of all folders, so the list can be reordered only if it is complete.
  const isWhole = total <= folders.length;
  const move = (from: number, to: number) => {
    const channelFolderIds = folders.map(({ id }) => id);
    channelFolderIds.splice(to, 0, ...channelFolderIds.splice(from, 1));
    void reorder.run({ input: { channelFolderIds } });
  };
  return (
    <Dialog title="Channel folders">
      <NotReady of={read} />
      <ul className="plain-list" aria-label="Folders">
        {folders.map(({ id, name, renderedDescription }, index) => (
          <li key={id} className="row">
            <div className="row-body">
              <strong>{name}</strong>
              {renderedDescription !== '' && <p className="soft">{spoken(renderedDescription)}</p>}
            </div>
            {mayManage && (
              <div className="row-actions">
                <IconButton
                  icon="up"
                  label={`Move ${name} up`}
                  disabled={index === 0 || !isWhole}
                  onClick={() => move(index, index - 1)}
                />
                <IconButton
                  icon="down"
                  label={`Move ${name} down`}
                  disabled={index === folders.length - 1 || !isWhole}
                  onClick={() => move(index, index + 1)}
                />
                <Button onClick={() => void archive.run({ input: { channelFolderId: id } })}>
                  Archive<span className="only-heard"> {name}</span>
                </Button>
              </div>
            )}
          </li>
        ))}
      </ul>
      {!isWhole && (
        <p className="soft">{`Only ${folders.length} of ${total} folders are shown, so they cannot be reordered.`}</p>
      )}
      <Refusal>{reorder.refusal ?? archive.refusal}</Refusal>
      {mayManage ? <NewFolder /> : <p className="soft">Only administrators can create and reorder folders.</p>}
    </Dialog>
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
