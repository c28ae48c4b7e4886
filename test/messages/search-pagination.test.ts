import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Ctx } from '../../src/access/context.ts';
import { Prisma } from '../../src/generated/prisma/client.ts';
import { indexMessages } from '../../src/messages/narrow/index-worker.ts';
import { compileNarrow } from '../../src/messages/narrow/narrow.ts';
import { selectIds } from '../../src/messages/narrow/narrow-select.ts';
import type { NarrowTerm } from '../../src/messages/narrow/narrow-terms.ts';
import type { Json } from '../helpers/http.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

// Tests searches in a large organization in which the matches are far apart. A second organization has almost no messages.

/** Number of consecutive message ids in one bucket of the search index. */
const BUCKET = 16_384;
/**
 * Number of messages in the large organization, and the distances between their ids in its older (`DENSE`) and newer (`SPARSE`)
 * half. The older half is in 4 buckets, for which the search reads the index. The newer half is in 240 buckets, for which it
 * compares messages one by one.
 */
const [COUNT, DENSE, SPARSE] = [2_000, 60, 3_932];
/** Interval at which the member sends a message that does not contain the word "common": every `OWN`th message. */
const OWN = 97;
/** Number of empty buckets of the search index between the two halves. */
const HOLE = 60;
/** Last message id of the older half. */
const MIDDLE = 1000 + (COUNT / 2) * DENSE;

let service: InProcess;
let large: Organization;
let small: Organization;
/** Messages of the large organization in ascending order of their ids. `isOpen`: the message is in the public channel. */
let messages: { readonly id: number; readonly content: string; readonly isOpen: boolean }[];

beforeAll(async () => {
  service = await startInProcess();
  [large, small] = [await createOrganization({}, { on: service }), await createOrganization({}, { on: service })];
  const { db } = service.app;
  const { owner, member, organization } = large;
  const channelOf = async (name: string, isPrivate: boolean) => {
    const parameters = { subscriptions: [{ name }], invite_only: isPrivate };
    await owner.ok('POST', '/users/me/subscriptions', parameters);
    return (await db.channel.findFirstOrThrow({ where: { organizationId: organization.id, name } })).id;
  };
  const [open, closed] = [await channelOf('open', false), await channelOf('closed', true)];
  await member.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'open' }] });
  // The member can read two thirds of the messages. The others are in neither a channel nor a conversation of the member.
  await db.$executeRaw`
    INSERT INTO message (realm_id, id, sender_id, channel_id, sent_channel_id, topic, content, rendered_content, client_name,
                         sent_at, sent_event_id, send_token)
    SELECT ${organization.id}, at.id, at.sender, at.channel, at.channel, 'topic', at.content, '<p>x</p>', 'test', now(), 1, 1
    FROM generate_series(1, ${COUNT}::int) AS n CROSS JOIN LATERAL (
      SELECT CASE WHEN n <= ${COUNT / 2} THEN 1000 + n::bigint * ${DENSE}
             ELSE ${MIDDLE + HOLE * BUCKET}::bigint + (n - ${COUNT / 2}) * ${SPARSE}::bigint END AS id,
             CASE WHEN n % 3 = 0 THEN ${closed}::int ELSE ${open}::int END AS channel,
             CASE WHEN n % ${OWN} = 0 THEN ${member.id}::int ELSE ${owner.id}::int END AS sender,
             CASE WHEN n % ${OWN} = 0 THEN 'personal ' ELSE 'common ' END || CASE WHEN n % 7 = 0 THEN 'frequent ' ELSE '' END || CASE WHEN n % 401 = 0 THEN 'seldom ' ELSE '' END
               || n AS content) AS at`;
  await db.$executeRaw`
    SELECT setval('message_id_seq', ${MIDDLE + HOLE * BUCKET + (COUNT / 2) * SPARSE + 1})`;
  // Indexes only the messages in the middle, as if the background job had not finished.
  const middle = BigInt(MIDDLE);
  await db.searchProgress.update({
    where: { organizationId: organization.id },
    data: { fromId: middle + 1n, throughId: middle },
  });
  for (let i = 0; i < 2; i++) await db.$executeRaw`SELECT index_messages(${organization.id}::int, 300)`;
  await service.app.database.runScript('VACUUM ANALYZE message');
  const rows = await db.message.findMany({
    where: { organizationId: organization.id, topic: 'topic' },
    orderBy: { id: 'asc' },
  });
  messages = rows.map(({ id, content, channelId }) => ({ id: Number(id), content, isOpen: channelId === open }));
});
afterAll(() => service[Symbol.asyncDispose]());

