import { useState } from 'react';
import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import { ArchiveChannelDocument, ChannelSettingsDocument, UpdateChannelDocument } from '../generated/graphql.ts';
import { PermissionsForm } from '../groups/permissions-form.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog, useClose } from '../ui/dialog.tsx';
import { changesIn } from '../ui/draft-form.tsx';
import { Refusal } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { notify } from '../ui/notices.tsx';
import { Tabs } from '../ui/tabs.tsx';
import { type ChannelDraft, ChannelForm } from './channel-form.tsx';
import { OwnSubscription } from './own-subscription.tsx';
import type { Channel } from './settings-channel.ts';
import { SubscribeButton } from './subscribe-button.tsx';
import { Subscribers } from './subscribers.tsx';

const PARTS = { own: 'Personal', general: 'General', subscribers: 'Subscribers', permissions: 'Permissions' } as const;
type Part = keyof typeof PARTS;

interface Props {
  readonly channelId: string;
  /** Tab that is shown first. */
  readonly first?: Part | undefined;
}

/** Dialog with the settings of a channel, in four tabs. Read-only if the viewer cannot administer the channel. */
export function ChannelSettings({ channelId, first = 'own' }: Props) {
  const [part, setPart] = useState<Part>(first);
  const read = useData(ChannelSettingsDocument, { channelId }, { requestPolicy: 'cache-and-network' });
  if (read.state === 'loading') return null;
  const channel = read.data?.channel;
  if (!channel) {
    return (
      <Dialog title={read.state === 'failed' ? 'Channel settings' : 'Channel not found'}>
        {read.state === 'failed' ? <NotReady of={read} /> : 'It does not exist, or you do not have access to it.'}
      </Dialog>
    );
  }
  return (
    <Dialog title={`#${channel.name}`} size="wide">
      <Tabs parts={PARTS} shown={part} onShow={setPart} />
      <Shown part={part} channel={channel} />
    </Dialog>
  );
}

function Shown({ part, channel }: { readonly part: Part; readonly channel: Channel }) {
  switch (part) {
    case 'own':
      return (
        <>
          {channel.ownSubscription === null ? (
            <p className="soft">You are not subscribed.</p>
          ) : (
            <OwnSubscription channelId={channel.id} subscription={channel.ownSubscription} />
          )}
          <div className="form-actions">
            <SubscribeButton channel={channel} />
          </div>
        </>
      );
    case 'general':
      return <General channel={channel} />;
    case 'subscribers':
      return <Subscribers channel={channel} />;
    case 'permissions':
      return <Permissions channel={channel} />;
  }
}

function General({ channel }: { readonly channel: Channel }) {
  const { run, refusal, isBusy } = useCommand(UpdateChannelDocument);
  const { id: channelId, name, description, privacy, folder, viewerCanAdminister } = channel;
  const before = { name, description, privacy, folderId: folder?.id ?? '' };
  const save = async (draft: ChannelDraft, begun: ChannelDraft) => {
    const { folderId, ...changes } = changesIn(draft, begun);
    const input = {
      channelId,
      ...changes,
      ...(folderId !== undefined && { folderId: folderId === '' ? null : folderId }),
    };
    if (await run({ input })) notify('Saved.');
  };
  const form = { before, isBusy, refusal, save, saveAs: 'Save', isFixed: !viewerCanAdminister };
  return (
    <>
      <ChannelForm {...form} />
      {viewerCanAdminister && <Archive channel={channel} />}
    </>
  );
}

/** Button that archives the channel. A second click is required, because archiving affects the sidebar of all subscribers. */
function Archive({ channel: { id, name } }: { readonly channel: Channel }) {
  const close = useClose();
  const [isSure, setSure] = useState(false);
  const { run, refusal, isBusy } = useCommand(ArchiveChannelDocument);
  const archive = async () => {
    if (!isSure) setSure(true);
    else if (await run({ input: { channelId: id } })) close();
  };
  return (
    <div>
      <Refusal>{refusal}</Refusal>
      <Button className="button-danger" disabled={isBusy} onClick={() => void archive()}>
        {isSure ? `Yes, archive ${name} for all users` : 'Archive channel'}
      </Button>
    </div>
  );
}

const PERMISSIONS = {
  canAdministerChannel: 'Administer the channel',
  canSubscribe: 'Subscribe to the channel',
  canAddSubscribers: 'Add subscribers',
  canRemoveSubscribers: 'Remove subscribers',
  canSendMessage: 'Send messages',
  canCreateTopic: 'Create topics',
  canResolveTopics: 'Resolve topics',
  canMoveMessagesWithinChannel: 'Move messages within the channel',
  canMoveMessagesOutOfChannel: 'Move messages out of the channel',
  canDeleteOwnMessage: 'Delete own messages',
  canDeleteAnyMessage: 'Delete any message',
} as const;

function Permissions({ channel: { id: channelId, permissions, viewerCanAdminister } }: { readonly channel: Channel }) {
  const { run, refusal } = useCommand(UpdateChannelDocument);
  return (
    <PermissionsForm
      labels={PERMISSIONS}
      holders={permissions}
      isFixed={!viewerCanAdminister}
      refusal={refusal}
      save={(edits) => run({ input: { channelId, permissions: edits } })}
    />
  );
}
