import {
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  isLeafType,
  isObjectType,
  isRequiredArgument,
  isUnionType,
} from 'graphql';
import { GROUP_PERMISSION_NAMES } from '../../src/access/permissions/group-permissions.ts';
import { EDITABLE_REALM_SETTINGS, REALM_GROUP_SETTING_NAMES } from '../../src/access/realm-settings.ts';
import { USER_SETTINGS } from '../../src/access/user-settings.ts';
import { EDITABLE_USER_DEFAULTS } from '../../src/administration/user-defaults/settings.ts';
import { SETTINGS_OF_OTHERS } from '../../src/administration/users/settings-of-others.ts';
import { settingFieldName, toFieldName } from '../../src/api/graphql/setting-fields.ts';
import type { Settings } from '../../src/platform/setting.ts';
import { globalId } from './global-ids.ts';
import type { Parameters } from './person.ts';
import { PNG } from './pictures.ts';
import { NO_VIDEO_PROVIDER, NO_WEB_TOKENS } from './rest-calls.ts';
import { type Names, OWNER_PASSWORD } from './scene.ts';

let made = 0;
/** A name nothing has yet. */
const fresh = () => `new in GraphQL ${++made}`;

const LATER = '2100-01-01T00:00:00Z';

const PAGE = { first: 10, last: null, after: null, before: null };

const PERMISSIONS = [
  ...['canAddSubscribers', 'canAdministerChannel', 'canCreateTopic', 'canDeleteAnyMessage', 'canDeleteOwnMessage'],
  ...['canMoveMessagesOutOfChannel', 'canMoveMessagesWithinChannel', 'canRemoveSubscribers', 'canResolveTopics'],
  ...['canSendMessage', 'canSubscribe'],
];

/** Every permission of a channel, in one or the other form its value can have. */
const permissions = ({ groupId, userId }: Names) =>
  PERMISSIONS.map(
    (name, i) =>
      [name, i % 2 === 0 ? { groupId } : { directMemberIds: [userId], directSubgroupIds: [groupId] }] as const,
  );

/** Every permission of a group. */
const groupPermissions = ({ groupId, userId }: Names) =>
  GROUP_PERMISSION_NAMES.map((name, i) => {
    const value = i % 2 === 0 ? { groupId } : { directMemberIds: [userId], directSubgroupIds: [groupId] };
    return [toFieldName(name.replace(/_group$/, '')), value] as const;
  });

/** Every permission of the organisation. */
const organizationPermissions = (names: Names) => {
  const [[, group] = [], [, set] = []] = permissions(names);
  const fields = REALM_GROUP_SETTING_NAMES.map((name) => toFieldName(name.replace(/_group$/, '')));
  const ofRoles = { canAccessAllUsers: { groupId: names.everyoneGroupId }, canCreateWebPublicChannel: group };
  return Object.entries({
    ...Object.fromEntries(fields.map((field, i) => [field, i % 2 === 0 ? group : set])),
    ...ofRoles,
  });
};

/** Every setting as it is in the beginning. */
const initial = (settings: Settings) =>
  Object.fromEntries(
    Object.entries(settings).map(([name, { initial, names, choices }]) => {
      const choice = Object.entries(choices?.values ?? {}).find(([, [value]]) => value === initial);
      // No object is null.
      return [settingFieldName(name), names ? null : (choice?.[0] ?? initial)];
    }),
  );

const OPTIONS = {
  ...{ isPrivate: false, isWebPublic: false, isDefault: false, historyPublicToSubscribers: true },
  ...{ topicsPolicy: 'INHERIT', messageRetentionDays: null },
};

const draftsOf = ({ channelId, userId }: Names) => [
  { type: 'CHANNEL', channelId, topic: 'a topic', content: 'to a channel', lastEditedAt: '2026-01-01T00:00:00Z' },
  { type: 'DIRECT', directTo: [userId], content: 'to people' },
];

