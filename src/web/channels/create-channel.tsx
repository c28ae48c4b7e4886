import { useState } from 'react';
import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import { type ChannelPrivacy, CreateChannelDocument, NewChannelAnnouncementsDocument } from '../generated/graphql.ts';
import type { Named } from '../people/named.ts';
import { PeoplePicker } from '../people/people-picker.tsx';
import { useRights, useViewer } from '../people/use-viewer.ts';
import { navigate } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { announce } from '../ui/announcer.tsx';
import { Dialog, useClose } from '../ui/dialog.tsx';
import { Check } from '../ui/form.tsx';
import { type ChannelDraft, ChannelForm } from './channel-form.tsx';
import { isPublic, privaciesFor } from './privacies.ts';

const EMPTY = { name: '', description: '', folderId: '' };

/** Dialog that creates a channel, subscribes the viewer and the chosen users, and opens the channel. */
export function CreateChannel() {
  const { viewerId } = useViewer();
  // Public if the viewer can create public channels, otherwise the first privacy level that they can use.
  const [privacy] = privaciesFor(useRights());
  const close = useClose();
  const { run, refusal, isBusy } = useCommand(CreateChannelDocument, ({ createChannel: made }) => {
    if (made?.__typename !== 'CreateChannelPayload' || made.channel === null) return;
    navigate(addressOf({ name: 'channel', channelId: made.channel.id }, made.channel.name));
  });
  const [others, setOthers] = useState<readonly Named[]>([]);
  const [isAnnounced, setAnnounced] = useState(false);
  const { data } = useData(NewChannelAnnouncementsDocument, {});
  const announcements = data?.organization?.newChannelAnnouncementsChannel ?? undefined;
  const canAnnounce = (privacy: ChannelPrivacy) => announcements !== undefined && isPublic(privacy);
  const save = async ({ name, description, privacy, folderId }: ChannelDraft) => {
    const subscriberIds = [viewerId, ...others.map(({ id }) => id).filter((id) => id !== viewerId)];
    const folder = folderId === '' ? {} : { folderId };
    const announced = isAnnounced && canAnnounce(privacy);
    if (!(await run({ input: { name, description, privacy, ...folder, subscriberIds, isAnnounced: announced } })))
      return;
    announce(`The channel ${name} was created.`);
    close();
  };
  if (privacy === undefined) return null;
  return (
    <Dialog title="Create a channel">
      <ChannelForm
        before={{ ...EMPTY, privacy }}
        saveAs="Create"
        isBusy={isBusy}
        refusal={refusal}
        save={save}
        belowPrivacy={(privacy) =>
          canAnnounce(privacy) && (
            <Check
              label={`Announce the channel in #${announcements?.name}`}
              checked={isAnnounced}
              onChange={({ currentTarget: { checked } }) => setAnnounced(checked)}
            />
          )
        }
      >
        <PeoplePicker label="Subscribers besides you" onChange={setOthers} />
      </ChannelForm>
    </Dialog>
  );
}
