import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { deleteExpired } from '../../src/messages/retention/service.ts';
import { createMigratedDatabase, type TestDatabase } from '../helpers/database.ts';
import type { Json } from '../helpers/http.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import { type Person, Visitor } from '../helpers/person.ts';
import { WAYS, ways } from '../helpers/send-ways.ts';
import { createOrganization } from '../helpers/server.ts';
import { aroundStatements } from '../helpers/statements.ts';
import { channelOf, say } from '../helpers/talk.ts';

// Tests repeated requests that send a message under an idempotency key. Requests are repeated at another node of the service; on
// the embedded database, which has one node, at the same one.

const { DATABASE_URL } = process.env;

let database: TestDatabase | undefined;
let first: InProcess;
let other: InProcess;
beforeAll(async () => {
  if (DATABASE_URL !== undefined) database = await createMigratedDatabase(DATABASE_URL);
  const env = database === undefined ? {} : { DATABASE_URL: database.url, SECRET_KEY: 'in process '.repeat(4) };
  first = await startInProcess({ env });
  other = database === undefined ? first : await startInProcess({ env });
});
afterAll(async () => {
  for (const node of new Set([first, other])) await node[Symbol.asyncDispose]();
  await database?.[Symbol.asyncDispose]();
});

/** Returns the user as a client of the other node. */
const atOther = ({ host, authorization }: Person) => new Visitor({ url: other.url, host, authorization });

/** Creates an organization whose users automatically follow topics that they start. */
async function setUp() {
  const { owner, member, organization } = await createOrganization({}, { on: first });
  const to = await channelOf(owner, 'square', [owner, member]);
  await owner.ok('PATCH', '/settings', { automatically_follow_topics_policy: 3 });
  await owner.ok('PATCH', '/realm', { message_content_edit_limit_seconds: '"unlimited"' });
  return { owner, member, organization, to };
}

const recordOf = (key: string) => first.app.db.idempotencyRecord.findFirst({ where: { key } });
const newestOf = async ({ id }: { readonly id: number }) =>
  Number((await first.app.db.message.findFirstOrThrow({ where: { organizationId: id }, orderBy: { id: 'desc' } })).id);

type Setup = Awaited<ReturnType<typeof setUp>>;

/**
 * Changes that happen after a message was sent: of the message, of the channel or conversation to which it was sent, or of its
 * readers.
 */
const CHANGES: Readonly<Record<string, (at: Setup, id: number) => Promise<unknown>>> = {
  'was edited': ({ owner }, id) => owner.ok('PATCH', `/messages/${id}`, { content: 'something else' }),
  'was moved': async ({ owner }, id) => {
    const stream_id = await channelOf(owner, 'elsewhere', [owner]);
    await owner.ok('PATCH', `/messages/${id}`, { stream_id, topic: 'new', propagate_mode: 'change_all' });
  },
  'was deleted': ({ owner }, id) => owner.ok('DELETE', `/messages/${id}`),
  'has expired': async ({ owner, to }, id) => {
    await owner.ok('PATCH', `/streams/${to}`, { message_retention_days: 1 });
    await first.app.db.$executeRaw`UPDATE message SET sent_at = sent_at - interval '2 days' WHERE id = ${id}`;
    await deleteExpired(first.app);
    expect(await first.app.db.message.count({ where: { id } })).toBe(0);
  },
  'is in an archived channel': ({ owner, to }) => owner.ok('DELETE', `/streams/${to}`),
  'is in a topic that its sender has muted since': ({ owner, to }) =>
    owner.ok('POST', '/user_topics', { stream_id: to, topic: 'mine', visibility_policy: 1 }),
  'has lost its other reader': ({ owner, member }) =>
    owner.ok('DELETE', `/users/${member.id}`, { actions: { delete_profile: true, delete_messages: true } }),
};

/** All APIs with which a test sends, and a GraphQL document whose reply contains the message itself. */
const SELECTIONS: typeof ways = [
  ...ways,
  [
    'GraphQL with the message',
    (who, message) => WAYS.GraphQL(who, message, 'position sentMessage { databaseId content }'),
  ],
];

const CASES = SELECTIONS.flatMap(([way, sayUnder]) =>
  Object.entries(CHANGES).map(([name, change]) => [way, name, sayUnder, change] as const),
);

