import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { App, Scope } from '../src/app.ts';
import { everyone, users } from '../src/events/audience.ts';
import { defineEvent } from '../src/events/define.ts';
import { readCounter, readLog, transact } from '../src/events/log.ts';
import { createRealm } from '../src/realm/service.ts';
import type { Json } from './helpers/http.ts';
import { type InProcess, startInProcess } from './helpers/in-process.ts';
import { organisation } from './helpers/server.ts';

const noted = defineEvent('test_note', undefined, (text: string) => ({ text }));
const pieced = defineEvent('test_pieces', undefined, (texts: readonly string[]) => ({ texts }), {
  width: ({ texts }) => texts.length,
  render: ({ texts }) => texts.map((text) => ({ type: 'test_pieces', text })),
});

let service: InProcess;
let app: App;

beforeAll(async () => {
  service = await startInProcess();
  app = service.app;
});
afterAll(() => service[Symbol.asyncDispose]());

let realms = 0;
/** An organisation of the test's own, and its owner. */
async function realm(): Promise<Scope & { ownerId: number }> {
  const subdomain = `log${++realms}`;
  const owner = { email: `owner@${subdomain}.example`, fullName: 'Owner' };
  const { realm, owner: made } = await createRealm(app, { subdomain, name: subdomain, owner });
  return { app, realmId: realm.id, ownerId: made.user.id };
}
const log = async ({ realmId }: Scope, after = 0) =>
  readLog(app.db, realmId, { after, through: Number.MAX_SAFE_INTEGER, limit: 1000 });
const texts = (events: readonly { payload: unknown }[]) => events.map(({ payload }) => (payload as Json).text);

test('commits a change and its events together, or neither', async () => {
  const scope = await realm();
  const { lastId } = await readCounter(app.db, scope.realmId);
  const failing = transact(scope, async (tx, emit) => {
    await tx.savedSnippet.create({
      data: { realmId: scope.realmId, authorId: scope.ownerId, title: 'a', content: 'b' },
    });
    emit(noted('never'), everyone());
    throw new Error('changed my mind');
  });
  await expect(failing).rejects.toThrow('changed my mind');
  expect(await app.db.savedSnippet.count({ where: { realmId: scope.realmId } })).toBe(0);
  expect(await readCounter(app.db, scope.realmId)).toMatchObject({ lastId });
  expect(await log(scope, lastId)).toEqual([]);
});

test('gives ids in the order of commits to changes made at once', async () => {
  const scope = await realm();
  const { lastId } = await readCounter(app.db, scope.realmId);
  const names = Array.from({ length: 30 }, (_, i) => `${i}`);
  await Promise.all(names.map((name) => transact(scope, async (_tx, emit) => emit(noted(name), everyone()))));
  const events = await log(scope, lastId);
  expect(texts(events).sort()).toEqual(names.sort());
  expect(events.map(({ id }) => id)).toEqual(names.map((_, i) => lastId + 1 + i));
});

test('reserves as many ids as the widest rendering of an event has pieces', async () => {
  const scope = await realm();
  const { lastId } = await readCounter(app.db, scope.realmId);
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

test('refuses a query beside the transaction instead of waiting for itself for ever', async () => {
  const scope = await realm();
  const astray = transact(scope, async () => app.db.user.count());
  await expect(astray).rejects.toThrow('must query its own transaction');
});

test('makes a change once under an idempotency key, and gives its result to every repetition', async () => {
  const scope = await realm();
  const under = (key: string, input: string): Scope => ({
    ...scope,
    idempotency: { userId: scope.ownerId, key, inputHash: createHash('sha256').update(input).digest() },
  });
  let runs = 0;
  const change = (key: string, input = 'same') =>
    transact(under(key, input), async (_tx, emit) => {
      emit(noted(`${key} ${++runs}`), everyone());
      return { made: key };
    });
  const { lastId } = await readCounter(app.db, scope.realmId);
  const results = await Promise.all([change('k1'), change('k1'), change('k1')]);
  expect(results).toEqual([{ made: 'k1' }, { made: 'k1' }, { made: 'k1' }]);
  expect(await change('k1')).toEqual({ made: 'k1' });
  expect(await log(scope, lastId)).toHaveLength(1);
  await expect(change('k1', 'something else')).rejects.toThrow('was used for another request');
  expect(await log(scope, lastId)).toHaveLength(1);
});

test('stores no failure under an idempotency key: the next try runs', async () => {
  const scope = await realm();
  const keyed: Scope = { ...scope, idempotency: { userId: scope.ownerId, key: 'once', inputHash: Buffer.alloc(32) } };
  await expect(transact(keyed, () => Promise.reject(new Error('not yet')))).rejects.toThrow('not yet');
  expect(await transact(keyed, async () => ({ done: true }))).toEqual({ done: true });
});

test('passes over an event whose rendering fails, and holds nothing else up for it', async () => {
  const broken = defineEvent('test_broken', undefined, () => ({}), {
    render: () => {
      throw new Error('a bug in a rendering');
    },
  });
  const { member, realm } = await organisation({}, { on: service });
  const scope: Scope = { app, realmId: realm.id };
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