/** Narrows of messages that together say all that can be said. */
const narrowsOf = ({ channelId, channelName, messageId, userId }: Names): readonly Parameters[] => {
  const said = {
    topic: 'greetings',
    senderId: userId,
    is: ['UNREAD'],
    has: ['LINK'],
    mentionsUserId: userId,
    search: 'hello',
  };
  return [
    { ...said, channelId, with: messageId },
    { channelName, channels: 'PUBLIC', not: { ...said, channelId, channelName, channels: 'WEB_PUBLIC' } },
    { directWith: [userId], directIncluding: userId, not: { directWith: [userId], directIncluding: userId } },
  ];
};

const CAPABILITIES = [
  ...['archivedChannels', 'bulkMessageDeletion', 'emptyTopicName', 'includeDeactivatedGroups'],
  ...['individualEmojiChanges', 'linkifierUrlTemplate', 'notificationSettingsNull', 'simplifiedPresenceEvents'],
  ...['streamTypingNotifications', 'userAvatarUrlFieldOptional', 'userListIncomplete', 'userSettingsObject'],
];

const QUERIES: Readonly<Record<string, (names: Names) => readonly Parameters[]>> = {
  alertWords: () => [{}],
  organization: () => [{}],
  rateLimit: () => [{}],
  hasVideoCallToken: () => [{}],
  videoCallRegistrationUrl: () => [{}],
  ownSettings: () => [{}],
  channel: ({ channelId, channelName }) => [{ channelId }, { name: channelName }],
  ownBots: () => [PAGE],
  botApiKey: ({ botId }) => [{ botId }],
  customEmoji: () => [{ ...PAGE, isActive: true }],
  customProfileFields: () => [{}],
  channelFolders: () => [{ ...PAGE, includeArchived: true }],
  channels: ({ folderId }) => [
    { ...PAGE, includeArchived: true, onlyReadable: true, isDefault: false, isPrivate: false, isWebPublic: false },
    { folderId, isSubscribed: true },
  ],
  drafts: () => [PAGE],
  events: ({ queueId }) => [{ queueId, after: -1 }],
  message: ({ messageId }) => [{ messageId }],
  directConversations: () => [PAGE],
  messages: (names) => [
    PAGE,
    ...narrowsOf(names).map((narrow) => ({ narrow })),
    ...[{ place: 'NEWEST' }, { messageId: names.messageId }, { date: LATER }].map((anchor) => ({ anchor, last: 2 })),
  ],
  renderMessage: () => [{ content: '**bold**' }],
  navigationViews: () => [PAGE],
  presences: () => [{ ...PAGE, newerThan: -1, historyDays: 1 }],
  realmDomains: () => [{}],
  node: (names) => nodeIds(names).map((id) => ({ id })),
  nodes: (names) => [{ ids: nodeIds(names) }],
  reminders: () => [PAGE],
  savedSnippets: () => [PAGE],
  scheduledMessages: () => [PAGE],
  serverSettings: () => [{}],
  subscriptions: () => [{ ...PAGE, includeArchived: true }],
  user: ({ userId, email }) => [{ userId }, { email }],
  userSettingsDefaults: () => [{}],
  userGroup: ({ customGroupId }) => [{ userGroupId: customGroupId }],
  userGroups: () => [{ ...PAGE, includeDeactivated: true }],
  userTopics: () => [PAGE],
  users: () => [{ ...PAGE, role: 'MEMBER', isBot: false, isActive: true }],
  viewer: () => [{}],
};

/** Of everything there is a `node` of. */
export const nodeIds = (names: Names): string[] =>
  Object.entries({
    Channel: names.channelId,
    ChannelFolder: names.folderId,
    CustomEmoji: names.emojiId,
    CustomProfileField: names.profileFieldId,
    DirectConversation: names.conversationId,
    Draft: names.draftId,
    Message: names.messageId,
    NavigationView: names.navigationViewId,
    Reminder: names.reminderId,
    SavedSnippet: names.snippetId,
    ScheduledMessage: names.scheduledMessageId,
    Topic: `${names.channelId}:greetings`,
    User: names.userId,
    UserGroup: names.customGroupId,
  }).map(([type, id]) => globalId(type, id));

