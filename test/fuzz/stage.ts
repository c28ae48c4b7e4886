import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { createDatabase } from '../helpers/database.ts';
import type { Person } from '../helpers/person.ts';
import { AS_SERVED, type Environment, ServerProcess } from '../helpers/process.ts';
import { makeScene, type Names, type Scene } from '../helpers/scene.ts';
import type { MemoryReading } from './probe.ts';

/** A tested server, which other tests may share. */
export interface Target {
  readonly url: string;
  readonly dataDir: string;
}

/** A tested server that no other test uses. Its memory can be read. */
export interface Stage extends Target, AsyncDisposable {
  /** Returns the errors that the server has logged, without duplicates. */
  faults(): string[];
  memory(): Promise<MemoryReading>;
  /** Returns how long the main threads of the server and of this process have waited for a processor, in milliseconds. */
  waited(): number;
}

export interface StageOptions {
  /** PostgreSQL server on which a database is created. Undefined: the embedded database. */
  readonly databaseServer: string | undefined;
  readonly env?: Environment;
}

/** Lowest pino log level that counts as an error of the server. */
const ERROR = 50;

/**
 * Starts a server without rate limits. Its heartbeats are frequent, so that a long poll is answered before it counts as too
 * slow.
 */
export async function openStage({ databaseServer, env = {} }: StageOptions): Promise<Stage> {
  const own = new AsyncDisposableStack();
  const database = databaseServer === undefined ? undefined : own.use(await createDatabase(databaseServer));
  const probe = join(tmpdir(), `chat-fuzz-${randomBytes(6).toString('hex')}.sock`);
  const server = own.use(
    await ServerProcess.start({
      env: {
        ...AS_SERVED,
        DATABASE_URL: database?.url,
        SECRET_KEY: randomBytes(32).toString('hex'),
        REDIS_URL: undefined,
        EVENT_HEARTBEAT_SECONDS: '0.5',
        FUZZ_PROBE: probe,
        NODE_OPTIONS: `--import=${pathToFileURL(join(import.meta.dirname, 'probe.ts')).href}`,
        ...env,
      },
    }),
  );
  return {
    url: server.url,
    dataDir: server.dataDir,
    faults: () => faultsIn(server.log()),
    memory: () => readMemory(probe),
    waited: () => waitedOf(server.pid) + waitedOf(process.pid),
    async [Symbol.asyncDispose]() {
      await server.stop();
      await own.disposeAsync();
    },
  };
}

/**
 * Returns how long the main thread of a process has waited for a processor, in milliseconds. 0 if unavailable. @see proc(5),
 * schedstat
 */
function waitedOf(pid: number | undefined): number {
  try {
    const [, waited] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ');
    return Number(waited) / 1_000_000;
  } catch {
    return 0;
  }
}

async function readMemory(probe: string): Promise<MemoryReading> {
  const connection = createConnection(probe);
  try {
    return JSON.parse(await text(connection)) as MemoryReading;
  } finally {
    connection.destroy();
  }
}

function faultsIn(log: string): string[] {
  const faults = log.split('\n').flatMap((line) => {
    if (!line.startsWith('{')) return /^\s*at |^$/.test(line) ? [] : /Error|Warning/.test(line) ? [line] : [];
    const { level, msg, request, err } = JSON.parse(line) as {
      level: number;
      msg: string;
      request?: string;
      err?: { message?: string; stack?: string };
    };
    return level < ERROR ? [] : [`${msg}: ${request ?? ''} ${(err?.stack ?? err?.message ?? '').slice(0, 400)}`];
  });
  return [...new Set(faults)];
}

/** The accounts that send inputs, and the victims, which are accounts that inputs may end. */
export interface Cast {
  readonly scene: Scene;
  /** Ids and names of the objects to which inputs refer. */
  readonly names: Names;
  /** Sending accounts. No input may end them. */
  readonly actors: readonly Person[];
  /** Accounts that inputs may end. They also send the inputs that may end the account of their sender. */
  readonly victims: readonly Person[];
}

/** Number of victims. There are several, so that more than one input of a batch can end an account. */
const VICTIMS = 4;

/** Creates an organization for one batch of inputs, with senders and victims. */
export async function makeCast(on: Target): Promise<Cast> {
  const scene = await makeScene({ on });
  const victims: Person[] = [];
  for (let i = 0; i < VICTIMS; i++) victims.push(await scene.signUp(`victim ${i}`));
  const named = victims[0] as Person;
  const { user_id: botId } = await scene.owner.ok('POST', '/bots', { full_name: 'Fuzzy', short_name: 'fuzzy' });
  return {
    scene,
    names: { ...scene.names, userId: named.id, email: named.email, botId },
    actors: [scene.owner, scene.administrator, scene.moderator, scene.member, scene.guest, scene.bot],
    victims,
  };
}

/** Returns the senders that can no longer authenticate, because their later inputs have tested nothing. One text each. */
export async function endedAmong({ actors }: Cast): Promise<string[]> {
  const ended: string[] = [];
  for (const actor of actors) {
    const { status, body } = await actor.rest('GET', '/users/me');
    if (status !== 200 || body.user_id !== actor.id) ended.push(`${actor.name}: ${status} ${body?.code}`);
  }
  return ended;
}
