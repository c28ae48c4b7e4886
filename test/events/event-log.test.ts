import { afterAll, beforeAll, expect, test } from 'vitest';
import type { App, Scope, Work } from '../../src/access/context.ts';
import { idempotencyKey, runOutsideTransaction, withIdempotencyKey } from '../../src/access/idempotency.ts';
import { createOrganization } from '../../src/administration/organization/service.ts';
import { everyone, users } from '../../src/events/audience.ts';
import { defineEvent } from '../../src/events/define.ts';
import { transact } from '../../src/events/log.ts';
import { readCounter, readLogAfter } from '../../src/events/log-reads.ts';
import type { Tx } from '../../src/platform/db/client.ts';
import { BadRequestError } from '../../src/platform/errors.ts';
import { KeyVault } from '../../src/platform/key-vault.ts';
import type { Json } from '../helpers/http.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import { createOrganization as createTestOrganization } from '../helpers/server.ts';

const noted = defineEvent('test_note', undefined, (text: string) => ({ text }));
const pieced = defineEvent('test_pieces', undefined, (texts: readonly string[]) => ({ texts }), {
  width: ({ texts }) => texts.length,
  render: ({ texts }) => texts.map((text) => ({ type: 'test_pieces', text })),
});

let service: InProcess;
let app: App;

beforeAll(async () => {
  service = await shareInProcess();
  app = service.app;
});
afterAll(() => service[Symbol.asyncDispose]());

let organizations = 0;
/** Creates an organization with an owner, for one test. @returns Its id and that of its owner. */
async function organization(): Promise<Scope & { ownerId: number }> {
  const subdomain = `log${++organizations}`;
  const owner = { email: `owner@${subdomain}.example`, fullName: 'Owner' };
  const { organization, owner: made } = await createOrganization(app, { subdomain, name: subdomain, owner });
  return { app, work: app.work, organizationId: organization.id, ownerId: made.user.id };
}
const log = async ({ organizationId }: Scope, after = 0) =>
  (await readLogAfter(app.db, organizationId, { after, limit: 1000, maxBytes: Number.MAX_SAFE_INTEGER })).events;
const texts = (events: readonly { payload: unknown }[]) => events.map(({ payload }) => (payload as Json).text);

test('commits a change and its events in one transaction', async () => {
  const scope = await organization();
  const { lastId } = await readCounter(app.db, scope.organizationId);
  const failing = transact(scope, async (tx, emit) => {
    await tx.savedSnippet.create({
      data: { organizationId: scope.organizationId, authorId: scope.ownerId, title: 'a', content: 'b' },
    });
    emit(noted('never'), everyone());
    throw new Error('changed my mind');
  });
  await expect(failing).rejects.toThrow('changed my mind');
  expect(await app.db.savedSnippet.count({ where: { organizationId: scope.organizationId } })).toBe(0);
  expect(await readCounter(app.db, scope.organizationId)).toMatchObject({ lastId });
  expect(await log(scope, lastId)).toEqual([]);
});

test.for([
  { meanwhile: 'test_note', times: 2 },
  { meanwhile: 'test_pieces', times: 1 },
])('computes events of a change $times time(s) if $meanwhile was logged meanwhile', async ({ meanwhile, times }) => {
  const scope = await organization();
  const { lastId } = await readCounter(app.db, scope.organizationId);
  let reads = 0;
  await transact(scope, async (_, emit) => {
    const read = async (tx: Tx) => {
      reads++;
      if (reads === 1) await logAsAnother(tx, scope, meanwhile);
      return [{ event: noted(`read ${reads}`), audience: everyone() }];
    };
    emit.reading(read, ['test_pieces']);
  });
  expect(reads).toBe(times);
  expect(texts(await log(scope, lastId)).at(-1)).toBe(`read ${times}`);
});

/**
 * Logs an event within the current transaction, to simulate a commit of another node. The embedded database has only one
 * connection, so another transaction could not run concurrently.
 */
async function logAsAnother(tx: Tx, { organizationId }: Scope, type: string): Promise<void> {
  await tx.$executeRaw`
    WITH counter AS (UPDATE event_counter SET last_id = last_id + 1 WHERE realm_id = ${organizationId} RETURNING last_id)
    INSERT INTO event (realm_id, id, type, payload, max_role) SELECT ${organizationId}, last_id, ${type}, '{}', 600 FROM counter`;
}

