import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
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

/** The address of a tested server, which other tests may use as well. */
export interface Target {
  readonly url: string;
  readonly dataDir: string;
}

/** A tested server that no other test uses. Its memory can be read. */
export interface Stage extends Target, AsyncDisposable {
  /** Returns the errors that the server has logged, without duplicates. */
  faults(): string[];
  /** Empties the server's bounded caches, and returns its memory. */
  memory(): Promise<MemoryReading>;
  /**
   * Begins to measure how long the threads of the server and of this process wait for a processor.
   *
   * @returns A function that returns the time since then in milliseconds: of the main threads, and of the helper thread of the
   *   server that has waited longest. Password hashes and garbage collections wait for helper threads.
   */
  waiting(): () => number;
}

export interface StageOptions {
  /** PostgreSQL server on which a database is created. Undefined: the embedded database. */
  readonly databaseServer: string | undefined;
  readonly env?: Environment;
}

/** Lowest pino log level that counts as an error of the server. */
const ERROR = 50;

/**
 * Starts a server without rate limits. Its heartbeats are frequent, so that a long poll is answered within the longest accepted
 * duration.
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
    waiting: () => {
      const [before, ownBefore] = [waitsOf(server.pid), waitsOf(process.pid)];
      return () => {
        const [after, ownAfter] = [waitsOf(server.pid), waitsOf(process.pid)];
        const waited = (thread: number) => (after.get(thread) ?? 0) - (before.get(thread) ?? 0);
        const helpers = [...after.keys()].filter((thread) => thread !== server.pid);
        const own = (ownAfter.get(process.pid) ?? 0) - (ownBefore.get(process.pid) ?? 0);
        return waited(server.pid ?? 0) + Math.max(0, ...helpers.map(waited)) + own;
      };
    },
    async [Symbol.asyncDispose]() {
      await server.stop();
      await own.disposeAsync();
    },
  };
}

/**
 * Returns the total time that each thread of a process has waited for a processor, in milliseconds, by the thread's id. The id of
 * the main thread is that of the process. Empty if unavailable. @see proc(5), schedstat
 */
function waitsOf(pid: number | undefined): Map<number, number> {
  const waits = new Map<number, number>();
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const [, waited] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ');
      waits.set(Number(thread), Number(waited) / 1_000_000);
    }
  } catch {
    // The system has no such files, or a thread ended between the two reads.
  }
  return waits;
}

async function readMemory(probe: string): Promise<MemoryReading> {
  const connection = createConnection(probe);
  try {
    const reading = JSON.parse(await text(connection)) as MemoryReading | { readonly failure: string };
    if ('failure' in reading) throw new Error(`The memory could not be read: ${reading.failure}`);
    return reading;
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

/** The accounts of one organization that send inputs, and the victims: accounts that inputs are permitted to end. */
export interface Cast {
  readonly scene: Scene;
  /** Ids and names of the objects to which inputs refer. */
  readonly names: Names;
  /** Accounts that send inputs. Inputs must not end them. */
  readonly actors: readonly Person[];
  /** Accounts that inputs are permitted to end. They send the inputs that can end the account of their sender. */
  readonly victims: readonly Person[];
}

/** Number of victims in an organization. There are several, so that more than one input of a batch can end an account. */
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

/** Returns a text for each sender that can no longer authenticate. The later inputs of such a sender have tested nothing. */
export async function endedAmong({ actors }: Cast): Promise<string[]> {
  const ended: string[] = [];
  for (const actor of actors) {
    const { status, body } = await actor.rest('GET', '/users/me');
    if (status !== 200 || body.user_id !== actor.id) ended.push(`${actor.name}: ${status} ${body?.code}`);
  }
  return ended;
}
