import { CHANNEL_PERMISSION_NAMES } from '../../src/access/permissions/channel-permissions.ts';
import { GROUP_PERMISSION_NAMES } from '../../src/access/permissions/group-permissions.ts';
import { EDITABLE_REALM_SETTINGS, REALM_GROUP_SETTING_NAMES } from '../../src/access/realm-settings.ts';
import { USER_SETTINGS } from '../../src/access/user-settings.ts';
import { EDITABLE_USER_DEFAULTS } from '../../src/administration/user-defaults/settings.ts';
import type { Parameters } from './person.ts';
import { PNG } from './pictures.ts';
import { type Names, OWNER_PASSWORD } from './scene.ts';

/** One call of an endpoint: what stands in the slots of its path, and its parameters. */
export interface RestCall {
  readonly slots?: Readonly<Record<string, string | number>>;
  readonly parameters?: Parameters;
  /** Who makes it, where that cannot be the owner. */
  readonly as?: 'guest' | 'moderator';
  /** What it is told where nothing outside the service is set up that it needs: it is made in earnest elsewhere. */
  readonly refusal?: string;
}

export const NO_WEB_TOKENS = 'JWT authentication is not enabled for this organization';
export const NO_VIDEO_PROVIDER = 'Video provider credentials have not been configured';

let made = 0;
/** A name nothing has yet. */
const fresh = () => `new ${++made}`;
const freshAddress = () => `${fresh().replace(' ', '.')}@new.example`;

const REGISTRATION = {
  apply_markdown: true,
  client_gravatar: true,
  include_subscribers: 'partial',
  slim_presence: true,
  presence_history_limit_days: 1,
  event_types: ['drafts'],
  fetch_event_types: ['drafts'],
  all_public_streams: false,
  client_capabilities: { notification_settings_null: true },
  idle_queue_timeout: 60,
  queue_lifespan_secs: 60,
};

/** In the year 2100. */
const LATER = { scheduled_delivery_timestamp: 4_102_444_800 };

const CREATION = {
  announce: false,
  invite_only: false,
  is_web_public: false,
  is_default_stream: false,
  history_public_to_subscribers: true,
  message_retention_days: '"realm_default"',
  topics_policy: 'inherit',
  send_new_subscription_messages: false,
};

/** Every permission of a channel, in one or the other form its value can have. */
const permissions = ({ groupId, userId }: Names) =>
  CHANNEL_PERMISSION_NAMES.map(
    (name, i) => [name, i % 2 === 0 ? groupId : { direct_members: [userId], direct_subgroups: [groupId] }] as const,
  );

/** Every permission of a group. */
const groupPermissions = ({ groupId, userId }: Names) =>
  GROUP_PERMISSION_NAMES.map(
    (name, i) => [name, i % 2 === 0 ? groupId : { direct_members: [userId], direct_subgroups: [groupId] }] as const,
  );

/** Every permission of the organisation. */
const realmPermissions = (names: Names) => {
  const [[, group] = [], [, set] = []] = permissions(names);
  const ofRoles = { can_access_all_users_group: names.everyoneGroupId, can_create_web_public_channel_group: group };
  return Object.entries({
    ...Object.fromEntries(REALM_GROUP_SETTING_NAMES.map((name, i) => [name, i % 2 === 0 ? group : set])),
    ...ofRoles,
  });
};

/** Every setting as it is in the beginning. */
const initial = (settings: Readonly<Record<string, { readonly initial: unknown }>>) =>
  Object.fromEntries(Object.entries(settings).map(([name, { initial }]) => [name, initial]));

/** Every term that names something. */
const narrowsOf = ({ channelId, channelName, userId, email, messageId }: Names) => [
  [{ operator: 'channel', operand: channelId }],
  [['channel', channelName]],
  [{ operator: 'sender', operand: userId, negated: true }],
  [{ operator: 'sender', operand: email }],
  [{ operator: 'dm', operand: [userId] }],
  [{ operator: 'dm', operand: email }],
  [{ operator: 'dm-including', operand: userId }],
  [{ operator: 'mentions', operand: email }],
  [{ operator: 'id', operand: messageId }],
  [{ operator: 'with', operand: messageId }],
];

const draftsOf = ({ channelId, userId }: Names) => [
  { type: 'stream', to: [channelId], topic: 'a topic', content: 'to a channel', timestamp: 1 },
  { type: 'private', to: [userId], topic: '', content: 'to people' },
];

