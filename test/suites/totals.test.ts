import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TOTAL_NAMES, TOTALS, type TotalName, wireNameOf } from '../../src/platform/totals.ts';
import { createMigratedDatabase, type TestDatabase } from '../helpers/database.ts';
import { EventStream } from '../helpers/events.ts';
import { FEATURES, gather } from '../helpers/features.ts';
import { type Json, send } from '../helpers/http.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import { operationBody, type Person } from '../helpers/person.ts';
import { makeHoard, type Pile } from '../helpers/piles.ts';
import { createOrganization } from '../helpers/server.ts';

const QUEUES = 4;

/** The objects that each total (a limit on stored objects) bounds, by the name of the total. */
const PILES = gather(FEATURES.map(({ piles }) => piles));

let service: InProcess;
let database: TestDatabase | undefined;

beforeAll(async () => {
  const { DATABASE_URL: server = '' } = process.env;
  // On a database server, two concurrent requests run in two concurrent transactions.
  database = server === '' ? undefined : await createMigratedDatabase(server);
  const own = database && { DATABASE_URL: database.url, SECRET_KEY: 'x'.repeat(32) };
  service = await startInProcess({ env: { EVENT_QUEUES_PER_USER: String(QUEUES), ...own } });
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await database?.[Symbol.asyncDispose]();
});

/** Totals whose refusal differs from that of all other totals. Each has tests of its own. */
const OTHERS: readonly TotalName[] = [
  ...(['starred_messages', 'event_queues', 'sessions', 'idempotency_keys', 'holders_per_permission'] as const),
  // `messages/edit-versions.test.ts` tests these totals.
  ...(['versions_per_message', 'versions_per_message_total_bytes'] as const),
  // `channels/subscription-periods.test.ts` tests this total.
  'joins_per_user_and_channel',
  // `administration/single-sign-on.test.ts` tests this total.
  'identity_providers',
  // `messages/notifications.test.ts` tests this total.
  'push_devices',
  // `access/api-keys.test.ts` tests this total.
  'api_keys',
  // `administration/passkeys.test.ts` tests this total.
  'passkeys',
];

