import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runCommand } from '../helpers/control.ts';
import { createMigratedDatabase } from '../helpers/database.ts';
import { startInProcess } from '../helpers/in-process.ts';
import { createOrganization } from '../helpers/server.ts';

// Tests the repair of times that versions before `session-settings.ts` stored in the time zone of the database.

const { DATABASE_URL = '' } = process.env;
const FIRST_IN_UTC = '20261127140010_message_retention';
const AT = 1_900_000_000;

/**
 * Returns the SQL expression of a time as an earlier version stored it. That version sent UTC without a zone, which the
 * database interpreted in its own zone.
 */
const shiftedIn = (zone: string, column: string) => `${column} AT TIME ZONE 'UTC' AT TIME ZONE '${zone}'`;

/** Creates a service whose database has the time zone `zone`, with an organization that an earlier version wrote. */
async function ground(zone: string) {
  const database = await createMigratedDatabase(DATABASE_URL);
  onTestFinished(() => database[Symbol.asyncDispose]());
  const owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  onTestFinished(() => owner.end());
  await owner.query(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET TimeZone = '${zone}'`);
  await owner.query(`SET TimeZone = 'UTC'`);
  const env = { DATABASE_URL: database.url, SECRET_KEY: randomBytes(32).toString('hex') };
  const service = await startInProcess({ env });
  onTestFinished(() => service[Symbol.asyncDispose]());
  const people = await createOrganization({}, { on: service });
  const { member } = people;
  await member.ok('POST', '/saved_snippets', { title: 'one', content: 'one' });
  const later = { type: 'direct', to: [member.id], content: 'later', scheduled_delivery_timestamp: AT };
  await member.ok('POST', '/scheduled_messages', later);
  const command = (args: object) => runCommand(service.dataDir, 'times repair', args);
  const times = async () => {
    const { rows } = await owner.query(`
      SELECT joined_at AS at FROM user_account UNION ALL SELECT created_at FROM saved_snippet
      UNION ALL SELECT scheduled_at FROM scheduled_message UNION ALL SELECT created_at FROM realm ORDER BY 1`);
    return rows.map(({ at }) => (at as Date).toISOString());
  };
  const right = await times();
  await owner.query(`UPDATE user_account SET joined_at = ${shiftedIn(zone, 'joined_at')}`);
  await owner.query(`UPDATE realm SET created_at = ${shiftedIn(zone, 'created_at')}`);
  await owner.query(`UPDATE saved_snippet SET created_at = ${shiftedIn(zone, 'created_at')}`);
  await owner.query(
    `UPDATE scheduled_message SET created_at = ${shiftedIn(zone, 'created_at')}, scheduled_at = ${shiftedIn(zone, 'scheduled_at')}`,
  );
  const upgrade = () =>
    owner.query('UPDATE _prisma_migrations SET logs = logs WHERE migration_name = $1', [FIRST_IN_UTC]);
  const finding = async () => {
    const { findings } = (await runCommand(service.dataDir, 'doctor', {})) as { findings: { check: string }[] };
    return findings.find(({ check }) => check === 'times');
  };
  return { ...people, owner, command, times, right, upgrade, finding };
}

const columnsOf = (result: object) =>
  (result as { columns: { column: string }[] }).columns.map(({ column }) => column).sort();

describe.skipIf(DATABASE_URL === '')('times that a previous version stored shifted', () => {
  test.each(['America/New_York', 'Asia/Tokyo', 'Asia/Kathmandu'])(
    '%s: are reported, and corrected once',
    async (zone) => {
      const { command, times, right, upgrade, finding, member, owner } = await ground(zone);
      await upgrade();
      // The current version writes one row and changes another.
      await member.ok('POST', '/saved_snippets', { title: 'two', content: 'two' });
      const { rows: own } = await owner.query(`SELECT created_at FROM saved_snippet WHERE title = 'two'`);
      const wrong = await times();
      expect(wrong).not.toEqual(right);
      expect(await finding()).toMatchObject({ ok: false, detail: expect.stringContaining(`time zone ${zone}`) });
      const shown = await command({});
      expect(columnsOf(shown)).toEqual(
        expect.arrayContaining([
          'saved_snippet.created_at',
          'scheduled_message.scheduled_at',
          'user_account.joined_at',
        ]),
      );
      expect(await times()).toEqual(wrong);
      await command({ apply: true });
      expect((await times()).filter((at) => at !== own[0].created_at.toISOString())).toEqual(right);
      expect((await owner.query(`SELECT created_at FROM saved_snippet WHERE title = 'two'`)).rows).toEqual(own);
      const { scheduled_messages } = await member.ok('GET', '/scheduled_messages');
      expect(scheduled_messages).toMatchObject([{ scheduled_delivery_timestamp: AT }]);
      expect(columnsOf(await command({ apply: true }))).toEqual([]);
      expect(await finding()).toMatchObject({ ok: true });
    },
  );

  test('only if certain: not for rows of this version, in UTC, after a restore, or in a skipped hour', async () => {
    const { command, times, upgrade, owner } = await ground('America/New_York');
    const before = await times();
    // The rows count as written by the current version, so the repair does not shift them.
    await command({ apply: true });
    expect(await times()).toEqual(before);
    await upgrade();
    // In this zone, clocks were changed from 2:00 to 3:00, so 2:30 and 3:30 were both stored as 3:30.
    await owner.query(`UPDATE saved_snippet SET created_at = '2026-03-08T07:30:00Z'`);
    await upgrade();
    expect(columnsOf(await command({}))).not.toContain('saved_snippet.created_at');
    await expect(command({ zone: 'Etc/UTC' })).rejects.toThrow(/UTC has no offset/);
    await expect(command({ zone: 'Mars/Olympus' })).rejects.toThrow(/Unknown time zone \\"Mars/);
    await expect(command({ since: 'yesterday' })).rejects.toThrow(/Invalid time \\"yesterday/);
    expect(columnsOf(await command({ since: new Date(Date.now() + 2 * 86_400_000).toISOString() }))).toEqual([
      'scheduled_message.scheduled_at',
    ]);
    await owner.query('UPDATE _prisma_migrations SET logs = logs');
    await expect(command({ apply: true })).rejects.toThrow(/restored from a dump/);
    expect(await times()).toContain('2026-03-08T07:30:00.000Z');
  });

  test('a time in the future is reported in every zone', async () => {
    const { finding, owner } = await ground('UTC');
    expect(await finding()).toMatchObject({ ok: true, detail: 'stored in UTC' });
    await owner.query(`UPDATE channel SET created_at = now() + interval '5 hours'`);
    await owner.query(`UPDATE user_account SET joined_at = now() + interval '5 hours'`);
    expect(await finding()).toMatchObject({ ok: false, detail: expect.stringContaining('have a time in the future') });
  });
});
