import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { type EventHolder, TailMemory } from '../../src/events/tail-memory.ts';
import { createMigratedDatabase } from '../helpers/database.ts';
import { lengthenLog } from '../helpers/long-log.ts';
import { createOrganization, startServer } from '../helpers/server.ts';

const { DATABASE_URL } = process.env;

describe('the memory that log tails share', () => {
  /** A holder of events in memory. Each event counts as ten bytes. */
  class Holder implements EventHolder {
    bytes = 0;
    readonly #memory: TailMemory;
    constructor(memory: TailMemory) {
      this.#memory = memory;
    }
    add(bytes: number): void {
      this.#hold(this.bytes + bytes);
      this.#memory.use(this);
      this.#memory.makeRoom();
    }
    giveUp(bytes: number): void {
      this.#hold(Math.max(0, this.bytes - Math.ceil(bytes / 10) * 10));
    }
    #hold(bytes: number): void {
      this.bytes = bytes;
      this.#memory.note(this, bytes);
    }
  }

  test('is released by the least recently used holder, and no more of it than needed', () => {
    const memory = new TailMemory(100);
    const [a, b, c] = [new Holder(memory), new Holder(memory), new Holder(memory)];
    a.add(40);
    b.add(40);
    memory.use(a);
    c.add(35);
    expect([a.bytes, b.bytes, c.bytes]).toEqual([40, 20, 35]);
    c.add(60);
    expect([a.bytes, b.bytes, c.bytes]).toEqual([0, 0, 95]);
    expect(memory.bytes).toBe(95);
    c.add(100);
    expect(memory.bytes).toBeLessThanOrEqual(100);
  });

  test('is available again when a holder releases it', () => {
    const memory = new TailMemory(100);
    const [a, b] = [new Holder(memory), new Holder(memory)];
    a.add(90);
    a.giveUp(90);
    b.add(100);
    expect([a.bytes, b.bytes, memory.bytes]).toEqual([0, 100, 100]);
  });
});

describe.skipIf(DATABASE_URL === undefined)('many organizations on a small node', () => {
  const ORGANIZATIONS = 20;
  /** Number of events that are inserted into the log, each of 10 kB. A log tail in memory holds fewer. */
  const EVENTS = 1_700;

  test('do not crash it, and each still receives all events', async () => {
    await using database = await createMigratedDatabase(DATABASE_URL ?? '');
    const env = {
      DATABASE_URL: database.url,
      SECRET_KEY: 's'.repeat(32),
      NODE_OPTIONS: '--max-old-space-size=384',
    };
    await using node = await startServer({ env });
    const sql = new pg.Client({ connectionString: database.url });
    await sql.connect();
    const readers = [];
    for (let i = 0; i < ORGANIZATIONS; i++) {
      const { member, organization } = await createOrganization({}, { on: node });
      const { queue_id, last_event_id } = await member.register({ fetch_event_types: [] });
      // This poll makes the node keep a log tail of the organization in memory.
      expect(await member.poll(queue_id, last_event_id, { dontBlock: true })).toEqual([]);
      await member.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: 'x'.repeat(9_999) }] });
      // Inserts events into the table, as if another node had committed them.
      const run = (statement: string, values: readonly unknown[]) => sql.query(statement, [...values]);
      await lengthenLog(run, organization.id, { count: EVENTS, of: [await lastId(sql, organization.id)] });
      // An empty answer to this poll shows that the node has read all events.
      const last = await lastId(sql, organization.id);
      expect(await member.poll(queue_id, last, { dontBlock: true })).toEqual([]);
      readers.push({
        member,
        queueId: (await member.register({ fetch_event_types: [] })).queue_id,
        first: last - EVENTS,
      });
    }
    await sql.end();
    expect(node.pid).toBeDefined();
    for (const [i, { member, queueId, first }] of readers.entries()) {
      const { status, body } = await member.rest('GET', '/events', {
        queue_id: queueId,
        last_event_id: first,
        dont_block: true,
      });
      expect([i, status, body.events?.[0]?.id]).toEqual([i, 200, first + 1]);
    }
  });
});

async function lastId(sql: pg.Client, organizationId: number): Promise<number> {
  const { rows } = await sql.query('SELECT last_id::int AS id FROM event_counter WHERE realm_id = $1', [
    organizationId,
  ]);
  return rows[0].id;
}