/** The inputs of mutations. */
const MUTATIONS: Readonly<Record<string, (names: Names) => readonly Parameters[]>> = {
  setStatus: ({ userId }) => [
    { text: fresh(), isAway: true },
    { userId, emojiName: 'tada', emojiCode: '1f389', reactionType: 'UNICODE_EMOJI' },
  ],
  createUserGroup: (names) => [
    {
      ...{ name: fresh(), description: 'new', memberIds: [names.userId], subgroupIds: [names.groupId] },
      permissions: Object.fromEntries(groupPermissions(names)),
    },
  ],
  updateUserGroup: (names) => [
    {
      ...{ userGroupId: names.customGroupId, name: fresh(), description: fresh(), isDeactivated: false },
      permissions: Object.fromEntries(groupPermissions(names).map(([name, value]) => [name, { new: value }])),
    },
    {
      userGroupId: names.customGroupId,
      permissions: Object.fromEntries(
        groupPermissions(names).map(([name, value]) => [name, { new: value, old: value }]),
      ),
    },
  ],
  updateUserGroupMembers: ({ customGroupId: userGroupId, userId, groupId }) => [
    { userGroupId, add: [userId], addSubgroups: [groupId] },
    { userGroupId, delete: [userId], deleteSubgroups: [groupId] },
  ],
  updateUserGroupSubgroups: ({ customGroupId: userGroupId, membersGroupId }) => [
    { userGroupId, add: [membersGroupId] },
    { userGroupId, delete: [membersGroupId] },
  ],
  deactivateUserGroup: ({ idleGroupId }) => [{ userGroupId: idleGroupId }],
  setAvatar: () => [{ image: PNG }, { image: null }],
  addCustomEmoji: () => [{ name: fresh().toLowerCase(), image: PNG }],
  addRealmDomain: () => [{ domain: `${fresh().toLowerCase().replaceAll(' ', '-')}.example`, allowSubdomains: true }],
  updateRealmDomain: ({ domain }) => [{ domain, allowSubdomains: true }],
  removeRealmDomain: ({ domain }) => [{ domain }],
  addNavigationView: () => [
    { fragment: 'narrow/is/mentioned', isPinned: true },
    { fragment: fresh(), isPinned: false, name: fresh() },
  ],
  updateNavigationView: ({ fragment }) => [{ fragment, isPinned: false, name: fresh() }],
  removeNavigationView: ({ fragment }) => [{ fragment }],
  sendMessage: ({ channelId, channelName, userId, queueId }) => [
    { channelId, topic: 'a topic', content: 'by id', readBySender: true },
    { channelName, topic: 'a topic', content: 'by name' },
    { directTo: [userId], content: 'to people', queueId, localId: '1' },
  ],
  updateMessageFlags: ({ messageId }) => [
    { messageIds: [messageId], operation: 'ADD', flag: 'STARRED' },
    { messageIds: [messageId], operation: 'REMOVE', flag: 'READ' },
  ],
  updateMessageFlagsInNarrow: ({ channelId, messageId, ...names }) => [
    {
      ...{ anchor: 'OLDEST', includeAnchor: true, numBefore: 0, numAfter: 10 },
      ...{ narrow: { channelId }, operation: 'ADD', flag: 'READ' },
    },
    { anchorId: messageId, numBefore: 0, numAfter: 1, operation: 'REMOVE', flag: 'COLLAPSED' },
    ...narrowsOf({ channelId, messageId, ...names }).map((narrow) => ({
      ...{ narrow, anchor: 'NEWEST', numBefore: 1, numAfter: 0, operation: 'ADD', flag: 'STARRED' },
    })),
  ],
  markTopicAsRead: ({ channelId }) => [{ channelId, topic: 'greetings' }],
  markChannelAsRead: ({ channelId }) => [{ channelId }],
  markAllAsRead: () => [{ maxSeconds: 50 }],
  addReaction: ({ messageId, emojiName, emojiId }) => [
    { messageId, emojiName, emojiCode: String(emojiId), reactionType: 'REALM_EMOJI' },
    { messageId, emojiName: 'octopus' },
    { messageId, emojiName: 'tada', emojiCode: '1f389', reactionType: 'UNICODE_EMOJI' },
  ],
  removeReaction: ({ messageId, emojiName }) => [
    { messageId, emojiName },
    { messageId, emojiName: 'octopus' },
    { messageId, emojiCode: '1f389', reactionType: 'UNICODE_EMOJI' },
  ],
  setTyping: ({ userId, channelId }) => [
    { operation: 'START', directTo: [userId] },
    { operation: 'STOP', channelId, topic: 'greetings' },
  ],
  setEditTyping: ({ messageId }) => [{ messageId, operation: 'START' }],
  reportMessage: ({ messageId }) => [{ messageId, reportType: 'OTHER', description: 'for the test' }],
  addAlertWords: () => [{ words: [fresh()] }],
  removeAlertWords: () => [{ words: ['new'] }],
  updateSettings: () => [
    { ...initial(USER_SETTINGS), fullName: fresh(), timezone: 'Europe/Kiev' },
    { email: `${fresh().replaceAll(' ', '.')}@new.example` },
    { oldPassword: OWNER_PASSWORD, newPassword: OWNER_PASSWORD },
  ],
  confirmEmailChange: () => [{ token: 'x' }],
  createVideoCall: () => [{}],
  completeVideoCallRegistration: () => [
    { code: 'x', state: 'x' },
    { error: 'x', state: 'x' },
  ],
  updateSettingsOf: ({ userId, membersGroupId }) => [
    {
      userIds: [userId],
      groupIds: [membersGroupId],
      skipsEdited: true,
      ...initial(SETTINGS_OF_OTHERS),
      timezone: 'Europe/Kiev',
    },
  ],
  updateUserSettingsDefaults: () => [initial(EDITABLE_USER_DEFAULTS)],
  recordPresence: () => [{ status: 'ACTIVE' }],
  updateOrganization: (names) => [
    { ...initial(EDITABLE_REALM_SETTINGS), name: fresh(), description: fresh(), messageRetentionDays: 30 },
    { moderationRequestChannelId: names.moderationChannelId },
    { newChannelAnnouncementsChannelId: names.channelId },
    { signupAnnouncementsChannelId: names.channelId },
    { serviceUpdateAnnouncementsChannelId: names.channelId },
    ...organizationPermissions(names).flatMap(([permission, value]) => [
      { permissions: { [permission]: { new: value } } },
      { permissions: { [permission]: { new: value, old: value } } },
    ]),
  ],
  acknowledgeEvents: ({ queueId }) => [{ queueId, upTo: 1 }],
  createChannel: (names) => [
    { ...OPTIONS, name: fresh(), description: 'new', subscriberIds: [names.userId] },
    { name: fresh(), folderId: names.folderId },
    ...permissions(names).map(([permission, value]) => ({ name: fresh(), permissions: { [permission]: value } })),
  ],
  updateChannel: (names) => {
    const { channelId } = names;
    return [
      { channelId, description: fresh(), topicsPolicy: 'ALLOW_EMPTY_TOPIC', messageRetentionDays: 30 },
      { channelId, isPrivate: true, historyPublicToSubscribers: false },
      { channelId, isPrivate: false, isWebPublic: false, isDefault: true },
      { channelId, folderId: names.folderId },
      ...permissions(names).flatMap(([permission, value]) => [
        { channelId, permissions: { [permission]: { new: value } } },
        { channelId, permissions: { [permission]: { new: value, old: value } } },
      ]),
      { channelId, name: fresh() },
    ];
  },
  unarchiveChannel: ({ archivedId }) => [{ channelId: archivedId }],
  subscribe: (names) => {
    const unknown = () => [{ name: fresh(), description: 'new', color: '#c0ffee' }];
    return [
      { channels: unknown(), newChannels: OPTIONS, skipUnauthorized: false },
      { channels: [{ channelId: names.channelId }] },
      { channels: [{ name: names.channelName }] },
      { channels: unknown(), userIds: [names.userId] },
      { channels: unknown(), newChannels: { folderId: names.folderId } },
      ...permissions(names).map(([permission, value]) => ({
        channels: unknown(),
        newChannels: { permissions: { [permission]: value } },
      })),
    ];
  },
  updateSubscriptionSettings: ({ channelId }) => [
    {
      subscriptions: [
        {
          ...{ channelId, color: '#c0ffee', isMuted: true, pinToTop: true, desktopNotifications: true },
          ...{ audibleNotifications: true, pushNotifications: true, emailNotifications: true },
          wildcardMentionsNotify: true,
        },
      ],
    },
  ],
  setTopicVisibility: ({ channelId }) => [{ channelId, topic: 'a topic', visibility: 'FOLLOWED' }],
  deleteTopic: ({ channelId }) => [{ channelId, topic: 'a topic' }],
  unsubscribe: ({ channelId, channelName, userId }) => [
    { channels: [{ channelId }] },
    { channels: [{ name: channelName }] },
    { channels: [{ channelId }], userIds: [userId] },
  ],
  reorderChannelFolders: ({ folderId }) => [{ order: [folderId] }],
  updateChannelFolder: ({ folderId }) => [
    { channelFolderId: folderId, name: fresh(), description: fresh(), isArchived: false },
  ],
  createChannelFolder: () => [{ name: fresh(), description: 'new' }],
  createDrafts: (names) => draftsOf(names).map((draft) => ({ drafts: [draft] })),
  updateDraft: (names) => draftsOf(names).map((draft) => ({ draftId: names.draftId, draft })),
  deleteDraft: ({ draftId }) => [{ draftId }],
  createSavedSnippet: () => [{ title: fresh(), content: 'new' }],
  updateSavedSnippet: ({ snippetId }) => [{ savedSnippetId: snippetId, title: fresh(), content: fresh() }],
  deleteSavedSnippet: ({ snippetId }) => [{ savedSnippetId: snippetId }],
  scheduleMessage: ({ channelId, userId }) => [
    { channelId, topic: 'a topic', content: 'later', scheduledAt: LATER },
    { directTo: [userId], content: 'later', scheduledAt: LATER, readBySender: true },
  ],
  updateScheduledMessage: ({ scheduledMessageId, channelId, userId }) => [
    { scheduledMessageId, directTo: [userId], content: 'changed' },
    { scheduledMessageId, channelId, topic: 'a topic', scheduledAt: LATER },
  ],
  cancelScheduledMessage: ({ scheduledMessageId }) => [{ scheduledMessageId }],
  createReminder: ({ messageId }) => [{ messageId, scheduledAt: LATER, note: 'a note' }],
  deleteReminder: ({ reminderId }) => [{ reminderId }],
  createUser: () => {
    const fullName = fresh();
    return [{ email: `${fullName.replaceAll(' ', '.')}@new.example`, password: OWNER_PASSWORD, fullName }];
  },
  updateUser: ({ userId, botId, profileFieldId }) => [
    { userId, fullName: fresh(), role: 'MODERATOR' },
    { userId: botId, newEmail: `${fresh().replaceAll(' ', '.')}@new.example` },
    { userId, profileData: [{ fieldId: profileFieldId, text: 'argo' }] },
    { userId, profileData: [{ fieldId: profileFieldId, userIds: [] }] },
  ],
  updateProfileData: ({ profileFieldId, choiceFieldId }) => [
    { values: [{ fieldId: profileFieldId, text: 'argo' }] },
    { values: [{ fieldId: choiceFieldId, userIds: [] }] },
  ],
  removeProfileData: ({ profileFieldId }) => [{ fieldIds: [profileFieldId] }],
  reorderCustomProfileFields: ({ profileFieldId, choiceFieldId }) => [{ order: [choiceFieldId, profileFieldId] }],
  updateCustomProfileField: ({ profileFieldId, choiceFieldId }) => [
    {
      ...{ fieldId: profileFieldId, name: fresh(), hint: fresh(), required: true, editableByUser: true },
      ...{ displayInProfileSummary: true, useForUserMatching: true },
      urlPattern: 'https://other.example/%(username)s',
    },
    { fieldId: choiceFieldId, choices: [{ key: 's', text: 'Steam' }] },
  ],
  createCustomProfileField: () => [
    {
      ...{ type: 'EXTERNAL_ACCOUNT', name: fresh(), hint: 'Where you are', required: true, editableByUser: false },
      ...{ displayInProfileSummary: false, useForUserMatching: true },
      urlPattern: 'https://example.com/%(username)s',
    },
    { type: 'DROPDOWN', name: fresh(), choices: [{ key: 's', text: 'Sail' }] },
  ],
  deleteCustomProfileField: ({ profileFieldId }) => [{ fieldId: profileFieldId }],
  fetchApiKeyByJwt: () => [{ token: 'a.b.c' }],
  fetchApiKey: ({ username }) => [{ username, password: OWNER_PASSWORD }],
  registerEventQueue: ({ channelName, email }) => [
    {
      ...{ eventTypes: ['DRAFTS'], idleTimeoutSeconds: 60, applyMarkdown: true, clientGravatar: true },
      ...{ includeSubscribers: 'PARTIAL', allPublicChannels: false },
      narrow: [{ channelName }, { topic: 'greetings' }, { senderEmail: email }, { is: 'UNREAD' }],
      capabilities: Object.fromEntries(CAPABILITIES.map((name) => [name, true])),
    },
  ],
  deleteEventQueue: ({ queueId }) => [{ queueId }],
  editMessage: ({ messageId }) => [
    // Of "hello", which the message says.
    {
      messageId,
      content: 'hello again',
      prevContentSha256: '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
    },
  ],
  moveMessages: ({ messageId, channelId }) => [
    {
      ...{ messageId, topic: fresh(), channelId, propagateMode: 'CHANGE_ALL' },
      ...{ sendNotificationToOldTopic: true, sendNotificationToNewTopic: false },
    },
  ],
  deactivateCustomEmoji: ({ emojiName }) => [{ name: emojiName }],
  deleteMessage: ({ messageId }) => [{ messageId }],
  createBot: ({ channelId }) => {
    const fullName = fresh();
    const defaults = { defaultSendingChannelId: channelId, defaultEventsChannelId: channelId };
    const image = PNG;
    return [{ fullName, shortName: fullName.replaceAll(' ', ''), ...defaults, hearsAllPublicChannels: true, image }];
  },
  updateBot: ({ botId, userId, channelId }) => [
    {
      ...{ botId, fullName: fresh(), role: 'MODERATOR', hearsAllPublicChannels: true, image: PNG },
      ...{ defaultSendingChannelId: channelId, defaultEventsChannelId: channelId },
    },
    { botId, ownerId: userId },
  ],
  regenerateApiKey: ({ botId }) => [{ botId }],
  deactivateBot: ({ botId }) => [{ botId }],
  deactivateUser: ({ leaverId }) => [
    {
      userId: leaverId,
      erase: { profile: true, publicChannelMessages: true, privateChannelMessages: true, directMessages: true },
      notificationComment: 'Farewell',
    },
  ],
  reactivateUser: ({ leaverId }) => [{ userId: leaverId }],
  deactivateOwnAccount: () => [{}],
  archiveChannel: ({ channelId }) => [{ channelId }],
};