test.for(CASES)('%s: a repetition gets the first reply if the message %s', async ([, , sayUnder, change]) => {
  const at = await setUp();
  const message = { to: at.to, topic: 'mine', content: 'once', key: randomUUID() };
  const reply = await sayUnder(at.owner, message);
  expect(reply).toMatchObject({ isSent: true });
  await change(at, await newestOf(at.organization));
  const { count } = first.app.db.message;
  const before = await count({ where: { organizationId: at.organization.id } });
  for (const who of [at.owner, atOther(at.owner)]) expect(await sayUnder(who, message)).toEqual(reply);
  expect(await count({ where: { organizationId: at.organization.id } })).toBe(before);
});

test.for(ways)('%s: the data of the change is stored, and deleted with its user', async ([, sayUnder]) => {
  const { owner, member, organization, to } = await setUp();
  await member.ok('PATCH', '/settings', { automatically_follow_topics_policy: 3 });
  const key = randomUUID();
  await sayUnder(member, { to, topic: 'mine', content: 'secret', key });
  const [policy] = await first.app.db.event.findMany({
    where: { organizationId: organization.id },
    orderBy: { id: 'desc' },
    take: 1,
  });
  const storedData = { id: await newestOf(organization), position: Number(policy?.id), newPolicy: 3 };
  expect(await recordOf(key)).toMatchObject({ result: storedData });
  await owner.ok('DELETE', `/users/${member.id}`, { actions: { delete_profile: true } });
  expect(await recordOf(key)).toBeNull();
});

test.for(ways)('%s: concurrent requests at both nodes send one message', async ([, sayUnder]) => {
  const { owner, organization, to } = await setUp();
  const message = { to, topic: 'mine', content: 'once', key: randomUUID() };
  const clients = [owner, atOther(owner), owner, atOther(owner), owner, atOther(owner)];
  const replies = await Promise.all(clients.map((who) => sayUnder(who, message)));
  expect(replies[0]).toMatchObject({ isSent: true });
  for (const reply of replies) expect(reply).toEqual(replies[0]);
  expect(await first.app.db.message.count({ where: { organizationId: organization.id, topic: 'mine' } })).toBe(1);
});

