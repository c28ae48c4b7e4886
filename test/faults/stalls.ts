import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { personOf, startDemo } from './demo.ts';
import { eventually, listen, TRANSPORTS } from './listeners.ts';
import type { Outcome } from './outcome.ts';
import { Client } from './requests.ts';

const EVENTS = 10;
/** Longer than a statement waits for a lock. */
const STALL_MS = 7_000;

/**
 * What readers are shown of an event cannot be read for a while after it was committed: streams end, clients come back, and
 * each event comes then, whole and in order.
 */
export async function stallTrial({ databaseServer }: { databaseServer: string }): Promise<Outcome> {
  await using service = await startDemo(databaseServer);
  const person = personOf(service.people, 'member');
  const { url } = service.server;
  const client = new Client(url, person);
  const listeners = await Promise.all(
    TRANSPORTS.map(async (transport) => listen(transport, url, person, await client.register())),
  );
  await sleep(500);
  const db = new pg.Client({ connectionString: service.databaseUrl ?? '' });
  await db.connect();
  await db.query('BEGIN');
  await db.query('LOCK TABLE presence IN ACCESS EXCLUSIVE MODE');
  for (let i = 0; i < EVENTS; i++) {
    await client.ask('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: `stalled ${i}` }] });
  }
  await sleep(STALL_MS);
  const early = listeners.filter(({ name, heard }) => !name.startsWith('long poll') && heard.ids.size > 0);
  await db.query('ROLLBACK');
  await db.end();
  await eventually(() => listeners.every(({ heard }) => heard.ids.size >= EVENTS), 20_000);
  for (const listener of listeners) await listener.stop();
  client.close();
  return {
    trial: 'readers cannot be read for, for a while',
    facts: Object.fromEntries(
      listeners.map(({ name, heard }) => [
        name,
        `${heard.ids.size} events, ${heard.duplicates} again, ${heard.connections} connections`,
      ]),
    ),
    violations: [
      ...early.map(({ name }) => `${name} was sent what could not be read`),
      ...listeners.filter(({ heard }) => heard.ids.size !== EVENTS).map(({ name }) => `${name} has not heard all`),
      ...listeners.flatMap(({ name, heard }) => heard.violations.lines.map((line) => `${name}: ${line}`)),
    ],
  };
}
