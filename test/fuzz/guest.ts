import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import shortcodes from 'emojibase-data/en/shortcodes/emojibase.json' with { type: 'json' };
import { NamedCounters, type Outcome } from '../faults/outcome.ts';
import type { Parameters, Person } from '../helpers/person.ts';
import { PNG } from '../helpers/pictures.ts';
import { AS_SERVED, ServerProcess } from '../helpers/process.ts';
import { createOrganization } from '../helpers/server.ts';
import type { FloodSource } from './flood.ts';
import { timed } from './http.ts';

/**
 * Highest accepted values. `healthzP99` and `othersP95` are latencies of health checks and of other users' requests, in
 * milliseconds. `memoryMib` is resident memory.
 */
const MARKS = { healthzP99: 200, othersP95: 1_000, memoryMib: 512 } as const;
/** Maximum number of objects of each kind that the guest tries to create. It is higher than every limit of the service. */
const CAP = 2_000;
/**
 * Number of other users. The next two constants are their total number of requests per second, and the interval of health
 * checks.
 */
const OTHERS = 10;
const OTHERS_PER_SECOND = 10;
const HEALTH_EVERY_MS = 50;
const WARM_MS = 4_000;
const LATER = { scheduled_delivery_timestamp: 4_102_444_800 };
/** Text of maximum length that takes long to fold for searches. */
const LONG = 'Привет Мир Строка '.repeat(600).slice(0, 10_000);

interface Options {
  readonly seconds: number;
}

/**
 * Lets a guest create objects of every kind until the service refuses. Then the guest floods the service with concurrent
 * requests of every kind under the default rate limits. Meanwhile, the requests of other users and the health checks are
 * measured.
 */
export async function guestTrial({ seconds }: Options): Promise<Outcome> {
  const embedded = { ...AS_SERVED, DATABASE_URL: undefined, REDIS_URL: undefined };
  // Creates the objects on a server without rate limits, which takes a few seconds. This phase is not measured.
  const filling = await ServerProcess.start({ env: embedded });
  await using first = filling;
  const people = Object.fromEntries(Array.from({ length: OTHERS }, (_, i) => [`other${i}`, 'member' as const]));
  const made = await createOrganization(people, { on: filling, password: 'correct horse battery' });
  const filled = await fill(made.guest, made.owner);
  await first.stop();
  // TRUST_PROXY lets each user send from an IP address of their own.
  const env = { ...embedded, RATE_LIMIT_PER_USER: undefined, RATE_LIMIT_PER_IP: undefined, TRUST_PROXY: '1' };
  await using server = await ServerProcess.start({
    dataDir: filling.dataDir,
    env: { ...env, PORT: String(filling.port) },
  });
  const at = (person: Person) => moved(person, server.port);
  const others = Array.from({ length: OTHERS }, (_, i) =>
    at((made as unknown as Record<string, Person>)[`other${i}`] as Person),
  );
  // Awaited here, because the server is disposed when this function returns.
  return await measure(server, { guest: at(made.guest), owner: at(made.owner), others }, { seconds, filled });
}

/** Returns the user as a client of a server on another port. The Host header contains that port. */
function moved(person: Person, port: number): Person {
  const place = { url: `http://127.0.0.1:${port}`, host: person.host.replace(/\d+$/, String(port)) };
  const Constructor = person.constructor as typeof Person;
  return new Constructor(place, person);
}

type Filling = (i: number) => Promise<boolean>;

/**
 * Creates objects of each kind until the service refuses them, at most `CAP` of each kind.
 *
 * @returns Numbers of objects as text, by kind.
 */