const search = (word: string): NarrowTerm => ({ operator: 'search', operand: word, negated: false });
const PUBLIC: NarrowTerm = { operator: 'channels', operand: 'public', negated: false };

/** Returns the ids of all matches in the public channel, computed from the contents of all messages. */
const expected = (word: string) =>
  messages.filter(({ content, isOpen }) => isOpen && content.split(' ').includes(word)).map(({ id }) => id);

/**
 * Fetches all pages of a search, from one end to the other.
 *
 * @returns The ids of the matches, ascending.
 */
async function walk(person: Person, word: string, size: number, isNewestFirst: boolean): Promise<number[]> {
  const found: number[] = [];
  let anchor: string | number = isNewestFirst ? 'newest' : 'oldest';
  for (;;) {
    const page: Json = await person.ok('GET', '/messages', {
      ...{ anchor, include_anchor: typeof anchor === 'string', narrow: [PUBLIC, search(word)] },
      ...{ num_before: isNewestFirst ? size : 0, num_after: isNewestFirst ? 0 : size },
    });
    const ids: number[] = page.messages.map(({ id }: Json) => id);
    found.push(...(isNewestFirst ? ids.toReversed() : ids));
    const isOver: boolean = isNewestFirst ? page.found_oldest : page.found_newest;
    if (isOver) return found;
    // Every page except the last one is full.
    expect(ids).toHaveLength(size);
    anchor = (isNewestFirst ? ids[0] : ids.at(-1)) as number;
  }
}

test.each([
  ['common', 50],
  ['frequent', 7],
  ['seldom', 2],
  ['seldom', 100],
  ['personal', 3],
  ['nowhere', 5],
])('pages of "%s", %i each, have all that is found, once and in order', async (word, size) => {
  const all = expected(word);
  expect(await walk(large.member, word, size, true)).toEqual(all.toReversed());
  expect(await walk(large.member, word, size, false)).toEqual(all);
});

test('a page around a message contains the nearest matches on either side', async () => {
  const all = expected('frequent');
  // The anchors are at both ends of index buckets, in the gap between the halves, and at matching messages.
  const ids = messages.map(({ id }) => id);
  const anchors = [
    ...[0, BUCKET, BUCKET - 1, BUCKET * 30, BUCKET * 30 - 1],
    ids[COUNT / 2 - 1] ?? 0,
    ...all.slice(70, 72),
  ];
  for (const anchor of anchors) {
    const { messages: found } = await large.member.ok('GET', '/messages', {
      ...{ anchor, num_before: 3, num_after: 4, narrow: [PUBLIC, search('frequent')] },
    });
    const [before, after] = [all.filter((id) => id < anchor), all.filter((id) => id > anchor)];
    const near = [...before.slice(-3), ...all.filter((id) => id === anchor), ...after.slice(0, 4)];
    expect(
      found.map(({ id }: Json) => id),
      String(anchor),
    ).toEqual(near);
  }
});