describe('limits on the objects of a user or an organization', () => {
  test('has a test for each total', () => {
    expect([...Object.keys(PILES), ...OTHERS].sort()).toEqual([...TOTAL_NAMES].sort());
  });

  test.for(['channels_per_user', 'user_groups_per_user', 'custom_emoji_per_user'] as const)(
    '%s: creations of bots count for their owner, and those of the owner for bots',
    async (name) => {
      const hoard = await makeHoard(service);
      const { bot } = hoard;
      const pile = PILES[name] as Pile;
      const byBot = { ...hoard, member: bot };
      await pile.fill(hoard);
      // The bot of another user is not affected.
      expect((await pile.rest(byBot, 0)).status).toBe(200);
      await hoard.sql('UPDATE user_account SET bot_owner_id = $2 WHERE realm_id = $1 AND id = $3::int', bot.id);
      const refused = { status: 400, body: { code: 'BAD_REQUEST', limit: wireNameOf(name) } };
      expect(await pile.rest(byBot, 2)).toMatchObject(refused);
      const [table, creator] = {
        channels_per_user: ['channel', 'creator_id'],
        user_groups_per_user: ['user_group', 'creator_id'],
        custom_emoji_per_user: ['custom_emoji', 'author_id'],
      }[name] as [string, string];
      await hoard.sql(`UPDATE ${table} SET ${creator} = $3::int WHERE realm_id = $1 AND ${creator} = $2`, bot.id);
      expect(await pile.rest(hoard, 4)).toMatchObject(refused);
    },
  );

  test.for(Object.entries(PILES))(
    '%s: up to the total and no more in both APIs, and one more after a deletion',
    async ([name, pile]) => {
      const hoard = await makeHoard(service);
      const adder = hoard[pile.adder ?? 'member'];
      const held = async () => {
        const [row] = await service.app.db.$queryRawUnsafe<{ held: number }[]>(pile.held, hoard.member.id);
        return row?.held;
      };
      const overGraphQL = (i: number) => adder.tryMutation(...pile.graphql(hoard, i));
      await pile.fill(hoard);
      const full = await held();
      const { refusal, max } = TOTALS[name as TotalName];
      expect(refusal).toContain(String(max));
      const refused = { code: 'BAD_REQUEST', msg: `${refusal}.`, limit: wireNameOf(name as TotalName) };
      for (const i of [0, 1]) expect(await pile.rest(hoard, i)).toMatchObject({ status: 400, body: refused });
      const { msg: message, code } = refused;
      expect(await overGraphQL(2)).toEqual({ __typename: 'ConflictError', code, message });
      expect(await held()).toBe(full);

      if (typeof pile.free === 'string') await hoard.sql(pile.free);
      else await pile.free(hoard);
      const [rest, graphql] = await Promise.all([pile.rest(hoard, 4), overGraphQL(3)]);
      expect([rest.status === 200, graphql.__typename.endsWith('Payload')].sort()).toEqual([false, true]);
      if (rest.status === 200) expect(graphql).toMatchObject({ code, message });
      else expect(rest.body).toMatchObject(refused);
      if (name.endsWith('length')) return;
      expect(await held()).toBe(full);
    },
  );

  test('can be changed and deleted above the total, but not made longer', async () => {
    const hoard = await makeHoard(service);
    const { member, sql } = hoard;
    await sql(`INSERT INTO draft (realm_id, author_id, type, "to", topic, content, last_edited_at)
      SELECT $1, $2, '', '{}', '', repeat('x', 9000), now() FROM generate_series(1, 1200)`);
    const { drafts } = await member.ok('GET', '/drafts');
    expect(drafts).toHaveLength(TOTALS.drafts.max);
    const draft = (content: string) => ({ draft: { type: '', to: [], topic: '', content } });
    await member.ok('PATCH', `/drafts/${drafts[0].id}`, draft('y'.repeat(9_000)));
    await member.ok('PATCH', `/drafts/${drafts[0].id}`, draft('shorter'));
    expect(await member.rest('PATCH', `/drafts/${drafts[0].id}`, draft('y'.repeat(9_001)))).toMatchObject({
      body: { limit: 'max_drafts_total_length' },
    });
    await member.ok('DELETE', `/drafts/${drafts[1].id}`);
    // Another user has already added this emoji to the message, so the number of different emoji does not increase.
    await sql(
      `INSERT INTO reaction (realm_id, message_id, user_id, emoji_name, emoji_code, reaction_type)
       SELECT $1, $4::bigint, $3::int, 'x', 'c' || n, 'unicode_emoji' FROM generate_series(1, 150) AS n WHERE $2 > 0`,
      hoard.owner.id,
      hoard.messageId,
    );
    const same = { emoji_name: 'x', emoji_code: 'c1', reaction_type: 'unicode_emoji' };
    await member.ok('POST', `/messages/${hoard.messageId}/reactions`, same);
  });

  test('cannot exceed the total by reactivating bots without an owner, which then belong to the user', async () => {
    const hoard = await makeHoard(service);
    const { owner, member, sql } = hoard;
    const botOf = async (person: Person, name: string): Promise<number> => {
      const { user_id } = await person.ok('POST', '/bots', { full_name: name, short_name: name });
      await person.ok('DELETE', `/bots/${user_id}`);
      return user_id;
    };
    const [first, second, own] = [await botOf(member, 'a'), await botOf(member, 'b'), await botOf(owner, 'c')];
    await sql(
      `INSERT INTO user_account (realm_id, email, full_name, bot_type, bot_owner_id, is_active)
       SELECT $1, 'own' || n || '-bot@example.com', 'own ' || n, 1, $3::int, false FROM generate_series(1,
         200 - (SELECT count(*)::int FROM user_account WHERE bot_owner_id = $3::int)) AS n WHERE $2 > 0`,
      owner.id,
    );
    await sql('UPDATE user_account SET bot_owner_id = NULL WHERE realm_id = $1 AND bot_owner_id = $2');
    const refused = { status: 400, body: { code: 'BAD_REQUEST', limit: 'max_bots_per_user' } };
    expect(await owner.rest('POST', `/users/${first}/reactivate`)).toMatchObject(refused);
    expect(await owner.tryMutation('reactivateUser', { userId: second })).toMatchObject({ code: 'BAD_REQUEST' });
    // The user's own bot is already included in the total.
    await owner.ok('POST', `/users/${own}/reactivate`);
    await sql("DELETE FROM user_account WHERE realm_id = $1 AND full_name = 'own 1'");
    await owner.ok('POST', `/users/${first}/reactivate`);
    expect(await owner.rest('POST', `/users/${second}/reactivate`)).toMatchObject(refused);
  });

  test('does not prevent a message whose topic cannot be followed any more', async () => {
    const hoard = await makeHoard(service);
    const { member, channelId, sql } = hoard;
    await member.ok('PATCH', '/settings', { automatically_follow_topics_policy: 1 });
    await PILES['user_topics']?.fill(hoard);
    await sql(`DELETE FROM user_topic WHERE realm_id = $1 AND user_id = $2 AND topic = 'topic 1'`);
    const message = { type: 'channel', to: channelId, topic: 'new', content: 'hello' };
    expect(await member.ok('POST', '/messages', message)).not.toHaveProperty('automatic_new_visibility_policy');
    // The last tenth is reserved for requests in which a user sets a policy. Automatic policies cannot use it.
    await member.ok('POST', '/user_topics', { stream_id: channelId, topic: 'new', visibility_policy: 3 });
  });

  test('users and groups of a permission: no more than the total, in both APIs', async () => {
    const { owner, channelId } = await makeHoard(service);
    const ids = Array.from({ length: TOTALS.holders_per_permission.max + 1 }, (_, i) => i + 1);
    const [last, ...others] = ids;
    const limit = 'max_holders_per_permission';
    const holders = { direct_members: others, direct_subgroups: [last] };
    for (const [method, path, fields] of [
      ['PATCH', `/streams/${channelId}`, { can_send_message_group: { new: holders } }],
      ['PATCH', '/realm', { can_create_groups: { new: holders } }],
      ['POST', '/user_groups/create', { name: 'g', description: '', members: [], can_manage_group: holders }],
      ['POST', '/channels/create', { name: 'c', subscribers: [], can_administer_channel_group: holders }],
    ] as const) {
      expect(await owner.rest(method, path, fields), path).toMatchObject({ status: 400, body: { limit } });
    }
    const direct = { memberIds: others, subgroupIds: [last] };
    const permissions = { canSendMessage: { new: { direct } } };
    const refused = await owner.tryMutation('updateChannel', { channelId, permissions });
    expect(refused).toMatchObject({ code: 'BAD_REQUEST', message: `${TOTALS.holders_per_permission.refusal}.` });
    // The ids are checked only if their number is within the limit.
    const fewer = { direct_members: others, direct_subgroups: [] };
    const { body } = await owner.rest('PATCH', `/streams/${channelId}`, { can_send_message_group: { new: fewer } });
    expect(body.msg).toMatch(/^Invalid user ID/);
  });

  test('starred messages: no more than the total, in both APIs', async () => {
    const hoard = await makeHoard(service);
    const { member, messageId, channelId } = hoard;
    const other = (await member.ok('POST', '/messages', { type: 'channel', to: channelId, topic: 't', content: 'x' }))
      .id;
    const star = (ids: number[], op = 'add') =>
      member.rest('POST', '/messages/flags', { messages: ids, op, flag: 'starred' });
    // Stars messages that do not exist, because creating a hundred thousand messages would take too long.
    await service.app.db.$transaction(
      async (tx) => {
        await tx.$executeRaw`SET LOCAL session_replication_role = replica`;
        await tx.$executeRaw`
        INSERT INTO user_message (realm_id, user_id, message_id, starred)
        SELECT ${hoard.organization.id}, ${member.id}, 1000000000 + n, true FROM generate_series(1, 99999) AS n`;
      },
      { timeout: 30_000 },
    );
    expect(await star([messageId, other])).toMatchObject({ status: 400, body: { limit: 'max_starred_messages' } });
    expect((await star([messageId])).status).toBe(200);
    const input = { messageIds: [other], operation: 'ADD', flag: 'STARRED' };
    expect(await member.tryMutation('updateMessageFlags', input)).toMatchObject({ code: 'BAD_REQUEST' });
    expect((await star([messageId], 'remove')).status).toBe(200);
    expect((await star([other])).status).toBe(200);
  });
});

