import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { committing } from '../../src/events/commit.ts';
import { Prisma } from '../../src/generated/prisma/client.ts';
import { readConfig } from '../../src/platform/config.ts';
import { openDatabase } from '../../src/platform/db/client.ts';
import { Session } from '../../src/platform/db/sessions.ts';
import { hasPostgresPrograms } from '../faults/postgres-programs.ts';
import { startSwitch } from '../faults/proxy.ts';
import { Cluster } from '../faults/replicas.ts';
import { createDatabase, createMigratedDatabase } from '../helpers/database.ts';
import { runProgram } from '../helpers/program.ts';
import { createOrganization, startServer } from '../helpers/server.ts';

const { DATABASE_URL = '' } = process.env;
const SECRET_KEY = randomBytes(32).toString('hex');
const CLUSTER_NOTE = hasPostgresPrograms ? '' : ': skipped, for initdb is in none of its usual places';

async function connected<C extends pg.Client>(client: C): Promise<C> {
  client.on('error', () => {});
  await client.connect();
  onTestFinished(() => client.end().catch(() => {}));
  return client;
}

describe.runIf(DATABASE_URL !== '')('when the database moves to another server', () => {
  test('a transaction does not count as committed because another transaction with its id was committed', async () => {
    await using own = await createDatabase(DATABASE_URL);
    const operator = await connected(new pg.Client({ connectionString: own.url }));
    await operator.query('CREATE TABLE kept (id int)');
    const database = await openDatabase(readConfig({ DATABASE_URL: own.url, SECRET_KEY }));
    onTestFinished(() => database.close());
    const { rows } = await operator.query('INSERT INTO kept VALUES (0) RETURNING pg_current_xact_id()::text AS xid');
    const change = async (tx: Prisma.TransactionClient, xid: string | undefined) => {
      await tx.$executeRaw`INSERT INTO kept VALUES (1)`;
      const [own] = await tx.$queryRaw<{ pid: number; xid: string }[]>`
        SELECT pg_backend_pid() AS pid, pg_current_xact_id()::text AS xid`;
      await operator.query('SELECT pg_terminate_backend($1, 5000)', [own?.pid]);
      return { trace: { xid: xid ?? own?.xid ?? '', row: Prisma.sql`SELECT 1 AS found FROM kept WHERE id = 1` } };
    };
    const scope = { app: { database, db: database.db }, organizationId: 1 } as Parameters<typeof committing>[0];
    const [far] = (await operator.query(`SELECT (pg_current_xact_id()::text::bigint + 1000000)::text AS xid`)).rows;
    for (const xid of [rows[0].xid, far.xid, undefined]) {
      await expect(committing(scope, (tx) => change(tx, xid))).rejects.toThrow(/terminat|connection/i);
    }
    expect((await operator.query('SELECT id FROM kept')).rows).toEqual([{ id: 0 }]);
  });

  test('a statement unknown to the new server fails, and a slow one does not', {
    timeout: 60_000,
  }, async () => {
    const { hostname, port } = new URL(DATABASE_URL);
    await using address = await startSwitch(Number(port || 5432));
    const url = new URL(DATABASE_URL);
    url.host = `${hostname}:${address.port}`;
    const [slow, silent] = [new Session({ connectionString: url.href }), new Session({ connectionString: url.href })];
    await connected(slow);
    // This connection is idle during the next query, so that the test also covers a connection that was opened earlier.
    await connected(silent);
    expect((await slow.query('SELECT pg_sleep(7)')).rowCount).toBe(1);

    const { rows } = await silent.query('SELECT pg_backend_pid() AS pid');
    address.fallSilent();
    address.turn(Number(port || 5432));
    const operator = await connected(new pg.Client({ connectionString: DATABASE_URL }));
    await operator.query('SELECT pg_terminate_backend($1, 5000)', [rows[0].pid]);
    await expect(silent.query('SELECT 1')).rejects.toThrow('Connection terminated');
  });

  test('changes are refused as unavailable while it is read-only, without an effect', async () => {
    await using own = await createMigratedDatabase(DATABASE_URL);
    await using server = await startServer({ env: { DATABASE_URL: own.url, SECRET_KEY } });
    const { member } = await createOrganization({}, { on: server });
    const draft = { drafts: [{ type: '', to: [], topic: '', content: 'refused' }] };
    const operator = await connected(new pg.Client({ connectionString: DATABASE_URL }));
    const name = new URL(own.url).pathname.slice(1);
    const setReadOnly = async (value: 'on' | 'off') => {
      await operator.query(`ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`);
      await operator.query(
        'SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()',
        [name],
      );
    };
    await setReadOnly('on');
    await expect
      .poll(async () => {
        const { status, body } = await member.rest('POST', '/drafts', draft);
        return [status, body.code, body['retry-after']];
      })
      .toEqual([503, 'REQUEST_TIMEOUT', 1]);
    const create = 'mutation { createDrafts(input: { drafts: [{ content: "refused" }] }) { __typename } }';
    expect(await member.graphql(create)).toMatchObject({
      data: { createDrafts: null },
      errors: [{ path: ['createDrafts'], extensions: { code: 'REQUEST_TIMEOUT', retryAfterSeconds: 1 } }],
    });
    await setReadOnly('off');
    await expect.poll(async () => (await member.rest('GET', '/drafts')).body).toMatchObject({ count: 0 });
  });

  test.runIf(hasPostgresPrograms)(
    `the service refuses to start on a standby, with a clear message${CLUSTER_NOTE}`,
    {
      timeout: 60_000,
    },
    async () => {
      await using cluster = await Cluster.start();
      const env = { DATABASE_URL: cluster.standby.url, SECRET_KEY, PORT: '0' };
      const { code, said } = await runProgram(['main.ts'], env);
      expect([code, said]).toEqual([
        1,
        expect.stringMatching(/^Database error: The database is a standby, which accepts no changes\. .*\.$/),
      ]);
    },
  );
});
