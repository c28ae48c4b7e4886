// Authentication as the yardsticks do it. Yardsticks are hand-written servers that the service is compared with. They use the
// service's queries.
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type pg from 'pg';

/** A user account, as the query that looks up an API key returns it. */
export interface AccountRow {
  readonly hash: Buffer;
  readonly id: number;
  readonly email: string;
  readonly full_name: string;
  readonly role: number;
  readonly is_active: boolean;
  readonly bot_type: number | null;
  readonly bot_owner_id: number | null;
  readonly is_imported_stub: boolean;
  readonly is_deleted: boolean;
  readonly joined_at: Date;
  readonly avatar_source: string;
  readonly avatar_version: number;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly realm_settings: Readonly<Record<string, unknown>>;
  readonly realm_id: number;
  readonly subdomain: string;
  readonly deactivated_at: Date | null;
}

const ACCOUNT = `
         SELECT k.hash, u.id, u.email, u.full_name, u.role, u.is_active, u.bot_type, u.bot_owner_id, u.is_imported_stub,
                u.is_deleted, u.joined_at, u.avatar_source, u.avatar_version, u.settings,
                r.id AS realm_id, r.subdomain, r.deactivated_at, r.settings AS realm_settings
         FROM api_key k JOIN user_account u ON u.id = k.user_id JOIN realm r ON r.id = u.realm_id
         WHERE k.hash`;

export type FindAccount = (hash: Buffer) => Promise<AccountRow | undefined>;

/** Returns a function that looks up an API key with one query for each request. */
export function findOneByOne(pool: pg.Pool): FindAccount {
  return async (hash) => {
    const { rows } = await pool.query<AccountRow>({ name: 'account', text: `${ACCOUNT} = $1`, values: [hash] });
    return rows[0];
  };
}

/**
 * Returns a function that looks up API keys with one query for all requests of an event-loop iteration, as the service does.
 */
export function findTogether(pool: pg.Pool): FindAccount {
  let waiting: { hash: Buffer; found: (row: AccountRow | undefined) => void; failed: (error: unknown) => void }[] = [];
  const findAll = async () => {
    const asked = waiting;
    waiting = [];
    try {
      const values = [asked.map(({ hash }) => hash)];
      const { rows } = await pool.query<AccountRow>({ name: 'accounts', text: `${ACCOUNT} = ANY($1)`, values });
      const byHash = new Map(rows.map((row) => [row.hash.toString('hex'), row]));
      for (const { hash, found } of asked) found(byHash.get(hash.toString('hex')));
    } catch (error) {
      for (const { failed } of asked) failed(error);
    }
  };
  return (hash) =>
    new Promise((found, failed) => {
      if (waiting.push({ hash, found, failed }) === 1) setImmediate(findAll);
    });
}

/**
 * Authenticates a request as the service does: one indexed read by the SHA-256 hash of the API key.
 *
 * @returns The account. Undefined if authentication fails.
 */
export async function signIn(
  find: FindAccount,
  { headers }: Pick<IncomingMessage, 'headers'>,
): Promise<AccountRow | undefined> {
  const { authorization = '', host } = headers;
  const text = Buffer.from(authorization.slice('Basic '.length), 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const hash = createHash('sha256')
    .update(text.slice(colon + 1))
    .digest();
  const row = await find(hash);
  if (row === undefined || row.email.toLowerCase() !== text.slice(0, colon).trim().toLowerCase()) return undefined;
  if (host?.split(':')[0] !== (row.subdomain === '' ? '127.0.0.1' : `${row.subdomain}.localhost`)) return undefined;
  return row.is_active && row.deactivated_at === null ? row : undefined;
}
