import { afterAll, beforeAll, expect, test } from 'vitest';
import { type InProcess, startInProcess } from './helpers/in-process.ts';
import type { Person } from './helpers/person.ts';
import { organisation } from './helpers/server.ts';

const SELECTION = 'position ... on DraftsAddedEvent { drafts { content } }';
const saveDraft = (person: Person, content: string) =>
  person.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content }] });

let server: InProcess;
beforeAll(async () => {
  server = await startInProcess({ env: { EVENT_HEARTBEAT_SECONDS: '60' } });
});
afterAll(() => server[Symbol.asyncDispose]());

test('closes no stream when something is committed while the log is read', async () => {
  const { member, realm } = await organisation({}, { on: server });
  await using live = await member.events(SELECTION);
  await saveDraft(member, 'one');
  expect(await live.next()).toMatchObject({ drafts: [{ content: 'one' }] });
  const { db, hub } = server.app;
  const ask = db.$queryRaw.bind(db);
  let isLate = false;
  const late = async (...query: Parameters<typeof ask>): Promise<unknown> => {
    const answer = await ask(...query);
    if (!String(query[0]).includes('FROM event_counter c')) return answer;
    isLate = true;
    // Once, and not in the transaction that begins here.
    Reflect.deleteProperty(db, '$queryRaw');
    await saveDraft(member, 'two');
    return answer;
  };
  const window = await hub.window(realm.id);
  Object.defineProperty(db, '$queryRaw', { value: late, configurable: true });
  await window.fill();
  expect(isLate).toBe(true);
  await saveDraft(member, 'three');
  expect(await live.next()).toMatchObject({ drafts: [{ content: 'two' }] });
  expect(await live.next()).toMatchObject({ drafts: [{ content: 'three' }] });
});

test('closes the streams of an organization whose log went back, though nobody writes', async () => {
  const { member, realm } = await organisation({}, { on: server });
  await using live = await member.events(SELECTION);
  for (const content of ['one', 'two', 'three']) {
    await saveDraft(member, content);
    await live.next();
  }
  const { lastId = 0 } = live;
  const { db, hub } = server.app;
  const back = { realmId: realm.id, id: { gt: lastId - 2 } };
  await db.$transaction([
    db.$executeRaw`UPDATE event_counter SET last_id = ${lastId - 2} WHERE realm_id = ${realm.id}`,
    db.event.deleteMany({ where: back }),
  ]);
  expect(await live.ended).toBeDefined();
  expect((await hub.window(realm.id)).through).toBe(lastId - 2);
});
