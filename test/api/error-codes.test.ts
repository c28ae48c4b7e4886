import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSession } from '../../src/access/sessions.ts';
import { sessionCookie } from '../../src/api/sessions.ts';
import { ERROR_CODES, type ErrorCode } from '../../src/platform/errors.ts';
import { globalId } from '../helpers/global-ids.ts';
import { type Json, send } from '../helpers/http.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import { type Integrated, startIntegrated } from '../helpers/integrations.ts';
import { multipart, multipartOperation, PREFLIGHT } from '../helpers/multipart.ts';
import { basic, type Parameters, type Person, type RestReply, Visitor } from '../helpers/person.ts';
import { createOrganization, type Organization, OWNER_PASSWORD } from '../helpers/server.ts';
import { failure, integer } from '../helpers/shapes.ts';
import { channelOf, say, topicRef, toTopic } from '../helpers/talk.ts';

// Checks each error code: its HTTP status and fields over REST, and that GraphQL returns the code too.

const NOBODY = 2_000_000_000;
const LATER = { scheduled_delivery_timestamp: 4_102_444_800 };
const NO_QUEUE = 'f3a2c1d0-0000-4000-8000-000000000000';

/** An organization with a channel of the owner and the member, and a message of the owner in it. */
interface World extends Organization {
  readonly general: number;
  readonly message: number;
  /** A channel with many users who all take part in its topic "large". */
  readonly crowded: number;
  /** The group of all members. */
  readonly membersGroup: number;
}

/** A case in which the service returns an error code: a request to each API. */
interface Case {
  readonly status: number;
  /** Fields of the REST error in addition to those of every error. */
  readonly fields?: object;
  readonly rest: (world: World) => Promise<RestReply>;
  /** Returns the error code over GraphQL. Undefined if no GraphQL request can cause this error. */
  readonly graphql: ((world: World) => Promise<unknown>) | undefined;
}

