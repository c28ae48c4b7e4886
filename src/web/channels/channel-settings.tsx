import { useState } from 'react';
import { useQuery } from 'urql';
import { useCommand } from '../api/use-command.ts';
import { ArchiveChannelDocument, ChannelSettingsDocument, UpdateChannelDocument } from '../generated/graphql.ts';
import { PermissionsForm } from '../groups/permissions-form.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog, useClose } from '../ui/dialog.tsx';
import { changesIn } from '../ui/draft-form.tsx';
import { Refusal } from '../ui/form.tsx';
import { notify } from '../ui/notices.tsx';
import { Tabs } from '../ui/tabs.tsx';
import { type ChannelDraft, ChannelForm } from './channel-form.tsx';
import { OwnSubscription } from './own-subscription.tsx';
import { type Privacy, privacyInput } from './privacies.ts';
import type { Channel } from './settings-channel.ts';
import { SubscribeButton } from './subscribe-button.tsx';
import { Subscribers } from './subscribers.tsx';

const PARTS = { own: 'For you', general: 'General', subscribers: 'Subscribers', permissions: 'Permissions' } as const;
type Part = keyof typeof PARTS;

/** All about a channel, in four parts. Who may not administer it reads what it is. */
export function ChannelSettings({ channelId }: { readonly channelId: string }) {
  const [part, setPart] = useState<Part>('own');
  const [{ data }] = useQuery({
    query: ChannelSettingsDocument,
    variables: { channelId },
    requestPolicy: 'cache-and-network',
  });
  const channel = data?.channel;
  if (!channel) return null;
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

function privacyOf({ isWebPublic, isPrivate, historyPublicToSubscribers }: Channel): Privacy {
  if (isWebPublic) return 'web-public';
  if (!isPrivate) return 'public';
  return historyPublicToSubscribers ? 'private-shared' : 'private';
}

function General({ channel }: { readonly channel: Channel }) {
  const { run, refusal, isBusy } = useCommand(UpdateChannelDocument);
  const { id: channelId, name, description, folder, viewerCanAdminister } = channel;
  const before = { name, description, privacy: privacyOf(channel), folderId: folder?.id ?? '' };
  const save = async (draft: ChannelDraft, begun: ChannelDraft) => {
    const { folderId, privacy, ...changes } = changesIn(draft, begun);
    const input = {
      channelId,
      ...changes,
      ...(folderId !== undefined && { folderId: folderId === '' ? null : folderId }),
      ...(privacy !== undefined && privacyInput(privacy)),
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

/** Asks twice: what is archived leaves everybody's sidebar. */
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
        {isSure ? `Yes, archive ${name} for everybody` : 'Archive the channel'}
      </Button>
    </div>
  );
}

const PERMISSIONS = {
  canAdministerChannel: 'Administer it',
  canSubscribe: 'Subscribe themselves',
  canAddSubscribers: 'Add subscribers',
  canRemoveSubscribers: 'Remove subscribers',
  canSendMessage: 'Send messages',
  canCreateTopic: 'Begin topics',
  canResolveTopics: 'Resolve topics',
  canMoveMessagesWithinChannel: 'Move messages within it',
  canMoveMessagesOutOfChannel: 'Move messages out of it',
  canDeleteOwnMessage: 'Delete their own messages',
  canDeleteAnyMessage: "Delete anybody's messages",
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
