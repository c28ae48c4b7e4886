import { randomUUID } from 'node:crypto';
import { runCommand } from './control.ts';
import { numberOf } from './global-ids.ts';
import type { Json } from './http.ts';
import { PNG } from './pictures.ts';
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
  /** Of somebody nobody else names. */
  readonly leaverId: number;
  readonly botId: number;
  readonly groupId: number;
  /** The group of all members. */
  readonly membersGroupId: number;
  /** The group of all, guests included. */
  readonly everyoneGroupId: number;
  /** A group that somebody made. */
  readonly customGroupId: number;
  /** Another one, which nobody else names. */
  readonly idleGroupId: number;
  /** A private channel, where reports go. */
  readonly moderationChannelId: number;
  readonly draftId: number;
  readonly snippetId: number;
  readonly messageId: number;
  /** A message among people. */
  readonly directMessageId: number;
  readonly conversationId: number;
  /** Of the owner's, on the message among people. */
  readonly reactionId: number;
  /** A topic that the owner muted. */
  readonly userTopicId: number;
  readonly ownerId: number;
  readonly organizationId: number;
  /** Of a custom navigation view. */
  readonly fragment: string;
  readonly navigationViewId: number;
  /** An allowed one. */
  readonly domain: string;
  readonly domainId: number;
  /** Of the organisation's own emoji. */
  readonly emojiName: string;
  readonly emojiId: number;
  /** Of external accounts. */
  readonly profileFieldId: number;
  /** Of a choice. */
  readonly choiceFieldId: number;
  readonly scheduledMessageId: number;
  readonly reminderId: number;
  readonly queueId: string;
  /** Of a browser of the owner's. */
  readonly sessionId: number;
}

/** An organisation with one of everything, all of it the owner's, who may do everything. */
export interface Scene extends Organisation {
  readonly names: Names;
}

export const OWNER_PASSWORD = 'correct horse battery';

interface SceneOptions {
  /** Default: the server all tests share. */
  readonly on?: ReturnType<typeof serverOf>;
}

export async function makeScene({ on = serverOf() }: SceneOptions = {}): Promise<Scene> {
  const made = await organisation({}, { on, password: OWNER_PASSWORD });
  const { owner, member, realm } = made;
  for (const right of ['can_create_users', 'can_change_user_emails']) {
    await runCommand(on.dataDir, 'user grant', { org: realm.subdomain, user: owner.email, right });
  }
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
  const { realm_can_create_groups: membersGroupId, realm_can_access_all_users_group: everyoneGroupId } =
    await owner.register({ fetch_event_types: ['realm'] });
  const newGroup = (name: string) =>
    owner.ok('POST', '/user_groups/create', { name: `${name} of ${realm.subdomain}`, description: '', members: [] });
  const [group, idleGroup] = [await newGroup('group'), await newGroup('idle group')];
  const domain = `${realm.subdomain}.example`;
  const allowed = { domain, allowSubdomains: false };
  const { realmDomain } = await owner.mutate('addRealmDomain', allowed, 'realmDomain { id }');
  const { id: profileFieldId } = await owner.ok('POST', '/realm/profile_fields', {
    ...{ field_type: 7, name: `account of ${realm.subdomain}` },
    field_data: { subtype: 'custom', url_pattern: 'https://example.com/%(username)s' },
  });
  const { id: choiceFieldId } = await owner.ok('POST', '/realm/profile_fields', {
    ...{ field_type: 3, name: `choice of ${realm.subdomain}`, field_data: { s: { text: 'Sail', order: '1' } } },
  });
  const emojiName = `emoji_of_${realm.subdomain}`;
  await owner.ok('POST', `/realm/emoji/${emojiName}`, { file: PNG });
  const emojiId = Number(Object.keys((await owner.ok('GET', '/realm/emoji')).emoji)[0]);
  const fragment = `narrow/topic/${realm.subdomain}`;
  const view = { fragment, isPinned: true, name: 'Greetings' };
  const { navigationView } = await owner.mutate('addNavigationView', view, 'navigationView { id }');
  const navigationViewId = numberOf(navigationView.id);
  const direct = await owner.ok('POST', '/messages', { type: 'direct', to: [member.id], content: 'hello' });
  const { directConversations } = await owner.query('{ directConversations { nodes { id } } }');
  const conversationId = numberOf(directConversations.nodes[0].id);
  const onDirect = { messageId: direct.id, emojiName: 'heart' };
  const { reaction } = await owner.mutate('addReaction', onDirect, 'reaction { id }');
  await owner.ok('POST', '/user_topics', { stream_id: channelId, topic: 'muted', visibility_policy: 1 });
  const { organization, userTopics } = await owner.query('{ organization { id } userTopics { nodes { id } } }');
  await member.ok('POST', '/users/me/presence', { status: 'active', ping_only: true });
  const leaver = await made.signUp('leaver');
  const { queue_id } = await owner.register({ fetch_event_types: [] });
  const login = { username: owner.email, password: OWNER_PASSWORD };
  const { session_id: sessionId } = await owner.ok('POST', '/sessions', login);
  return {
    ...made,
    names: {
      channelId,
      channelName,
      archivedId: archived.id,
      folderId: folder.channel_folder_id,
      userId: member.id,
      leaverId: leaver.id,
      botId: made.bot.id,
      email: member.email,
      username: owner.email,
      // Of administrators: a group every permission takes.
      groupId: stream.can_remove_subscribers_group,
      membersGroupId,
      everyoneGroupId,
      customGroupId: group.group_id,
      idleGroupId: idleGroup.group_id,
      moderationChannelId,
      draftId: ids[0],
      snippetId: snippet.saved_snippet_id,
      messageId,
      directMessageId: direct.id,
      conversationId,
      reactionId: numberOf(reaction.id),
      userTopicId: numberOf(userTopics.nodes[0].id),
      ownerId: owner.id,
      organizationId: numberOf(organization.id),
      fragment,
      navigationViewId,
      domain,
      domainId: numberOf(realmDomain.id),
      emojiName,
      emojiId,
      profileFieldId,
      choiceFieldId,
      scheduledMessageId: scheduled.scheduled_message_id,
      reminderId: reminder.reminder_id,
      queueId: queue_id,
      sessionId,
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
  leaverId: id,
  botId: id,
  email: `nobody@${randomUUID()}.example`,
  username: `nobody@${randomUUID()}.example`,
  groupId: id,
  membersGroupId: id,
  everyoneGroupId: id,
  customGroupId: id,
  idleGroupId: id,
  moderationChannelId: id,
  draftId: id,
  snippetId: id,
  messageId: id,
  directMessageId: id,
  conversationId: id,
  reactionId: id,
  userTopicId: id,
  ownerId: id,
  organizationId: id,
  fragment: `no fragment of ${randomUUID()}`,
  navigationViewId: id,
  domain: `${randomUUID()}.example`,
  domainId: id,
  emojiName: `no_emoji_${randomUUID()}`,
  emojiId: id,
  profileFieldId: id,
  choiceFieldId: id,
  scheduledMessageId: id,
  reminderId: id,
  queueId: randomUUID(),
  sessionId: id,
});

/** All there is in the organisation, as its owner and a member see it. */
export async function contentsOf({ owner, member }: Organisation): Promise<Json> {
  const [ofOwner, ofMember] = await Promise.all([owner, member].map((person) => person.register()));
  // The two registrations are all that may differ from one time to the next, and the time.
  return [ofOwner, ofMember].map(({ queue_id: _, last_event_id: _id, server_timestamp: _time, ...state }) => state);
}