/** A node in the output of EXPLAIN. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

const nodesIn = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesIn)];

const READ = /^(message|searchable_message|search_stale)(_|$)/;

/** Returns how many table rows and index entries the first page of a search reads. */
async function readFor({ member, organization }: Organization, terms: readonly NarrowTerm[], numBefore: number) {
  const { app } = service;
  const user = await app.db.user.findFirstOrThrow({ where: { id: member.id } });
  const viewer = { id: user.id, organization, role: user.role, user } as unknown as Ctx['viewer'];
  const ctx = { app, work: app.work, viewer, organizationId: organization.id } as Ctx;
  const narrow = await compileNarrow(ctx, terms);
  const plans: PlanNode[] = [];
  const explaining = {
    async $queryRaw(statement: Prisma.Sql) {
      const rows = await app.db.$queryRaw<{ 'QUERY PLAN': { Plan: PlanNode }[] }[]>(
        Prisma.sql`EXPLAIN (ANALYZE, FORMAT JSON) ${statement}`,
      );
      for (const row of rows) plans.push(...row['QUERY PLAN'].map(({ Plan }) => Plan));
      return [];
    },
  };
  const range = { anchor: 'newest', numBefore, numAfter: 0, includeAnchor: true } as const;
  await selectIds({ ...ctx, work: { db: explaining } } as unknown as Ctx, narrow, range);
  expect(plans).toHaveLength(1);
  const scans = plans.flatMap(nodesIn).filter((node) => {
    return READ.test(node['Relation Name'] ?? '') || READ.test(node['Index Name'] ?? '');
  });
  expect(scans.length).toBeGreaterThan(1);
  return scans.reduce((sum, node) => {
    const each =
      node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
    return sum + each * node['Actual Loops'];
  }, 0);
}

test('a search reads nothing of another organisation', async () => {
  await indexMessages(service.app, { least: 1 });
  // The small organization has no messages yet, so nothing is read.
  expect(await readFor(small, [search('common')], 50)).toBe(0);
  const { id } = await small.owner.ok('POST', '/messages', {
    type: 'direct',
    to: [small.member.id],
    content: 'greetings',
  });
  expect(id).toBeGreaterThan(messages.at(-1)?.id ?? 0);
  await indexMessages(service.app, { least: 1 });
  // The search reads the only message three times: at its beginning, in the list of few messages, and for its folded text. If
  // the text matches, it reads the message once more.
  expect(await readFor(small, [search('common')], 50)).toBe(3);
  expect(await readFor(small, [search('greetings')], 50)).toBe(4);
});

test('a search for a common word reads little more than the page that is wanted', async () => {
  // The 10 matches are in one bucket and the two before it. The search reads about 20 entries in the index and in the table,
  // and the matches once more by id.
  expect(await readFor(large, [PUBLIC, search('common')], 10)).toBeLessThan(60);
});

test('a search in few messages does not read the entries of words that others have', async () => {
  const sender: NarrowTerm = { operator: 'sender', operand: large.member.id, negated: false };
  const own = messages.filter(({ content }) => content.startsWith('personal')).length;
  // The search reads each message of the member at most three times. The additional reads find where a step of the search
  // begins.
  expect(await readFor(large, [PUBLIC, sender, search('common')], 50)).toBeLessThan(3 * own + 30);
});

