import { randomBytes } from 'node:crypto';
import { expect, inject } from 'vitest';
import { runCommand } from './control.ts';
import { requireDatabaseOfRun } from './database-of-run.ts';
import { Person, Visitor } from './person.ts';
import { type ServerOptions, ServerProcess } from './process.ts';

export const ROLES = { owner: 100, administrator: 200, moderator: 300, member: 400, guest: 600 } as const;
export type RoleName = keyof typeof ROLES;

/** A password that is strong enough for every account. */
export const OWNER_PASSWORD = 'correct horse battery';

/** The server that hosts an organization. */
interface HostServer {
  readonly url: string;
  readonly dataDir: string;
}

/** Returns the server that all tests share. @throws {Error} In files that `npm run test:postgres` leaves out. */
export function serverOf(): HostServer {
  requireDatabaseOfRun(expect.getState().testPath);
  return inject('server');
}

export interface Organization {
  readonly id: number;
  readonly subdomain: string;
  readonly name: string;
  /** Value of the Host header. */
  readonly host: string;
}

/** An organization for one test, with one user of each role and a bot of the owner. */
export interface Organization {
  readonly organization: Organization;
  readonly owner: Person;
  readonly administrator: Person;
  readonly moderator: Person;
  readonly member: Person;
  readonly guest: Person;
  readonly bot: Person;
  /** A client without credentials. */
  readonly anonymous: Visitor;
  /** Creates one more user with an operator command. The other users receive the usual events. */
  signUp(name: string, role?: RoleName, password?: string): Promise<Person>;
}

export interface OrganizationOptions {
  /** Server that hosts the organization. Default: the server that all tests share. */
  readonly on?: HostServer;
  /** Password of the owner. Without one, no user can sign in with a password. Hashing it takes time. */
  readonly password?: string;
  /** Subdomain of the organization. Default: a new random one. Empty: the organization uses the server's own address. */
  readonly subdomain?: string;
}

/**
 * Creates an organization, by default with a subdomain of its own.
 *
 * @param people Additional users, by name, with their roles.
 */
export async function createOrganization<const P extends Readonly<Record<string, RoleName>>>(
  people: P = {} as P,
  { on = serverOf(), password, subdomain = `t${randomBytes(8).toString('hex')}` }: OrganizationOptions = {},
): Promise<Organization & { readonly [N in keyof P]: Person }> {
  const roles = Object.keys(ROLES) as RoleName[];
  const named = Object.entries({ ...Object.fromEntries(roles.map((role) => [role, role])), ...people });
  const made = (await runCommand(on.dataDir, 'org create', {
    subdomain,
    name: `Organization ${subdomain}`,
    people: [
      ...named.map(([name, role]) => ({ name, role, ...(name === 'owner' && password !== undefined && { password }) })),
      { name: 'bot', bot: true },
    ],
  })) as { realm_id: number; name: string; users: MadeUser[] };
  const { host: own, port } = new URL(on.url);
  const host = subdomain === '' ? own : `${subdomain}.localhost:${port}`;
  const place = { url: on.url, host };
  const toPerson = (user: MadeUser, name: string, role: RoleName) =>
    new Person(place, { id: user.user_id, name, email: user.email, apiKey: user.api_key, role: ROLES[role] });
  const peopleByName = Object.fromEntries(
    [...named, ['bot', 'member'] as const].map(([name, role], i) => {
      const user = made.users[i];
      if (user === undefined) throw new Error(`No account was made for ${name}`);
      return [name, toPerson(user, name, role)];
    }),
  );
  return {
    ...peopleByName,
    organization: { id: made.realm_id, subdomain, name: made.name, host },
    anonymous: new Visitor(place),
    async signUp(name: string, role: RoleName = 'member', password?: string) {
      const email = `${name.toLowerCase().replaceAll(' ', '.')}@${subdomain}.example`;
      const account = { org: subdomain, name, role, email, ...(password !== undefined && { password }) };
      return toPerson((await runCommand(on.dataDir, 'user create', account)) as MadeUser, name, role);
    },
  } as Organization & { readonly [N in keyof P]: Person };
}

interface MadeUser {
  readonly user_id: number;
  readonly email: string;
  readonly api_key: string;
}

/** Starts a server process for one test: `await using` it. */
export async function startServer(options?: ServerOptions): Promise<ServerProcess> {
  requireDatabaseOfRun(expect.getState().testPath);
  return ServerProcess.start(options);
}
