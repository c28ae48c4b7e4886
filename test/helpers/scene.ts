import { randomUUID } from 'node:crypto';
import { runCommand } from './control.ts';
import type { ObjectContext } from './feature.ts';
import { OBJECTS } from './features.ts';
import { numberOf } from './global-ids.ts';
import type { Json } from './http.ts';
import type { Person } from './person.ts';
import { PNG } from './pictures.ts';
import { createOrganization, type Organization, OWNER_PASSWORD, serverOf } from './server.ts';

/**
 * The names and ids that calls can contain, one for each kind of object. Names of nonexistent objects have this type too.
 * Features extend it by the names in their `objects`.
 */
export interface Names {
  readonly channelId: number;
  readonly channelName: string;
  /** An archived channel. */
  readonly archivedId: number;
  readonly folderId: number;
  /** A folder without channels, so that it can be archived. */
  readonly idleFolderId: number;
  readonly userId: number;
  readonly email: string;
  /** Address of the owner, who has a password: OWNER_PASSWORD. */
  readonly username: string;
  /** A user to whom no other name refers, so that the user can be deactivated. */
  readonly leaverId: number;
  readonly botId: number;
  readonly groupId: number;
  /** The system group of all members. */
  readonly membersGroupId: number;
  /** The system group of all users, including guests. */
  readonly everyoneGroupId: number;
  /** A group that the owner created. */
  readonly customGroupId: number;
  /** A second group that the owner created, to which no other name refers, so that it can be deactivated. */
  readonly idleGroupId: number;
  /** A private channel that receives reports. */
  readonly moderationChannelId: number;
  readonly messageId: number;
  /** A direct message. */
  readonly directMessageId: number;
  readonly conversationId: number;
  /** A reaction of the owner to the direct message. */
  readonly reactionId: number;
  /** A topic that the owner muted. */
  readonly userTopicId: number;
  readonly ownerId: number;
  readonly organizationId: number;
  /** Fragment of a custom navigation view. */
  readonly fragment: string;
  readonly navigationViewId: number;
  /** An allowed domain. */
  readonly domain: string;
  readonly domainId: number;
  /** Name of a custom emoji. */
  readonly emojiName: string;
  readonly emojiId: number;
  /** A profile field for external accounts. */
  readonly profileFieldId: number;
  /** A profile field with choices. */
  readonly choiceFieldId: number;
  readonly queueId: string;
  /** A session of the owner. */
  readonly sessionId: number;
  /** An entry of the audit log. */
  readonly auditLogEntryId: number;
  /** An open invitation by email of the owner. */
  readonly invitationId: number;
  /** An open invitation link of the owner, and its token. */
  readonly inviteLinkId: number;
  readonly inviteToken: string;
  readonly identityProviderId: number;
  /** An API key of the owner with a name. */
  readonly apiKeyId: number;
}

/** An organization with one object of each kind. The owner owns all of them and has every permission. */
export interface Scene extends Organization {
  readonly names: Names;
}

interface SceneOptions {
  /** Server that hosts the organization. Default: the server that all tests share. */
  readonly on?: ReturnType<typeof serverOf>;
}

/** Creates one object for each name in the `objects` of the features. @returns Their ids by name. */
export async function makeObjects(owner: Person, place: ObjectContext): Promise<Partial<Names>> {
  const ids: Record<string, number> = {};
  for (const [name, make] of Object.entries(OBJECTS)) ids[name] = await make(owner, place);
  return ids;
}

