import { useState } from 'react';
import { useCommand } from '../api/use-command.ts';
import { useRights, useViewer } from '../conversation/use-viewer.ts';
import { CreateChannelDocument } from '../generated/graphql.ts';
import type { Named } from '../people/named.ts';
import { PeoplePicker } from '../people/people-picker.tsx';
import { announce } from '../ui/announcer.tsx';
import { Dialog, useClose } from '../ui/dialog.tsx';
import { type ChannelDraft, ChannelForm } from './channel-form.tsx';
import { privaciesFor, privacyInput } from './privacies.ts';

const EMPTY = { name: '', description: '', folderId: '' };

/** Makes a channel, with who is to be in it from the start: the viewer, and whom they name. */
export function CreateChannel() {
  const { viewerId } = useViewer();
  // Public where that is theirs to make, or else the first that is.
  const [privacy] = privaciesFor(useRights());
  const close = useClose();
  const { run, refusal, isBusy } = useCommand(CreateChannelDocument);
  const [others, setOthers] = useState<readonly Named[]>([]);
  const save = async ({ name, description, privacy, folderId }: ChannelDraft) => {
    const subscriberIds = [viewerId, ...others.map(({ id }) => id).filter((id) => id !== viewerId)];
    const folder = folderId === '' ? {} : { folderId };
    if (!(await run({ input: { name, description, ...privacyInput(privacy), ...folder, subscriberIds } }))) return;
    announce(`${name} is made`);
    close();
  };
  if (privacy === undefined) return null;
  return (
    <Dialog title="Create a channel">
      <ChannelForm before={{ ...EMPTY, privacy }} saveAs="Create" isBusy={isBusy} refusal={refusal} save={save}>
        <PeoplePicker label="Subscribers besides you" onChange={setOthers} />
      </ChannelForm>
    </Dialog>
  );
}