test('concurrent changes get ids in the order of their commits', async () => {
  const scope = await organization();
  const { lastId } = await readCounter(app.db, scope.organizationId);
  const names = Array.from({ length: 30 }, (_, i) => `${i}`);
  await Promise.all(names.map((name) => transact(scope, async (_tx, emit) => emit(noted(name), everyone()))));
  const events = await log(scope, lastId);
  expect(texts(events).sort()).toEqual(names.sort());
  expect(events.map(({ id }) => id)).toEqual(names.map((_, i) => lastId + 1 + i));
});

test('reserves as many ids as the longest rendering of an event needs', async () => {
  const scope = await organization();
  const { lastId } = await readCounter(app.db, scope.organizationId);
  const ids: number[] = [];
  await transact(scope, async (_tx, emit) => {
    emit(pieced(['a', 'b', 'c']), everyone(), async (id) => ids.push(id));
    emit(noted('after'), everyone(), async (id) => ids.push(id));
  });
  expect(ids).toEqual([lastId + 3, lastId + 4]);
  expect((await log(scope, lastId)).map(({ id, width }) => ({ id, width }))).toEqual([
    { id: lastId + 3, width: 3 },
    { id: lastId + 4, width: 1 },
  ]);
});

test('refuses a query outside the transaction instead of deadlocking', async () => {
  const scope = await organization();
  const astray = transact(scope, async () => app.db.user.count());
  await expect(astray).rejects.toThrow('must use its transaction');
});

/** Returns the idempotency key of the owner's request with this input. */
const keyed = (scope: Scope & { ownerId: number }, key: string, input = 'same') =>
  idempotencyKey({ app, viewer: { id: scope.ownerId, organization: { id: scope.organizationId } } }, key, [input]);

test('runs once under an idempotency key, and repeats the reply for every repetition', async () => {
  const scope = await organization();
  let runs = 0;
  const answer = (key: string, input?: string) =>
    withIdempotencyKey(app.work, keyed(scope, key, input), async (work) => {
      // Makes two changes and then a read that includes them, all under one key.
      for (const part of ['first', 'second']) {
        await transact({ work, organizationId: scope.organizationId }, async (tx, emit) => {
          const mine = { organizationId: scope.organizationId, authorId: scope.ownerId };
          await tx.savedSnippet.create({ data: { ...mine, title: `${key} ${part}`, content: 'c' } });
          emit(noted(`${key} ${part} ${++runs}`), everyone());
        });
      }
      return { made: await work.db.savedSnippet.count({ where: { organizationId: scope.organizationId } }) };
    });
  const { lastId } = await readCounter(app.db, scope.organizationId);
  const results = await Promise.all([answer('k1'), answer('k1'), answer('k1')]);
  expect(results).toEqual([{ made: 2 }, { made: 2 }, { made: 2 }]);
  expect(await answer('k2')).toEqual({ made: 4 });
  expect(await answer('k1')).toEqual({ made: 2 });
  expect(texts(await log(scope, lastId))).toEqual(['k1 first 1', 'k1 second 2', 'k2 first 3', 'k2 second 4']);
  await expect(answer('k1', 'something else')).rejects.toThrow('was used for another request');
  expect(await log(scope, lastId)).toHaveLength(4);
});

test('stores no failure under an idempotency key: changes are rolled back, and a retry runs again', async () => {
  const scope = await organization();
  const { lastId } = await readCounter(app.db, scope.organizationId);
  const noting = (work: Work) =>
    transact({ work, organizationId: scope.organizationId }, async (_tx, emit) => emit(noted('a'), everyone()));
  const failing = withIdempotencyKey(app.work, keyed(scope, 'once'), async (work) => {
    await noting(work);
    throw new Error('not yet');
  });
  await expect(failing).rejects.toThrow('not yet');
  expect(await log(scope, lastId)).toEqual([]);
  const again = withIdempotencyKey(app.work, keyed(scope, 'once'), (work) => noting(work).then(() => 'done'));
  expect(await again).toBe('done');
  expect(await log(scope, lastId)).toHaveLength(1);
});