describe('queues', () => {
  const register = (person: Person): Promise<Json> =>
    person.register({ fetch_event_types: [], idle_queue_timeout: 604_800 });
  const isLive = async (person: Person, queue: Json) => {
    const { body } = await person.rest('GET', '/events', {
      ...{ queue_id: queue.queue_id, last_event_id: queue.last_event_id, dont_block: true },
    });
    if (body.result === 'error') expect(body).toMatchObject({ code: 'BAD_EVENT_QUEUE_ID', reason: 'expired' });
    return body.result === 'success';
  };
  const onService = () => createOrganization({}, { on: service });

  test('above the total, the least recently used one ends, and its client must register again', async () => {
    const { member, guest } = await onService();
    const ofGuest = await register(guest);
    const queues = [];
    for (let i = 0; i < QUEUES; i++) queues.push(await register(member));
    // Reading a queue makes it the most recently used one.
    expect(await isLive(member, queues[0])).toBe(true);
    const { registerEventQueue } = (
      await member.graphql(
        'mutation { registerEventQueue(input: {}) { ... on RegisterEventQueuePayload { queueId position } } }',
      )
    ).data;
    const added = { queue_id: registerEventQueue.queueId, last_event_id: Number(registerEventQueue.position) };
    expect(await Promise.all([...queues, added].map((queue) => isLive(member, queue)))).toEqual([
      true,
      false,
      true,
      true,
      true,
    ]);
    expect(await isLive(guest, ofGuest)).toBe(true);
    const [row] = await service.app.db.$queryRaw<Json[]>`
      SELECT end_reason, options FROM event_queue WHERE id = ${queues[1].queue_id}::uuid`;
    expect(row).toEqual({ end_reason: 'surplus', options: {} });
  });

  test('one that is being read is not the least recently used, even if its record is old', async () => {
    const { member } = await onService();
    const read = await register(member);
    await using stream = await EventStream.open(member, 'position', { queueId: read.queue_id });
    await service.app.db.$executeRaw`
      UPDATE event_queue SET last_active_at = now() - interval '1 day' WHERE id = ${read.queue_id}::uuid`;
    for (let i = 0; i < 2 * QUEUES; i++) await register(member);
    await member.ok('POST', '/users/me/alert_words', { alert_words: ['ahoy'] });
    expect(await stream.next()).toBeDefined();
  });

  test('no more than the total are live, even after many concurrent registrations', async () => {
    const { member } = await onService();
    await Promise.all(Array.from({ length: 3 * QUEUES }, () => register(member)));
    expect(await service.app.db.eventQueue.count({ where: { userId: member.id, endedAt: null } })).toBe(QUEUES);
  });

  test('of those that ended a thousand are remembered', async () => {
    const { member, organization } = await onService();
    await service.app.db.$executeRaw`
      INSERT INTO event_queue (id, realm_id, user_id, options, idle_timeout_secs, client_name, start_id, acked_id,
                               scanned_through, expires_at, ended_at, end_reason)
      SELECT gen_random_uuid(), ${organization.id}, ${member.id}, '{}', 1, 'test', 0, 0, 0, now(), now(), 'deleted'
      FROM generate_series(1, 1500)`;
    await register(member);
    expect(await service.app.db.eventQueue.count({ where: { userId: member.id } })).toBe(1_000);
  });

  test.for<[string, object, string]>([
    ['event types', { event_types: Array.from({ length: 201 }, (_, i) => `t${i}`) }, 'event_types is too long'],
    ['terms', { narrow: Array.from({ length: 21 }, () => ['is', 'dm']) }, 'narrow is too long'],
    [
      'bytes',
      { event_types: Array.from({ length: 100 }, (_, i) => `${i}${'x'.repeat(200)}`) },
      'The options of a queue are too long (limit: 16384 bytes)',
    ],
    ['groups', { fetch_event_types: Array.from({ length: 201 }, () => 'drafts') }, 'fetch_event_types is too long'],
  ])('are refused with too many %s', async ([, options, msg]) => {
    const { member } = await onService();
    expect(await member.rest('POST', '/register', options as Json)).toMatchObject({
      status: 400,
      body: { code: 'BAD_REQUEST', msg },
    });
  });
});

