import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { runCommand } from './control.ts';
import { Person, Visitor } from './person.ts';
import { type ServerOptions, ServerProcess } from './process.ts';

export const ROLES = { owner: 100, administrator: 200, moderator: 300, member: 400, guest: 600 } as const;
export type RoleName = keyof typeof ROLES;

/** Where an organisation is served. */
interface Place {
  readonly url: string;
  readonly dataDir: string;
}

/** The server all tests share. */
export const serverOf = (): Place => inject('server');

export interface Realm {
  readonly id: number;
  readonly subdomain: string;
  readonly name: string;
  /** As the Host header names it. */
  readonly host: string;
}

/** An organisation of the test's own, with one person of each role and a bot of the owner's. */
export interface Organisation {
  readonly realm: Realm;
  readonly owner: Person;
  readonly administrator: Person;
  readonly moderator: Person;
  readonly member: Person;
  readonly guest: Person;
  readonly bot: Person;
  /** Somebody without credentials. */
  readonly anonymous: Visitor;
  /** Makes one more user, as the server's operator does: everybody hears of it. */
  signUp(name: string, role?: RoleName, password?: string): Promise<Person>;
}

export interface OrganisationOptions {
  /** Default: the server all tests share. */
  readonly on?: Place;
  /** Of the owner. Without one nobody can sign in with a password, which takes time to make. */
  readonly password?: string;
  /** Default: one that no other has. Empty: the organisation is at the server's own address. */
  readonly subdomain?: string;
}

/**
 * Makes an organisation under a subdomain of its own.
 *
 * @param people More people who are there from the start, by name, with their roles.
 */
export async function organisation<const P extends Readonly<Record<string, RoleName>>>(
  people: P = {} as P,
  { on = serverOf(), password, subdomain = `t${randomBytes(8).toString('hex')}` }: OrganisationOptions = {},
): Promise<Organisation & { readonly [N in keyof P]: Person }> {
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
  const everybody = Object.fromEntries(
    [...named, ['bot', 'member'] as const].map(([name, role], i) => {
      const user = made.users[i];
      if (user === undefined) throw new Error(`No account was made for ${name}`);
      return [name, toPerson(user, name, role)];
    }),
  );
  return {
    ...everybody,
    realm: { id: made.realm_id, subdomain, name: made.name, host },
    anonymous: new Visitor(place),
    async signUp(name: string, role: RoleName = 'member', password?: string) {
      const email = `${name.toLowerCase().replaceAll(' ', '.')}@${subdomain}.example`;
      const account = { org: subdomain, name, role, email, ...(password !== undefined && { password }) };
      return toPerson((await runCommand(on.dataDir, 'user create', account)) as MadeUser, name, role);
    },
  } as Organisation & { readonly [N in keyof P]: Person };
}

interface MadeUser {
  readonly user_id: number;
  readonly email: string;
  readonly api_key: string;
}

/** A server process of the test's own: `await using` it. */
export const startServer = (options?: ServerOptions): Promise<ServerProcess> => ServerProcess.start(options);
