import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Deliveries } from '../../src/api/graphql/transports/deliveries.ts';
import type { Prisma } from '../../src/generated/prisma/client.ts';
import { knowDriver } from '../../src/platform/db/rows.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';

const SELECTION = 'position ... on DraftsAddedEvent { drafts { content } }';
const saveDraft = (person: Person, content: string) =>
  person.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content }] });
/** How a stream is expected to end after a restore of the database has lost the end of the log. */
const LOST = { how: 'errors', errors: [{ extensions: { code: 'BAD_EVENT_QUEUE_ID', reason: 'restored' } }] };

let server: InProcess;
beforeAll(async () => {
  server = await startInProcess({ env: { EVENT_HEARTBEAT_SECONDS: '60' } });
});
afterAll(() => server[Symbol.asyncDispose]());

test('no stream is closed if an event is committed while the log is read', async () => {
  const { member, organization } = await createOrganization({}, { on: server });
  await using live = await member.events(SELECTION);
  await saveDraft(member, 'one');
  expect(await live.next()).toMatchObject({ drafts: [{ content: 'one' }] });
  const { db, hub } = server.app;
  // Makes the service run its statements through `db.$queryRaw`, where the test can delay them.
  knowDriver(db, { reader: () => undefined, onStatement: () => {}, took: () => {} });
  const ask = db.$queryRaw.bind(db);
  let isLate = false;
  const late = async (...query: Parameters<typeof ask>): Promise<unknown> => {
    const answer = await ask(...query);
    if (!(query[0] as Prisma.Sql).text?.includes('FROM event_counter c')) return answer;
    isLate = true;
    // Delays only the first statement, and not those of the transaction that follows.
    Reflect.deleteProperty(db, '$queryRaw');
    await saveDraft(member, 'two');
    return answer;
  };
  const window = await hub.tail(organization.id);
  Object.defineProperty(db, '$queryRaw', { value: late, configurable: true });
  await window.fill();
  expect(isLate).toBe(true);
  await saveDraft(member, 'three');
  expect(await live.next()).toMatchObject({ drafts: [{ content: 'two' }] });
  expect(await live.next()).toMatchObject({ drafts: [{ content: 'three' }] });
});

test('the queues of an organization end if its log went back, even without new events', async () => {
  const { member, organization } = await createOrganization({}, { on: server });
  await using live = await member.events(SELECTION);
  for (const content of ['one', 'two', 'three']) {
    await saveDraft(member, content);
    await live.next();
  }
  const { lastId = 0 } = live;
  await putBack(organization.id, lastId - 2);
  expect(await live.ended).toMatchObject(LOST);
  // The highest position exceeds all ids that were used before, so the next event gets a new id.
  expect((await server.app.hub.tail(organization.id)).through).toBeGreaterThan(lastId);
});

test('the queue of a stream ends while entities are read for it', async () => {
  const { member, organization } = await createOrganization({}, { on: server });
  await using live = await member.events(`${SELECTION} ... on DraftsAddedEvent { read: drafts { channel { name } } }`);
  await saveDraft(member, 'one');
  await live.next();
  const { lastId = 0 } = live;
  const [reading, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { prepare } = Deliveries.prototype;
  const spy = vi.spyOn(Deliveries.prototype, 'prepare').mockImplementation(async function (this: Deliveries, pieces) {
    const prepared = await prepare.call(this, pieces);
    reading.resolve();
    await held.promise;
    return prepared;
  });
  await saveDraft(member, 'two');
  await reading.promise;
  spy.mockRestore();
  await putBack(organization.id, lastId - 1);
  await (await server.app.hub.tail(organization.id)).fill();
  held.resolve();
  expect(await live.ended).toMatchObject(LOST);
});

test('the queues of an organization whose log went back without readers end at the next read', async () => {
  const { member, organization } = await createOrganization({}, { on: server });
  const { queue_id, last_event_id } = await member.register({ fetch_event_types: [] });
  for (const content of ['one', 'two', 'three']) await saveDraft(member, content);
  await putBack(organization.id, last_event_id + 1);
  const comeBack = async () =>
    (await member.rest('GET', '/events', { queue_id, last_event_id, dont_block: true })).body;
  expect(await comeBack()).toMatchObject({ code: 'BAD_EVENT_QUEUE_ID' });
  expect(await comeBack()).toMatchObject({ code: 'BAD_EVENT_QUEUE_ID', reason: 'restored' });
});

/** Sets the end of the log to an earlier event, as if the database had been restored. */
async function putBack(organizationId: number, lastId: number): Promise<void> {
  const { db } = server.app;
  await db.$transaction([
    db.$executeRaw`UPDATE event_counter SET last_id = ${lastId} WHERE realm_id = ${organizationId}`,
    db.event.deleteMany({ where: { organizationId, id: { gt: lastId } } }),
  ]);
}