describe('kept replies', () => {
  const keyed = (key: string) => ({ headers: { 'idempotency-key': key } });
  const recordsOf = (userId: number) => service.app.db.idempotencyRecord.count({ where: { userId } });
  const CREATE = `mutation ($drafts: [DraftInput!]!) { createDrafts(input: { drafts: $drafts }) {
    __typename ... on CreateDraftsPayload { drafts { content } } } }`;

  test('of more than 64 KiB are not kept, and a repetition reports that the change was made', async () => {
    const { member } = await createOrganization({}, { on: service });
    const drafts = Array.from({ length: 10 }, () => ({ content: 'x'.repeat(10_000) }));
    const { headers, body } = operationBody({ query: CREATE, variables: { drafts } });
    const ask = async (): Promise<Json> => {
      const all = { ...member.headers, ...headers, 'idempotency-key': 'long' };
      return JSON.parse((await send(member.url, { method: 'POST', path: '/graphql', headers: all, body })).text);
    };
    const first = await ask();
    expect(first.data.createDrafts.drafts).toHaveLength(10);
    const again = await ask();
    expect(again.errors[0]).toMatchObject({
      message: 'This request was already executed once, but its reply is not stored.',
      extensions: { code: 'BAD_REQUEST', reason: 'reply_not_kept' },
    });
    expect((await member.ok('GET', '/drafts')).drafts).toHaveLength(10);
  });

  test('beyond 64 MiB of one user are not kept, and their requests are not executed again', async () => {
    const { member, organization } = await createOrganization({}, { on: service });
    await service.app.db.$executeRaw`
      INSERT INTO idempotency_record (realm_id, user_id, key, input_hash, result, reply_bytes)
      SELECT ${organization.id}, ${member.id}, 'old ' || n, ''::bytea, '"{}"', 65536 FROM generate_series(1, 1024) AS n`;
    const save = () => member.rest('POST', '/saved_snippets', { title: 't', content: 'c' }, keyed('one'));
    expect((await save()).status).toBe(200);
    expect(await save()).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST', reason: 'reply_not_kept' } });
    expect((await member.ok('GET', '/saved_snippets')).saved_snippets).toHaveLength(1);
  });

  test('above the total of keys: a new key is refused without effect, a known one is answered', async () => {
    const { member, organization } = await createOrganization({}, { on: service });
    const save = (key: string) => member.rest('POST', '/saved_snippets', { title: 't', content: 'c' }, keyed(key));
    await service.app.db.$executeRaw`
      INSERT INTO idempotency_record (realm_id, user_id, key, input_hash)
      SELECT ${organization.id}, ${member.id}, 'old ' || n, ''::bytea
      FROM generate_series(1, ${TOTALS.idempotency_keys.max - 2}::int) AS n`;
    const { body } = await save('before');
    const statuses = (await Promise.all(['a', 'b'].map(save))).map(({ status }) => status);
    expect(statuses.sort()).toEqual([200, 400]);
    expect(await save('c')).toMatchObject({
      status: 400,
      body: { code: 'BAD_REQUEST', limit: 'max_idempotency_keys' },
    });
    expect(await save('before')).toMatchObject({ status: 200, body });
    expect(await recordsOf(member.id)).toBe(TOTALS.idempotency_keys.max);
    expect((await member.ok('GET', '/saved_snippets')).saved_snippets).toHaveLength(2);
  });
});

