import { expect, test } from 'vitest';
import { startInProcess } from '../helpers/in-process.ts';
import { createOrganization } from '../helpers/server.ts';

// A separate PostgreSQL server does this with autovacuum.
test('the embedded database updates its statistics, and frees the space of deleted rows', async () => {
  await using service = await startInProcess();
  const { owner } = await createOrganization({}, { on: service });
  const { app } = service;
  const drafts = Array.from({ length: 30 }, (_, i) => ({ type: '', to: [], topic: '', content: `draft ${i}` }));
  for (let i = 0; i < 5; i++) {
    const { ids } = await owner.ok('POST', '/drafts', { drafts });
    for (const id of ids.slice(0, 25)) await owner.ok('DELETE', `/drafts/${id}`);
  }
  const told = async () => {
    const [row] = await app.db.$queryRaw<{ dead: bigint; rows: number; looked: Date | null }[]>`
      SELECT s.n_dead_tup AS dead, c.reltuples AS rows, s.last_analyze AS looked
      FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid WHERE s.relname = 'draft'`;
    return { dead: Number(row?.dead), rows: row?.rows, isKnown: row?.looked !== null };
  };
  await expect.poll(told).toMatchObject({ dead: 125, isKnown: false });
  await app.database.lookAfter();
  await expect.poll(told).toEqual({ dead: 0, rows: 25, isKnown: true });
});
