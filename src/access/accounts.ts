import { type NamedApiKey, type Organization, Prisma, type User } from '../generated/prisma/client.ts';
import type { SqlClient } from '../platform/db/client.ts';
import { joinedColumns, type QueryRow } from '../platform/db/columns.ts';
import { listOf } from '../platform/db/lists.ts';
import { requireNotMoved } from '../platform/db/organization-moves.ts';
import { readByTurn } from '../platform/db/read-by-turn.ts';
import { readRows } from '../platform/db/rows.ts';
import type { KeyScope } from '../platform/key-scopes.ts';

/** A user and their organization. */
export interface Account {
  readonly user: User;
  readonly organization: Organization;
}

const USER = joinedColumns('u', 'User');
const ORGANIZATION = joinedColumns('r', 'Organization');

/** The properties of a named API key that requests depend on. */
export type KeyInUse = Pick<NamedApiKey, 'organizationId' | 'id' | 'expiresAt' | 'lastUsedAt'> & {
  readonly scopes: readonly KeyScope[];
};

/** An account that was found by an API key. `key` is undefined if the key is the default key of the user. */
export interface KeyedAccount extends Account {
  readonly key: KeyInUse | undefined;
}

interface KeyRow {
  readonly hash: Uint8Array;
  readonly key_id: number | null;
  readonly scopes: KeyScope[] | null;
  readonly expires_at: Date | null;
  readonly last_used_at: Date | null;
}
type KeyedRow = QueryRow & KeyRow;

/**
 * Returns the account whose API key has this hash, read from the database, even if the key has expired. Undefined if there is
 * none.
 *
 * Every sign-in reads the database once. Concurrent sign-ins share one query, so that this costs little under load. The query
 * is raw SQL, because the ORM takes three queries for the two joins.
 */
export const accountByKeyHash = readByTurn(readAccounts);

/**
 * Reads accounts by the hashes of their API keys. OFFSET 0 makes the planner find the organization by its id. Without it, the
 * planner overestimates the number of keys and reads all organizations.
 */
async function readAccounts(
  db: SqlClient,
  hashes: readonly Uint8Array<ArrayBuffer>[],
): Promise<(KeyedAccount | undefined)[]> {
  const shown = listOf('bytea', hashes);
  const rows = await readRows<KeyedRow>(
    db,
    Prisma.sql`
    SELECT k.hash, k.key_id, k.scopes, k.expires_at, k.last_used_at, ${USER.list}, ${ORGANIZATION.list}
    FROM (
      SELECT realm_id, user_id, hash, NULL::int AS key_id, NULL::text[] AS scopes, NULL::timestamptz AS expires_at,
             NULL::timestamptz AS last_used_at
      FROM api_key WHERE hash = ANY(${shown})
      UNION ALL
      SELECT realm_id, user_id, hash, id, scopes, expires_at, last_used_at FROM named_api_key WHERE hash = ANY(${shown})
    ) AS k JOIN user_account u ON u.realm_id = k.realm_id AND u.id = k.user_id
    CROSS JOIN LATERAL (SELECT * FROM realm WHERE id = k.realm_id OFFSET 0) AS r`,
  );
  const accounts = new Map(rows.map((row) => [hex(row.hash), { ...toAccount(row), key: keyIn(row) }]));
  return hashes.map((hash) => accounts.get(hex(hash)));
}

function keyIn(row: KeyedRow): KeyInUse | undefined {
  const { key_id: id, scopes, expires_at: expiresAt, last_used_at: lastUsedAt } = row;
  if (id === null) return undefined;
  return { organizationId: ORGANIZATION.rowIn(row).id, id, scopes: scopes ?? [], expiresAt, lastUsedAt };
}

/**
 * Reads the account of an existing user with one query.
 *
 * @param db The client, or a transaction from whose snapshot the account is read.
 * @throws Error if there is no such user.
 * @throws OrganizationMovedError if the organization has moved to another database.
 */
export async function readAccount(db: SqlClient, organizationId: number, userId: number): Promise<Account> {
  const [row] = await readRows<QueryRow>(
    db,
    Prisma.sql`
    SELECT ${USER.list}, ${ORGANIZATION.list} FROM user_account u JOIN realm r ON r.id = u.realm_id
    WHERE u.realm_id = ${organizationId} AND u.id = ${userId}`,
  );
  if (row === undefined) {
    await requireNotMoved(db, { id: organizationId });
    throw new Error(`There is no user ${userId}`);
  }
  return toAccount(row);
}

function toAccount(row: QueryRow): Account {
  return { user: USER.rowIn(row), organization: ORGANIZATION.rowIn(row) };
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
