import { createHmac, randomBytes } from 'node:crypto';
import type { Config } from '../platform/config.ts';
import type { Database, RunSql } from '../platform/db/client.ts';

// The id of a service in the names of its cookies, without EXTERNAL_HOST. It is stored in the database, so that all nodes use one
// name, and browsers stay signed in if the data is copied to another database or SECRET_KEY changes.
//
// With it, the database stores its location at the time when the id was assigned: the names of database and schema, or the port
// of a service on the embedded database. A database that is found at another location is a restored dump or a copied data
// directory. It gets a new id, because the original can run on the same host, and browsers send their cookies to all ports of a
// host.

/** A database, and the parts of the configuration on which the id depends. */
interface Located {
  readonly config: Pick<Config, 'databaseUrl' | 'port' | 'secretKey'>;
  readonly database: Pick<Database, 'kind'>;
  readonly run: RunSql;
}

const newId = () => randomBytes(6).toString('hex');

/** Returns the names of the database and of the schema of the tables, as the database server reports them. */
async function namesOf(run: RunSql): Promise<readonly [database: string, schema: string]> {
  const [row] = await run<{ database: string; schema: string }>(
    'SELECT current_database()::text AS database, current_schema()::text AS schema',
  );
  return [row?.database ?? '', row?.schema ?? ''];
}

const placeOf = async ({ config, database, run }: Located): Promise<string> =>
  database.kind === 'embedded' ? String(config.port) : JSON.stringify(await namesOf(run));

/** Returns the id that the previous version used for a database. */
async function formerId({ config, database, run }: Located): Promise<string> {
  if (database.kind === 'embedded') return String(config.port);
  const [name, schema] = await namesOf(run);
  const text = JSON.stringify(['cookie names', name, schema === 'public' ? undefined : schema]);
  return createHmac('sha256', config.secretKey ?? '')
    .update(text)
    .digest('hex')
    .slice(0, 12);
}

/**
 * Returns the id of a service that is about to listen. Stores a new one if the location of the database has changed. If several
 * nodes do so at the same time, all get the same id.
 */
export async function settleCookieId({
  config,
  database,
}: {
  readonly config: Located['config'];
  readonly database: Pick<Database, 'kind' | 'session'>;
}): Promise<string> {
  return database.session(async (run) => {
    const located = { config, database, run };
    const [place, former] = [await placeOf(located), await formerId(located)];
    await run(
      `UPDATE log_epoch SET cookie_place = $1::text,
         cookie_id = CASE WHEN cookie_id IS NULL THEN $2::text ELSE $3::text END
       WHERE cookie_place IS DISTINCT FROM $1::text`,
      [place, former, newId()],
    );
    const [row] = await run<{ id: string }>('SELECT cookie_id AS id FROM log_epoch');
    if (row === undefined) throw new Error('The database has no id for cookies: log_epoch is empty');
    return row.id;
  });
}

/** Stores the id of the source in a complete copy, with the location of the copy. */
export async function moveCookieId(source: Located, target: Located): Promise<void> {
  await target.run('UPDATE log_epoch SET cookie_id = COALESCE(cookie_id, $1::text), cookie_place = $2::text', [
    await formerId(source),
    await placeOf(target),
  ]);
}

/** Stores a new id in a database whose data was copied, because the copy keeps the previous id. */
export async function renewCookieId(run: RunSql): Promise<void> {
  await run('UPDATE log_epoch SET cookie_id = $1::text', [newId()]);
}
