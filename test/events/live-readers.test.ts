import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type LiveReader, LiveReaders } from '../../src/events/live-readers.ts';
import type { LogTail } from '../../src/events/log-tail.ts';
import type { StoredEvent } from '../../src/events/stored.ts';
import { inTimeSlices } from '../../src/platform/time-slices.ts';
import { type InProcess, shareInProcess, startInProcess } from '../helpers/in-process.ts';
import { createOrganization } from '../helpers/server.ts';

// Tests that many readers are notified in time slices, between which other work can run. Every reader must still receive each
// event once and in order.

const READERS = 200;
/**
 * Time in milliseconds that the notification of one reader takes. A step that notifies sixteen readers takes longer than a time
 * slice.
 */
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
  /** Number of events in each notification, in the order of the notifications. */
  readonly tellings: number[];
  position: number;
}

/**
 * Adds readers of one user, which wait for the next event at the end of the log.
 *
 * @returns The readers, and a function that creates an event for them.
 */
async function waiting(server: InProcess, count = READERS) {
  const { member, organization } = await createOrganization({}, { on: server });
  const tail: LogTail = await server.app.hub.tail(organization.id);
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

/**
 * Creates an event, and waits until the first readers are notified of it.
 *
 * @returns The position of the log's end before the event, and the promise of the call that creates the event.
 */
async function begin({ tail, readers, act }: Awaited<ReturnType<typeof waiting>>) {
  const before = tail.through;
  const acting = act();
  while (readers[0]?.ids.length === 0) await nextTurn();
  return { before, acting };
}

/**
 * Stops all deliveries to readers until disposal: work of a higher priority takes every time slice. Work outside of time slices
 * continues.
 */
function holdDeliveries(): Disposable {
  const clock = new Int32Array(new SharedArrayBuffer(4));
  let isHeld = true;
  const step = () => {
    if (isHeld) Atomics.wait(clock, 0, 0, 1);
    return isHeld;
  };
  inTimeSlices({ priority: Number.POSITIVE_INFINITY, isBehind: false, step });
  return {
    [Symbol.dispose]() {
      isHeld = false;
    },
  };
}

test('many readers are notified in time slices, with other work between them', async () => {
  await using server = await shareInProcess();
  const scene = await waiting(server);
  const { acting } = await begin(scene);
  let turns = 0;
  for (; !scene.isTold(); turns++) await nextTurn();
  // Without time slices, all readers would be notified in one turn of the event loop.
  expect(turns).toBeGreaterThan(10);
  await acting;
  for (const { ids } of scene.readers) expect(ids).toEqual([scene.tail.through]);
});

test('events logged during a notification follow the earlier ones, for each reader', async () => {
  await using server = await shareInProcess();
  const scene = await waiting(server);
  const { tail, readers, act, isTold } = scene;
  const { before, acting } = await begin(scene);
  {
    using _ = holdDeliveries();
    await acting;
    await act();
    // The next read of the log returns both events, while some readers have not been notified of the first one yet.
    tail.takeIn();
    await act();
    expect(isTold()).toBe(false);
  }
  await expect.poll(() => tail.through - before).toBe(3);
  await expect.poll(isTold).toBe(true);
  for (const { ids } of readers) expect(ids).toEqual([before + 1, before + 2, before + 3]);
});

test('events logged during a notification are batched', async () => {
  await using server = await shareInProcess();
  const scene = await waiting(server);
  const { tail, readers, act, isTold } = scene;
  const { before, acting } = await begin(scene);
  {
    using _ = holdDeliveries();
    await acting;
    // Each event is read from the log separately, as after a notification by another node or by a long poll.
    for (let i = 0; i < 3; i++) {
      await act();
      tail.takeIn();
    }
    expect(isTold()).toBe(false);
  }
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
  await expect.poll(() => tail.through).toBeGreaterThan(before);
  const event = tail.after(before).at(-1) as StoredEvent;
  const from = event.id;
  const told = new LiveReaders({ log: server.app.log, organizationId: 0, waiting: () => 0, onNotified: () => {} });
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
  const scene = await waiting(server);
  const { tail, recipient, readers, act, isTold } = scene;
  const { before, acting } = await begin(scene);
  const [late, gone, asking, back] = [reader(recipient), ...readers.slice(-3)] as [Reader, Reader, Reader, Reader];
  {
    using _ = holdDeliveries();
    await acting;
    expect([gone.ids, asking.ids]).toEqual([[], []]);
    tail.attach(late);
    tail.detach(gone);
    tail.deliverTo(asking);
    expect(asking).toMatchObject({ ids: [before + 1], position: tail.through });
    // Detaches a reader and attaches it again. It has already read the event that is still being delivered to other readers.
    tail.detach(back);
    tail.attach(back);
    gone.position = tail.through;
    back.position = tail.through;
  }
  await expect.poll(isTold).toBe(true);
  expect([late.ids, gone.ids, asking.ids, back.ids]).toEqual([[], [], [before + 1], []]);
  await act();
  await expect.poll(() => late.ids).toEqual([before + 2]);
  await expect.poll(() => back.ids).toEqual([before + 2]);
  expect(gone.ids).toEqual([]);
});

test('a heartbeat of a long poll or a stream that is due meanwhile does not acknowledge pending events', async () => {
  await using server = await startInProcess({ env: { EVENT_HEARTBEAT_SECONDS: '1' } });
  const scene = await waiting(server);
  const { tail, member } = scene;
  const register = () => member.register({ event_types: ['drafts'], fetch_event_types: [] });
  const [polled, streamed] = [await register(), await register()];
  const drafts = async () => {
    // On a busy machine, a heartbeat can be due before the event.
    for (let last = polled.last_event_id; ; ) {
      const events = await member.poll(polled.queue_id, last);
      if (events[0].type !== 'heartbeat') return events;
      last = events.at(-1).id;
    }
  };
  await using stream = await member.events('type position', { queueId: streamed.queue_id });
  const polling = drafts();
  while (tail.readerCount < READERS + 2) await nextTurn();
  const { before, acting } = await begin(scene);
  {
    using _ = holdDeliveries();
    await acting;
    // Heartbeats are due up to 22 % later than their interval.
    await sleep(1_250);
  }
  expect(await polling).toMatchObject([{ type: 'drafts', id: before + 1 }]);
  expect(await stream.next()).toEqual({ type: 'DRAFTS', position: before + 1 });
});
