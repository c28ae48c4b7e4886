import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TOTAL_NAMES, TOTALS, type TotalName, wireNameOf } from '../src/platform/totals.ts';
import { createDatabase, type TestDatabase } from './helpers/database.ts';
import { EventStream } from './helpers/events.ts';
import { type Json, send } from './helpers/http.ts';
import { type InProcess, startInProcess } from './helpers/in-process.ts';
import { operationBody, type Person } from './helpers/person.ts';
import { adderOf, makeHoard, PILES } from './helpers/piles.ts';
import { organisation } from './helpers/server.ts';

const QUEUES = 4;

let service: InProcess;
let database: TestDatabase | undefined;

beforeAll(async () => {
  const { DATABASE_URL: server = '' } = process.env;
  // Where there is a server of databases, two requests at once are two transactions at once.
  database = server === '' ? undefined : await createDatabase(server);
  const own = database && { DATABASE_URL: database.url, SECRET_KEY: 'x'.repeat(32) };
  service = await startInProcess({ env: { EVENT_QUEUES_PER_USER: String(QUEUES), ...own } });
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await database?.[Symbol.asyncDispose]();
});

/** Totals that do not refuse one more in the one way all others do: each has tests of its own below. */
const OTHERS: readonly TotalName[] = ['starred_messages', 'event_queues', 'sessions', 'idempotency_keys'];

