import type { FormEvent } from 'react';
import { useQuery } from 'urql';
import { useCommand } from '../api/use-command.ts';
import { useRights } from '../conversation/use-viewer.ts';
import {
  CreateFolderDocument,
  FoldersDocument,
  ReorderFoldersDocument,
  UpdateFolderDocument,
} from '../generated/graphql.ts';
import { spoken } from '../messages/markup.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Refusal, TextField } from '../ui/form.tsx';

/** The folders that channels are shown under, in everybody's order. */
export function Folders() {
  const { viewerCanManageChannelFolders: mayManage = false } = useRights();
  const [{ data }] = useQuery({ query: FoldersDocument, requestPolicy: 'cache-and-network' });
  const reorder = useCommand(ReorderFoldersDocument);
  const update = useCommand(UpdateFolderDocument);
  const folders = (data?.channelFolders?.nodes ?? []).toSorted((a, b) => a.order - b.order);
  const total = data?.channelFolders?.totalCount ?? 0;
  // Their order is given whole.
  const isWhole = total <= folders.length;
  const move = (from: number, to: number) => {
    const order = folders.map(({ id }) => id);
    order.splice(to, 0, ...order.splice(from, 1));
    void reorder.run({ input: { order } });
  };
  return (
    <Dialog title="Channel folders">
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
                <Button onClick={() => void update.run({ input: { channelFolderId: id, isArchived: true } })}>
                  Archive<span className="only-heard"> {name}</span>
                </Button>
              </div>
            )}
          </li>
        ))}
      </ul>
      {!isWhole && <p className="soft">{`The first ${folders.length} of ${total}: too many to order them here.`}</p>}
      <Refusal>{reorder.refusal ?? update.refusal}</Refusal>
      {mayManage ? <NewFolder /> : <p className="soft">Administrators make and order them.</p>}
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
      <TextField label="What it is for" name="description" maxLength={1024} />
      <Refusal>{refusal}</Refusal>
      <div className="form-actions">
        <Button kind="primary" type="submit" disabled={isBusy}>
          Make the folder
        </Button>
      </div>
    </form>
  );
}
