import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { makeNeighbour, personOf, startDemo } from './demo.ts';
import { disorderedFor } from './felt.ts';
import { eventually, listen, TRANSPORTS } from './listeners.ts';
import { faredIn, Neighbours, toldOf } from './neighbours.ts';
import type { Outcome } from './outcome.ts';
import { Client } from './requests.ts';

const EVENTS = 10;
/** Longer than a statement waits for a lock. */
const STALL_MS = 7_000;

/**
 * What readers are shown of an event cannot be read for a while after it was committed: streams end, clients come back, and
 * each event comes then, whole and in order. Those of another organisation on the same node send as before.
 *
 * @param isTimed Whether the time that things take counts, which on a busy machine says little.
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
  const early = listeners.filter(({ name, heard }) => !name.startsWith('long poll') && heard.ids.size > 0);
  await db.query('ROLLBACK');
  await db.end();
  await eventually(() => listeners.every(({ heard }) => heard.ids.size >= EVENTS), 20_000);
  const unheard = performance.now() - since;
  for (const listener of listeners) await listener.stop();
  client.close();
  neighbours.close();
  const fared = faredIn([usual], [stalled]);
  return {
    trial: 'readers cannot be read for, for a while',
    facts: {
      ...Object.fromEntries(
        listeners.map(({ name, heard }) => [
          name,
          `${heard.ids.size} events, ${heard.duplicates} again, ${heard.connections} connections`,
        ]),
      ),
      ...toldOf(neighbours, fared),
    },
    violations: [
      ...early.map(({ name }) => `${name} was sent what could not be read`),
      ...listeners.filter(({ heard }) => heard.ids.size !== EVENTS).map(({ name }) => `${name} has not heard all`),
      ...listeners.flatMap(({ name, heard }) => heard.violations.lines.map((line) => `${name}: ${line}`)),
      ...neighbours.complaints(fared, { isTimed }),
    ],
    felt: [
      {
        fault: 'what events show cannot be read',
        lost: listeners.reduce((sum, { heard }) => sum + Math.max(0, EVENTS - heard.ids.size), 0),
        repeated: 0,
        outOfOrder: disorderedFor(listeners),
        refusedButDone: 0,
        gap: unheard,
        neighbours: fared,
      },
    ],
  };
}
