import type { DemoCalls, Lead } from './call.ts';

const MAIL = 'MAIL="ada$RANDOM@example.com"';
const ADA = { email: '$MAIL', password: 'correct horse battery staple', full_name: 'Ada Lovelace' };
const user: Lead = { call: 'POST /users', fields: ADA, set: 'USER', take: 'user_id' };
const ofUser = { first: [MAIL, user], slots: { user_id: '$USER' } };
/** Gets the API key of the new user `$MAIL`. The example calls can then change or deactivate this user. */
const key: Lead = {
  call: 'POST /fetch_api_key',
  login: null,
  fields: { username: '$MAIL', password: ADA.password },
  set: 'THEIRS',
  take: 'api_key',
};
const session: Lead = { ...key, call: 'POST /sessions', set: 'SESSION', take: 'session_id' };
const asUser = { first: [MAIL, user, key], login: '$MAIL:$THEIRS' };
const bela = { slots: { user_id: '4' } };
const iris = { first: [{ call: 'POST /users/me/presence', fields: { status: 'active' } }] as const };

/** Shell command that writes a file with the smallest possible picture. */
const PICTURE =
  'echo iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg== | base64 ' +
  '-d > picture.png';
const FILE = { file: '@picture.png' };

const GROUP = { name: 'sailors $RANDOM', description: 'Who sails', members: '[4, 5]' };
const group: Lead = { call: 'POST /user_groups/create', fields: GROUP, set: 'CREW', take: 'group_id' };
const ofGroup = { first: [group], slots: { user_group_id: '$CREW' } };

const BOT = { full_name: 'Weather $RANDOM', short_name: 'weather$RANDOM' };
const bot: Lead = { call: 'POST /bots', fields: BOT, set: 'BOT', take: 'user_id' };
const ofBot = { first: [bot], slots: { bot_id: '$BOT' } };

const PEOPLE = { invitee_emails: 'zoe$RANDOM@example.com, max$RANDOM@example.com', stream_ids: '[1]' };
const newest: Lead = { call: 'GET /invites', set: 'INVITE', take: 'id' };
const ofInvitation = {
  first: [{ call: 'POST /invites', fields: PEOPLE }, newest],
  slots: { invite_id: '$INVITE' },
} as const;
const ofLink = { ...ofInvitation, first: [{ call: 'POST /invites/multiuse' }, newest] } as const;

const FIELD = { field_type: '1', name: 'Ship $RANDOM' };
const field: Lead = { call: 'POST /realm/profile_fields', fields: FIELD, set: 'FIELD', take: 'id' };
const ofField = { first: [field], slots: { id: '$FIELD' } };

const VIEW = { fragment: '$VIEW', is_pinned: 'true', name: 'Boats $RANDOM' };
const ofView = {
  first: ['VIEW="narrow/topic/1/boats-$RANDOM"', { call: 'POST /navigation_views', fields: VIEW }] as const,
  slots: { fragment: '$VIEW' },
};

const app: Lead = { call: 'POST /register_client_device', set: 'DEVICE', take: 'device_id' };
const ofApp = { first: [app], fields: { device_id: '$DEVICE' } };
const NO_PUSH_SERVICE = { code: 'PUSH_SERVICE_NOT_CONFIGURED', needs: '`FCM_SERVICE_ACCOUNT` or `APNS_…`' };
const APNS_TOKEN = { token: '740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad' };
const FCM_TOKEN = { token: 'cWk3ZTJhNmY:APA91bH5yQ' };

