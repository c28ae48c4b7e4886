import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { pollDelayMs } from '../../src/server/registration/pace.ts';
import { startInProcess } from '../helpers/in-process.ts';
import { createOrganization } from '../helpers/server.ts';

// Tests long polls of an account that has few requests left in its rate limit. It gets fewer responses with more events each,
// and no refusals.

const NOW = 1_000_000;

test.for([
  // Columns: limit, remaining requests, seconds until the limit is reset, and delay of the response.
  [200, 199, 60, 0],
  [200, 101, 30, 0],
  [200, 100, 50, 500],
  [200, 50, 30, 600],
  [200, 10, 30, 2_000],
  [200, 10, 5, 500],
  [200, 1, 1.5, 1_500],
  [200, 0, 60, 2_000],
  [200, 0, 0.25, 250],
  [200, 0, -1, 0],
] as const)('limit %i, %i left, %f s to the reset: a poll waits %i ms', ([limit, remaining, seconds, delay]) => {
  expect(pollDelayMs({ limit, remaining, resetAt: new Date(NOW + seconds * 1000) }, NOW)).toBe(delay);
});

test('without a limit, a poll never waits', () => {
  expect(pollDelayMs(undefined, NOW)).toBe(0);
});

test('a client that only polls is never refused at the default limit, however many events occur', () => {
  for (const perSecond of [1, 3, 4, 10, 100]) {
    let [remaining, passed] = [200, 0];
    while (passed < 60_000) {
      remaining--;
      expect(remaining, `${perSecond} events a second`).toBeGreaterThanOrEqual(0);
      const delay = pollDelayMs({ limit: 200, remaining, resetAt: new Date(60_000) }, passed);
      passed += Math.max(1_000 / perSecond, delay);
    }
  }
});

test('a poll with few remaining requests returns several events; a non-blocking one returns immediately', async () => {
  await using service = await startInProcess({ env: { RATE_LIMIT_PER_USER: '8', EVENT_HEARTBEAT_SECONDS: '30' } });
  const { owner, member } = await createOrganization({}, { on: service });
  // Uses half of the requests that the rate limit of the account permits.
  const { queue_id, last_event_id } = await member.register({ event_types: ['user_status'], fetch_event_types: [] });
  for (let i = 0; i < 2; i++) await member.ok('GET', '/users/me');
  const since = performance.now();
  const polled = member.poll(queue_id, last_event_id);
  for (let i = 0; i < 3; i++) {
    await owner.ok('POST', '/users/me/status', { status_text: `${i}` });
    await sleep(20);
  }
  const events = await polled;
  expect(events.map(({ status_text }) => status_text)).toEqual(['0', '1', '2']);
  expect(performance.now() - since).toBeGreaterThanOrEqual(1_950);
  const asked = performance.now();
  expect(await member.poll(queue_id, events.at(-1).id, { dontBlock: true })).toEqual([]);
  expect(performance.now() - asked).toBeLessThan(1_500);
  // The service stops waiting when the client disconnects.
  const gone = new AbortController();
  const left = member.rest('GET', '/events', { queue_id, last_event_id: events.at(-1).id }, { signal: gone.signal });
  gone.abort();
  await expect(left).rejects.toThrow();
});
