import { expect, test, vi } from 'vitest';
import { type LiveReader, LiveReaders } from '../../src/events/live-readers.ts';
import type { LogTail } from '../../src/events/log-tail.ts';
import type { StoredEvent } from '../../src/events/stored.ts';
import { type InProcess, shareInProcess, startInProcess } from '../helpers/in-process.ts';
import { organization } from '../helpers/server.ts';

// Tests that many readers are notified in time slices, between which other work runs. Every reader must still receive each
// event once and in order.

const READERS = 200;
/** Time that the notification of one reader takes, in milliseconds. All readers together take more than twenty time slices. */
const BUSY_MS = 0.5;
const OPTIONS = { eventTypes: null, allPublicChannels: false, narrow: [] } as unknown as LiveReader['options'];

function reader(recipient: LiveReader['recipient']): Reader {
  const own: Reader = {
    recipient,
    options: OPTIONS,
    notifiedThrough: Number.POSITIVE_INFINITY,
    ids: [],
    tellings: [],
    position: 0,
    receive(events: readonly StoredEvent[], through: number) {
      const until = performance.now() + BUSY_MS;
      while (performance.now() < until);
      own.ids.push(...events.map(({ id }) => id));
      own.tellings.push(events.length);
      own.position = through;
    },
    pass(through) {
      own.position = through;
    },
    broken() {},
    restored() {},
  };
  return own;
}

interface Reader extends LiveReader {
  readonly ids: number[];
  /** Numbers of events in the notifications, in order. */
  readonly tellings: number[];
  position: number;
}

/**
 * Adds readers of one user that wait at the end of the log.
 *
 * @returns The readers, and a function that creates an event for them.
 */
async function waiting(server: InProcess, count = READERS) {
  const { member, realm } = await organization({}, { on: server });
  const tail: LogTail = await server.app.hub.tail(realm.id);
  await tail.fill();
  const recipient = await tail.recipient(member.id, tail.through);
  const readers = Array.from({ length: count }, () => reader(recipient));
  for (const one of readers) tail.attach(one);
  const act = async () => {
    await member.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: 'x' }] });
  };
  const isTold = () => readers.every(({ position }) => position >= tail.through);
  return { tail, member, recipient, readers, act, isTold };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test('many readers are notified in time slices, with other work between them', async () => {
  await using server = await shareInProcess();
  const { tail, readers, act, isTold } = await waiting(server);
  const before = tail.through;
  await act();
  while (tail.through === before) await nextTurn();
  let turns = 0;
  for (; !isTold(); turns++) await nextTurn();
  // Without time slices, all readers would be notified in one turn of the event loop.
  expect(turns).toBeGreaterThan(10);
  for (const { ids } of readers) expect(ids).toEqual([tail.through]);
});

test('events logged during a notification follow the earlier ones, for each reader', async () => {
  await using server = await shareInProcess();
  const { tail, readers, act, isTold } = await waiting(server);
  const before = tail.through;
  await act();
  while (tail.through === before) await nextTurn();
  expect(isTold()).toBe(false);
  await act();
  // The next read returns both events, while some readers have not been notified of the first yet.
  tail.takeIn();
  await act();
  await expect.poll(() => tail.through - before).toBe(3);
  await expect.poll(isTold).toBe(true);
  for (const { ids } of readers) expect(ids).toEqual([before + 1, before + 2, before + 3]);
});

test('events logged during a notification are batched', async () => {
  await using server = await shareInProcess();
  const { tail, readers, act, isTold } = await waiting(server);
  const before = tail.through;
  await act();
  while (tail.through === before) await nextTurn();
  // Reads each event from the log separately, as after a notification by another node or by a long poll.
  for (let i = 0; i < 3; i++) {
    await act();
    tail.takeIn();
  }
  expect(isTold()).toBe(false);
  await expect.poll(isTold).toBe(true);
  for (const { ids, tellings } of readers) {
    expect(ids).toEqual([before + 1, before + 2, before + 3, before + 4]);
    expect(tellings).toEqual([1, 3]);
  }
});

test('a notification contains at most as many events as a client can take, and none before its position', async () => {
  await using server = await shareInProcess();
  const { tail, recipient, act } = await waiting(server, 1);
  const before = tail.through;
  await act();
  const event = await vi.waitUntil(() => tail.after(before).at(-1));
  const from = event.id;
  const told = new LiveReaders({ log: server.app.log, realmId: 0, waiting: () => 0, onNotified: () => {} });
  const [first, late] = [reader(recipient), reader(recipient)];
  told.add(first, from);
  told.announce(
    Array.from({ length: 100 }, (_, i) => ({ ...event, id: from + 1 + i })),
    from + 105,
  );
  told.add(late, from + 90);
  told.start();
  await expect.poll(() => told.isNotifying).toBe(false);
  expect([first.tellings, first.ids.length, new Set(first.ids).size]).toEqual([[64, 36], 100, 100]);
  expect(late.ids).toEqual(Array.from({ length: 10 }, (_, i) => from + 91 + i));
  expect([first.position, late.position]).toEqual([from + 105, from + 105]);
});

test('a new reader has the event, a detached one gets no more, and a requesting one gets it immediately', async () => {
  await using server = await shareInProcess();
  const { tail, recipient, readers, act, isTold } = await waiting(server);
  const before = tail.through;
  await act();
  while (tail.through === before) await nextTurn();
  const [late, gone, asking] = [reader(recipient), readers.at(-1) as Reader, readers.at(-2) as Reader];
  expect([gone.ids, asking.ids]).toEqual([[], []]);
  tail.attach(late);
  tail.detach(gone);
  tail.deliverTo(asking);
  expect(asking).toMatchObject({ ids: [before + 1], position: tail.through });
  // Attaches a reader again that has already read the event which is still being delivered to other readers.
  const back = readers.at(-3) as Reader;
  tail.detach(back);
  tail.attach(back);
  gone.position = tail.through;
  back.position = tail.through;
  await expect.poll(isTold).toBe(true);
  expect([late.ids, gone.ids, asking.ids, back.ids]).toEqual([[], [], [before + 1], []]);
  await act();
  await expect.poll(() => late.ids).toEqual([before + 2]);
  await expect.poll(() => back.ids).toEqual([before + 2]);
  expect(gone.ids).toEqual([]);
});

test.for(['long poll', 'stream'])(
  'a heartbeat of a %s that is due meanwhile does not acknowledge pending events',
  async (kind) => {
    await using server = await startInProcess({ env: { EVENT_HEARTBEAT_SECONDS: '1' } });
    // Notifying so many readers takes longer than the interval of heartbeats.
    const { tail, member, act } = await waiting(server, 4_000);
    const { queue_id, last_event_id } = await member.register({ event_types: ['drafts'], fetch_event_types: [] });
    const { readerCount } = tail;
    const isWaiting = async () => {
      while (tail.readerCount === readerCount) await nextTurn();
    };
    if (kind === 'long poll') {
      const polling = member.poll(queue_id, last_event_id);
      await isWaiting();
      await act();
      expect(await polling).toMatchObject([{ type: 'drafts', id: last_event_id + 1 }]);
    } else {
      await using stream = await member.events('type position', { queueId: queue_id });
      await isWaiting();
      await act();
      expect(await stream.next()).toEqual({ type: 'DRAFTS', position: last_event_id + 1 });
    }
  },
);
