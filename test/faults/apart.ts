import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { sweep } from '../../src/events/retention.ts';
import { readConfig } from '../../src/platform/config.ts';
import { startApp } from '../../src/server/start.ts';
import { newDataDir } from '../helpers/data-dir.ts';
import { startDatabaseProxy } from '../helpers/database-proxy.ts';
import { type Environment, freePort, ServerProcess } from '../helpers/process.ts';
import { makeNeighbour, personOf, startDemo } from './demo.ts';
import { longestBetween } from './felt.ts';
import {
  brokenBy,
  compareSent,
  endsOf,
  faredIn,
  ms,
  Neighbours,
  neighbourFigures,
  SequentialSender,
  type Spell,
  type WatchedTrial,
} from './neighbours.ts';
import { type Outcome, some } from './outcome.ts';
import { Client } from './requests.ts';
import { withDatabase } from './truth.ts';

/**
 * Longest time until a node that lost its database reports that it is not ready, in milliseconds. Allows for a busy machine.
 * `RECOVERY_MS` is the limit until the node is ready again.
 */
const NOTICED_MS = 20_000;
const RECOVERY_MS = 40_000;

/**
 * Polls /readyz until it answers with this status. @returns Time in milliseconds, or Infinity if that takes longer than
 * `patienceMs`.
 */
async function untilReadiness(url: string, status: number, patienceMs: number): Promise<number> {
  const since = performance.now();
  while (performance.now() - since < patienceMs) {
    const response = await fetch(`${url}/readyz`);
    await response.body?.cancel();
    if (response.status === status) return performance.now() - since;
    await sleep(100);
  }
  return Number.POSITIVE_INFINITY;
}

/**
 * Drops all network traffic between one node and the database. The node must report that it is not ready, refuse requests, and
 * recover afterwards. Clients at the other node must not be affected, whether or not their organization also uses the cut-off
 * node.
 */
export async function cutOffTrial({ databaseServer, seconds, isTimed }: WatchedTrial): Promise<Outcome> {
  await using service = await startDemo(databaseServer);
  await using proxy = await startDatabaseProxy(service.databaseUrl ?? '');
  await using cut = await ServerProcess.start({ env: { ...service.env, DATABASE_URL: proxy.url } });
  const person = personOf(service.people, 'owner');
  const neighbours = await Neighbours.start(service.server.url, await makeNeighbour(service.server));
  const [here, there]: [SequentialSender[], SequentialSender[]] = [[], []];
  while (here.length < 4) here.push(await SequentialSender.start(cut.url, person));
  while (there.length < 4) there.push(await SequentialSender.start(service.server.url, person));
  let isOver = false;
  const sending = [...here, ...there].map((sender) => sender.until(() => isOver, { pauseMs: 50 }));
  const usual = await neighbours.during(sleep(seconds * 1_000));

  const cutAt = performance.now();
  proxy.swallow();
  let noticed = Number.POSITIVE_INFINITY;
  const meanwhile = await neighbours.during(
    Promise.all([
      untilReadiness(cut.url, 503, NOTICED_MS).then((after) => {
        noticed = after;
      }),
      sleep(seconds * 1_000),
    ]),
  );
  const fared = faredIn([usual], [meanwhile]);
  const gap = longestBetween([...there.flatMap(({ acknowledgedAt }) => acknowledgedAt), performance.now()], cutAt);
  isOver = true;
  proxy.mend();
  const ready = await untilReadiness(cut.url, 200, RECOVERY_MS);
  await Promise.all(sending);
  const again = await here[0]?.send();
  for (const sender of [...here, ...there, neighbours]) sender.close();
  const ends = endsOf(here);
  const failures = [...here, ...there].flatMap((sender) => sender.failures);
  const broken = await withDatabase(service, (query) => compareSent(query, [...here, ...there, ...neighbours.senders]));
  const fault = 'a node cut off from the database';
  return {
    trial: fault,
    facts: {
      'not ready after': ms(noticed),
      'ready again after': ms(ready),
      ...neighbourFigures(neighbours, fared),
      'requests to the node that was cut off': ends.toString(),
    },
    violations: [
      ...(noticed === Number.POSITIVE_INFINITY ? ['the node that was cut off still reported that it was ready'] : []),
      ...(ready === Number.POSITIVE_INFINITY || again === undefined ? ['the node did not recover'] : []),
      ...(failures.length > 0 ? [`requests failed: ${some(failures)}`] : []),
      ...brokenBy(broken),
      ...neighbours.complaints(fared, { isTimed }),
    ],
    felt: [{ fault, ...broken, gap, neighbours: fared }],
  };
}

/** Starts a separate Redis server. Resolves when the server has written its first output, which means that it runs. */
async function startRedis() {
  const port = await freePort();
  const process = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', '']);
  process.stderr.resume();
  const ended = once(process, 'exit');
  // Waits for the first output. If the command does not exist, `once` rejects because of the `error` event.
  await Promise.race([once(process.stdout, 'data'), ended]);
  process.stdout.resume();
  return {
    url: `redis://127.0.0.1:${port}`,
    pause: () => void process.kill('SIGSTOP'),
    goOn: () => void process.kill('SIGCONT'),
    kill: () => void process.kill('SIGKILL'),
    async [Symbol.asyncDispose]() {
      process.kill('SIGKILL');
      await ended;
    },
  };
}

/**
 * Pauses, resumes and kills the Redis server that two nodes share. Requests must not wait for Redis, and nodes must still
 * receive each other's events. The nodes may log only few messages about Redis.
 */