/** Of mutations that the owner cannot make. */
const CALLERS: Readonly<Record<string, Pick<GraphQLCall, 'as'>>> = { deactivateOwnAccount: { as: 'guest' } };

/** A field of the root, and what to give it. */
export interface GraphQLCall {
  readonly operation: 'query' | 'mutation';
  readonly field: string;
  readonly args: Parameters;
  /** Who makes it, where that cannot be the owner. */
  readonly as?: 'guest';
}

/** What calls are told where nothing outside the service is set up that they need: they are made in earnest elsewhere. */
export const REFUSALS: Readonly<Record<string, string>> = {
  fetchApiKeyByJwt: NO_WEB_TOKENS,
  confirmEmailChange: 'The link was used already, is too old, or was not copied as a whole.',
  createVideoCall: NO_VIDEO_PROVIDER,
  completeVideoCallRegistration: NO_VIDEO_PROVIDER,
  videoCallRegistrationUrl: NO_VIDEO_PROVIDER,
};

/**
 * Calls of every field of `Query` and `Mutation` that the organisation's owner may make one after the other: together they
 * give each argument and each field of an input. With the names of things that are not there they are calls that have
 * to be refused, or come to nothing.
 */
export const GRAPHQL_CALLS: Readonly<Record<string, (names: Names) => readonly GraphQLCall[]>> = {
  ...Object.fromEntries(
    Object.entries(QUERIES).map(([field, make]) => [
      `Query.${field}`,
      (names: Names) => make(names).map((args) => ({ operation: 'query', field, args }) as const),
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(MUTATIONS).map(([field, make]) => [
      `Mutation.${field}`,
      (names: Names) =>
        make(names).map((input) => ({ operation: 'mutation', field, args: { input }, ...CALLERS[field] }) as const),
    ]),
  ),
};

export function fieldOf(schema: GraphQLSchema, { operation, field }: GraphQLCall): GraphQLField<unknown, unknown> {
  const root = operation === 'query' ? schema.getQueryType() : schema.getMutationType();
  const definition = root?.getFields()[field];
  if (definition === undefined) throw new Error(`There is no ${operation} ${field}`);
  return definition;
}

/**
 * The document of a call: its arguments as variables of their names, and of its result what has no arguments.
 *
 * @param options.payload Whether that goes for the payload of a mutation, too: else only its type is asked for.
 */
export function documentOf(schema: GraphQLSchema, call: GraphQLCall, { payload = false } = {}): string {
  const field = fieldOf(schema, call);
  const given = field.args.filter(({ name }) => name in call.args);
  const definitions = given.map(({ name, type }) => `$${name}: ${type}`).join(', ');
  const values = given.map(({ name }) => `${name}: $${name}`).join(', ');
  const [outer, inner] = given.length === 0 ? ['', ''] : [`(${definitions})`, `(${values})`];
  return `${call.operation} ${outer} { ${call.field}${inner} ${selectionOf(field.type, { depth: payload ? 2 : 3, payload })} }`;
}

function selectionOf(type: GraphQLOutputType, { depth, payload }: { depth: number; payload: boolean }): string {
  const named = getNamedType(type);
  if (isLeafType(named)) return '';
  if (isUnionType(named)) {
    const [result] = named.getTypes().filter(({ name }) => payload && name.endsWith('Payload'));
    const whole = result === undefined ? '' : `... on ${result.name} ${selectionOf(result, { depth, payload })}`;
    return `{ __typename ... on ServiceError { code message } ${whole} }`;
  }
  if (!isObjectType(named)) return '{ __typename }';
  const fields = Object.values(named.getFields())
    // The same as the edges have.
    .filter(({ name }) => name !== 'nodes')
    .filter(({ args, type: inner }) => !args.some(isRequiredArgument) && (depth > 0 || isLeafType(getNamedType(inner))))
    .map(({ name, type: inner }) => `${name} ${selectionOf(inner, { depth: depth - 1, payload })}`);
  return `{ ${fields.length === 0 ? '__typename' : fields.join(' ')} }`;
}

/** Every field of the input types that a type leads to: "DraftInput.content", … */
export function inputFieldsOf(type: GraphQLInputType, seen = new Set<string>()): Set<string> {
  const named = getNamedType(type);
  if (!isInputObjectType(named)) return seen;
  for (const field of Object.values(named.getFields())) {
    const name = `${named.name}.${field.name}`;
    if (!seen.has(name)) inputFieldsOf(field.type, seen.add(name));
  }
  return seen;
}

/** Those that `value` gives. */
export function inputFieldsGiven(type: GraphQLInputType, value: unknown): string[] {
  const named = getNamedType(type);
  if (Array.isArray(value)) return value.flatMap((element) => inputFieldsGiven(named, element));
  if (!isInputObjectType(named) || typeof value !== 'object' || value === null) return [];
  const fields = named.getFields();
  return Object.entries(value).flatMap(([name, inner]) => {
    const field = fields[name];
    return field === undefined ? [] : [`${named.name}.${name}`, ...inputFieldsGiven(field.type, inner)];
  });
}