test('a search in a narrow finds the messages of the narrow that contain the word', async () => {
  const { owner, member } = large;
  const { id: channelId } = await owner.ok('GET', '/get_stream_id', { stream: 'open' }).then(({ stream_id }) => ({
    id: stream_id,
  }));
  const some = messages.filter(({ isOpen }, i) => isOpen && i % 41 === 0).map(({ id }) => id);
  await member.ok('POST', '/messages/flags', { messages: some, op: 'add', flag: 'starred' });
  await member.ok('POST', '/messages/flags', { messages: some.slice(0, 9), op: 'remove', flag: 'read' });
  for (const id of some.slice(0, 5)) await member.ok('POST', `/messages/${id}/reactions`, { emoji_name: 'tada' });
  for (const content of [
    'common greetings',
    'frequent greetings',
    'a mention @**all** common',
    'common https://dock.example/a',
  ]) {
    await owner.ok('POST', '/messages', { type: 'direct', to: [member.id], content });
  }
  const is = (operand: string) => ({ operator: 'is', operand });
  const channel = { operator: 'channel', operand: channelId };
  const narrows: readonly (readonly object[])[] = [
    [],
    [PUBLIC],
    [channel],
    [channel, { operator: 'topic', operand: 'topic' }],
    [channel, { operator: 'topic', operand: 'none' }],
    [{ operator: 'sender', operand: owner.id }],
    [channel, { operator: 'sender', operand: member.id }],
    [{ operator: 'dm', operand: [owner.id] }],
    [{ operator: 'dm-including', operand: owner.id }],
    ...['dm', 'starred', 'unread', 'mentioned', 'resolved'].map((operand) => [is(operand)]),
    [channel, is('starred')],
    [is('starred'), is('unread')],
    [{ operator: 'topic', operand: 'TOPIC' }],
    ...['reaction', 'link', 'image', 'attachment'].map((operand) => [{ operator: 'has', operand }]),
    [channel, { operator: 'has', operand: 'link' }],
    [{ operator: 'is', operand: 'starred', negated: true }, channel],
    [{ operator: 'search', operand: 'seldom', negated: true }, channel],
  ];
  for (const narrow of narrows) {
    const ask = async (terms: readonly object[]): Promise<Json[]> =>
      (
        await member.ok('GET', '/messages', {
          ...{ anchor: 'newest', num_before: 4_000, num_after: 0, narrow: terms, apply_markdown: false },
        })
      ).messages;
    const all = await ask(narrow);
    for (const word of ['common', 'frequent', 'seldom', 'nowhere']) {
      const wanted = all.filter(({ content }) => content.split(/\W+/).includes(word)).map(({ id }) => id);
      const found = await ask([...narrow, search(word)]);
      expect([narrow, word, found.map(({ id }) => id)]).toEqual([narrow, word, wanted]);
    }
  }
});

test('a search compares at most 32 kB of messages one by one', async () => {
  const { owner, organization } = await createOrganization({}, { on: service });
  const texts = [
    'long '.repeat(2000),
    'Длинный текст '.repeat(700),
    '長い文章 '.repeat(1900),
    `${'x'.repeat(9_990)} long`,
  ];
  const ids: number[] = [];
  for (const content of [...texts, ...texts, ...texts, ...texts]) {
    ids.push((await owner.ok('POST', '/messages', { type: 'direct', to: [owner.id], content })).id);
  }
  const found = async (query: string): Promise<number[]> => {
    const reading = {
      anchor: 'newest',
      num_before: 100,
      num_after: 0,
      narrow: [{ operator: 'search', operand: query }],
    };
    return (await owner.ok('GET', '/messages', reading)).messages.map(({ id }: Json) => id);
  };
  /** Returns the size in bytes of the messages that the index lacks, and of those that changed since they were indexed. */
  const unindexed = () => service.app.db.$queryRaw<{ new: bigint | null; changed: bigint | null }[]>`
    SELECT (SELECT sum(octet_length(m.content)) FROM message m JOIN search_progress p USING (realm_id)
            WHERE m.realm_id = ${organization.id} AND m.id > p.through_id) AS new,
           (SELECT sum(octet_length(m.content)) FROM search_stale s
            JOIN message m ON m.realm_id = s.realm_id AND m.id = s.message_id WHERE s.realm_id = ${organization.id}) AS changed`;
  expect(Number((await unindexed())[0]?.new)).toBeGreaterThan(200_000);
  expect(await found('long')).toEqual(ids.filter((_, i) => i % 4 === 0 || i % 4 === 3));
  expect(Number((await unindexed())[0]?.new)).toBeLessThanOrEqual(32_768);

  for (const [i, id] of ids.entries()) await owner.ok('PATCH', `/messages/${id}`, { content: texts[(i + 1) % 4] });
  expect(Number((await unindexed())[0]?.changed)).toBeGreaterThan(200_000);
  expect(await found('ДЛИННЫЙ')).toEqual(ids.filter((_, i) => i % 4 === 0));
  expect(Number((await unindexed())[0]?.changed)).toBeLessThanOrEqual(32_768);
  expect(await found('文章')).toEqual(ids.filter((_, i) => i % 4 === 1));
});