async function fill(guest: Person, owner: Person): Promise<Record<string, string>> {
  const done = async (method: 'POST', path: string, parameters: Parameters, headers = {}): Promise<boolean> => {
    const { status } = await guest.rest(method, path, parameters, { headers });
    return status === 200;
  };
  const { id: channelId } = await owner.ok('POST', '/channels/create', {
    name: 'open',
    subscribers: [owner.id, guest.id],
  });
  const { id: messageId } = await owner.ok('POST', '/messages', {
    type: 'channel',
    to: channelId,
    topic: 't',
    content: 'hello',
  });
  const draft = { type: 'stream', to: [channelId], topic: 't', content: LONG };
  const said = { type: 'channel', to: channelId, topic: 't', content: LONG };
  const fillings: Readonly<Record<string, readonly [each: number, cap: number, Filling]>> = {
    drafts: [50, CAP, () => done('POST', '/drafts', { drafts: Array.from({ length: 50 }, () => draft) })],
    snippets: [1, CAP / 4, (i) => done('POST', '/saved_snippets', { title: `t${i}`, content: LONG })],
    'scheduled messages': [1, CAP / 4, () => done('POST', '/scheduled_messages', { ...said, ...LATER })],
    reminders: [
      1,
      CAP / 4,
      () => done('POST', '/reminders', { ...LATER, message_id: messageId, note: 'x'.repeat(500) }),
    ],
    'alert words': [
      100,
      CAP,
      (i) =>
        done('POST', '/users/me/alert_words', {
          alert_words: Array.from({ length: 100 }, (_, j) => `${i}-${j}-`.padEnd(100, 'x')),
        }),
    ],
    'navigation views': [
      1,
      CAP / 4,
      (i) => done('POST', '/navigation_views', { fragment: `f${i}`.padEnd(100, 'x'), is_pinned: false, name: `n${i}` }),
    ],
    'topic policies': [
      1,
      CAP / 4,
      (i) => done('POST', '/user_topics', { stream_id: channelId, topic: `topic ${i}`, visibility_policy: 3 }),
    ],
    reactions: [
      1,
      CAP / 4,
      (i) => done('POST', `/messages/${messageId}/reactions`, { emoji_name: EMOJI[i % EMOJI.length] }),
    ],
    'kept replies': [
      1,
      CAP / 4,
      (i) => done('POST', '/drafts', { drafts: [{ ...draft, content: 'x' }] }, { 'idempotency-key': `k${i}` }),
    ],
    queues: [
      1,
      CAP / 4,
      () =>
        done('POST', '/register', {
          fetch_event_types: [],
          idle_queue_timeout: 604_800,
          narrow: Array.from({ length: 200 }, () => ['channel', 'open']),
        }),
    ],
    uploads: [1, 50, () => done('POST', '/users/me/avatar', { file: PNG })],
    messages: [1, CAP / 4, () => done('POST', '/messages', said)],
  };
  const reached: Record<string, string> = {};
  for (const [what, [each, cap, more]] of Object.entries(fillings)) {
    let [count, refused] = [0, false];
    while (count < cap && !refused) {
      if (await more(count / each)) count += each;
      else refused = true;
    }
    reached[what] = `${count}${refused ? ', then refused' : ' and no end'}`;
  }
  return reached;
}

const EMOJI = Object.values(shortcodes).flat();

interface Crowd {
  readonly guest: Person;
  readonly owner: Person;
  readonly others: readonly Person[];
}