export async function redisTrial({ databaseServer, seconds, isTimed }: WatchedTrial): Promise<Outcome> {
  await using redis = await startRedis();
  // These limits are never reached, so Redis counts every request.
  const env = { REDIS_URL: redis.url, RATE_LIMIT_PER_USER: '1000000', RATE_LIMIT_PER_IP: '1000000' };
  await using service = await startDemo(databaseServer, env);
  await using other = await ServerProcess.start({ env: service.env });
  const neighbours = await Neighbours.start(other.url, await makeNeighbour(service.server));
  const spell = () => neighbours.during(sleep(seconds * 1_000));
  const usual = await spell();
  redis.pause();
  const paused = await spell();
  redis.goOn();
  const between = await spell();
  redis.kill();
  const killed = await spell();
  const sender = neighbours.senders[0];
  const again = await sender?.send();
  neighbours.close();
  const broken = await withDatabase(service, (query) => compareSent(query, neighbours.senders));
  const inBoth = (meanwhile: Spell) => faredIn([usual], [meanwhile]);
  const said = [service.server, other].flatMap((node) =>
    node
      .log()
      .split('\n')
      .filter((line) => line.includes('redis')),
  );
  // Each node logs three messages for each of the two outages (paused, killed), and two messages that Redis is back.
  const most = 2 * (2 * 3 + 2);
  return {
    trial: 'Redis paused, and killed',
    facts: {
      ...Object.fromEntries(
        Object.entries({ paused, between, killed }).map(([name, it]) => [name, ms(inBoth(it).meanwhile)]),
      ),
      before: ms(inBoth(usual).before),
      'lines in the logs of two nodes': said.length,
    },
    violations: [
      ...(again === undefined ? ['sending without Redis failed'] : []),
      ...(said.length > most ? [`the logs have ${said.length} lines about Redis`] : []),
      ...brokenBy(broken),
      ...[paused, killed].flatMap((it) => neighbours.complaints(inBoth(it), { isTimed })),
    ],
    felt: [
      { fault: 'Redis paused', ...broken, gap: paused.gap, neighbours: inBoth(paused) },
      { fault: 'Redis killed', ...broken, gap: killed.gap, neighbours: inBoth(killed) },
    ],
  };
}

const HOUR_MS = 3_600_000;

/**
 * Starts a node with a wrong clock in this process. The node serves no requests, but expires queues and prunes the event log as
 * any node does.
 *
 * @param offMs Difference from the correct time, in milliseconds. Positive: the clock is ahead.
 */
async function nodeBy(env: Environment, offMs: number) {
  const dataDir = newDataDir();
  const config = readConfig({ ...env, DATA_DIR: dataDir, LOG_LEVEL: 'silent' });
  const { app, close } = await startApp(config, { now: () => new Date(Date.now() + offMs) });
  let isOver = false;
  const sweeping = (async () => {
    while (!isOver) {
      await sweep(app);
      await sleep(500);
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      isOver = true;
      await sweeping;
      await close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/**
 * Runs two nodes whose clocks are an hour ahead and an hour behind. These nodes maintain the event queues and logs of all
 * organizations. No queue may expire, and no event may be pruned.
 */
export async function clocksTrial({ databaseServer, seconds, isTimed }: WatchedTrial): Promise<Outcome> {
  await using service = await startDemo(databaseServer);
  const { url } = service.server;
  const person = personOf(service.people, 'owner');
  const neighbours = await Neighbours.start(url, await makeNeighbour(service.server));
  const sender = await SequentialSender.start(url, person);
  const listener = new Client(url, person);
  const { queue_id, last_event_id } = await listener.ask('POST', '/register', { event_types: ['message'] });
  const usual = await neighbours.during(sleep(seconds * 1_000));

  let isOver = false;
  const sending = sender.until(() => isOver, { pauseMs: 50 });
  const since = performance.now();
  let meanwhile: Spell;
  {
    await using _ahead = await nodeBy(service.env, HOUR_MS);
    await using _behind = await nodeBy(service.env, -HOUR_MS);
    meanwhile = await neighbours.during(sleep(seconds * 1_000));
  }
  isOver = true;
  await sending;
  const fared = faredIn([usual], [meanwhile]);
  const gap = longestBetween(sender.acknowledgedAt, since);
  const heard = new Set<string>();
  let at = last_event_id;
  for (;;) {
    const { status, body } = await listener.rest('GET', '/events', { queue_id, last_event_id: at, dont_block: true });
    if (status !== 200) throw new Error(`The queue has expired: ${JSON.stringify(body)}`);
    if (body.events.length === 0) break;
    for (const { message } of body.events) heard.add(message.content.replace(/<[^>]*>/g, ''));
    at = body.events.at(-1).id;
  }
  for (const one of [sender, neighbours, listener]) one.close();
  const unheard = sender.acknowledged.filter((content) => !heard.has(content));
  const broken = await withDatabase(service, (query) => compareSent(query, [sender, ...neighbours.senders]));
  const fault = 'clocks an hour ahead, and behind';
  return {
    trial: fault,
    facts: { acknowledged: sender.acknowledged.length, heard: heard.size, ...neighbourFigures(neighbours, fared) },
    violations: [
      ...(unheard.length > 0 ? [`not received: ${some(unheard)}`] : []),
      ...(sender.failures.length > 0 ? [`requests failed: ${some(sender.failures)}`] : []),
      ...brokenBy(broken),
      ...neighbours.complaints(fared, { isTimed }),
    ],
    felt: [{ fault, ...broken, lost: broken.lost + unheard.length, gap, neighbours: fared }],
  };
}