/**
 * Calls of every endpoint that the organisation's owner may make one after the other: together they give each parameter.
 * With the names of things that are not there they are calls that have to be refused, or come to nothing.
 */
export const REST_CALLS: Readonly<Record<string, (names: Names) => readonly RestCall[]>> = {
  'GET /streams': () => [
    {
      parameters: {
        include_public: true,
        include_web_public: true,
        include_subscribed: true,
        exclude_archived: false,
        include_all: true,
        include_default: true,
        include_owner_subscribed: false,
        include_can_access_content: true,
      },
    },
  ],
  'GET /streams/{stream_id}': ({ channelId }) => [{ slots: { stream_id: channelId } }],
  'GET /get_stream_id': ({ channelName }) => [{ parameters: { stream: channelName } }],
  'GET /streams/{stream_id}/members': ({ channelId }) => [{ slots: { stream_id: channelId } }],
  'POST /channels/create': (names) => [
    { parameters: { ...CREATION, name: fresh(), description: 'new', subscribers: [names.userId] } },
    { parameters: { name: fresh(), subscribers: [], folder_id: names.folderId } },
    ...permissions(names).map(([name, value]) => ({ parameters: { name: fresh(), subscribers: [], [name]: value } })),
  ],
  'PATCH /streams/{stream_id}': (names) => {
    const slots = { stream_id: names.channelId };
    return [
      { slots, parameters: { description: fresh(), topics_policy: 'allow_empty_topic', message_retention_days: 30 } },
      { slots, parameters: { is_private: true, history_public_to_subscribers: false } },
      { slots, parameters: { is_private: false, is_web_public: false, is_default_stream: true } },
      { slots, parameters: { folder_id: names.folderId } },
      ...permissions(names).flatMap(([name, value]) => [
        { slots, parameters: { [name]: { new: value } } },
        { slots, parameters: { [name]: { new: value, old: value } } },
      ]),
      { slots: { stream_id: names.archivedId }, parameters: { is_archived: false } },
      { slots, parameters: { new_name: fresh() } },
    ];
  },
  'POST /default_streams': ({ channelId }) => [{ parameters: { stream_id: channelId } }],
  'DELETE /default_streams': ({ channelId }) => [{ parameters: { stream_id: channelId } }],
  'GET /users/me/subscriptions': () => [{ parameters: { include_subscribers: 'partial' } }],
  'POST /users/me/subscriptions': (names) => {
    const known = [{ name: names.channelName, description: 'as it was', color: '#c0ffee' }];
    const unknown = () => [{ name: fresh() }];
    return [
      { parameters: { ...CREATION, subscriptions: unknown(), authorization_errors_fatal: false } },
      { parameters: { subscriptions: known } },
      { parameters: { subscriptions: known, principals: [names.email] } },
      { parameters: { subscriptions: unknown(), principals: [names.userId] } },
      { parameters: { subscriptions: unknown(), folder_id: names.folderId } },
      ...permissions(names).map(([name, value]) => ({ parameters: { subscriptions: unknown(), [name]: value } })),
    ];
  },
  'PATCH /users/me/subscriptions': ({ channelName }) => [
    { parameters: { delete: [channelName] } },
    { parameters: { add: [{ name: channelName }] } },
  ],
  'POST /users/me/subscriptions/properties': ({ channelId }) => [
    { parameters: { subscription_data: [{ stream_id: channelId, property: 'color', value: '#c0ffee' }] } },
    { parameters: { subscription_data: [{ stream_id: channelId, property: 'is_muted', value: true }] } },
  ],
  'POST /users/me/subscriptions/{stream_id}': ({ channelId }) => [
    { slots: { stream_id: channelId }, parameters: { property: 'pin_to_top', value: true } },
  ],
  'PATCH /users/me/subscriptions/{stream_id}': ({ channelId }) => [
    { slots: { stream_id: channelId }, parameters: { property: 'color', value: '"#c0ffee"' } },
  ],
  'DELETE /users/me/subscriptions': ({ channelName, userId, email }) => [
    { parameters: { subscriptions: [channelName] } },
    { parameters: { subscriptions: [channelName], principals: [userId] } },
    { parameters: { subscriptions: [channelName], principals: [email] } },
  ],
  'GET /users/{user_id}/subscriptions/{stream_id}': ({ userId, channelId }) => [
    { slots: { user_id: userId, stream_id: channelId } },
  ],
  'GET /users/{user_id}/channels': ({ userId }) => [{ slots: { user_id: userId } }],
  'POST /register': ({ channelName }) => [{ parameters: { ...REGISTRATION, narrow: [['channel', channelName]] } }],
  'GET /events': ({ queueId, channelName }) => [
    { parameters: { queue_id: queueId, last_event_id: -1, dont_block: true } },
    { parameters: { ...REGISTRATION, narrow: [['channel', channelName]], dont_block: true } },
  ],
  'DELETE /events': ({ queueId }) => [{ parameters: { queue_id: queueId } }],
  'GET /channel_folders': () => [{ parameters: { include_archived: true } }],
  'PATCH /channel_folders': ({ folderId }) => [{ parameters: { order: [folderId] } }],
  'PATCH /channel_folders/{channel_folder_id}': ({ folderId }) => [
    { slots: { channel_folder_id: folderId }, parameters: { name: fresh(), description: fresh(), is_archived: false } },
  ],
  'POST /channel_folders/create': () => [{ parameters: { name: fresh(), description: 'new' } }],
  'GET /users': ({ userId }) => [
    { parameters: { user_ids: [userId], client_gravatar: false, include_custom_profile_fields: true } },
  ],
  'GET /users/me': () => [{}],
  'GET /users/{user_id}': ({ userId }) => [
    { slots: { user_id: userId }, parameters: { client_gravatar: false, include_custom_profile_fields: true } },
  ],
  'GET /users/{email}': ({ email }) => [
    { slots: { email }, parameters: { client_gravatar: false, include_custom_profile_fields: true } },
  ],
  'POST /users': () => {
    const name = fresh();
    const email = `${name.replace(' ', '.')}@new.example`;
    return [{ parameters: { email, password: OWNER_PASSWORD, full_name: name } }];
  },
  'PATCH /users/{user_id}': ({ userId, botId, profileFieldId: id }) => [
    { slots: { user_id: botId }, parameters: { new_email: freshAddress() } },
    { slots: { user_id: userId }, parameters: { full_name: fresh(), role: 300 } },
    { slots: { user_id: userId }, parameters: { profile_data: [{ id, value: 'argo' }] } },
  ],
  'PATCH /users/{email}': ({ email, profileFieldId: id }) => [
    { slots: { email }, parameters: { full_name: fresh(), role: 300 } },
    { slots: { email }, parameters: { profile_data: [{ id, value: 'argo' }], new_email: email } },
  ],
  'PATCH /users/me/profile_data': ({ profileFieldId, choiceFieldId }) => [
    { parameters: { data: [{ id: profileFieldId, value: 'argo' }] } },
    { parameters: { data: [{ id: choiceFieldId, value: 's' }] } },
  ],
  'DELETE /users/me/profile_data': ({ profileFieldId }) => [{ parameters: { data: [profileFieldId] } }],
  'GET /realm/profile_fields': () => [{}],
  'PATCH /realm/profile_fields': ({ profileFieldId, choiceFieldId }) => [
    { parameters: { order: [choiceFieldId, profileFieldId] } },
  ],
  'PATCH /realm/profile_fields/{id}': ({ profileFieldId, choiceFieldId }) => [
    {
      slots: { id: profileFieldId },
      parameters: {
        ...{ name: fresh(), hint: fresh(), required: true, editable_by_user: true },
        ...{ display_in_profile_summary: true, use_for_user_matching: true },
        field_data: { subtype: 'custom', url_pattern: 'https://other.example/%(username)s' },
      },
    },
    { slots: { id: choiceFieldId }, parameters: { field_data: { s: { text: 'Steam', order: '1' } } } },
  ],
  'POST /realm/profile_fields': () => [
    {
      parameters: {
        ...{ field_type: 7, name: fresh(), hint: 'Where you are', required: true, editable_by_user: false },
        ...{ display_in_profile_summary: false, use_for_user_matching: true },
        field_data: { subtype: 'custom', url_pattern: 'https://example.com/%(username)s' },
      },
    },
    { parameters: { field_type: 3, name: fresh(), field_data: { s: { text: 'Sail', order: '1' } } } },
  ],
  'DELETE /realm/profile_fields/{id}': ({ profileFieldId }) => [{ slots: { id: profileFieldId } }],
  'GET /users/me/{stream_id}/topics': ({ channelId }) => [
    { slots: { stream_id: channelId }, parameters: { allow_empty_topic_name: true } },
  ],
  'POST /user_topics': ({ channelId }) => [
    { parameters: { stream_id: channelId, topic: 'a topic', visibility_policy: 3 } },
  ],
  'PATCH /users/me/subscriptions/muted_topics': ({ channelId, channelName }) => [
    { parameters: { stream_id: channelId, topic: 'a topic', op: 'add' } },
    { parameters: { stream: channelName, topic: 'a topic', op: 'remove' } },
  ],
  'POST /streams/{stream_id}/delete_topic': ({ channelId }) => [
    { slots: { stream_id: channelId }, parameters: { topic_name: 'a topic' } },
  ],
  'GET /scheduled_messages': () => [{}],
  'POST /scheduled_messages': ({ channelId, userId }) => [
    { parameters: { ...LATER, type: 'channel', to: channelId, topic: 'a topic', content: 'later' } },
    { parameters: { ...LATER, type: 'direct', to: [userId], content: 'later', read_by_sender: true } },
  ],
  'PATCH /scheduled_messages/{scheduled_message_id}': ({ scheduledMessageId, channelId, userId }) => {
    const slots = { scheduled_message_id: scheduledMessageId };
    return [
      { slots, parameters: { type: 'direct', to: [userId], content: 'changed' } },
      { slots, parameters: { ...LATER, type: 'channel', to: channelId, topic: 'a topic' } },
    ];
  },
  'DELETE /scheduled_messages/{scheduled_message_id}': ({ scheduledMessageId }) => [
    { slots: { scheduled_message_id: scheduledMessageId } },
  ],
  'GET /reminders': () => [{}],
  'POST /reminders': ({ messageId }) => [{ parameters: { ...LATER, message_id: messageId, note: 'a note' } }],
  'DELETE /reminders/{reminder_id}': ({ reminderId }) => [{ slots: { reminder_id: reminderId } }],
  'GET /drafts': () => [{}],
  'POST /drafts': (names) => draftsOf(names).map((draft) => ({ parameters: { drafts: [draft] } })),
  'PATCH /drafts/{draft_id}': (names) =>
    draftsOf(names).map((draft) => ({ slots: { draft_id: names.draftId }, parameters: { draft } })),
  'DELETE /drafts/{draft_id}': ({ draftId }) => [{ slots: { draft_id: draftId } }],
  'POST /jwt/fetch_api_key': () => [{ parameters: { token: 'a.b.c', include_profile: true }, refusal: NO_WEB_TOKENS }],
  'POST /fetch_api_key': ({ username }) => [{ parameters: { username, password: OWNER_PASSWORD } }],
  'GET /saved_snippets': () => [{}],
  'POST /saved_snippets': () => [{ parameters: { title: fresh(), content: 'new' } }],
  'PATCH /saved_snippets/{saved_snippet_id}': ({ snippetId }) => [
    { slots: { saved_snippet_id: snippetId }, parameters: { title: fresh(), content: fresh() } },
  ],
  'DELETE /saved_snippets/{saved_snippet_id}': ({ snippetId }) => [{ slots: { saved_snippet_id: snippetId } }],
  'POST /messages': ({ channelId, channelName, userId, email, queueId }) => [
    { parameters: { type: 'channel', to: channelId, topic: 'a topic', content: 'by id', read_by_sender: true } },
    { parameters: { type: 'stream', to: channelName, topic: 'a topic', content: 'by name' } },
    { parameters: { type: 'direct', to: [userId], content: 'by id', queue_id: queueId, local_id: '1' } },
    { parameters: { type: 'private', to: [email], content: 'by address' } },
  ],
  'GET /messages': (names) => {
    const [range, shown] = [
      { anchor: 'newest', num_before: 9 },
      { apply_markdown: false, client_gravatar: false },
    ];
    return [
      { parameters: { anchor: 1, num_before: 1, num_after: 1, include_anchor: true, ...shown } },
      { parameters: { anchor: 'date', anchor_date: '2026-01-01', num_after: 9, allow_empty_topic_name: true } },
      { parameters: { use_first_unread_anchor: true } },
      { parameters: { message_ids: [names.messageId] } },
      { parameters: { message_ids: [names.directMessageId] } },
      ...narrowsOf(names).map((narrow) => ({ parameters: { ...range, narrow } })),
    ];
  },
  'GET /messages/{message_id}': ({ messageId }) => [
    { slots: { message_id: messageId }, parameters: { apply_markdown: false, allow_empty_topic_name: true } },
  ],
  'GET /messages/matches_narrow': (names) => [
    { parameters: { msg_ids: [names.messageId], narrow: [] } },
    ...narrowsOf(names).map((narrow) => ({ parameters: { msg_ids: [names.messageId], narrow } })),
  ],
  'POST /messages/render': () => [{ parameters: { content: '**bold**' } }],
  'POST /messages/flags': ({ messageId }) => [
    { parameters: { messages: [messageId], op: 'add', flag: 'starred' } },
    { parameters: { messages: [messageId], op: 'remove', flag: 'read' } },
  ],
  'POST /messages/flags/narrow': ({ channelId, userId }) => [
    {
      parameters: {
        ...{ anchor: 'oldest', include_anchor: true, num_before: 0, num_after: 10, op: 'add', flag: 'read' },
        narrow: [{ operator: 'channel', operand: channelId }],
      },
    },
    {
      parameters: {
        ...{ anchor: '0', num_before: 0, num_after: 1, op: 'remove', flag: 'collapsed' },
        narrow: [{ operator: 'dm', operand: [userId] }],
      },
    },
  ],
  'POST /mark_topic_as_read': ({ channelId }) => [{ parameters: { stream_id: channelId, topic_name: 'greetings' } }],
  'POST /mark_stream_as_read': ({ channelId }) => [{ parameters: { stream_id: channelId } }],
  'POST /mark_all_as_read': () => [{}],
  'GET /messages/{message_id}/read_receipts': ({ messageId }) => [{ slots: { message_id: messageId } }],
  'POST /messages/{message_id}/reactions': ({ messageId, emojiName, emojiId }) => [
    {
      slots: { message_id: messageId },
      parameters: { emoji_name: emojiName, emoji_code: String(emojiId), reaction_type: 'realm_emoji' },
    },
    { slots: { message_id: messageId }, parameters: { emoji_name: 'octopus' } },
    {
      slots: { message_id: messageId },
      parameters: { emoji_name: 'tada', emoji_code: '1f389', reaction_type: 'unicode_emoji' },
    },
  ],
  'DELETE /messages/{message_id}/reactions': ({ messageId, emojiName }) => [
    { slots: { message_id: messageId }, parameters: { emoji_name: emojiName } },
    { slots: { message_id: messageId }, parameters: { emoji_name: 'octopus' } },
    { slots: { message_id: messageId }, parameters: { emoji_code: '1f389', reaction_type: 'unicode_emoji' } },
  ],
  'POST /typing': ({ userId, channelId }) => [
    { parameters: { op: 'start', type: 'direct', to: [userId] } },
    { parameters: { op: 'stop', type: 'channel', stream_id: channelId, topic: 'greetings' } },
  ],
  'POST /messages/{message_id}/typing': ({ messageId }) => [
    { slots: { message_id: messageId }, parameters: { op: 'start' } },
  ],
  'POST /messages/{message_id}/report': ({ messageId }) => [
    { slots: { message_id: messageId }, parameters: { report_type: 'other', description: 'for the test' } },
  ],
  'POST /users/me/avatar': () => [{ parameters: { file: PNG } }],
  'DELETE /users/me/avatar': () => [{}],
  'GET /user_groups': () => [{ parameters: { include_deactivated_groups: true } }],
  'POST /user_groups/create': (names) => [
    {
      parameters: {
        ...{ name: fresh(), description: 'new', members: [names.userId], subgroups: [names.groupId] },
        ...Object.fromEntries(groupPermissions(names)),
      },
    },
  ],
  'PATCH /user_groups/{user_group_id}': (names) => [
    {
      slots: { user_group_id: names.customGroupId },
      parameters: {
        ...{ name: fresh(), description: fresh(), deactivated: false },
        ...Object.fromEntries(groupPermissions(names).map(([name, value]) => [name, { new: value }])),
      },
    },
  ],
  'POST /user_groups/{user_group_id}/members': ({ customGroupId, userId, groupId }) => [
    { slots: { user_group_id: customGroupId }, parameters: { add: [userId], add_subgroups: [groupId] } },
    { slots: { user_group_id: customGroupId }, parameters: { delete: [userId], delete_subgroups: [groupId] } },
  ],
  'GET /user_groups/{user_group_id}/members': ({ customGroupId }) => [
    { slots: { user_group_id: customGroupId }, parameters: { direct_member_only: true } },
  ],
  'GET /user_groups/{user_group_id}/members/{user_id}': ({ customGroupId, userId }) => [
    { slots: { user_group_id: customGroupId, user_id: userId }, parameters: { direct_member_only: true } },
  ],
  'POST /user_groups/{user_group_id}/subgroups': ({ customGroupId, membersGroupId }) => [
    { slots: { user_group_id: customGroupId }, parameters: { add: [membersGroupId] } },
    { slots: { user_group_id: customGroupId }, parameters: { delete: [membersGroupId] } },
  ],
  'GET /user_groups/{user_group_id}/subgroups': ({ customGroupId }) => [
    { slots: { user_group_id: customGroupId }, parameters: { direct_subgroup_only: true } },
  ],
  'POST /user_groups/{user_group_id}/deactivate': ({ idleGroupId }) => [{ slots: { user_group_id: idleGroupId } }],
  'POST /users/me/status': ({ emojiName }) => [
    { parameters: { emoji_name: emojiName } },
    { parameters: { status_text: fresh(), away: true } },
    { parameters: { emoji_name: 'tada', emoji_code: '1f389', reaction_type: 'unicode_emoji' } },
  ],
  'POST /users/{user_id}/status': ({ userId }) => [
    {
      slots: { user_id: userId },
      parameters: { status_text: fresh(), emoji_name: 'tada', emoji_code: '1f389', reaction_type: 'unicode_emoji' },
    },
    { slots: { user_id: userId }, parameters: { away: true } },
  ],
  'GET /users/{user_id}/status': ({ userId }) => [{ slots: { user_id: userId } }],
  'POST /users/me/presence': () => [
    { parameters: { status: 'active', new_user_input: true, last_update_id: -1, history_limit_days: 1 } },
    { parameters: { status: 'idle', ping_only: true, slim_presence: true } },
  ],
  'GET /users/{user_id}/presence': ({ userId }) => [{ slots: { user_id: userId } }],
  'GET /users/{email}/presence': ({ email }) => [{ slots: { email } }],
  'GET /realm/presence': () => [{}],
  'GET /realm/emoji': () => [{}],
  'POST /realm/emoji/{emoji_name}': () => [{ slots: { emoji_name: fresh() }, parameters: { file: PNG } }],
  'DELETE /realm/emoji/{emoji_name}': ({ emojiName }) => [{ slots: { emoji_name: emojiName } }],
  'GET /realm/domains': () => [{}],
  'POST /realm/domains': () => [
    { parameters: { domain: `${fresh().replaceAll(' ', '-')}.example`, allow_subdomains: true } },
  ],
  'PATCH /realm/domains/{domain}': ({ domain }) => [{ slots: { domain }, parameters: { allow_subdomains: true } }],
  'DELETE /realm/domains/{domain}': ({ domain }) => [{ slots: { domain } }],
  'GET /navigation_views': () => [{}],
  'POST /navigation_views': () => [
    { parameters: { fragment: 'narrow/is/starred', is_pinned: true } },
    { parameters: { fragment: fresh(), is_pinned: false, name: fresh() } },
  ],
  'PATCH /navigation_views/{fragment}': ({ fragment }) => [
    { slots: { fragment }, parameters: { is_pinned: false, name: fresh() } },
  ],
  'DELETE /navigation_views/{fragment}': ({ fragment }) => [{ slots: { fragment } }],
  'GET /messages/{message_id}/history': ({ messageId }) => [
    { slots: { message_id: messageId }, parameters: { allow_empty_topic_name: true } },
  ],
  'PATCH /messages/{message_id}': ({ messageId, channelId }) => [
    {
      slots: { message_id: messageId },
      // Of "hello", which the message says.
      parameters: {
        content: 'hello again',
        prev_content_sha256: '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
      },
    },
    {
      slots: { message_id: messageId },
      parameters: {
        ...{ topic: fresh(), stream_id: channelId, propagate_mode: 'change_all' },
        ...{ send_notification_to_old_thread: true, send_notification_to_new_thread: false },
      },
    },
  ],
  'DELETE /messages/{message_id}': ({ messageId }) => [{ slots: { message_id: messageId } }],
  'GET /users/me/alert_words': () => [{}],
  'POST /users/me/alert_words': () => [{ parameters: { alert_words: [fresh()] } }],
  'DELETE /users/me/alert_words': () => [{ parameters: { alert_words: ['new'] } }],
  'PATCH /settings': ({ userId, membersGroupId }) => [
    { parameters: { ...initial(USER_SETTINGS), full_name: fresh(), timezone: 'Europe/Kiev' } },
    { parameters: { email: freshAddress() } },
    { parameters: { old_password: OWNER_PASSWORD, new_password: OWNER_PASSWORD } },
    {
      parameters: {
        enter_sends: true,
        target_users: { user_ids: [userId], group_ids: [membersGroupId], skip_if_already_edited: true },
      },
    },
  ],
  'PATCH /realm/user_settings_defaults': () => [{ parameters: initial(EDITABLE_USER_DEFAULTS) }],
  'PATCH /realm': (names) => [
    {
      parameters: {
        ...initial(EDITABLE_REALM_SETTINGS),
        ...{ name: fresh(), description: fresh(), message_retention_days: 30 },
      },
    },
    { parameters: { moderation_request_channel_id: names.moderationChannelId } },
    { parameters: { new_stream_announcements_stream_id: names.channelId } },
    { parameters: { signup_announcements_stream_id: names.channelId } },
    { parameters: { service_update_announcements_stream_id: names.channelId } },
    ...realmPermissions(names).flatMap(([name, value]) => [
      { parameters: { [name]: { new: value } } },
      { parameters: { [name]: { new: value, old: value } } },
    ]),
  ],
  'GET /bots': () => [{}],
  'POST /bots': ({ channelName }) => {
    const name = fresh();
    const defaults = { default_sending_stream: channelName, default_events_register_stream: channelName };
    return [
      {
        parameters: {
          ...{ full_name: name, short_name: name.replace(' ', ''), bot_type: 1, ...defaults },
          ...{ default_all_public_streams: true, file: PNG },
        },
      },
    ];
  },
  'PATCH /bots/{bot_id}': ({ botId, userId, channelName }) => {
    const defaults = { default_sending_stream: channelName, default_events_register_stream: channelName };
    return [
      {
        slots: { bot_id: botId },
        parameters: { full_name: fresh(), role: 300, default_all_public_streams: true, ...defaults, file: PNG },
      },
      { slots: { bot_id: botId }, parameters: { bot_owner_id: userId } },
    ];
  },
  'GET /bots/{bot_id}/api_key': ({ botId }) => [{ slots: { bot_id: botId } }],
  'POST /bots/{bot_id}/api_key/regenerate': ({ botId }) => [{ slots: { bot_id: botId } }],
  'DELETE /bots/{bot_id}': ({ botId }) => [{ slots: { bot_id: botId } }],
  'DELETE /users/{user_id}': ({ leaverId }) => [
    {
      slots: { user_id: leaverId },
      parameters: {
        actions: { delete_profile: true, delete_direct_messages: true },
        deactivation_notification_comment: 'Farewell',
      },
    },
  ],
  'POST /users/{user_id}/reactivate': ({ leaverId }) => [{ slots: { user_id: leaverId } }],
  'POST /users/me/api_key/regenerate': () => [{ as: 'moderator' }],
  'DELETE /users/me': () => [{ as: 'guest' }],
  'POST /calls/videoprovider/create': () => [{ refusal: NO_VIDEO_PROVIDER }],
  'GET /calls/videoprovider/register': () => [{ refusal: NO_VIDEO_PROVIDER }],
  'GET /calls/videoprovider/complete': () => [
    { parameters: { code: 'x', state: 'x' }, refusal: NO_VIDEO_PROVIDER },
    { parameters: { error: 'x', state: 'x' }, refusal: NO_VIDEO_PROVIDER },
  ],
  'GET /server_settings': () => [{}],
  'DELETE /streams/{stream_id}': ({ channelId }) => [{ slots: { stream_id: channelId } }],
};

/** The path with its slots filled. */
export function pathOf(path: string, { slots = {} }: RestCall): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(slots[name])));
}