test('a failed change within a keyed request does not affect its other changes', async () => {
  const scope = await organization();
  const { lastId } = await readCounter(app.db, scope.organizationId);
  const reply = await withIdempotencyKey(app.work, keyed(scope, 'partly'), async (work) => {
    const place = { work, organizationId: scope.organizationId };
    const refused = transact(place, async (tx, emit) => {
      emit(noted('never'), everyone());
      await tx.$executeRaw`SELECT 1 / 0`;
    });
    await expect(refused).rejects.toThrow('division by zero');
    await transact(place, async (_tx, emit) => emit(noted('instead'), everyone()));
    return 'done';
  });
  expect(reply).toBe('done');
  expect(texts(await log(scope, lastId))).toEqual(['instead']);
});

test('a key is short printable text', async () => {
  const viewer = { id: 1, organization: { id: 1 } };
  for (const key of ['', 'x'.repeat(256), 'a\nb', 'ключ']) {
    expect(() => idempotencyKey({ app, viewer }, key, []), key).toThrow('The idempotency key must be');
  }
  const hash = (input: readonly unknown[], keys = app.keys) =>
    Buffer.from(idempotencyKey({ app: { keys }, viewer }, 'k', input).inputHash).toString('hex');
  expect(hash([new Uint8Array([1])])).not.toBe(hash([new Uint8Array([2])]));
  expect(hash([['a', 'b']])).not.toBe(hash([['ab']]));
  // The stored hash depends on the secret key, so a reader of the table cannot guess passwords with it.
  expect(hash(['a password'])).not.toBe(hash(['a password'], new KeyVault('another secret')));
});

test('slow work runs once, outside the transaction of a keyed request, which then starts again', async () => {
  const scope = await organization();
  const { lastId } = await readCounter(app.db, scope.organizationId);
  const done: string[] = [];
  const act = async (work: Work) => {
    const place = { work, organizationId: scope.organizationId };
    await transact(place, async (_tx, emit) => emit(noted('before'), everyone()));
    const users = await runOutsideTransaction(work, 'counting', async ({ db }) => {
      done.push('counted');
      // This query uses another connection. Inside the transaction, it would fail or wait forever.
      return db.user.count({ where: { id: scope.ownerId } });
    });
    const refused = runOutsideTransaction(work, 'refusing', async () => {
      done.push('refused');
      throw new BadRequestError('no');
    });
    // Uses `catch` on the promise. A `try` block would also catch the exception with which the request is restarted.
    const why = await refused.catch((error: unknown) => {
      if (error instanceof BadRequestError) return error.message;
      throw error;
    });
    return { users, why };
  };
  const expected = { users: 1, why: 'no' };
  expect(await withIdempotencyKey(app.work, keyed(scope, 'aside'), act)).toEqual(expected);
  expect(await withIdempotencyKey(app.work, keyed(scope, 'aside'), act)).toEqual(expected);
  expect(done).toEqual(['counted', 'refused']);
  expect(texts(await log(scope, lastId))).toEqual(['before']);
  expect(await act(app.work)).toEqual(expected);
});

test('skips an event whose rendering fails, and delivers the other events', async () => {
  const broken = defineEvent('test_broken', undefined, () => ({}), {
    render: () => {
      throw new Error('a bug in a rendering');
    },
  });
  const { member, organization } = await createTestOrganization({}, { on: service });
  const scope: Scope = { app, work: app.work, organizationId: organization.id };
  const { queue_id, last_event_id } = await member.register({ fetch_event_types: [] });
  const waiting = member.poll(queue_id, last_event_id);
  await transact(scope, async (_tx, emit) => {
    emit(broken(), users([member.id]));
    emit(noted('right behind'), users([member.id]));
  });
  expect(texts((await waiting).map((event) => ({ payload: event })))).toEqual(['right behind']);
  await transact(scope, async (_tx, emit) => emit(broken(), users([member.id])));
  await transact(scope, async (_tx, emit) => emit(noted('later'), users([member.id])));
  const again = await member.poll(queue_id, -1, { dontBlock: true });
  expect(texts(again.map((event) => ({ payload: event })))).toEqual(['right behind', 'later']);
});