describe('what a user or an organization can pile up', () => {
  test('has a trial here, each of it', () => {
    expect([...Object.keys(PILES), ...OTHERS].sort()).toEqual([...TOTAL_NAMES].sort());
  });

  test.for(Object.entries(PILES))(
    '%s: as much as the total and no more, over either door, and room again for one after a deletion',
    async ([name, pile]) => {
      const hoard = await makeHoard(service);
      const adder = adderOf(name, hoard);
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
      expect(await overGraphQL(2)).toEqual({ __typename: 'BadRequestError', code, message });
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

  test('may be changed and taken away by who has more than there may be, and not made longer', async () => {
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
    // With another's name on a message: nothing is added to how many emoji stand on it.
    await sql(
      `INSERT INTO reaction (realm_id, message_id, user_id, emoji_name, emoji_code, reaction_type)
       SELECT $1, $4::bigint, $3::int, 'x', 'c' || n, 'unicode_emoji' FROM generate_series(1, 150) AS n WHERE $2 > 0`,
      hoard.owner.id,
      hoard.messageId,
    );
    const same = { emoji_name: 'x', emoji_code: 'c1', reaction_type: 'unicode_emoji' };
    await member.ok('POST', `/messages/${hoard.messageId}/reactions`, same);
  });

  test('is not evaded by bots without an owner that become those of whoever reactivates them', async () => {
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
    // One's own counts already.
    await owner.ok('POST', `/users/${own}/reactivate`);
    await sql("DELETE FROM user_account WHERE realm_id = $1 AND full_name = 'own 1'");
    await owner.ok('POST', `/users/${first}/reactivate`);
    expect(await owner.rest('POST', `/users/${second}/reactivate`)).toMatchObject(refused);
  });

  test('is not a reason to refuse a message whose topic could be followed no more', async () => {
    const hoard = await makeHoard(service);
    const { member, channelId, sql } = hoard;
    await member.ok('PATCH', '/settings', { automatically_follow_topics_policy: 1 });
    await PILES['user_topics']?.fill(hoard);
    await sql(`DELETE FROM user_topic WHERE realm_id = $1 AND user_id = $2 AND topic = 'topic 1'`);
    const message = { type: 'channel', to: channelId, topic: 'new', content: 'hello' };
    expect(await member.ok('POST', '/messages', message)).not.toHaveProperty('automatic_new_visibility_policy');
    // The last tenth is for what users ask for themselves.
    await member.ok('POST', '/user_topics', { stream_id: channelId, topic: 'new', visibility_policy: 3 });
  });

  test('starred messages: no more than the total, over either door', async () => {
    const hoard = await makeHoard(service);
    const { member, messageId, channelId } = hoard;
    const other = (await member.ok('POST', '/messages', { type: 'channel', to: channelId, topic: 't', content: 'x' }))
      .id;
    const star = (ids: number[], op = 'add') =>
      member.rest('POST', '/messages/flags', { messages: ids, op, flag: 'starred' });
    // Of messages that are not there: a hundred thousand would take their time.
    await service.app.db.$transaction(
      async (tx) => {
        await tx.$executeRaw`SET LOCAL session_replication_role = replica`;
        await tx.$executeRaw`
        INSERT INTO user_message (realm_id, user_id, message_id, starred)
        SELECT ${hoard.realm.id}, ${member.id}, 1000000000 + n, true FROM generate_series(1, 99999) AS n`;
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
  const onService = () => organisation({}, { on: service });

  test('over the total the least recently used goes, and its client is told to register anew', async () => {
    const { member, guest } = await onService();
    const ofGuest = await register(guest);
    const queues = [];
    for (let i = 0; i < QUEUES; i++) queues.push(await register(member));
    // By reading it the oldest becomes the latest.
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

  test('one that is being read is not the least recently used, however long ago it was written down', async () => {
    const { member } = await onService();
    const read = await register(member);
    await using stream = await EventStream.open(member, 'position', { queueId: read.queue_id });
    await service.app.db.$executeRaw`
      UPDATE event_queue SET last_active_at = now() - interval '1 day' WHERE id = ${read.queue_id}::uuid`;
    for (let i = 0; i < 2 * QUEUES; i++) await register(member);
    await member.ok('POST', '/users/me/alert_words', { alert_words: ['ahoy'] });
    expect(await stream.next()).toBeDefined();
  });

  test('no more than the total are live, however many are registered at once', async () => {
    const { member } = await onService();
    await Promise.all(Array.from({ length: 3 * QUEUES }, () => register(member)));
    expect(await service.app.db.eventQueue.count({ where: { userId: member.id, endedAt: null } })).toBe(QUEUES);
  });

  test('of those that ended a thousand are remembered', async () => {
    const { member, realm } = await onService();
    await service.app.db.$executeRaw`
      INSERT INTO event_queue (id, realm_id, user_id, options, idle_timeout_secs, client_name, start_id, acked_id,
                               scanned_through, expires_at, ended_at, end_reason)
      SELECT gen_random_uuid(), ${realm.id}, ${member.id}, '{}', 1, 'test', 0, 0, 0, now(), now(), 'deleted'
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
  ])('are not registered with more %s than they need', async ([, options, msg]) => {
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

  test('of more than 64 KiB it is kept that the change was made, and a repetition is told so', async () => {
    const { member } = await organisation({}, { on: service });
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
      message: 'This request was carried out before, once; its reply was too long to be kept.',
      extensions: { code: 'BAD_REQUEST', reason: 'reply_not_kept' },
    });
    expect((await member.ok('GET', '/drafts')).drafts).toHaveLength(10);
  });

  test('beyond 16 MiB of one user are not kept, and what they answer is not done twice', async () => {
    const { member, realm } = await organisation({}, { on: service });
    await service.app.db.$executeRaw`
      INSERT INTO idempotency_record (realm_id, user_id, key, input_hash, result, reply_bytes)
      SELECT ${realm.id}, ${member.id}, 'old ' || n, ''::bytea, '"{}"', 65536 FROM generate_series(1, 256) AS n`;
    const save = () => member.rest('POST', '/saved_snippets', { title: 't', content: 'c' }, keyed('one'));
    expect((await save()).status).toBe(200);
    expect(await save()).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST', reason: 'reply_not_kept' } });
    expect((await member.ok('GET', '/saved_snippets')).saved_snippets).toHaveLength(1);
  });

  test('of more keys than there may be: a new one is refused and does nothing, one in use is answered', async () => {
    const { member, realm } = await organisation({}, { on: service });
    const save = (key: string) => member.rest('POST', '/saved_snippets', { title: 't', content: 'c' }, keyed(key));
    const { body } = await save('before');
    await service.app.db.$executeRaw`
      INSERT INTO idempotency_record (realm_id, user_id, key, input_hash)
      SELECT ${realm.id}, ${member.id}, 'old ' || n, ''::bytea FROM generate_series(1, 99998) AS n`;
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

describe('totals are told', () => {
  const camelCase = (name: string) => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  const told = Object.fromEntries(
    TOTAL_NAMES.map((name) => [wireNameOf(name), name === 'event_queues' ? QUEUES : TOTALS[name].max]),
  );

  test('in registration and server settings, over either door', async () => {
    const { member, anonymous } = await organisation({}, { on: service });
    expect(await member.register({ fetch_event_types: ['realm'] })).toMatchObject(told);
    expect(await anonymous.ok('GET', '/server_settings')).toMatchObject(told);
    const fields = Object.keys(told).map(camelCase);
    const { data } = await anonymous.graphql(`{ serverSettings { totals { ${fields.join(' ')} } } }`);
    const expected = Object.entries(told).map(([name, max]) => [camelCase(name), max]);
    expect(data.serverSettings.totals).toEqual(Object.fromEntries(expected));
  });

  test('in one table, beside the APIs', () => {
    const readme = readFileSync(join(import.meta.dirname, '../src/api/README.md'), 'utf8');
    const rows = readme.split('\n').filter((line) => line.startsWith('| `max_'));
    const numbers = new Map(
      rows.map((row) => {
        const [, name = '', limit = ''] = row.split('|').map((cell) => cell.trim());
        return [name.replaceAll('`', ''), Number(/^[\d,]+/.exec(limit)?.[0].replaceAll(',', ''))];
      }),
    );
    const declared = TOTAL_NAMES.map((name) => [wireNameOf(name), TOTALS[name].max] as const);
    expect([...numbers].sort()).toEqual(declared.sort());
  });
});

/** Every table: the totals that bound it, or why it needs none of its own. */
const TABLES: Readonly<Record<string, readonly TotalName[] | string>> = {
  draft: ['drafts', 'drafts_total_length'],
  saved_snippet: ['saved_snippets', 'saved_snippets_total_length'],
  scheduled_message: ['scheduled_messages', 'scheduled_messages_total_length', 'reminders', 'reminders_total_length'],
  alert_word: ['alert_words'],
  navigation_view: ['navigation_views'],
  user_topic: ['user_topics'],
  user_message: ['starred_messages'],
  event_queue: ['event_queues'],
  session: ['sessions'],
  idempotency_record: ['idempotency_keys'],
  user_account: ['bots_per_user'],
  user_group: ['user_groups', 'user_groups_per_user'],
  channel: ['channels', 'channels_per_user'],
  channel_folder: ['channel_folders'],
  custom_emoji: ['custom_emoji', 'custom_emoji_per_user'],
  image: ['custom_emoji', 'custom_emoji_per_user'],
  profile_field: ['custom_profile_fields'],
  realm_domain: ['realm_domains'],
  reaction: ['reactions_per_user_and_message', 'emoji_per_message'],
  api_key: 'one a user',
  call_token: 'one a user',
  presence: 'one a user',
  user_status: 'one a user',
  profile_value: 'one a user and profile field, of which there is a total; each is bounded in length',
  subscription: 'one a user and channel, of which there is a total',
  user_group_member: 'one a user and group, of which there is a total',
  user_group_subgroup: 'one for two groups, of which there is a total',
  realm: 'made by the operator alone',
  event_counter: 'one an organization',
  log_epoch: 'one',
  message_tally: 'one an organization',
  message_count: 'one for eight messages of a place at the most, and one for each place; listed to nobody',
  presence_counter: 'one an organization',
  email_change: 'five a day and user; a new one is all that is left of those before',
  outgoing_mail: 'caused by acts that are few; sent or given up in days, and forgotten in weeks',
  used_token: 'made by who signs web tokens; forgotten when they expire',
  message: 'what the service is for: as many as the rate limit lets through, listed in pages',
  conversation: 'comes with a message; listed by the last thousand messages',
  conversation_member: 'one a conversation and member',
  message_edit: 'within the time in which messages may be edited, as many as the rate limit lets through',
  deleted_message: 'was a message; for the operator, for 30 days',
  read_mark: 'one a user and place',
  read_exception: 'one a user and message; told of the last 50,000 unread',
  event: 'pruned by age and number',
  role_change: "administrators' acts alone; listed to nobody",
  subscription_period: 'says who received what: one a subscription and unsubscription, listed to nobody',
};

test('every table has a total, or a reason to need none', async () => {
  const tables = await service.app.db.$queryRaw<{ name: string }[]>`
    SELECT table_name AS name FROM information_schema.tables
    WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name NOT LIKE '\\_prisma%'`;
  expect(tables.map(({ name }) => name).sort()).toEqual(Object.keys(TABLES).sort());
  const used = new Set(Object.values(TABLES).flatMap((totals) => (typeof totals === 'string' ? [] : totals)));
  expect([...used].sort()).toEqual([...TOTAL_NAMES].sort());
});
