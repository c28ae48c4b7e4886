import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fillHistory } from '../bench/history.ts';
import { AS_SERVED, type Environment, freePort, ServerProcess } from '../helpers/process.ts';
import { Cluster } from './cluster.ts';
import { makeNeighbour, makeOrganization, type Person } from './demo.ts';
import { gapOf } from './felt.ts';
import { acknowledgedBy, type Crowd, figuresOf, gather } from './kills.ts';
import { eventually } from './listeners.ts';
import { faredIn, Neighbours, neighbourFigures, type Spell } from './neighbours.ts';
import type { Outcome } from './outcome.ts';
import { seeded } from './random.ts';
import { Client } from './requests.ts';
import { compareWithTruth, openDatabase } from './truth.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Lines of the output of `org move`. The command is killed when one of them appears. */
const PHASES = [
  /^preparing/,
  /^beginning/,
  /^copying \d+ tables/,
  /^collecting/,
  /^holding/,
  /^released: comparing/,
  /^compared \d+ rows/,
  /^compared again/,
  /^switching/,
  /^switched/,
  /^removing/,
];
/** Lines of the output of `org move` at which a service is killed, while the command continues. */
const SERVICE_PHASES = [/^copying \d+ tables/, /^holding/, /^switched/];
const PATIENCE_MS = 20_000;
/** Longest time, in milliseconds, for which changes may be refused. */
const MAX_HELD_MS = 2_000;

/** A service with a PostgreSQL server of its own. */
interface Cell {
  readonly name: string;
  readonly server: ServerProcess;
  readonly databaseUrl: string;
  readonly env: Environment;
}

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

const NGINX = ['/usr/sbin/nginx', '/usr/local/sbin/nginx', '/usr/bin/nginx'].find(existsSync);

/** nginx in front of the cells, configured as `src/server/nginx.conf`, with another port and without TLS. */
class FollowingProxy implements AsyncDisposable {
  readonly url: string;
  readonly #folder: string;
  readonly #nginx: ReturnType<typeof spawn>;
  readonly #write: (map: string) => void;

