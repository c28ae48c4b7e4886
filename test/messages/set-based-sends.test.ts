import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createMigratedDatabase } from '../helpers/database.ts';
import { type Json, send } from '../helpers/http.ts';
import { type InProcess, shareInProcess, startInProcess } from '../helpers/in-process.ts';
import { operationBody, type Parameters, type Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { aroundStatements } from '../helpers/statements.ts';
import { channelOf, toTopic } from '../helpers/talk.ts';

// Tests the set-based SQL statement that writes batched messages. It must write the same rows as the statement for single
// messages.

const { DATABASE_URL } = process.env;

let server: InProcess;
beforeAll(async () => {
  server = await shareInProcess();
});
afterAll(() => server[Symbol.asyncDispose]());

/** Returns the input that the SQL statement received for each message that was sent during `work`. */
async function givenFor(work: () => Promise<unknown>, { app }: InProcess = server): Promise<Json[]> {
  const given: Json[] = [];
  const mend = aroundStatements(app, (run, sql, values) => {
    if (sql.includes('write_messages(')) {
      for (const { messages } of JSON.parse(String(values[0])) as Json[]) given.push(...messages);
    }
    return run();
  });
  onTestFinished(mend);
  await work().finally(mend);
  return given;
}

/** Returns a copy of the statement's input with new idempotency keys and tokens, as for new messages. */
const anew = (given: readonly Json[]): Json[] =>
  given.map(({ kept, send_token, ...message }) => ({
    ...message,
    send_token: String(BigInt(send_token) ^ 1n),
    kept: kept && { ...kept, key: `again ${kept.key}`, lock: kept.lock ^ 1 },
  }));

/**
 * Runs the set-based statement for some messages.
 *
 * @returns The written messages in order. Empty if the statement does not support one of the messages.
 */
async function sendTogether({ id }: { readonly id: number }, messages: readonly Json[]): Promise<Json[]> {
  const rows = await server.app.db.$queryRaw<Json[]>`
    SELECT * FROM send_plain_messages(
      jsonb_build_array(jsonb_build_object('realm_id', ${id}::int, 'messages', ${JSON.stringify(messages)}::jsonb)),
      ARRAY[${id}::int])`;
  return rows.toSorted((a, b) => a.place - b.place);
}

const under = (key: string) => ({ headers: { 'idempotency-key': key } });

async function scene(on = server) {
  const { owner, member, organization, signUp } = await createOrganization({}, { on });
  const to = await channelOf(owner, 'square', [owner, member]);
  const say = (message: Parameters) => owner.ok('POST', '/messages', { type: 'channel', to, topic: 'a', ...message });
  const sayUnder = (key: string, message: Parameters = {}) =>
    owner.rest('POST', '/messages', { type: 'channel', to, topic: 'a', content: key, ...message }, under(key));
  await say({ content: 'first' });
  return { owner, member, organization, to, signUp, say, sayUnder };
}

/** Sends a message over GraphQL. @returns The response, which contains the log position. */
async function sayByGraphQL(person: Person, key: string, to: number, content: string): Promise<Json> {
  const query = `mutation ($input: SendMessageInput!) { sent: sendMessage(input: $input) { __typename
    ... on SendMessagePayload { position } } }`;
  const { headers, body } = operationBody({ query, variables: { input: { to: toTopic(to, 'a'), content } } });
  const all = { ...person.headers, ...headers, 'idempotency-key': key };
  const { text } = await send(person.url, { method: 'POST', path: '/graphql', headers: all, body });
  return (JSON.parse(text) as Json).data.sent;
}

/**
 * Returns the data written for an organization's last messages with these idempotency keys. Omits the values that differ for
 * each message.
 */
async function lastWritten({ id }: { readonly id: number }, keys: readonly string[]): Promise<Json[]> {
  const { db } = server.app;
  const rows = await db.$queryRaw<Json[]>`
    SELECT m.id::int, e.id::int AS position, to_jsonb(m) - '{id,sent_event_id,send_token}'::text[] AS message,
           to_jsonb(e) #- '{id}' #- '{payload,id}' AS event,
           (SELECT jsonb_agg(to_jsonb(u) - 'message_id' ORDER BY u.user_id) FROM user_message u
            WHERE u.realm_id = m.realm_id AND u.message_id = m.id) AS named
    FROM message m JOIN event e ON e.realm_id = m.realm_id AND e.id = m.sent_event_id
    WHERE m.realm_id = ${id} ORDER BY m.id DESC LIMIT ${keys.length}`;
  const kept = await db.$queryRaw<Json[]>`
    SELECT k.result #>> '{}' AS reply, encode(k.input_hash, 'hex') AS hash, k.reply_bytes AS bytes
    FROM unnest(${keys}::text[]) WITH ORDINALITY AS w(key, place)
    JOIN idempotency_record k ON k.realm_id = ${id} AND k.key = w.key ORDER BY w.place`;
  return rows.reverse().map(({ id: messageId, position, ...row }, i) => {
    const { reply, hash, bytes } = kept[i] ?? {};
    expect(bytes).toBe(Buffer.byteLength(reply));
    return { ...row, hash, reply: reply.replaceAll(`${messageId}`, 'id').replaceAll(`${position}`, 'position') };
  });
}

test('batched messages are written like single ones', async () => {
  const { owner, member, organization, to, say, sayUnder } = await scene();
  const hidden = await channelOf(owner, 'hidden', [owner, member], { privacy: 'invite_only' });
  await member.ok('POST', '/users/me/alert_words', { alert_words: ['fire'] });
  // A mention that makes the user follow the topic requires a transaction of several statements.
  await member.ok('PATCH', '/settings', { automatically_follow_topics_where_mentioned: false });
  await member.ok('POST', '/messages', { type: 'channel', to, topic: 'a', content: 'so that @**topic** is somebody' });
  // Adds events, so that event positions differ from message ids.
  for (let i = 0; i < 3; i++) await owner.ok('PATCH', '/settings', { timezone: `Etc/GMT+${i}` });
  const name = `@**${member.name}**`;
  const everywhere: Parameters[] = [
    ...['plain', `${name} look`, '@**topic** look', '@**all** look', 'a fire'].map((content) => ({ content })),
    { to: hidden, content: 'https://example.com' },
    { type: 'direct', to: [member.id], content: `${name} and fire` },
    { type: 'direct', to: [owner.id], content: 'a note' },
  ];
  // Sends a first message to each location, because the statement does not support messages that start a topic or conversation.
  for (const message of everywhere) await say({ ...message, content: 'before' });
  const keys = [...everywhere.keys(), 'position'].map((key) => `alone ${key}`);
  const given = await givenFor(async () => {
    for (const [i, message] of everywhere.entries()) {
      expect((await sayUnder(`alone ${i}`, message)).status).toBe(200);
    }
    expect(await sayByGraphQL(owner, 'alone position', to, 'told')).toMatchObject({ __typename: 'SendMessagePayload' });
  });
  const alone = await lastWritten(organization, keys);
  expect(alone.map(({ message }) => message.content)).toEqual([...everywhere.map(({ content }) => content), 'told']);
  expect(alone.map(({ reply }) => reply)).toEqual(alone.map(() => '{"id": id, "position": position}'));

  const written = await sendTogether(organization, anew(given));
  expect(written.map(({ place }) => place)).toEqual(keys.map((_, i) => i + 1));
  const together = await lastWritten(
    organization,
    keys.map((key) => `again ${key}`),
  );
  expect(together).toEqual(alone);
  for (const column of ['message_id', 'event_id']) {
    const ids = written.map((row) => Number(row[column]));
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
  }
});

/** Properties of messages that the set-based statement does not support. Each function returns an input with the property. */
const OTHERS: Readonly<Record<string, (given: Json, at: Awaited<ReturnType<typeof scene>>) => unknown>> = {
  'may have been sent already': (given) => ({ ...given, repeated: true }),
  'sets a policy': (given, { owner }) => ({
    ...given,
    policy: { user_id: owner.id, topic: 'a', policy: 3, event_type: 'user_topic', payload: {} },
  }),
  'is of a sender of another role': (given) => ({ ...given, sender_role: 600 }),
  'is of a sender who is gone': async (given, { owner, signUp }) => {
    const gone = await signUp('gone');
    await owner.ok('DELETE', `/users/${gone.id}`);
    const { sender } = given.payload;
    return { ...given, sender_role: 400, payload: { ...given.payload, sender: { ...sender, id: gone.id } } };
  },
  'is for a channel as it was': (given) => ({ ...given, channel_version: '1' }),
  'is for a channel that is archived': async (given, { owner, organization }) => {
    const archived = await channelOf(owner, 'archived', [owner]);
    await owner.ok('DELETE', `/streams/${archived}`);
    const [row] = await server.app.db.$queryRaw<Json[]>`
      SELECT xmin::text AS version FROM channel WHERE realm_id = ${organization.id} AND id = ${archived}`;
    return { ...given, channel_id: archived, channel_version: row?.version, subscription_version: null };
  },
  'is for a channel of another organisation': async (given) => {
    const other = await scene();
    const [foreign] = await givenFor(() => other.say({ content: 'elsewhere' }));
    return { ...given, channel_id: foreign?.channel_id, channel_version: foreign?.channel_version };
  },
  'is by a subscription as it was': (given) => ({ ...given, subscription_version: '1' }),
  'is to somebody who is gone': async (_, { owner, signUp, say }) => {
    const gone = await signUp('gone');
    const [direct] = await givenFor(() => say({ type: 'direct', to: [gone.id], content: 'still there' }));
    await owner.ok('DELETE', `/users/${gone.id}`);
    return direct;
  },
  'begins a conversation': (given, { owner, member }) => ({
    ...given,
    ...{ channel_id: null, channel_version: null, public_channel_id: null, subscription_version: null },
    member_ids: [owner.id, member.id].toSorted((a, b) => a - b),
  }),
  'is under a key that was used': (given) => ({ ...given, kept: { ...given.kept, key: given.kept.key.slice(6) } }),
  'is under the key of another one': (given, { owner }) => ({
    ...given,
    kept: { ...given.kept, user_id: owner.id, key: 'again 1' },
  }),
};

test.for(Object.entries(OTHERS))('a message that %s disqualifies its batch', async ([, alter]) => {
  const at = await scene();
  const given = await givenFor(async () => {
    for (const i of [1, 2, 3, 4]) await at.sayUnder(`${i}`);
  });
  const messages = anew(given);
  const [one, two, three, four] = messages as [Json, Json, Json, Json];
  const altered = (await alter(three, at)) as Json;
  const written = () => server.app.db.message.count({ where: { organizationId: at.organization.id } });
  const counter = () => server.app.db.eventCounter.findUniqueOrThrow({ where: { organizationId: at.organization.id } });
  const before = [await written(), await counter()];
  expect(await sendTogether(at.organization, [one, two, altered, four])).toEqual([]);
  expect([await written(), await counter()]).toEqual(before);
  expect(await sendTogether(at.organization, messages)).toHaveLength(4);
});

/**
 * Statements with which another session locks rows. For each of three organizations, whether its messages are sent meanwhile.
 */
const HELD: Readonly<Record<string, readonly [sql: string, isSent: readonly boolean[]]>> = {
  'the log of one': ['SELECT FROM event_counter WHERE realm_id = $1 FOR UPDATE', [false, true, true]],
  'a channel of one': ['SELECT FROM channel WHERE realm_id = $1 FOR UPDATE', [false, true, true]],
  'the sender of one': ['SELECT FROM user_account WHERE realm_id = $1 FOR UPDATE', [false, true, true]],
  'a table': ['LOCK TABLE event_counter', [false, false, false]],
};

test.skipIf(DATABASE_URL === undefined).for(Object.entries(HELD))(
  'if another session holds %s, messages that need it are skipped, and the others are sent',
  async ([, [hold, isSent]]) => {
    await using database = await createMigratedDatabase(DATABASE_URL ?? '');
    await using service = await startInProcess({
      env: { DATABASE_URL: database.url, SECRET_KEY: 'in process '.repeat(4) },
    });
    const all = [await scene(service), await scene(service), await scene(service)];
    const batches = [];
    for (const { organization, sayUnder } of all) {
      const given = await givenFor(async () => {
        for (const key of ['1', '2']) await sayUnder(key);
      }, service);
      batches.push({ realm_id: organization.id, messages: anew(given) });
    }
    const holder = new pg.Client({ connectionString: database.url });
    await holder.connect();
    await holder.query('BEGIN');
    await holder.query(hold, hold.includes('$1') ? [all[0]?.organization.id] : []);
    const sending = service.app.db.$queryRaw<Json[]>`
      SELECT * FROM write_messages(${JSON.stringify(batches)}::jsonb)`;
    const rows = await sending.finally(() => holder.end());
    const sent = all.map(({ organization }) =>
      rows.filter((row) => row.realm_id === organization.id).map(({ place }) => place),
    );
    expect(sent).toEqual(isSent.map((is) => (is ? [1, 2] : [])));
    const counts = all.map(({ organization }) =>
      service.app.db.message.count({ where: { organizationId: organization.id } }),
    );
    expect(await Promise.all(counts)).toEqual(isSent.map((is) => (is ? 5 : 3)));
  },
);

test('the statement is planned with index lookups, however small the tables are', async () => {
  const { db } = server.app;
  const [made] = await db.$queryRaw<Json[]>`
    SELECT prosrc AS body, proconfig AS settings FROM pg_proc WHERE proname = 'send_plain_messages'`;
  const [, query = ''] = /FOR r IN\s(.*?)\n {2}LOOP/s.exec(made?.body) ?? [];
  const asked = query
    .replaceAll('p_organizations', "(SELECT '[]'::jsonb)")
    .replaceAll('p_realm_ids', 'ARRAY(SELECT 1)');
  const plan = await db.$transaction(async (tx) => {
    for (const setting of made?.settings ?? []) {
      const [name, value] = setting.split('=');
      await tx.$queryRaw`SELECT set_config(${name}, ${value}, true)`;
    }
    return tx.$queryRawUnsafe<Json[]>(`EXPLAIN ${asked}`);
  });
  const lines = plan.map((row) => String(row['QUERY PLAN']));
  expect(lines.filter((line) => /Index (Only )?Scan/.test(line)).length).toBeGreaterThan(5);
  expect(lines.filter((line) => /Seq Scan/.test(line))).toEqual([]);
});
