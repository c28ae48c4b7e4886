import { CHANNEL_PERMISSION_NAMES } from '../../src/channels/permissions.ts';
import type { Parameters } from './person.ts';
import { type Names, OWNER_PASSWORD } from './scene.ts';

/** One call of an endpoint: what stands in the slots of its path, and its parameters. */
export interface RestCall {
  readonly slots?: Readonly<Record<string, string | number>>;
  readonly parameters?: Parameters;
}

let made = 0;
/** A name nothing has yet. */
const fresh = () => `new ${++made}`;

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
  'PATCH /users/{user_id}': ({ userId }) => [
    { slots: { user_id: userId }, parameters: { full_name: fresh(), role: 300 } },
  ],
  'PATCH /users/{email}': ({ email }) => [{ slots: { email }, parameters: { full_name: fresh(), role: 300 } }],
  'GET /drafts': () => [{}],
  'POST /drafts': (names) => draftsOf(names).map((draft) => ({ parameters: { drafts: [draft] } })),
  'PATCH /drafts/{draft_id}': (names) =>
    draftsOf(names).map((draft) => ({ slots: { draft_id: names.draftId }, parameters: { draft } })),
  'DELETE /drafts/{draft_id}': ({ draftId }) => [{ slots: { draft_id: draftId } }],
  'POST /fetch_api_key': ({ username }) => [{ parameters: { username, password: OWNER_PASSWORD } }],
  'GET /saved_snippets': () => [{}],
  'POST /saved_snippets': () => [{ parameters: { title: fresh(), content: 'new' } }],
  'PATCH /saved_snippets/{saved_snippet_id}': ({ snippetId }) => [
    { slots: { saved_snippet_id: snippetId }, parameters: { title: fresh(), content: fresh() } },
  ],
  'DELETE /saved_snippets/{saved_snippet_id}': ({ snippetId }) => [{ slots: { saved_snippet_id: snippetId } }],
  'GET /server_settings': () => [{}],
  'DELETE /streams/{stream_id}': ({ channelId }) => [{ slots: { stream_id: channelId } }],
};

/** The path with its slots filled. */
export function pathOf(path: string, { slots = {} }: RestCall): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(slots[name])));
}