describe('with nodes of the previous version', () => {
  /** Replies in the format in which nodes of the previous version stored them. */
  const STORED: Json = {
    REST: { id: 7, automatic_new_visibility_policy: 2 },
    GraphQL: { sent: { __typename: 'SendMessagePayload', position: 9, again: 9, newTopicVisibility: 'UNMUTED' } },
  };

  test.for(ways)('%s: their stored replies are repeated', async ([way, sayUnder]) => {
    const { owner, to } = await setUp();
    const message = { to, topic: 'mine', content: 'once', key: randomUUID() };
    await sayUnder(owner, message);
    const result = JSON.stringify(STORED[way]);
    await first.app.db.idempotencyRecord.updateMany({ where: { key: message.key }, data: { result } });
    const { sent = STORED[way] } = STORED[way];
    expect(await sayUnder(atOther(owner), message)).toMatchObject({ isSent: true, ...sent });
    const refused = { isSent: false, msg: 'This idempotency key was used for another request' };
    expect(await sayUnder(owner, { ...message, content: 'else' })).toMatchObject(refused);
  });

  /**
   * Runs `send_messages` as a node of the previous version does. It passes the text of the reply, in which 71 stands for the
   * message id and 72 for the position.
   *
   * @returns The row of the message, if there is one.
   */
  async function sendAsBefore(
    { id }: { readonly id: number },
    given: Json,
    { key, reply }: { readonly key: string; readonly reply: string },
  ): Promise<Json | undefined> {
    const { facts: _, ...kept } = given.kept;
    const text = { key, reply, id_mark: '71', position_mark: '72' };
    const message = { ...given, send_token: String(BigInt(given.send_token) ^ 1n), kept: { ...kept, ...text } };
    const [row] = await first.app.db.$queryRaw<Json[]>`
      SELECT * FROM send_messages(${id}::int, ${JSON.stringify([message])}::jsonb, false)`;
    return row;
  }

  /** Sends a message under an idempotency key. @returns The input of the statement that sends it. */
  async function givenFor(owner: Person, to: number, topic: string, key: string): Promise<Json> {
    const given: Json[] = [];
    const mend = aroundStatements(first.app, (run, sql, values) => {
      if (sql.includes('write_messages(')) {
        const batches = JSON.parse(String(values[0])) as Json[];
        given.push(...batches.flatMap(({ messages }) => messages));
      }
      return run();
    });
    onTestFinished(mend);
    const headers = { 'idempotency-key': key };
    await owner.ok('POST', '/messages', { type: 'channel', to, topic, content: key }, { headers });
    mend();
    return given[0];
  }

  test('they send messages and repeat replies', async () => {
    const { owner, organization, to } = await setUp();
    await say(owner, to, 'known');
    const given = await givenFor(owner, to, 'known', randomUUID());
    const draft = { key: randomUUID(), reply: '{"sent":{"id":71,"position":72}}' };
    const sent = await sendAsBefore(organization, given, draft);
    const reply = JSON.stringify({ sent: { id: Number(sent?.message_id), position: Number(sent?.event_id) } });
    expect(sent).toMatchObject({ reply });
    expect(await recordOf(draft.key)).toMatchObject({ result: reply });
    expect(await sendAsBefore(organization, given, draft)).toMatchObject({ message_id: null, reply });
  });

  test('they send several messages by one call, and messages of several organizations', async () => {
    const { owner, organization, to } = await setUp();
    await say(owner, to, 'known');
    const given = await givenFor(owner, to, 'known', randomUUID());
    const { kept, ...plain } = given;
    const text = (key: string) => {
      const { facts: _, ...rest } = kept;
      return { ...rest, key, reply: '{"id":71,"position":72}', id_mark: '71', position_mark: '72' };
    };
    let token = BigInt(given.send_token);
    const message = (more: object = {}) => ({ ...plain, ...more, send_token: String(--token) });
    const key = randomUUID();
    const four = [message({ kept: text(key) }), message(), message(), message()];
    const rows = await first.app.db.$queryRaw<Json[]>`
      SELECT * FROM send_messages(${organization.id}::int, ${JSON.stringify(four)}::jsonb, false) ORDER BY place`;
    expect(rows).toHaveLength(4);
    const reply = JSON.stringify({ id: Number(rows[0]?.message_id), position: Number(rows[0]?.event_id) });
    expect(rows[0]).toMatchObject({ reply });
    expect(await recordOf(key)).toMatchObject({ result: reply });
    const other = await setUp();
    await say(other.owner, other.to, 'known');
    const { kept: _, ...ofOther } = await givenFor(other.owner, other.to, 'known', randomUUID());
    const organizations = [
      { realm_id: organization.id, messages: [message(), message()] },
      { realm_id: other.organization.id, messages: [{ ...ofOther, send_token: String(--token) }] },
    ];
    const shared = await first.app.db.$queryRaw<Json[]>`
      SELECT realm_id, place FROM send_messages_of_many(${JSON.stringify(organizations)}::jsonb) ORDER BY realm_id, place`;
    expect(shared).toEqual([
      { realm_id: organization.id, place: 1 },
      { realm_id: organization.id, place: 2 },
      { realm_id: other.organization.id, place: 1 },
    ]);
  });

  /**
   * Stored texts of a reply, by API: `draft`, with placeholders for the message id and the position. `again` is the expected
   * repeated reply for a message that set no visibility policy, `withPolicy` for a message that set policy 3.
   */
  const DRAFTS = {
    REST: {
      draft: '{"id":71}',
      again: ({ id }: Json) => ({ id }),
      withPolicy: ({ id }: Json) => ({ id, automatic_new_visibility_policy: 3 }),
    },
    GraphQL: {
      draft: '{"sent":{"position":72}}',
      again: ({ position }: Json) => ({ sent: { position } }),
      withPolicy: ({ position }: Json) => ({ sent: { position } }),
    },
    'GraphQL with the policy': {
      draft: '{"sent":{"position":72,"newTopicVisibility":null}}',
      again: ({ position }: Json) => ({ sent: { position, newTopicVisibility: null } }),
      withPolicy: () => undefined,
    },
  };

  test.for(Object.entries(DRAFTS))(
    '%s: they render replies from stored data',
    async ([, { draft, again, withPolicy }]) => {
      const { owner, organization, to } = await setUp();
      for (const expected of [withPolicy, again]) {
        const key = randomUUID();
        const given = await givenFor(owner, to, 'new', key);
        const repeated = await sendAsBefore(organization, { ...given, policy: undefined }, { key, reply: draft });
        const reply = repeated && (JSON.parse(repeated.reply) as Json);
        expect(reply).toEqual(expected((await recordOf(key))?.result as Json));
      }
    },
  );
});