  private constructor(folder: string, port: number, cells: readonly Cell[]) {
    this.url = `http://127.0.0.1:${port}`;
    this.#folder = folder;
    const upstream = ({ server }: Cell, name: string) =>
      `upstream ${name} { server 127.0.0.1:${server.port} max_fails=0; keepalive 64; }`;
    const [first, ...others] = cells as [Cell, ...Cell[]];
    const documented = readFileSync(join(ROOT, 'src/server/nginx.conf'), 'utf8')
      .replace(
        /upstream chat \{[^}]*\}/,
        [upstream(first, 'chat'), ...others.map((cell) => upstream(cell, cell.name))].join('\n'),
      )
      .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
      .replace(/server_name .*;/, 'server_name _;')
      .replace(/ssl_certificate.*\n/g, '');
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((name) => `${name}_temp_path ${join(folder, name)};`)
      .join('\n');
    this.#write = (map) =>
      writeFileSync(
        join(folder, 'nginx.conf'),
        `${process.getuid?.() === 0 ? 'user root;' : ''}
        daemon off; worker_processes 1; pid ${join(folder, 'pid')}; error_log stderr crit;
        events { worker_connections 1024; }
        http { access_log off; map_hash_bucket_size 128; ${temporary}
          ${documented.replace('default chat;', `default chat;\n${map}`).replace('chat_connections 250', 'chat_connections 60000')} }`,
      );
    this.#write('');
    this.#nginx = spawn(NGINX ?? '', ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'inherit' });
  }

  static async start(cells: readonly Cell[]): Promise<FollowingProxy> {
    if (NGINX === undefined) throw new Error('nginx is not installed');
    const proxy = new FollowingProxy(mkdtempSync(join(tmpdir(), 'chat-cells-')), await freePort(), cells);
    for (let tries = 0; ; tries++) {
      if (
        await fetch(`${proxy.url}/healthz`).then(
          ({ ok }) => ok,
          () => false,
        )
      )
        return proxy;
      if (tries > 100) throw new Error('nginx does not answer');
      await sleep(50);
    }
  }

  /** Sends the requests of some hosts to a cell, and all others to the first one. */
  follow(hosts: Readonly<Record<string, Cell>>): void {
    const lines = Object.entries(hosts).map(([host, { name }]) => `${host} ${name};`);
    this.#write(lines.join('\n'));
    this.#nginx.kill('SIGHUP');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#nginx.kill('SIGTERM');
    if (this.#nginx.exitCode === null) await once(this.#nginx, 'exit');
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/**
 * Moves an organization back and forth between two PostgreSQL servers, each with a service, under load of writers and of listeners
 * over all transports. The command and each of the services are killed in every phase. Other organizations use both services.
 *
 * @param messages Number of messages that the organization has before the writers begin.
 */
export async function cellsTrial({
  messages,
  seed,
  isTimed,
}: {
  messages: number;
  seed: number;
  isTimed: boolean;
}): Promise<Outcome> {
  await using own = new AsyncDisposableStack();
  const secretKey = randomBytes(32).toString('hex');
  const startCell = async (name: string, number: number): Promise<Cell> => {
    const cluster = own.use(await Cluster.start(['wal_level=logical', 'shared_buffers=128MB']));
    const env = {
      ...{ ...AS_SERVED, DATABASE_URL: cluster.url, SECRET_KEY: secretKey, REDIS_URL: undefined, LOG_LEVEL: 'warn' },
      EVENT_QUEUE_WRITE_SECONDS: '0.5',
    };
    await runCli(['migrate'], env);
    if (number > 1) await runCli(['cell', 'number', '--number', String(number)], env);
    return { name, server: own.use(await ServerProcess.start({ env })), databaseUrl: cluster.url, env };
  };
  const [one, two] = [await startCell('chat', 1), await startCell('chat_2', 2)];
  const proxy = own.use(await FollowingProxy.start([one, two]));
  const { organizationId, owner, members } = await makeOrganization(one.server, 2);
  const subdomain = owner.subdomain ?? '';
  const people = [owner, ...members];
  for (const person of people) await subscribe(proxy.url, person);
  await fill(one, { organizationId, senderId: owner.userId, messages });
  const [besideOne, besideTwo] = [await makeNeighbour(one.server), await makeNeighbour(two.server)];
  const host = (person: Person) => `${person.subdomain}.localhost`;
  let place = one;
  const follow = (cell: Cell) => {
    place = cell;
    proxy.follow({ [host(owner)]: cell, [host(besideTwo)]: two });
  };
  follow(one);
  await sleep(500);
  const behind = { isBehindReloads: true };
  const neighbours = [
    await Neighbours.start(proxy.url, besideOne, behind),
    await Neighbours.start(proxy.url, besideTwo, behind),
  ];
  const violations: string[] = [];
  // The event log is not pruned while a queue has not read it. A whole trial takes longer than events are otherwise kept, and
  // at its end the log is compared with what the listeners received.
  const keeper = new Client(proxy.url, owner);
  await keeper.register();
  keeper.close();
  const crowd = await gather(proxy.url, { people }, seeded(seed), { people, pauseMs: 20 });
  const since = performance.now();
  const spellsOf = (work: Promise<unknown>) => Promise.all(neighbours.map((neighbour) => neighbour.during(work)));
  const usual = await spellsOf(sleep(10_000));
  const held: number[] = [];
  const moving: Spell[] = [];
  let kills = 0;

  /**
   * Runs `org move` until it ends or `onLine` has it killed. As soon as its output reports the switch, nginx sends the requests
   * of the organization to the new cell.
   */
  const move = async (to: Cell, onLine?: (line: string) => 'kill' | undefined): Promise<Ended> => {
    const from = to === one ? two : one;
    const ended = await run(['org', 'move', subdomain, '--json', '--to', to.databaseUrl], from.env, (line) => {
      if (/^switched/.test(line)) follow(to);
      return onLine?.(line);
    });
    const ms = Number(/"held_ms": (\d+)/.exec(ended.output)?.[1]);
    if (!Number.isNaN(ms)) held.push(ms);
    return ended;
  };
  const moveWholly = async (to: Cell, onLine?: (line: string) => undefined): Promise<void> => {
    const ended = await move(to, onLine);
    if (ended.code !== 0) violations.push(`move to ${to.name}: the command failed: ${ended.output.slice(-1_000)}`);
    violations.push(...(await stillWrites(crowd, `moved to ${to.name}`)));
  };
  const other = () => (place === one ? two : one);

  // The first moves are not killed, so that their effect on other organizations is measured.
  for (let i = 0; i < 2; i++) moving.push(...(await spellsOf(moveWholly(other()))));
  for (const phase of PHASES) {
    const to = other();
    const ended = await move(to, (line) => (phase.test(line) ? 'kill' : undefined));
    kills++;
    if (ended.code !== null) violations.push(`the command ended before ${phase}: ${ended.output.slice(-500)}`);
    // If the command is killed during the switch, one of the databases shows the organization without another call.
    follow(await whereShown([one, two], organizationId));
    violations.push(...(await stillWrites(crowd, `the command killed at ${phase}`)));
    const again = await move(to);
    if (again.code !== 0 && !/has already moved|does not exist/.test(again.output))
      violations.push(`after a kill at ${phase}: ${again.output.slice(-1_000)}`);
    follow(to);
    violations.push(...(await stillWrites(crowd, `repeated after a kill at ${phase}`)));
  }
  for (const phase of SERVICE_PHASES) {
    for (const which of ['source', 'target'] as const) {
      const to = other();
      const victim = which === 'target' ? to : place;
      let restarting: Promise<void> | undefined;
      await moveWholly(to, (line) => {
        if (phase.test(line)) restarting ??= victim.server.kill9().then(() => victim.server.restart());
        return undefined;
      });
      kills++;
      await restarting;
      violations.push(...(await stillWrites(crowd, `the service of the ${which} killed at ${phase}`)));
    }
  }
  await sleep(300);
  await crowd.stopWriting();
  await crowd.stopListening();
  for (const neighbour of neighbours) neighbour.close();
  const truth = await compareWithTruth({ databaseUrl: place.databaseUrl } as never, crowd.writers, crowd.listeners);
  const fared = faredIn(usual, moving);
  const longest = Math.max(...held);
  if (isTimed && longest > MAX_HELD_MS) violations.push(`changes were held for ${longest} ms`);
  const [neighbour] = neighbours as [Neighbours, ...Neighbours[]];
  return {
    trial: 'moves between cells',
    facts: {
      ...{ messages, kills, moves: held.length, ...figuresOf(crowd), events: truth.events },
      held: `${held.join(', ')} ms`,
      ...neighbourFigures(neighbour, fared),
    },
    violations: [
      ...violations,
      ...crowd.writers.flatMap((writer) => writer.violations.lines),
      ...truth.violations,
      ...neighbour.complaints(fared, { isTimed }),
    ],
    felt: [
      { fault: 'an organization moves between cells', ...truth.broken, gap: gapOf(crowd, since), neighbours: fared },
    ],
  };
}

/** Subscribes a user to the channel in which the writers send. */
async function subscribe(url: string, person: Person): Promise<void> {
  const client = new Client(url, person);
  await client.ask('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'trial' }] });
  client.close();
}

/**
 * Inserts messages with their events directly into the database. Marks them as counted, so that the background worker does not
 * count them during the trial.
 */
async function fill(
  cell: Cell,
  { organizationId, senderId, messages }: { organizationId: number; senderId: number; messages: number },
): Promise<void> {
  const client = await openDatabase(cell);
  try {
    const db = { query: async (sql: string, values: unknown[] = []) => client.query(sql, values) };
    await fillHistory(db as never, { organizationId, senderId, size: messages });
    await client.query(
      `INSERT INTO event (realm_id, id, type, payload, channel_ids, user_ids, except_user_ids)
       SELECT realm_id, sent_event_id, 'message', jsonb_build_object('id', id, 'content', content, 'sender',
         jsonb_build_object('id', sender_id), 'renderedContent', rendered_content), ARRAY[channel_id], '{}', '{}'
       FROM message WHERE realm_id = $1 AND client_name = 'bench' AND NOT EXISTS (
         SELECT FROM event e WHERE e.realm_id = message.realm_id AND e.id = message.sent_event_id)`,
      [organizationId],
    );
    await client.query('UPDATE message_tally SET through_id = (SELECT max(id) FROM message) WHERE realm_id = $1', [
      organizationId,
    ]);
    await client.query('VACUUM ANALYZE');
  } finally {
    await client.end();
  }
}

/** Waits until a cell shows the organization, and returns it. */
async function whereShown(cells: readonly Cell[], organizationId: number): Promise<Cell> {
  const since = performance.now();
  for (;;) {
    for (const cell of cells) {
      const client = await openDatabase(cell);
      try {
        const { rowCount } = await client.query('SELECT FROM realm WHERE id = $1', [organizationId]);
        if (rowCount === 1) return cell;
      } finally {
        await client.end();
      }
    }
    if (performance.now() - since > PATIENCE_MS) throw new Error('no cell shows the organization');
    await sleep(50);
  }
}

/** Waits until the clients of the crowd have made further changes. @returns Violations. */
async function stillWrites(crowd: Crowd, when: string): Promise<string[]> {
  const before = acknowledgedBy(crowd);
  const goesOn = await eventually(() => acknowledgedBy(crowd) > before + 10, PATIENCE_MS);
  return goesOn ? [] : [`${when}: no change was acknowledged`];
}

async function runCli(words: readonly string[], env: Environment): Promise<void> {
  const { code, output } = await run(words, env);
  if (code !== 0) throw new Error(`${words.join(' ')}: ${output}`);
}

/** Runs a command. @param onLine Called with each line of its output. If it returns "kill", the command is killed. */
async function run(
  words: readonly string[],
  env: Environment,
  onLine: (line: string) => 'kill' | undefined = () => undefined,
): Promise<Ended> {
  const args = ['--disable-warning=ExperimentalWarning', 'src/cli.ts', ...words];
  const child = spawn(process.execPath, args, { cwd: ROOT, env: { ...process.env, ...env } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    let rest = '';
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (onLine(line) === 'kill') child.kill('SIGKILL');
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}
