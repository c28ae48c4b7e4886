import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Prisma } from '../../src/generated/prisma/client.ts';
import { BatchedReads, sharedRows } from '../../src/platform/db/batched-reads.ts';
import { readRows } from '../../src/platform/db/rows.ts';
import { globalId } from '../helpers/global-ids.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';

// Tests batched reads, where concurrent requests share one statement. Each request must get the result that it would get
// without batching.

let server: InProcess;
beforeAll(async () => {
  server = await shareInProcess();
});
afterAll(() => server[Symbol.asyncDispose]());

const ORGANIZATION = 1;

/**
 * Returns batched reads that double numbers, and the list of their statements. A statement fails if it contains the number 13.
 *
 * @param after Called in each statement. The statement ends when the returned promise resolves.
 */
function reading(after: (ids: readonly number[]) => Promise<void> | void = () => {}) {
  const statements: (readonly number[])[] = [];
  const reads = new BatchedReads<number, number>(async ({ db }, ids) => {
    statements.push(ids);
    const rows = await readRows<{ id: number; seen: number }>(
      db,
      Prisma.sql`SELECT id, 10 / (id - 13) AS seen FROM unnest(${[...ids]}::int[]) AS wanted (id)`,
    );
    await after(ids);
    return rows.map(({ id }) => id * 2);
  });
  return { statements, of: (...ids: number[]) => reads.of({ db: server.app.db, organizationId: ORGANIZATION }, ids) };
}

describe('batched reads', () => {
  test('return to each caller the requested results, in their order', async () => {
    const { statements, of } = reading();
    const answers = await Promise.all([of(1, 2, 3), of(), of(5), of(3, 1)]);
    expect(answers).toEqual([[2, 4, 6], [], [10], [6, 2]]);
    expect(statements).toEqual([[1, 2, 3, 5, 3, 1]]);
  });

  test('share one statement while another runs, and start it after all callers have called', async () => {
    let later: Promise<(readonly number[])[]> | undefined;
    const { statements, of } = reading(() => {
      // Later reads must not use the running statement, because it may have started before a change that their callers must
      // see.
      later ??= Promise.all([of(2), of(3), of(1)]);
    });
    await of(1);
    expect(await later).toEqual([[4], [6], [2]]);
    expect(statements).toEqual([[1], [2, 3, 1]]);
  });

  test('share one statement without limit, if its rows are the same for all callers', async () => {
    const [counts, keys]: [number[], number[]] = [[], Array.from({ length: 300 }, (_, i) => i)];
    const { promise: end, resolve } = Promise.withResolvers<void>();
    const reads = new BatchedReads<number, number>(
      async (_place, ids) => {
        counts.push(new Set(ids).size);
        if (counts.length === 1) await end;
        return ids;
      },
      () => 1,
      (id) => id,
    );
    const of = () => reads.of({ db: server.app.db, organizationId: ORGANIZATION }, keys);
    const first = of();
    await expect.poll(() => counts).toEqual([300]);
    const others = Promise.all(Array.from({ length: 32 }, of));
    resolve();
    expect([await first, ...(await others)]).toEqual(Array.from({ length: 33 }, () => keys));
    expect(counts).toEqual([300, 300]);
  });

  test('wait a limited time for another statement, not until it ends', async () => {
    const { promise: end, resolve } = Promise.withResolvers<void>();
    const { statements, of } = reading(([id]) => (id === 1 ? end : undefined));
    const stuck = of(1);
    await expect.poll(() => statements).toEqual([[1]]);
    expect(await Promise.race([of(2), sleep(5_000, 'too late')])).toEqual([4]);
    resolve();
    expect(await stuck).toEqual([2]);
  });

  test('fail only for the caller whose input cannot be read', async () => {
    const { of } = reading();
    const [good, bad, other] = await Promise.allSettled([of(1), of(13), of(2)]);
    expect(good).toEqual({ status: 'fulfilled', value: [2] });
    expect(other).toEqual({ status: 'fulfilled', value: [4] });
    expect(bad.status).toBe('rejected');
    expect(String(bad.status === 'rejected' && bad.reason)).toContain('division by zero');
  });

  test.for([
    ['a connection was lost', '57P01'],
    ['all connections are taken', '53300'],
    ['a race was lost', '40001'],
  ])('are not repeated separately if %s: the database is already overloaded', async ([, code]) => {
    let statements = 0;
    const reads = new BatchedReads<number, number>(() => {
      statements++;
      return Promise.reject(Object.assign(new Error('refused'), { code }));
    });
    const askers = Array.from({ length: 100 }, () =>
      reads.of({ db: server.app.db, organizationId: ORGANIZATION }, [1]),
    );
    const answers = await Promise.allSettled(askers);
    expect(answers.map((answer) => answer.status === 'rejected' && answer.reason)).toEqual(
      Array.from({ length: 100 }, () => expect.objectContaining({ code })),
    );
    expect(statements).toBe(1);
  });

  test('that throw synchronously fail only for their callers', async () => {
    const reads = new BatchedReads<number, number>(() => {
      throw new TypeError('thrown');
    });
    const ask = () => reads.of({ db: server.app.db, organizationId: ORGANIZATION }, [1]);
    for (let i = 0; i < 2; i++) await expect(Promise.all([ask(), ask()])).rejects.toThrow('thrown');
  });

  test('are limited to a batch size that a statement handles quickly', async () => {
    const { statements, of } = reading();
    const many = Array.from({ length: 1_500 }, (_, i) => i + 100);
    const answers = await Promise.all([of(...many), of(...many), of(...many)]);
    for (const answer of answers) expect(answer).toEqual(many.map((id) => id * 2));
    expect(statements.map((ids) => ids.length)).toEqual([3_000, 1_500]);
  });

  test('in a transaction use that transaction', async () => {
    const { db } = server.app;
    const own = Prisma.sql`SELECT txid_current()::text AS of`;
    const [inside, outside] = await db.$transaction(async (tx) => {
      const [{ of: known = '' } = {}] = await tx.$queryRaw<{ of: string }[]>(own);
      const [row] = await sharedRows<{ of: string }>({ db: tx, organizationId: ORGANIZATION }, own);
      return [row?.of, known];
    });
    expect(inside).toBe(outside);
  });
});