describe('totals are published', () => {
  const camelCase = (name: string) =>
    name.replace('realm', 'organization').replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  const told = Object.fromEntries(
    TOTAL_NAMES.map((name) => [wireNameOf(name), name === 'event_queues' ? QUEUES : TOTALS[name].max]),
  );

  test('in registrations and server settings, in both APIs', async () => {
    const { member, anonymous } = await createOrganization({}, { on: service });
    expect(await member.register({ fetch_event_types: ['realm'] })).toMatchObject(told);
    expect(await anonymous.ok('GET', '/server_settings')).toMatchObject(told);
    const fields = Object.keys(told).map(camelCase);
    const { data } = await anonymous.graphql(`{ serverSettings { totals { ${fields.join(' ')} } } }`);
    const expected = Object.entries(told).map(([name, max]) => [camelCase(name), max]);
    expect(data.serverSettings.totals).toEqual(Object.fromEntries(expected));
  });
});

/**
 * Reason why an object contains a limited number of rows of a table.
 *
 * `isPile`: a total of a feature refuses more rows. `totals`: these totals refuse more rows, and each of them has a test above.
 * `key`: there is one row for each combination of these columns, which refer to other objects. `removedAfter`: a worker removes
 * rows some time after this. `isPaged`: the rows are separate objects, which clients read in pages. `isPruned`: rows are
 * deleted with the event that they belong to. `isUnlisted`: no response lists the rows.
 */
