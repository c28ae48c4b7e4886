import { personOf, startDemo } from './demo.ts';
import { eventually, listen, quieten, TRANSPORTS } from './listeners.ts';
import { Writer } from './load.ts';
import type { Outcome } from './outcome.ts';
import { startProxy } from './proxy.ts';
import { between, type Random, seeded } from './random.ts';
import { Client, type QueueStart } from './requests.ts';
import { compareWithTruth } from './truth.ts';

/** Timeout of the whole trial, in milliseconds. A trial reaches it only if it hangs. */
const PATIENCE_MS = 240_000;

/**
 * Cuts connections of each transport after various numbers of bytes from the server. The client reconnects and removes
 * duplicates. After that, each event must have arrived exactly once.
 *
 * @param positions Number of cuts for each transport. Half of the cuts are at regular steps through the first bytes. The others
 * are at random positions, some of them far into a long answer.
 */
export async function cutTrial({
  databaseServer,
  positions,
  seed,
}: {
  databaseServer: string | undefined;
  positions: number;
  seed: number;
}): Promise<Outcome> {
  const random = seeded(seed);
  await using service = await startDemo(databaseServer, { EVENT_QUEUE_WRITE_SECONDS: '0.5' });
  const { server, people } = service;
  const person = personOf(people, 'member');
  const queues = await makeQueues(new Client(server.url, person));
  const proxies = await Promise.all(TRANSPORTS.map(() => startProxy(server.port, places(random, positions))));
  const listeners = TRANSPORTS.map((transport, i) =>
    listen(transport, proxies[i]?.url ?? '', person, queues[i] as QueueStart),
  );
  const writer = await Writer.start(server.url, person, { door: 'REST', number: 1, random });
  const cutsDone = () => proxies.every(({ cuts }) => cuts >= positions);
  let done = false;
  const writing = writer.run(() => done);
  const finished = await eventually(cutsDone, PATIENCE_MS);
  done = true;
  await writing;
  await quieten(listeners);
  for (const proxy of proxies) await proxy[Symbol.asyncDispose]();
  if (databaseServer === undefined) await server.stop();
  const { events, violations } = await compareWithTruth(service, [writer], listeners);
  const unfinished = proxies.flatMap(({ cuts }, i) =>
    cuts < positions ? [`${TRANSPORTS[i]} reached only ${cuts} of ${positions} cuts`] : [],
  );
  return {
    trial: 'connections cut off at many bytes',
    facts: {
      cuts: proxies.reduce((sum, { cuts }) => sum + cuts, 0),
      events,
      acknowledged: writer.acknowledged.length,
      ...Object.fromEntries(
        listeners.map(({ received }, i) => [
          TRANSPORTS[i] ?? '',
          `${received.connections} connections, ${received.ids.size} events, ${received.duplicates} received again`,
        ]),
      ),
    },
    violations: [...(finished ? [] : unfinished), ...writer.violations.lines, ...violations],
  };
}

/** Registers a queue for each transport, then makes ten changes, so that each queue contains events at the first connection. */
async function makeQueues(client: Client): Promise<QueueStart[]> {
  const queues: QueueStart[] = [];
  while (queues.length < TRANSPORTS.length) queues.push(await client.register());
  for (let i = 0; i < 10; i++) await client.ask('POST', '/saved_snippets', { title: `Before ${i}`, content: '…' });
  client.close();
  return queues;
}

/**
 * Returns the byte positions at which connections are cut. HTTP heads are short, and frames follow them. Half of the cuts are
 * within the first 1,200 bytes, and few are after the first 2,000.
 */
function places(random: Random, count: number): number[] {
  return Array.from({ length: count }, (_, i) => {
    if (i % 2 === 0) return (i / 2) * Math.max(1, Math.floor(1_200 / count));
    return i % 8 === 1 ? between(random, 2_000, 12_000) : between(random, 0, 2_000);
  });
}
