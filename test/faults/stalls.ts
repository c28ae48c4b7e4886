import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { makeNeighbour, personOf, startDemo } from './demo.ts';
import { disorderedEventsOf } from './felt.ts';
import { eventually, listen, TRANSPORTS } from './listeners.ts';
import { faredIn, Neighbours, neighbourFigures } from './neighbours.ts';
import type { Outcome } from './outcome.ts';
import { Client } from './requests.ts';

const EVENTS = 10;
/** Duration of the table lock, in milliseconds. It exceeds the lock timeout of SQL statements. */
const STALL_MS = 7_000;

/**
 * Locks a table that subscriptions read for their events, for a while after the events were committed. Streams end and clients
 * reconnect. Then each event must arrive complete and in order. Another organization at the node must not be affected.
 *
 * @param isTimed Whether durations are compared with their limits. On a busy machine, the result is not conclusive.
 */
export async function stallTrial({
  databaseServer,
  isTimed = false,
}: {
  databaseServer: string;
  isTimed?: boolean;
}): Promise<Outcome> {
  await using service = await startDemo(databaseServer);
  const person = personOf(service.people, 'member');
  const { url } = service.server;
  const client = new Client(url, person);
  const listeners = await Promise.all(
    TRANSPORTS.map(async (transport) => listen(transport, url, person, await client.register())),
  );
  const neighbours = await Neighbours.start(url, await makeNeighbour(service.server));
  const usual = await neighbours.during(sleep(STALL_MS));
  const db = new pg.Client({ connectionString: service.databaseUrl ?? '' });
  await db.connect();
  await db.query('BEGIN');
  await db.query('LOCK TABLE presence IN ACCESS EXCLUSIVE MODE');
  const since = performance.now();
  for (let i = 0; i < EVENTS; i++) {
    await client.ask('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: `stalled ${i}` }] });
  }
  const stalled = await neighbours.during(sleep(STALL_MS));
  const early = listeners.filter(({ name, received }) => !name.startsWith('long poll') && received.ids.size > 0);
  await db.query('ROLLBACK');
  await db.end();
  await eventually(() => listeners.every(({ received }) => received.ids.size >= EVENTS), 20_000);
  const unheard = performance.now() - since;
  for (const listener of listeners) await listener.stop();
  client.close();
  neighbours.close();
  const fared = faredIn([usual], [stalled]);
  return {
    trial: 'data of events cannot be read for a while',
    facts: {
      ...Object.fromEntries(
        listeners.map(({ name, received }) => [
          name,
          `${received.ids.size} events, ${received.duplicates} received again, ${received.connections} connections`,
        ]),
      ),
      ...neighbourFigures(neighbours, fared),
    },
    violations: [
      ...early.map(({ name }) => `${name} received an event whose data could not be read`),
      ...listeners.filter(({ received }) => received.ids.size !== EVENTS).map(({ name }) => `${name} missed events`),
      ...listeners.flatMap(({ name, received }) => received.violations.lines.map((line) => `${name}: ${line}`)),
      ...neighbours.complaints(fared, { isTimed }),
    ],
    felt: [
      {
        fault: 'data of events cannot be read',
        lost: listeners.reduce((sum, { received }) => sum + Math.max(0, EVENTS - received.ids.size), 0),
        repeated: 0,
        outOfOrder: disorderedEventsOf(listeners),
        refusedButDone: 0,
        gap: unheard,
        neighbours: fared,
      },
    ],
  };
}