type Bound =
  | { readonly isPile: true }
  | { readonly totals: readonly TotalName[] }
  | { readonly key: readonly string[] }
  | { readonly removedAfter: string }
  | { readonly isPaged: true }
  | { readonly isPruned: true }
  | { readonly isUnlisted: true };

/** The tables of the objects in `PILES`, whose number is limited by a total. */
const OF_PILES = Object.values(PILES).map(({ held }): [string, Bound] => [
  / FROM (\w+)/.exec(held)?.[1] ?? '',
  { isPile: true },
]);

const TABLES: Readonly<Record<string, Bound>> = {
  ...Object.fromEntries(OF_PILES),
  user_message: { totals: ['starred_messages'] },
  event_queue: { totals: ['event_queues'] },
  session: { totals: ['sessions'] },
  idempotency_record: { totals: ['idempotency_keys'] },
  image: { totals: ['custom_emoji', 'custom_emoji_per_user'] },
  // At most 100 rows name a message, like its stored moves. `messages/topic-moves.test.ts` tests it.
  topic_move: { isUnlisted: true },
  message_edit: { totals: ['versions_per_message', 'versions_per_message_total_bytes'] },
  api_key: { key: ['user_id'] },
  second_factor: { key: ['user_id'] },
  // A person gets ten codes, which replace earlier ones.
  recovery_code: { isUnlisted: true },
  named_api_key: { totals: ['api_keys'] },
  passkey: { totals: ['passkeys'] },
  call_token: { key: ['user_id'] },
  identity_provider: { totals: ['identity_providers'] },
  push_device: { totals: ['push_devices'] },
  push_key: { key: [] },
  notification: { removedAfter: 'created_at' },
  notification_progress: { key: [] },
  digest_progress: { key: [] },
  // One identity of each issuer. An issuer is that of one of at most 20 providers at the time of the first sign-in.
  linked_identity: { key: ['user_id', 'issuer'] },
  attachment_link: { key: ['attachment_id', 'message_id'] },
  // The parts of a file, whose size is limited.
  attachment_chunk: { isUnlisted: true },
  // The objects of a file: at most four. Those of no file are deleted after a day.
  stored_object: { removedAfter: 'expires_at' },
  presence: { key: ['user_id'] },
  user_status: { key: ['user_id'] },
  profile_value: { key: ['user_id', 'field_id'] },
  subscription: { key: ['user_id', 'channel_id'] },
  user_group_member: { key: ['group_id', 'user_id'] },
  user_group_subgroup: { key: ['group_id', 'subgroup_id'] },
  event_counter: { key: [] },
  message_tally: { key: [] },
  search_progress: { key: [] },
  link_preview_progress: { key: [] },
  link_preview_job: { key: ['message_id'] },
  link_preview: { removedAfter: 'expires_at' },
  searchable_message: { key: ['message_id'] },
  presence_counter: { key: [] },
  conversation_member: { key: ['user_id', 'conversation_id'] },
  read_exception: { key: ['user_id', 'message_id'] },
  // A recipient is a channel or a conversation, so this is bounded by their numbers.
  read_mark: { key: ['user_id', 'recipient_id'] },
  realm: { isPaged: true },
  message: { isPaged: true },
  conversation: { isPaged: true },
  event: { removedAfter: 'created_at' },
  audit_log_entry: { removedAfter: 'created_at' },
  deleted_message: { removedAfter: 'deleted_at' },
  outgoing_mail: { removedAfter: 'created_at' },
  email_change: { removedAfter: 'created_at' },
  password_reset: { key: ['user_id'] },
  used_token: { removedAfter: 'expires_at' },
  sign_up: { removedAfter: 'expires_at' },
  log_epoch: { isUnlisted: true },
  realm_move: { isUnlisted: true },
  realm_move_change: { isUnlisted: true },
  realm_arrival: { isUnlisted: true },
  message_count: { isUnlisted: true },
  search_stale: { isUnlisted: true },
  // The rows of pruned events are deleted. `events/event-retention.test.ts` tests it.
  role_change: { isPruned: true },
  subscription_period: { totals: ['joins_per_user_and_channel'] },
};