/** Runs a mutation. @returns The error code of its result or of the response. */
async function mutate(by: Visitor, name: string, input?: Parameters): Promise<unknown> {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}`;
  const [variables, args] = input === undefined ? ['', ''] : [`($input: ${type}Input!)`, '(input: $input)'];
  const query = `mutation ${variables} { ${name}${args} { ... on ServiceError { code } } }`;
  const { data, errors } = await by.graphql(query, { input });
  return errors?.[0].extensions.code ?? data[name].code;
}

const asked = async (by: Visitor, query: string): Promise<unknown> =>
  (await by.graphql(query)).errors?.[0].extensions.code;

/** Uploads an avatar over GraphQL. @returns The error code. */
async function uploading(by: Visitor, image: Uint8Array): Promise<unknown> {
  const query = `mutation ($input: SetAvatarInput!) { setAvatar(input: $input) { ... on ServiceError { code } } }`;
  const { type, content } = multipartOperation({ query, variables: { input: { image } } });
  const headers = { ...by.headers, 'content-type': type, ...PREFLIGHT };
  const { text } = await send(by.url, { method: 'POST', path: '/graphql', headers, body: content });
  return JSON.parse(text).data.setAvatar.code;
}

const CROSS_SITE = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors', origin: 'https://evil.example' };

const me = (by: Visitor) => by.rest('GET', '/users/me');
const viewer = (by: Visitor) => asked(by, '{ viewer { fullName } }');
const elsewhere = ({ member }: World) =>
  new Visitor({ url: member.url, host: 'nowhere.localhost', authorization: member.authorization });

/** Creates a user and deactivates the account. @returns The user with their API key. */
async function leaver({ signUp, owner }: World): Promise<Person> {
  const person = await signUp(`leaver ${Math.random()}`);
  await owner.ok('DELETE', `/users/${person.id}`);
  return person;
}

/** Returns the owner with the credentials of a session that started in 2020. */
async function inOldSession({ owner }: World): Promise<Visitor> {
  const { app } = integrated.service;
  const user = await app.db.user.findFirstOrThrow({ where: { id: owner.id } });
  const given = await openSession(
    { app, work: app.work },
    user,
    { userAgent: undefined, networkAddress: '' },
    { method: 'password', change: async () => {} },
  );
  await app.db.session.updateMany({ where: { id: given.session.id }, data: { createdAt: new Date('2020-01-01') } });
  const [cookie = ''] = sessionCookie(app, () => undefined, given).split(';');
  return new Browser(owner, cookie);
}

/** A client that authenticates with a session cookie instead of an API key. */
class Browser extends Visitor {
  readonly #cookie: string;

  constructor({ url, host }: Visitor, cookie: string) {
    super({ url, host });
    this.#cookie = cookie;
  }

  override get headers(): Record<string, string> {
    return { ...super.headers, cookie: this.#cookie };
  }
}

/** Creates an organization whose files can use 1 MiB of disk space. @returns A user of that organization. */
async function small(): Promise<Person> {
  const { member, organization } = await createOrganization({}, { on: integrated.service });
  const data = { settings: { upload_quota_mib: 1 } };
  await integrated.service.app.db.organization.update({ where: { id: organization.id }, data });
  return member;
}

/** A file that is larger than the disk space of `small`. */
const LARGE = Buffer.alloc(1_100_000);

/** Creates an organization and deactivates it. @returns A user of that organization. */
async function closed(): Promise<Person> {
  const { member, organization } = await createOrganization({}, { on: integrated.service });
  const data = { deactivatedAt: new Date() };
  await integrated.service.app.db.organization.update({ where: { id: organization.id }, data });
  return member;
}

/** Returns the login of an owner who must have a second factor. */
async function guarded() {
  const { owner, anonymous } = await createOrganization({}, { on: integrated.service, password: OWNER_PASSWORD });
  await owner.ok('PATCH', '/realm', { second_factor_required_role: 100 });
  return { anonymous, login: { username: owner.email, password: OWNER_PASSWORD } };
}

/**
 * Creates a topic of three messages, of which only the last two can still be moved. The first one gets a send time in 2020.
 *
 * @returns Id of the last message.
 */
async function halfMovable({ owner, member, general }: World): Promise<number> {
  const topic = `long ${Math.random()}`;
  const old = await say(owner, general, topic);
  const { app } = integrated.service;
  await app.db.message.updateMany({ where: { id: old }, data: { sentAt: new Date('2020-01-01') } });
  await say(member, general, topic);
  return say(member, general, topic);
}

/** Creates a group that is a subgroup of another group. @returns Its id. */
async function heldGroup({ owner }: World): Promise<number> {
  const create = async (name: string, more: object = {}) =>
    (await owner.ok('POST', '/user_groups/create', { name, description: '', members: [], ...more })).group_id;
  const held = await create(`held ${Math.random()}`);
  await create(`holder ${Math.random()}`, { subgroups: [held] });
  return held;
}

/**
 * SQLSTATE codes with which the database refuses a change: lock timeout (`BUSY`), disk full (`FULL`), and internal error
 * (`FAULT`).
 */
const [BUSY, FULL, FAULT] = ['55P03', '53100', 'XX000'];
const SECRET = 'a secret of the inside';

/** Runs `work` while the database refuses all changes. @param code SQLSTATE of the errors. */
async function refusing<T>(code: string, work: () => Promise<T>): Promise<T> {
  const { database } = integrated.service.app;
  // Every change updates the event counter.
  await database.runScript(`
    CREATE FUNCTION trip() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION '${SECRET}' USING ERRCODE = '${code}'; END $$;
    CREATE TRIGGER trip BEFORE UPDATE ON event_counter FOR EACH ROW EXECUTE FUNCTION trip()`);
  try {
    return await work();
  } finally {
    await database.runScript('DROP FUNCTION trip CASCADE');
  }
}

const NO_IMAGE = Buffer.from('no image');
/**
 * Makes five failed sign-in attempts for an account, and a sixth one that the service refuses without checking the password.
 */
async function guess<T>(account: string, attempt: (login: { username: string; password: string }) => Promise<T>) {
  const login = { username: account, password: 'a wrong guess' };
  for (let i = 0; i < 5; i++) await attempt(login);
  return attempt(login);
}

const CASES: Readonly<Record<string, readonly [ErrorCode, Case]>> = {
  'a value that is not taken': [
    'BAD_REQUEST',
    {
      status: 400,
      rest: ({ member }) => member.rest('POST', '/users/me/status', { emoji_name: 'no_such_emoji' }),
      graphql: ({ member }) => mutate(member, 'setStatus', { emoji: { name: 'no_such_emoji' } }),
    },
  ],
  'an object that is not there': [
    'BAD_REQUEST',
    {
      status: 404,
      rest: ({ member }) => member.rest('DELETE', `/drafts/${NOBODY}`),
      graphql: ({ member }) => mutate(member, 'deleteDraft', { draftId: NOBODY }),
    },
  ],
  'an address of nothing': [
    'BAD_REQUEST',
    { status: 404, rest: ({ member }) => member.rest('GET', '/users/me/nothing'), graphql: undefined },
  ],
  'a method that an address does not take': [
    'BAD_REQUEST',
    {
      status: 405,
      fields: { allowed_methods: ['GET', 'HEAD'] },
      rest: ({ member }) => member.rest('DELETE', '/server_settings'),
      graphql: undefined,
    },
  ],
  'a parameter that is missing': [
    'REQUEST_VARIABLE_MISSING',
    {
      status: 400,
      fields: { var_name: 'to' },
      rest: ({ member }) => member.rest('POST', '/typing', { op: 'start', type: 'direct' }),
      // A GraphQL document without this field is invalid.
      graphql: undefined,
    },
  ],
  'a parameter under both of its names': [
    'REQUEST_CONFUSING_VAR',
    {
      status: 400,
      fields: { var_name1: expect.any(String), var_name2: expect.any(String) },
      rest: ({ owner }) => owner.rest('GET', '/streams', { include_all: true, include_all_active: true }),
      // In GraphQL, each field has only one name.
      graphql: undefined,
    },
  ],
  'a channel that is not there, by id': [
    'STREAM_DOES_NOT_EXIST',
    {
      status: 400,
      fields: { stream_id: NOBODY },
      rest: ({ member }) =>
        member.rest('POST', '/scheduled_messages', { type: 'channel', to: NOBODY, topic: 't', content: 'c', ...LATER }),
      graphql: ({ member }) =>
        mutate(member, 'scheduleMessage', {
          ...{ to: toTopic(NOBODY, 't'), content: 'c', scheduledAt: '2100-01-01T00:00:00Z' },
        }),
    },
  ],
  'a channel that is not there, by name': [
    'STREAM_DOES_NOT_EXIST',
    {
      status: 400,
      fields: { stream: 'nowhere' },
      rest: ({ member }) =>
        member.rest('POST', '/messages', { type: 'channel', to: 'nowhere', topic: 't', content: 'c' }),
      graphql: ({ member }) => mutate(member, 'sendMessage', { to: toTopic('nowhere', 't'), content: 'c' }),
    },
  ],
  "a channel's name that is taken": [
    'CHANNEL_ALREADY_EXISTS',
    {
      status: 409,
      fields: { channel_name: 'GENERAL' },
      rest: ({ member }) => member.rest('POST', '/channels/create', { name: 'GENERAL', subscribers: [] }),
      graphql: ({ member }) => mutate(member, 'createChannel', { name: 'GENERAL' }),
    },
  ],
  'an act of administrators': [
    'UNAUTHORIZED_PRINCIPAL',
    {
      status: 400,
      rest: ({ member }) => member.rest('POST', '/channel_folders/create', { name: 'n', description: '' }),
      graphql: ({ member }) => mutate(member, 'createChannelFolder', { name: 'n', description: '' }),
    },
  ],
  'no credentials': [
    'UNAUTHORIZED',
    { status: 401, rest: ({ anonymous }) => me(anonymous), graphql: ({ anonymous }) => viewer(anonymous) },
  ],
  'a wrong key': [
    'INVALID_API_KEY',
    {
      status: 401,
      rest: ({ member }) => me(member.as(basic(member.email, 'x'.repeat(32)))),
      graphql: ({ member }) => viewer(member.as(basic(member.email, 'x'.repeat(32)))),
    },
  ],
  'a request that a page of another site has a browser send': [
    'CSRF_FAILED',
    {
      status: 403,
      fields: { reason: 'cross-site' },
      rest: ({ member }) => member.rest('POST', '/users/me/status', {}, { headers: CROSS_SITE }),
      graphql: async ({ member }) => {
        const headers = { ...member.headers, ...CROSS_SITE, 'content-type': 'application/json' };
        const { text } = await send(member.url, { method: 'POST', path: '/graphql', headers, body: '{}' });
        return JSON.parse(text).errors[0].extensions.code;
      },
    },
  ],
  'an invitation of a user': [
    'INVITATION_FAILED',
    {
      status: 400,
      fields: {
        errors: [[expect.any(String), 'Already has an account.', false]],
        ...{ sent_invitations: false, license_limit_reached: false, daily_limit_reached: false },
      },
      rest: ({ owner, member }) => owner.rest('POST', '/invites', { invitee_emails: member.email, stream_ids: [] }),
      graphql: ({ owner, member }) => mutate(owner, 'inviteUsers', { emails: [member.email] }),
    },
  ],
  'a wrong password': [
    'AUTHENTICATION_FAILED',
    {
      status: 401,
      rest: ({ anonymous }) =>
        anonymous.rest('POST', '/fetch_api_key', { username: 'nobody@a.example', password: 'x' }),
      graphql: ({ anonymous }) => mutate(anonymous, 'fetchApiKey', { username: 'nobody@a.example', password: 'x' }),
    },
  ],
  'a session of long ago that asks for a key': [
    'PASSWORD_REQUIRED',
    {
      status: 403,
      rest: async (world) => (await inOldSession(world)).rest('POST', '/users/me/api_key/regenerate'),
      graphql: async (world) => mutate(await inOldSession(world), 'regenerateApiKey', {}),
    },
  ],
  'a password alone of a person who must have a second factor, for a key': [
    'PASSWORD_AUTH_DISABLED',
    {
      status: 401,
      fields: { login_url: '/sign-in/app' },
      rest: async () => {
        const { anonymous, login } = await guarded();
        return anonymous.rest('POST', '/fetch_api_key', login);
      },
      graphql: async () => {
        const { anonymous, login } = await guarded();
        return mutate(anonymous, 'fetchApiKey', login);
      },
    },
  ],
  'a password alone of a person who must have a second factor, for a session': [
    'SECOND_FACTOR_REQUIRED',
    {
      status: 403,
      fields: { challenge: expect.any(String), must_enroll: true },
      rest: async () => {
        const { anonymous, login } = await guarded();
        return anonymous.rest('POST', '/sessions', login);
      },
      graphql: async () => {
        const { anonymous, login } = await guarded();
        return mutate(anonymous, 'signIn', login);
      },
    },
  ],
  'an account that is deactivated': [
    'USER_DEACTIVATED',
    {
      status: 401,
      rest: async (world) => me(await leaver(world)),
      graphql: async (world) => viewer(await leaver(world)),
    },
  ],
  'an organization that is deactivated': [
    'REALM_DEACTIVATED',
    { status: 401, rest: async () => me(await closed()), graphql: async () => viewer(await closed()) },
  ],
  'a host of no organization': [
    'NONEXISTENT_SUBDOMAIN',
    { status: 404, rest: (world) => me(elsewhere(world)), graphql: (world) => viewer(elsewhere(world)) },
  ],
  'too many guesses': [
    'RATE_LIMIT_HIT',
    {
      status: 429,
      fields: { 'retry-after': expect.any(Number) },
      rest: ({ anonymous }) =>
        guess('one@a.example', (login) => anonymous.rest('POST', '/fetch_api_key', { ...login })),
      graphql: ({ anonymous }) => guess('two@a.example', (login) => mutate(anonymous, 'fetchApiKey', { ...login })),
    },
  ],
  'a queue that is not there': [
    'BAD_EVENT_QUEUE_ID',
    {
      status: 400,
      fields: { queue_id: NO_QUEUE, reason: 'unknown' },
      rest: ({ member }) => member.rest('GET', '/events', { queue_id: NO_QUEUE, last_event_id: -1 }),
      graphql: ({ member }) => asked(member, `{ events(queueId: "${NO_QUEUE}", after: -1) { endPosition } }`),
    },
  ],
  'a value that was another before': [
    'EXPECTATION_MISMATCH',
    {
      status: 400,
      fields: { field_name: 'old' },
      rest: ({ owner, membersGroup: group }) =>
        owner.rest('PATCH', '/realm', { can_manage_all_groups: { new: group, old: group } }),
      graphql: ({ owner, membersGroup: groupId }) =>
        mutate(owner, 'updateOrganization', {
          permissions: { canManageAllGroups: { new: { groupId }, old: { groupId } } },
        }),
    },
  ],
  'a permission for role groups alone': [
    'SYSTEM_GROUP_REQUIRED',
    {
      status: 400,
      fields: { setting_name: 'can_access_all_users_group' },
      rest: ({ owner }) => {
        const value = { direct_members: [owner.id], direct_subgroups: [] };
        return owner.rest('PATCH', '/realm', { can_access_all_users_group: { new: value } });
      },
      graphql: ({ owner }) =>
        mutate(owner, 'updateOrganization', {
          permissions: { canAccessAllUsers: { new: { direct: { memberIds: [owner.id] } } } },
        }),
    },
  ],
  'a group that goes by another': [
    'CANNOT_DEACTIVATE_GROUP_IN_USE',
    {
      status: 400,
      fields: { objections: [{ type: 'subgroup', supergroup_ids: [integer] }] },
      rest: async (world) => world.owner.rest('POST', `/user_groups/${await heldGroup(world)}/deactivate`),
      graphql: async (world) => mutate(world.owner, 'deactivateUserGroup', { userGroupId: await heldGroup(world) }),
    },
  ],
  'a narrow that cannot be': [
    'BAD_NARROW',
    {
      status: 400,
      fields: { desc: expect.any(String) },
      rest: ({ member }) =>
        member.rest('GET', '/messages', {
          ...{ anchor: 'newest', num_before: 1, num_after: 0 },
          narrow: [{ operator: 'channel', operand: NOBODY }],
        }),
      graphql: ({ member }) =>
        asked(
          member,
          `{ messages(last: 1, narrow: { channel: { id: "${globalId('Channel', NOBODY)}" } }) { edges { node { topicName } } } }`,
        ),
    },
  ],
  'a file that is no image': [
    'BAD_IMAGE',
    {
      status: 400,
      rest: ({ member }) => member.rest('POST', '/users/me/avatar', {}, { body: multipart([['file', NO_IMAGE]]) }),
      graphql: ({ member }) => uploading(member, NO_IMAGE),
    },
  ],
  'a file for which the organization has no space': [
    'REALM_UPLOAD_QUOTA',
    {
      status: 400,
      rest: async () => (await small()).rest('POST', '/user_uploads', { file: LARGE }),
      graphql: async () => mutate(await small(), 'uploadFile', { file: LARGE, name: 'large' }),
    },
  ],
  'a topic that is too old in part': [
    'MOVE_MESSAGES_TIME_LIMIT_EXCEEDED',
    {
      status: 400,
      fields: {
        first_message_id_allowed_to_move: integer,
        ...{ total_messages_in_topic: 3, total_messages_allowed_to_move: 2 },
      },
      rest: async (world) =>
        world.member.rest('PATCH', `/messages/${await halfMovable(world)}`, {
          ...{ topic: 'elsewhere', propagate_mode: 'change_all' },
        }),
      graphql: async (world) =>
        mutate(world.member, 'moveMessages', {
          ...{
            messageId: await halfMovable(world),
            to: topicRef(world.general, 'elsewhere'),
            propagateMode: 'CHANGE_ALL',
          },
        }),
    },
  ],
  'an emoji one has set already': [
    'REACTION_ALREADY_EXISTS',
    {
      status: 400,
      async rest({ owner, message }) {
        await owner.ok('POST', `/messages/${message}/reactions`, { emoji_name: 'tada' });
        return owner.rest('POST', `/messages/${message}/reactions`, { emoji_name: 'tada' });
      },
      graphql: ({ owner, message }) => mutate(owner, 'addReaction', { messageId: message, emoji: { name: 'tada' } }),
    },
  ],
  'an emoji one has not set': [
    'REACTION_DOES_NOT_EXIST',
    {
      status: 400,
      rest: ({ owner, message }) => owner.rest('DELETE', `/messages/${message}/reactions`, { emoji_name: 'car' }),
      graphql: ({ owner, message }) => mutate(owner, 'removeReaction', { messageId: message, emoji: { name: 'car' } }),
    },
  ],
  'the only owner, of their own account': [
    'CANNOT_DEACTIVATE_LAST_USER',
    {
      status: 400,
      fields: { is_last_owner: true, entity: 'organization owner' },
      rest: ({ owner }) => owner.rest('DELETE', '/users/me'),
      graphql: ({ owner }) => mutate(owner, 'deactivateOwnAccount'),
    },
  ],
  'everybody of a large channel': [
    'STREAM_WILDCARD_MENTION_NOT_ALLOWED',
    {
      status: 400,
      rest: ({ member, crowded }) =>
        member.rest('POST', '/messages', { type: 'channel', to: crowded, topic: 't', content: '@**all**' }),
      graphql: ({ member, crowded }) =>
        mutate(member, 'sendMessage', { to: toTopic(crowded, 't'), content: '@**all**' }),
    },
  ],
  'everybody of a large topic': [
    'TOPIC_WILDCARD_MENTION_NOT_ALLOWED',
    {
      status: 400,
      rest: ({ member, crowded }) =>
        member.rest('POST', '/messages', { type: 'channel', to: crowded, topic: 'large', content: '@**topic**' }),
      graphql: ({ member, crowded }) =>
        mutate(member, 'sendMessage', { to: toTopic(crowded, 'large'), content: '@**topic**' }),
    },
  ],
  'a video call without a token': [
    'INVALID_VIDEO_CALL_PROVIDER_TOKEN',
    {
      status: 400,
      rest: ({ member }) => member.rest('POST', '/calls/videoprovider/create'),
      graphql: ({ member }) => mutate(member, 'createVideoCall'),
    },
  ],
  'a test notification without a push service': [
    'PUSH_SERVICE_NOT_CONFIGURED',
    {
      status: 400,
      rest: ({ member }) => member.rest('POST', '/mobile_push/test_notification'),
      graphql: ({ member }) => mutate(member, 'sendTestNotification', {}),
    },
  ],
  'a database that is too busy': [
    'REQUEST_TIMEOUT',
    {
      status: 503,
      fields: { 'retry-after': 1 },
      rest: ({ member }) => refusing(BUSY, () => member.rest('POST', '/saved_snippets', { title: 't', content: 'c' })),
      graphql: ({ member }) => refusing(BUSY, () => mutate(member, 'createSavedSnippet', { title: 't', content: 'c' })),
    },
  ],
  'a database whose disk is full': [
    'STORAGE_FULL',
    {
      status: 507,
      fields: { 'retry-after': 30 },
      rest: ({ member }) => refusing(FULL, () => member.rest('POST', '/saved_snippets', { title: 't', content: 'c' })),
      graphql: ({ member }) => refusing(FULL, () => mutate(member, 'createSavedSnippet', { title: 't', content: 'c' })),
    },
  ],
};

/** Error codes that only the control socket of the operator sends, not the APIs. */
const ELSEWHERE: readonly ErrorCode[] = ['INVALID_JSON', 'PUSH_SERVICE_REFUSED', 'NO_ACTIVE_PUSH_DEVICE'];

let integrated: Integrated<InProcess>;
let world: World;

beforeAll(async () => {
  integrated = await startIntegrated(startInProcess);
  const { house } = integrated;
  const { owner, member, signUp } = house;
  const general = await channelOf(owner, 'general', [owner, member]);
  const { realm_can_create_groups: membersGroup } = await owner.register({ fetch_event_types: ['realm'] });
  const crowd = await Promise.all(Array.from({ length: 16 }, (_, i) => signUp(`one of many ${i}`)));
  const crowded = await channelOf(owner, 'crowded', [member, ...crowd]);
  for (const one of crowd) await say(one, crowded, 'large');
  world = { ...house, general, crowded, membersGroup, message: await say(owner, general, 'ships') };
});
afterAll(() => integrated[Symbol.asyncDispose]());

test('every error code has a case', () => {
  const covered = new Set(Object.values(CASES).map(([code]) => code));
  expect(ERROR_CODES.filter((code) => !covered.has(code))).toEqual(ELSEWHERE);
});

// Some cases block other requests while they run. Therefore the cases run one after another.
test.for(Object.entries(CASES).map(([when, [code, one]]) => [code, when, one] as const))(
  '%s: %s',
  async ([code, , { status, fields = {}, rest, graphql }]) => {
    const reply: { status: number; body: Json } = await rest(world);
    expect([reply.status, reply.body]).toEqual([status, failure(code, fields)]);
    if (graphql !== undefined) expect(await graphql(world)).toBe(code);
  },
);

test('INTERNAL_SERVER_ERROR: an internal error, without details', async () => {
  const { owner, member } = world;
  const { status, body } = await refusing(FAULT, () =>
    owner.rest('POST', '/saved_snippets', { title: 't', content: 'c' }),
  );
  expect([status, body]).toEqual([
    500,
    { result: 'error', msg: 'Internal server error', code: 'INTERNAL_SERVER_ERROR' },
  ]);
  const { errors } = await refusing(FAULT, () => member.graphql('mutation { deactivateOwnAccount { __typename } }'));
  expect(errors?.[0].extensions.code).toBe('INTERNAL_SERVER_ERROR');
  expect(JSON.stringify(errors)).not.toContain(SECRET);
});