async function measure(
  server: ServerProcess,
  crowd: Crowd,
  { seconds, filled }: { seconds: number; filled: Record<string, string> },
): Promise<Outcome> {
  const over = new AbortController();
  const until = over.signal;
  const rest = rssOf(server.pid);
  let most = rest;
  const health: number[] = [];
  const others: number[] = [];
  const failures = new NamedCounters();
  const everyMs = async (ms: number, act: () => Promise<void>) => {
    const running = new Set<Promise<void>>();
    while (!until.aborted) {
      const one: Promise<void> = act().finally(() => running.delete(one));
      running.add(one);
      await sleep(ms);
    }
    await Promise.all(running);
  };
  let turn = 0;
  const watching = [
    everyMs(HEALTH_EVERY_MS, async () => {
      if (server.pid === undefined) {
        failures.add(`the server died: ${lastWords(server)}`);
        over.abort();
        return;
      }
      most = Math.max(most, rssOf(server.pid));
      const { reply, milliseconds } = await timed(server.url, {
        method: 'GET',
        path: '/healthz',
        headers: { 'x-forwarded-for': '10.0.0.250' },
      });
      health.push(milliseconds);
      if (reply?.status !== 200) failures.add(`/healthz: ${reply?.status}`);
    }),
    everyMs(1_000 / OTHERS_PER_SECOND, async () => {
      const i = turn++;
      const act = ACTS[i % ACTS.length] as (typeof ACTS)[number];
      const person = crowd.others[i % crowd.others.length] as Person;
      const headers = { ...person.headers, 'x-forwarded-for': `10.0.1.${i % crowd.others.length}`, ...act.headers };
      const { reply, milliseconds } = await timed(server.url, {
        method: act.method,
        path: act.path,
        headers,
        body: act.body,
      });
      others.push(milliseconds);
      if (reply?.status !== 200)
        failures.add(`${act.method} ${act.path}: ${reply?.status} ${reply?.text.slice(0, 100)}`);
    }),
  ];
  // Waits until V8 has compiled frequently used code, so that the compilation does not distort the measurement.
  await sleep(WARM_MS);
  health.length = 0;
  others.length = 0;
  // The flood runs in a separate thread, so that reading its answers does not delay the measurements in this thread.
  const flood = new Worker(new URL('flood.ts', import.meta.url), { workerData: floodOf(server.url, crowd.guest) });
  const flooding = once(flood, 'message').then(([told]) => String(told));
  const all = Promise.all([...watching, flooding]);
  try {
    // The trial ends early if the measurements themselves fail.
    await Promise.race([all, sleep(seconds * 1_000, undefined, { signal: until }).catch(() => undefined)]);
  } finally {
    over.abort();
    flood.postMessage('over');
    await all.catch(() => undefined);
  }
  await all;
  await sleep(2_000);
  const [p99, p95] = [percentile(health, 0.99), percentile(others, 0.95)];
  const violations = failures.lines.map((line) => `another was not served: ${line}`);
  if (p99 > MARKS.healthzP99) violations.push(`/healthz took ${Math.round(p99)} ms at p99`);
  if (p95 > MARKS.othersP95) violations.push(`others waited ${Math.round(p95)} ms at p95`);
  if (mib(most - rest) > MARKS.memoryMib) violations.push(`memory rose by ${mib(most - rest)} MiB`);
  const times = (all: number[]) => [0.5, 0.95, 0.99, 1].map((share) => Math.round(percentile(all, share))).join(' / ');
  return {
    trial: 'A hostile guest with every limit exhausted',
    facts: {
      ...filled,
      'the flood was told': await flooding,
      '/healthz, p50 / p95 / p99 / longest, ms': `${times(health)} (${health.length} times)`,
      "others' requests, the same": `${times(others)} (${others.length} times)`,
      'memory before, at most, after': `${mib(rest)}, ${mib(most)}, ${mib(rssOf(server.pid))} MiB`,
    },
    violations,
  };
}

const floodOf = (url: string, { host, email, headers, authorization }: Person): FloodSource => ({
  url,
  host,
  email,
  authorization,
  headers: { ...headers },
});

const form = { 'content-type': 'application/x-www-form-urlencoded' };

/** Requests that the other users send during the flood. */
const ACTS: readonly { method: string; path: string; headers: Record<string, string>; body?: string }[] = [
  { method: 'GET', path: '/api/v1/users/me', headers: {} },
  { method: 'GET', path: '/api/v1/users/me/subscriptions', headers: {} },
  { method: 'POST', path: '/api/v1/drafts', headers: form, body: 'drafts=[]' },
  { method: 'GET', path: '/api/v1/messages?anchor=newest&num_before=20&num_after=0', headers: {} },
  {
    method: 'POST',
    path: '/graphql',
    headers: { 'content-type': 'application/json' },
    body: '{"query":"{ viewer { fullName } channels(first: 5) { edges { node { name } } } }"}',
  },
];

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

const PAGE_BYTES = 4_096;
const mib = (bytes: number) => Math.round(bytes / 1024 / 1024);

/** Returns the resident memory of a process, in bytes. 0 if the process has ended. */
function rssOf(pid: number | undefined): number {
  return pid === undefined ? 0 : Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * PAGE_BYTES;
}

/** Returns the last three lines of the server's output that report a fatal error, such as lack of memory. */
function lastWords(server: ServerProcess): string {
  const lines = server
    .log()
    .split('\n')
    .filter((line) => /FATAL|Error|heap/.test(line));
  return lines.slice(-3).join(' | ').slice(0, 400);
}
