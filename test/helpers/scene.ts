import { randomUUID } from 'node:crypto';
import { runCommand } from './control.ts';
import type { Json } from './http.ts';
import { type Organisation, organisation, serverOf } from './server.ts';

/** What a call can name: one of each kind. Names of things that are not there are like those of things that are. */
export interface Names {
  readonly channelId: number;
  readonly channelName: string;
  /** A channel in the archive. */
  readonly archivedId: number;
  readonly folderId: number;
  readonly userId: number;
  readonly email: string;
  /** Of somebody with a password: OWNER_PASSWORD. */
  readonly username: string;
  readonly groupId: number;
  /** The group of all members. */
  readonly membersGroupId: number;
  /** A private channel, where reports go. */
  readonly moderationChannelId: number;
  readonly draftId: number;
  readonly snippetId: number;
  readonly messageId: number;
  /** A message among people. */
  readonly directMessageId: number;
  /** Of a custom navigation view. */
  readonly fragment: string;
  readonly navigationViewId: number;
  /** An allowed one. */
  readonly domain: string;
  readonly scheduledMessageId: number;
  readonly reminderId: number;
  readonly queueId: string;
}

/** An organisation with one of everything, all of it the owner's, who may do everything. */
export interface Scene extends Organisation {
  readonly names: Names;
}

export const OWNER_PASSWORD = 'correct horse battery';

interface SceneOptions {
  /** Default: the server all tests share. */
  readonly on?: ReturnType<typeof serverOf>;
  /** Whether the owner can sign in with OWNER_PASSWORD, which takes time to make. */
  readonly withPassword?: boolean;
}

export async function makeScene({ on = serverOf(), withPassword = false }: SceneOptions = {}): Promise<Scene> {
  const made = await organisation({}, { on, ...(withPassword && { password: OWNER_PASSWORD }) });
  const { owner, member, realm } = made;
  await runCommand(on.dataDir, 'user grant', { org: realm.subdomain, user: owner.email, right: 'can_create_users' });
  const channelName = `channel of ${realm.subdomain}`;
  const { id: channelId } = await owner.ok('POST', '/channels/create', {
    name: channelName,
    subscribers: [owner.id, member.id],
  });
  const archived = await owner.ok('POST', '/channels/create', { name: 'archived', subscribers: [] });
  await owner.ok('DELETE', `/streams/${archived.id}`);
  const folder = await owner.ok('POST', '/channel_folders/create', { name: 'folder', description: 'of folders' });
  const note = { type: 'stream', to: [channelId], topic: 'greetings', content: 'hello' };
  const { ids } = await owner.ok('POST', '/drafts', { drafts: [note] });
  const snippet = await owner.ok('POST', '/saved_snippets', { title: 'title', content: 'content' });
  const greeting = { type: 'channel', to: channelId, topic: 'greetings', content: 'hello' };
  const { id: messageId } = await owner.ok('POST', '/messages', greeting);
  // In the year 2100.
  const later = { scheduled_delivery_timestamp: 4_102_444_800 };
  const scheduled = await owner.ok('POST', '/scheduled_messages', { ...greeting, ...later });
  const reminder = await owner.ok('POST', '/reminders', { message_id: messageId, ...later });
  const { stream } = await owner.ok('GET', `/streams/${channelId}`);
  const moderation = { name: 'moderation', subscribers: [owner.id], invite_only: true };
  const { id: moderationChannelId } = await owner.ok('POST', '/channels/create', moderation);
  await owner.ok('PATCH', '/realm', {
    moderation_request_channel_id: moderationChannelId,
    enable_read_receipts: true,
  });
  const { realm_can_create_groups: membersGroupId } = await owner.register({ fetch_event_types: ['realm'] });
  const domain = `${realm.subdomain}.example`;
  await owner.ok('POST', '/realm/domains', { domain, allow_subdomains: false });
  const fragment = `narrow/topic/${realm.subdomain}`;
  const view = { fragment, isPinned: true, name: 'Greetings' };
  const { navigationView } = await owner.mutate('addNavigationView', view, 'navigationView { id }');
  const navigationViewId = Number(atob(navigationView.id).split(':')[1]);
  const direct = await owner.ok('POST', '/messages', { type: 'direct', to: [member.id], content: 'hello' });
  const { queue_id } = await owner.register({ fetch_event_types: [] });
  return {
    ...made,
    names: {
      channelId,
      channelName,
      archivedId: archived.id,
      folderId: folder.channel_folder_id,
      userId: member.id,
      email: member.email,
      username: owner.email,
      // Of administrators: a group every permission takes.
      groupId: stream.can_remove_subscribers_group,
      membersGroupId,
      moderationChannelId,
      draftId: ids[0],
      snippetId: snippet.saved_snippet_id,
      messageId,
      directMessageId: direct.id,
      fragment,
      navigationViewId,
      domain,
      scheduledMessageId: scheduled.scheduled_message_id,
      reminderId: reminder.reminder_id,
      queueId: queue_id,
    },
  };
}

/** Names of nothing at all. */
export const nothing = (id = 2_000_000_000): Names => ({
  channelId: id,
  channelName: `no channel of ${randomUUID()}`,
  archivedId: id,
  folderId: id,
  userId: id,
  email: `nobody@${randomUUID()}.example`,
  username: `nobody@${randomUUID()}.example`,
  groupId: id,
  membersGroupId: id,
  moderationChannelId: id,
  draftId: id,
  snippetId: id,
  messageId: id,
  directMessageId: id,
  fragment: `no fragment of ${randomUUID()}`,
  navigationViewId: id,
  domain: `${randomUUID()}.example`,
  scheduledMessageId: id,
  reminderId: id,
  queueId: randomUUID(),
});

/** All there is in the organisation, as its owner and a member see it. */
export async function contentsOf({ owner, member }: Organisation): Promise<Json> {
  const [ofOwner, ofMember] = await Promise.all([owner, member].map((person) => person.register()));
  // The two registrations are all that may differ from one time to the next.
  return [ofOwner, ofMember].map(({ queue_id: _, last_event_id: _id, ...state }) => state);
}
