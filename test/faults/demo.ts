import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../helpers/control.ts';
import { createDatabase, type TestDatabase } from '../helpers/database.ts';
import { AS_SERVED, type Environment, ServerProcess } from '../helpers/process.ts';

/** A user of the demo organization, or of another organization on the same server. */
export interface Person {
  readonly role: string;
  readonly userId: number;
  /** Value of the Authorization header. */
  readonly basic: string;
  /** Subdomain of the organization. Absent: the demo organization. */
  readonly subdomain?: string;
}

/** A separate server process with the demo organization, on a separate database. */
export interface DemoService extends AsyncDisposable {
  readonly server: ServerProcess;
  /** URL of the PostgreSQL database. Undefined: the embedded database in the server's data directory. */
  readonly databaseUrl: string | undefined;
  /** Environment for further nodes of this service. */
  readonly env: Environment;
  readonly people: readonly Person[];
}

/**
 * Starts a service with the demo organization.
 *
 * @param databaseServer PostgreSQL server on which a database is created. Undefined: the embedded database.
 * @param dataDir Data directory of the server. Default: a new directory, removed on disposal.
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

/** Reads the users of the demo organization and their API keys from a server's data directory. */
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

/** An organization other than the demo organization. */
export interface OtherOrganization {
  readonly organizationId: number;
  readonly owner: Person;
  readonly members: readonly Person[];
}

/** Creates another organization on a running server, with an owner and `memberCount` members. */
export async function makeOrganization({ dataDir }: ServerProcess, memberCount: number): Promise<OtherOrganization> {
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
  if (owner === undefined) throw new Error('No user was created');
  return { organizationId: realm_id, owner, members };
}

/** Creates another organization on a running server, with an owner only. */
export const makeNeighbour = async (server: ServerProcess): Promise<Person> =>
  (await makeOrganization(server, 0)).owner;

/** Returns the first user with a role. @throws {Error} If no user has the role. */
export function personOf(people: readonly Person[], role: string): Person {
  const found = people.find((person) => person.role === role);
  if (found === undefined) throw new Error(`The demo organization has no ${role}`);
  return found;
}
