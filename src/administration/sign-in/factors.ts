import type { Passkey, SecondFactor, User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';

type Owner = Pick<User, 'organizationId' | 'id'>;

/** Returns the confirmed authenticator app of a user. Null if there is none. */
export const confirmedApp = (
  db: Pick<Tx, 'secondFactor'>,
  { organizationId, id: userId }: Owner,
): Promise<SecondFactor | null> =>
  db.secondFactor.findFirst({ where: { organizationId, userId, confirmedAt: { not: null } } });

/** Returns the passkeys of a user, oldest first. */
export const passkeysOf = (db: Pick<Tx, 'passkey'>, { organizationId, id: userId }: Owner): Promise<Passkey[]> =>
  db.passkey.findMany({ where: { organizationId, userId }, orderBy: [{ createdAt: 'asc' }, { credentialId: 'asc' }] });

/** The second factors of a user. Recovery codes can be used instead of them, but do not count as second factors. */
export interface Factors {
  /** The confirmed authenticator app. Null if there is none. */
  readonly app: SecondFactor | null;
  /** Oldest first. */
  readonly passkeys: readonly Passkey[];
  /** Number of the factors. */
  readonly count: number;
}

/** Returns the second factors of a user. */
export async function factorsOf(db: Pick<Tx, 'secondFactor' | 'passkey'>, user: Owner): Promise<Factors> {
  const app = await confirmedApp(db, user);
  const passkeys = await passkeysOf(db, user);
  return { app, passkeys, count: passkeys.length + (app === null ? 0 : 1) };
}
