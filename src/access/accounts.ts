import { type Organization, Prisma, type User } from '../generated/prisma/client.ts';
import type { SqlClient } from '../platform/db/client.ts';
import { joinedColumns, type QueryRow } from '../platform/db/columns.ts';
import { listOf } from '../platform/db/lists.ts';
import { requireNotMoved } from '../platform/db/organization-moves.ts';
import { readByTurn } from '../platform/db/read-by-turn.ts';
import { readRows } from '../platform/db/rows.ts';

/** A user and their organization. */
export interface Account {
  readonly user: User;
  readonly organization: Organization;
}

const USER = joinedColumns('u', 'User');
const ORGANIZATION = joinedColumns('r', 'Organization');

type KeyedRow = QueryRow & { readonly hash: Uint8Array };

/**
 * Returns the account whose API key has this hash, read from the database. Undefined if there is none.
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
): Promise<(Account | undefined)[]> {
  const rows = await readRows<KeyedRow>(
    db,
    Prisma.sql`
    SELECT k.hash, ${USER.list}, ${ORGANIZATION.list}
    FROM api_key k JOIN user_account u ON u.realm_id = k.realm_id AND u.id = k.user_id
    CROSS JOIN LATERAL (SELECT * FROM realm WHERE id = k.realm_id OFFSET 0) AS r
    WHERE k.hash = ANY(${listOf('bytea', hashes)})`,
  );
  const accounts = new Map(rows.map((row) => [hex(row.hash), toAccount(row)]));
  return hashes.map((hash) => accounts.get(hex(hash)));
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
