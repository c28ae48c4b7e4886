import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../helpers/control.ts';
import { createDatabase, type TestDatabase } from '../helpers/database.ts';
import { AS_SERVED, type Environment, ServerProcess } from '../helpers/process.ts';

/** Somebody of the demo organisation. */
export interface Person {
  readonly role: string;
  readonly userId: number;
  /** For the Authorization header. */
  readonly basic: string;
  /** Of an organisation other than the demo one. */
  readonly subdomain?: string;
}

/** A server process of the trial's own with the demo organisation, on a database of its own. */
export interface DemoService extends AsyncDisposable {
  readonly server: ServerProcess;
  /** PostgreSQL; undefined: embedded, in the server's data directory. */
  readonly databaseUrl: string | undefined;
  /** What every further node of it must run with. */
  readonly env: Environment;
  readonly people: readonly Person[];
}

/**
 * @param databaseServer PostgreSQL, on which a database is made; undefined: the embedded database.
 * @param dataDir Default: a new one, removed in the end.
 */
export async function startDemo(
  databaseServer: string | undefined,
  env: Environment = {},
  dataDir?: string,
): Promise<DemoService> {
  const database: TestDatabase | undefined =
    databaseServer === undefined ? undefined : await createDatabase(databaseServer);
  const databaseEnv: Environment =
    database === undefined
      ? { DATABASE_URL: undefined, REDIS_URL: undefined }
      : { DATABASE_URL: database.url, SECRET_KEY: randomBytes(32).toString('hex') };
  const all = { ...AS_SERVED, DEMO: 'on', ...databaseEnv, ...env };
  const server = await ServerProcess.start({ env: all, ...(dataDir !== undefined && { dataDir }) });
  return {
    server,
    databaseUrl: database?.url,
    env: { ...AS_SERVED, ...databaseEnv, ...env, DEMO: 'off' },
    people: peopleOf(server.dataDir),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await database?.[Symbol.asyncDispose]();
    },
  };
}

/** Those of a demo, by their keys. */
export function peopleOf(dataDir: string): Person[] {
  const { users } = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8')) as {
    users: { role: string; email: string; user_id: number; api_key: string }[];
  };
  return users.map(({ role, email, user_id, api_key }) => ({
    role,
    userId: user_id,
    basic: `Basic ${Buffer.from(`${email}:${api_key}`).toString('base64')}`,
  }));
}

/** An organisation other than the demo one. */
export interface OtherOrganisation {
  readonly realmId: number;
  readonly owner: Person;
  readonly members: readonly Person[];
}

/** Makes another organisation, of an owner and so many members, on a server that runs. */
export async function makeOrganisation({ dataDir }: ServerProcess, memberCount: number): Promise<OtherOrganisation> {
  const subdomain = `n${randomBytes(8).toString('hex')}`;
  const memberNames = Array.from({ length: memberCount }, (_, i) => `member ${i + 1}`);
  const people = [{ name: 'owner', role: 'owner' }, ...memberNames.map((name) => ({ name, role: 'member' }))];
  const { realm_id, users } = (await runCommand(dataDir, 'org create', { subdomain, name: 'Neighbour', people })) as {
    realm_id: number;
    users: { role: string; user_id: number; email: string; api_key: string }[];
  };
  const [owner, ...members] = users.map(({ role, user_id, email, api_key }) => ({
    ...{ role, userId: user_id, subdomain },
    basic: `Basic ${Buffer.from(`${email}:${api_key}`).toString('base64')}`,
  }));
  if (owner === undefined) throw new Error('Nobody was made');
  return { realmId: realm_id, owner, members };
}

/** Makes another organisation, of an owner alone, on a server that runs. */
export const makeNeighbour = async (server: ServerProcess): Promise<Person> =>
  (await makeOrganisation(server, 0)).owner;

/** The first person of each role. */
export function personOf(people: readonly Person[], role: string): Person {
  const found = people.find((person) => person.role === role);
  if (found === undefined) throw new Error(`The demo organisation has no ${role}`);
  return found;
}
