import type { Client } from 'urql';
import { PresencesDocument, RecordPresenceDocument } from '../generated/graphql.ts';
import { keepTime, setServiceTime } from '../ui/presence.ts';

const INTERVAL_MS = 60_000;
/** Time in milliseconds without input after which the user is idle. */
const IDLE_AFTER_MS = 5 * 60_000;
const TOUCHES = ['pointermove', 'pointerdown', 'keydown', 'wheel', 'touchstart', 'focus'] as const;

/**
 * Reports the viewer's presence to the service every minute, as active or idle, and reads the presence of other users. The
 * service does not store the presence of users who hide it.
 *
 * @returns A function that stops the reports.
 */
export function startPresence(client: Client): () => void {
  const stopped = new AbortController();
  let [touchedAt, version]: [number, number | undefined] = [Date.now(), undefined];
  for (const name of TOUCHES) {
    addEventListener(name, () => (touchedAt = Date.now()), { signal: stopped.signal, passive: true, capture: true });
  }
  const report = async () => {
    const status = Date.now() - touchedAt > IDLE_AFTER_MS ? 'IDLE' : 'ACTIVE';
    const { data } = await client.mutation(RecordPresenceDocument, { input: { status } }).toPromise();
    const result = data?.recordPresence;
    const own = result?.__typename === 'RecordPresencePayload' ? result.presence : undefined;
    if (own) setServiceTime(own.idleAt);
    version = (await readPresences(client, version)) ?? version;
  };
  void report();
  const timer = setInterval(report, INTERVAL_MS);
  const stopTime = keepTime();
  document.addEventListener('visibilitychange', () => !document.hidden && void report(), stopped);
  return () => {
    clearInterval(timer);
    stopTime();
    stopped.abort();
  };
}

/**
 * Reads presences into the cache.
 *
 * @param newerThan Version number, which increases with each change of a presence. Only presences that changed after it are
 *   read. If undefined, all presences are read.
 * @returns The highest version of the presences that were read; undefined if none were.
 */
async function readPresences(client: Client, newerThan: number | undefined): Promise<number | undefined> {
  const variables = newerThan === undefined ? {} : { since: { version: newerThan } };
  const { data } = await client.query(PresencesDocument, variables, { requestPolicy: 'network-only' }).toPromise();
  const versions = data?.presences?.nodes.map((presence) => presence.version) ?? [];
  return versions.length === 0 ? undefined : Math.max(...versions);
}