export async function makeScene({ on = serverOf() }: SceneOptions = {}): Promise<Scene> {
  const made = await createOrganization({}, { on, password: OWNER_PASSWORD });
  const { owner, member, organization } = made;
  for (const right of ['can_create_users', 'can_change_user_emails']) {
    await runCommand(on.dataDir, 'user grant', { org: organization.subdomain, user: owner.email, right });
  }
  const channelName = `channel of ${organization.subdomain}`;
  const { id: channelId } = await owner.ok('POST', '/channels/create', {
    name: channelName,
    subscribers: [owner.id, member.id],
  });
  const archived = await owner.ok('POST', '/channels/create', { name: 'archived', subscribers: [] });
  await owner.ok('DELETE', `/streams/${archived.id}`);
  const newFolder = (name: string) => owner.ok('POST', '/channel_folders/create', { name, description: 'of folders' });
  const [folder, idleFolder] = [await newFolder('folder'), await newFolder('idle folder')];
  const greeting = { type: 'channel', to: channelId, topic: 'greetings', content: 'hello' };
  const { id: messageId } = await owner.ok('POST', '/messages', greeting);
  const objectIds = await makeObjects(owner, { channelId, topic: greeting.topic, messageId, text: 'hello' });
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
    owner.ok('POST', '/user_groups/create', {
      name: `${name} of ${organization.subdomain}`,
      description: '',
      members: [],
    });
  const [group, idleGroup] = [await newGroup('group'), await newGroup('idle group')];
  const domain = `${organization.subdomain}.example`;
  const allowed = { domain, allowSubdomains: false };
  const { organizationDomain } = await owner.mutate('addOrganizationDomain', allowed, 'organizationDomain { id }');
  const { id: profileFieldId } = await owner.ok('POST', '/realm/profile_fields', {
    ...{ field_type: 7, name: `account of ${organization.subdomain}` },
    field_data: { subtype: 'custom', url_pattern: 'https://example.com/%(username)s' },
  });
  const { id: choiceFieldId } = await owner.ok('POST', '/realm/profile_fields', {
    ...{ field_type: 3, name: `choice of ${organization.subdomain}`, field_data: { s: { text: 'Sail', order: '1' } } },
  });
  const emojiName = `emoji_of_${organization.subdomain}`;
  await owner.ok('POST', `/realm/emoji/${emojiName}`, { file: PNG });
  const emojiId = Number(Object.keys((await owner.ok('GET', '/realm/emoji')).emoji)[0]);
  const fragment = `narrow/topic/${organization.subdomain}`;
  const view = { fragment, isPinned: true, name: 'Greetings' };
  const { navigationView } = await owner.mutate('addNavigationView', view, 'navigationView { id }');
  const navigationViewId = numberOf(navigationView.id);
  const direct = await owner.ok('POST', '/messages', { type: 'direct', to: [member.id], content: 'hello' });
  const { directConversations } = await owner.query('{ directConversations { nodes { id } } }');
  const conversationId = numberOf(directConversations.nodes[0].id);
  const onDirect = { messageId: direct.id, emoji: { name: 'heart' } };
  const { reaction } = await owner.mutate('addReaction', onDirect, 'reaction { id }');
  await owner.ok('POST', '/user_topics', { stream_id: channelId, topic: 'muted', visibility_policy: 1 });
  const { organization: shown, userTopics } = await owner.query('{ organization { id } userTopics { nodes { id } } }');
  await member.ok('POST', '/users/me/presence', { status: 'active', ping_only: true });
  const leaver = await made.signUp('leaver');
  const { queue_id } = await owner.register({ fetch_event_types: [] });
  const login = { username: owner.email, password: OWNER_PASSWORD };
  const { session_id: sessionId } = await owner.ok('POST', '/sessions', login);
  await owner.ok('POST', '/invites', { invitee_emails: 'invited@example.com', stream_ids: [channelId] });
  const { invite_link: inviteLink } = await owner.ok('POST', '/invites/multiuse');
  const { invites } = await owner.ok('GET', '/invites');
  const [invitationId, inviteLinkId] = [false, true].map(
    (isLink) => invites.find((invite: Json) => invite.is_multiuse === isLink).id,
  );
  const audited = await owner.query('{ organization { auditLogEntries(first: 1) { nodes { id } } } }');
  const providerInput = {
    ...{
      slug: 'scene',
      name: 'Provider',
      issuer: 'https://identity.example',
      clientId: 'chat',
      clientSecret: 'secret',
    },
  };
  const { identityProvider } = await owner.mutate('createIdentityProvider', providerInput, 'identityProvider { id }');
  const keyInput = { name: 'scene', scopes: ['READ'] };
  const { apiKey } = await owner.mutate('createApiKey', keyInput, 'apiKey { id }');
  return {
    ...made,
    names: {
      ...(objectIds as Names),
      auditLogEntryId: numberOf(audited.organization.auditLogEntries.nodes[0].id),
      channelId,
      channelName,
      archivedId: archived.id,
      folderId: folder.channel_folder_id,
      idleFolderId: idleFolder.channel_folder_id,
      userId: member.id,
      leaverId: leaver.id,
      botId: made.bot.id,
      email: member.email,
      username: owner.email,
      // The group of administrators, because every permission accepts it.
      groupId: stream.can_remove_subscribers_group,
      membersGroupId,
      everyoneGroupId,
      customGroupId: group.group_id,
      idleGroupId: idleGroup.group_id,
      moderationChannelId,
      messageId,
      directMessageId: direct.id,
      conversationId,
      reactionId: numberOf(reaction.id),
      userTopicId: numberOf(userTopics.nodes[0].id),
      ownerId: owner.id,
      organizationId: numberOf(shown.id),
      fragment,
      navigationViewId,
      domain,
      domainId: numberOf(organizationDomain.id),
      emojiName,
      emojiId,
      profileFieldId,
      choiceFieldId,
      queueId: queue_id,
      sessionId,
      invitationId,
      inviteLinkId,
      inviteToken: inviteLink.split('/').at(-1),
      identityProviderId: numberOf(identityProvider.id),
      apiKeyId: numberOf(apiKey.id),
    },
  };
}

/** Names and ids of nonexistent objects. */
export const nothing = (id = 2_000_000_000): Names => ({
  ...(Object.fromEntries(Object.keys(OBJECTS).map((name) => [name, id])) as unknown as Names),
  channelId: id,
  channelName: `no channel of ${randomUUID()}`,
  archivedId: id,
  folderId: id,
  idleFolderId: id,
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
  queueId: randomUUID(),
  sessionId: id,
  auditLogEntryId: id,
  invitationId: id,
  inviteLinkId: id,
  inviteToken: randomUUID(),
  identityProviderId: id,
  apiKeyId: id,
});

/** Returns the state of the organization as its owner and a member see it. */
export async function contentsOf({ owner, member }: Organization): Promise<Json> {
  const [ofOwner, ofMember] = await Promise.all([owner, member].map((person) => person.register()));
  // Omits the fields that differ between two registrations.
  return [ofOwner, ofMember].map(({ queue_id: _, last_event_id: _id, server_timestamp: _time, ...state }) => state);
}