/** A column of a table, with its check constraints. */
interface Column {
  readonly table: string;
  readonly column: string;
  readonly varies: boolean;
  readonly checks: readonly string[];
}

/** Returns the columns of all tables but those of `migrate`, which begin with an underscore. */
const columns = () => service.app.db.$queryRaw<Column[]>`
  SELECT c.relname AS "table", a.attname AS "column", a.attlen = -1 AND t.typname <> 'numeric' AS varies,
         ARRAY(SELECT pg_get_constraintdef(k.oid) FROM pg_constraint k
               WHERE k.conrelid = c.oid AND k.contype = 'c' AND a.attnum = ANY(k.conkey)) AS checks
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  JOIN pg_type t ON t.oid = a.atttypid
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname NOT LIKE '\\_%'`;

describe('the catalog of the database', () => {
  test('every table has a bound on its rows per user or organization, proven by a trial or an index', async () => {
    const known = Map.groupBy(await columns(), ({ table }) => table);
    expect([...known.keys()].sort()).toEqual(Object.keys(TABLES).sort());
    const keys = await service.app.db.$queryRaw<{ table: string; key: string[] }[]>`
      SELECT c.relname AS "table", ARRAY(
        SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum = ANY(i.indkey) ORDER BY 1) AS key
      FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
      WHERE i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL`;
    for (const [table, bound] of Object.entries(TABLES)) {
      const ofTable = keys.filter((one) => one.table === table).map(({ key }) => key);
      if ('key' in bound) expect(ofTable, table).toContainEqual(['realm_id', ...bound.key].sort());
      if (!('removedAfter' in bound)) continue;
      expect(
        known.get(table)?.map(({ column }) => column),
        table,
      ).toContain(bound.removedAfter);
    }
    // The total of holders limits lists within the rows of channels and groups.
    const used = Object.values(TABLES).flatMap((bound) => ('totals' in bound ? bound.totals : []));
    expect([...new Set([...used, ...Object.keys(PILES), 'holders_per_permission'])].sort()).toEqual(
      [...TOTAL_NAMES].sort(),
    );
  });

  test('every text, list, JSON and byte column has a check of its length', async () => {
    const isBounded = ({ column, checks }: Column) =>
      checks.some((check) =>
        new RegExp(`(char_length|octet_length|cardinality|pg_column_size)\\("?${column}"?\\) <?= \\d+`).test(check),
      );
    const unbounded = (await columns()).filter((column) => column.varies && !isBounded(column));
    expect(unbounded.map(({ table, column }) => `${table}.${column}`)).toEqual([]);
  });
});