const MESSAGES = `query ($channelId: ID!) {
  messages(last: 20, narrow: { channel: { id: $channelId } }) { nodes {
    content flags viewerHasRead sender { fullName } reactions { emojiName user { fullName } } } } }`;
const CHANNELS = `{ channels(first: 50) { nodes { name subscriberCount viewerSubscription { isMuted color }
  folder { name } creator { fullName } messages(last: 5) { nodes { content flags sender { fullName } } } } } }`;

describe('requests that ask at the same time', () => {
  test('each return what their viewer can see, as if sent separately', async () => {
    const { owner, administrator, moderator, member, guest, signUp } = await createOrganization();
    const create = async (name: string, subscribers: readonly Person[], more: object = {}) =>
      (await owner.ok('POST', '/channels/create', { name, subscribers: subscribers.map(({ id }) => id), ...more })).id;
    const channels = [
      await create('for all', [owner, member, guest]),
      await create('private', [owner, member], { invite_only: true }),
      await create('guarded', [owner, moderator], { invite_only: true, history_public_to_subscribers: false }),
    ];
    for (const [i, to] of channels.entries()) {
      const { id } = await owner.ok('POST', '/messages', { type: 'channel', to, topic: 'a', content: `first of ${i}` });
      await owner.ok('POST', `/messages/${id}/reactions`, { emoji_name: 'octopus' });
      await owner.ok('POST', '/messages', { type: 'channel', to, topic: 'a', content: `@**${member.name}** of ${i}` });
    }
    const late = await signUp('late');
    const guarded = [{ name: 'guarded' }];
    await owner.ok('POST', '/users/me/subscriptions', { subscriptions: guarded, principals: [late.id] });
    await owner.ok('POST', '/messages', { type: 'channel', to: channels[2], topic: 'a', content: 'after late came' });
    await member.ok('POST', '/messages/flags/narrow', {
      ...{ anchor: 'newest', num_before: 10, num_after: 0, op: 'add', flag: 'read' },
      narrow: [['channel', 'private']],
    });

    const people = [owner, administrator, moderator, member, guest, late];
    const asked = people.flatMap((person) => [
      { person, query: CHANNELS, variables: {} },
      ...channels.map((id) => ({ person, query: MESSAGES, variables: { channelId: globalId('Channel', id) } })),
    ]);
    const ask = ({ person, query, variables }: (typeof asked)[number]) => person.graphql(query, variables);
    const alone: unknown[] = [];
    for (const one of asked) alone.push(await ask(one));
    expect(new Set(alone.map((answer) => JSON.stringify(answer))).size).toBeGreaterThan(10);
    for (let i = 0; i < 3; i++) expect(await Promise.all(asked.map(ask))).toEqual(alone);
  });
});