/** Example calls for users, settings, user groups, bots, and invitations. */
export const PEOPLE_CALLS: DemoCalls = {
  'GET /users/{user_id}': bela,
  'POST /users': { fields: { ...ADA, email: 'ada$RANDOM@example.com' } },
  'PATCH /users/{user_id}': { ...ofUser, fields: { role: '300' } },
  'PATCH /users/{email}': { first: [MAIL, user], slots: { email: '$MAIL' }, fields: { full_name: 'Ada King' } },
  'DELETE /users/{user_id}': ofUser,
  'DELETE /users/me': asUser,
  'POST /users/{user_id}/reactivate': {
    ...ofUser,
    first: [MAIL, user, { call: 'DELETE /users/{user_id}', slots: ofUser.slots }],
  },
  'PATCH /settings': { fields: { timezone: 'Europe/Oslo', twenty_four_hour_time: 'true' } },
  'POST /users/me/avatar': { first: [PICTURE], fields: FILE },
  'POST /navigation_views': { first: ['VIEW="narrow/topic/1/boats-$RANDOM"'], fields: VIEW },
  'PATCH /navigation_views/{fragment}': { ...ofView, fields: { name: 'Ships $RANDOM' } },
  'DELETE /navigation_views/{fragment}': ofView,
  'PATCH /users/me/profile_data': { fields: { data: '[{"id": 2, "value": "At **sea**."}]' } },
  'DELETE /users/me/profile_data': { fields: { data: '[2]' } },
  'POST /realm/profile_fields': { fields: FIELD },
  'PATCH /realm/profile_fields': {
    first: [{ call: 'GET /realm/profile_fields', set: 'FIELDS', take: 'id', all: true }],
    fields: { order: '[$FIELDS]' },
  },
  'PATCH /realm/profile_fields/{id}': { ...ofField, fields: { hint: 'The one you came with' } },
  'DELETE /realm/profile_fields/{id}': ofField,
  'POST /invites': { fields: PEOPLE },
  'POST /invites/multiuse': { fields: { stream_ids: '[1]', invite_expires_in_minutes: '4320' } },
  'POST /invites/{invite_id}/resend': ofInvitation,
  'DELETE /invites/{invite_id}': ofInvitation,
  'DELETE /invites/multiuse/{invite_id}': ofLink,
  'POST /users/{user_id}/status': { ...bela, fields: { status_text: 'On the water', emoji_name: 'boat' } },
  'POST /users/me/status': { fields: { status_text: 'On the water', emoji_name: 'boat' } },
  'GET /users/{user_id}/status': bela,
  'POST /users/me/presence': { fields: { status: 'active', last_update_id: '-1' } },
  'GET /users/{user_id}/presence': { ...iris, slots: { user_id: '1' } },
  'GET /users/{email}/presence': { ...iris, slots: { email: 'iris@example.com' } },
  'POST /user_groups/create': { fields: GROUP },
  'PATCH /user_groups/{user_group_id}': { ...ofGroup, fields: { description: 'Who sails, and who rows' } },
  'POST /user_groups/{user_group_id}/deactivate': ofGroup,
  'POST /user_groups/{user_group_id}/members': { ...ofGroup, fields: { add: '[6]', delete: '[5]' } },
  'GET /user_groups/{user_group_id}/members': ofGroup,
  'GET /user_groups/{user_group_id}/members/{user_id}': { ...ofGroup, slots: { ...ofGroup.slots, user_id: '4' } },
  'POST /user_groups/{user_group_id}/subgroups': {
    ...ofGroup,
    first: [group, { ...group, fields: { ...GROUP, name: 'rowers $RANDOM' }, set: 'ROWERS' }],
    fields: { add: '[$ROWERS]' },
  },
  'GET /user_groups/{user_group_id}/subgroups': ofGroup,
  'POST /bots': { fields: BOT },
  'PATCH /bots/{bot_id}': { ...ofBot, fields: { full_name: 'Wind and weather $RANDOM' } },
  'DELETE /bots/{bot_id}': ofBot,
  'GET /bots/{bot_id}/api_key': ofBot,
  'POST /bots/{bot_id}/api_key/regenerate': ofBot,
  'POST /fetch_api_key': {
    first: [MAIL, user],
    login: null,
    fields: { username: '$MAIL', password: ADA.password },
  },
  'POST /jwt/fetch_api_key': {
    login: null,
    fields: { token: 'eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl' },
    refused: { code: 'BAD_REQUEST', needs: 'JWT_AUTH_KEYS' },
  },
  'POST /users/me/api_key/regenerate': asUser,
  'POST /sessions': {
    first: [MAIL, user],
    login: null,
    fields: { username: '$MAIL', password: ADA.password },
  },
  'POST /sessions/second_factor': {
    login: null,
    fields: { challenge: 'c2VhbGVk', code: '123456' },
    refused: { code: 'BAD_REQUEST', needs: 'the `challenge` of `POST /sessions`' },
  },
  'DELETE /sessions/current': {
    refused: { code: 'BAD_REQUEST', needs: 'the cookie of `POST /sessions` instead of an API key' },
  },
  'DELETE /sessions/{session_id}': {
    first: [MAIL, user, key, session],
    login: '$MAIL:$THEIRS',
    slots: { session_id: '$SESSION' },
  },
  'POST /remove_client_device': ofApp,
  'POST /mobile_push/register': { refused: NO_PUSH_SERVICE },
  'POST /mobile_push/test_notification': { refused: NO_PUSH_SERVICE },
  'POST /mobile_push/e2ee/test_notification': { refused: NO_PUSH_SERVICE },
  'DELETE /users/me/apns_device_token': {
    first: [{ call: 'POST /users/me/apns_device_token', fields: APNS_TOKEN }],
    fields: APNS_TOKEN,
  },
  'POST /users/me/android_gcm_reg_id': { fields: FCM_TOKEN },
  'DELETE /users/me/android_gcm_reg_id': {
    first: [{ call: 'POST /users/me/android_gcm_reg_id', fields: FCM_TOKEN }],
    fields: FCM_TOKEN,
  },
};
export { FILE, PICTURE };
