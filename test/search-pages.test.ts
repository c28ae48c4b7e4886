import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Ctx } from '../src/access/context.ts';
import { Prisma } from '../src/generated/prisma/client.ts';
import { compileNarrow } from '../src/messages/narrow/narrow.ts';
import { selectIds } from '../src/messages/narrow/narrow-select.ts';
import type { NarrowTerm } from '../src/messages/narrow/narrow-terms.ts';
import type { Json } from './helpers/http.ts';
import { type InProcess, startInProcess } from './helpers/in-process.ts';
import type { Person } from './helpers/person.ts';
import { type Organisation, organisation } from './helpers/server.ts';

// What is found lies far apart among the messages of an organisation with many, beside one that has next to none.

/** Ids by which the index tells messages apart. */
const BUCKET = 16_384;
/** How many messages the large organisation has, and how far their ids are apart, so that they lie in 240 buckets. */
const [COUNT, GAP] = [2_000, 1_966];
/** So many buckets without a message are in between. */
const HOLE = 60;

let service: InProcess;
let large: Organisation;
let small: Organisation;
/** Of the messages of the large organisation, ascending. */
let messages: { readonly id: number; readonly content: string; readonly isOpen: boolean }[];

beforeAll(async () => {
  service = await startInProcess();
  [large, small] = [await organisation({}, { on: service }), await organisation({}, { on: service })];
  const { db } = service.app;
  const { owner, member, realm } = large;
  const channelOf = async (name: string, isPrivate: boolean) => {
    const parameters = { subscriptions: [{ name }], invite_only: isPrivate };
    await owner.ok('POST', '/users/me/subscriptions', parameters);
    return (await db.channel.findFirstOrThrow({ where: { realmId: realm.id, name } })).id;
  };
  const [open, closed] = [await channelOf('open', false), await channelOf('closed', true)];
  await member.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'open' }] });
  // Every third message is in neither a channel nor a conversation that the member reads.
  await db.$executeRaw`
    INSERT INTO message (realm_id, id, sender_id, channel_id, sent_channel_id, topic, content, rendered_content, client_name,
                         sent_at, sent_event_id, send_token)
    SELECT ${realm.id}, at.id, ${owner.id}, at.channel, at.channel, 'topic', at.content, '<p>x</p>', 'test', now(), 1, 1
    FROM generate_series(1, ${COUNT}::int) AS n CROSS JOIN LATERAL (
      SELECT 1000 + n::bigint * ${GAP} + CASE WHEN n > ${COUNT / 2} THEN ${HOLE * BUCKET} ELSE 0 END AS id,
             CASE WHEN n % 3 = 0 THEN ${closed}::int ELSE ${open}::int END AS channel,
             'common ' || CASE WHEN n % 7 = 0 THEN 'frequent ' ELSE '' END || CASE WHEN n % 401 = 0 THEN 'seldom ' ELSE '' END
               || n AS content) AS at`;
  await db.$executeRaw`
    SELECT setval('message_id_seq', ${1000 + COUNT * GAP + HOLE * BUCKET + 1})`;
  await service.app.database.runScript('VACUUM ANALYZE message');
  const rows = await db.message.findMany({ where: { realmId: realm.id, topic: 'topic' }, orderBy: { id: 'asc' } });
  messages = rows.map(({ id, content, channelId }) => ({ id: Number(id), content, isOpen: channelId === open }));
}, 120_000);
afterAll(() => service[Symbol.asyncDispose]());

const search = (word: string): NarrowTerm => ({ operator: 'search', operand: word, negated: false });
const PUBLIC: NarrowTerm = { operator: 'channels', operand: 'public', negated: false };

/** What a reader of the open channel finds, counted by hand. */
const expected = (word: string) =>
  messages.filter(({ content, isOpen }) => isOpen && content.split(' ').includes(word)).map(({ id }) => id);

/** A page after the other, from one end to the other. */
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
    // A client that asks on from where a page ended comes further.
    expect(ids).toHaveLength(size);
    anchor = (isNewestFirst ? ids[0] : ids.at(-1)) as number;
  }
}

test.each([
  ['common', 50],
  ['frequent', 7],
  ['seldom', 2],
  ['seldom', 100],
  ['nowhere', 5],
])('pages of "%s", %i each, have all that is found, once and in order', async (word, size) => {
  const all = expected(word);
  expect(await walk(large.member, word, size, true)).toEqual(all.toReversed());
  expect(await walk(large.member, word, size, false)).toEqual(all);
});

test('a page around a message has what is found on either side, from the next one on', async () => {
  const all = expected('frequent');
  // At both ends of buckets, within the hole, and at what is found itself.
  const ids = messages.map(({ id }) => id);
  const anchors = [
    ...[0, BUCKET, BUCKET - 1, BUCKET * 130, BUCKET * 130 - 1],
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

/** A node of what EXPLAIN tells. */
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

/** How many entries of the table and of its indexes the first page of a search comes by. */
async function readFor({ member, realm }: Organisation, terms: readonly NarrowTerm[], numBefore: number) {
  const { app } = service;
  const user = await app.db.user.findFirstOrThrow({ where: { id: member.id } });
  const viewer = { id: user.id, realm, role: user.role, user } as unknown as Ctx['viewer'];
  const ctx = { app, viewer, realmId: realm.id } as Ctx;
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
  await selectIds({ ...ctx, app: { ...app, db: explaining } } as unknown as Ctx, narrow, range);
  expect(plans).toHaveLength(1);
  const scans = plans.flatMap(nodesIn).filter((node) => {
    return node['Relation Name'] === 'message' || node['Index Name']?.startsWith('message_') === true;
  });
  expect(scans.length).toBeGreaterThan(1);
  return scans.reduce((sum, node) => {
    const each =
      node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
    return sum + each * node['Actual Loops'];
  }, 0);
}

test('a search reads nothing of another organisation', async () => {
  // It has none at all.
  expect(await readFor(small, [search('common')], 50)).toBe(0);
  const { id } = await small.owner.ok('POST', '/messages', {
    type: 'direct',
    to: [small.member.id],
    content: 'greetings',
  });
  expect(id).toBeGreaterThan(messages.at(-1)?.id ?? 0);
  // Its own one, where the search begins.
  expect(await readFor(small, [search('common')], 50)).toBe(1);
  // From the index, from the table, and once more to see whether it may be read.
  expect(await readFor(small, [search('greetings')], 50)).toBe(4);
});

test('a search for a common word reads little more than the page that is wanted', async () => {
  // 10 found in one bucket and the two before it: some 20 entries, come by in the index and the table, and looked up again.
  expect(await readFor(large, [PUBLIC, search('common')], 10)).toBeLessThan(60);
});
