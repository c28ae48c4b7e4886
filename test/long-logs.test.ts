import { expect, test } from 'vitest';
import type { Json } from './helpers/http.ts';
import { shareInProcess } from './helpers/in-process.ts';
import { lengthenLog } from './helpers/long-log.ts';
import { organisation } from './helpers/server.ts';

/** More than a window holds, so that the first of them are read from the table. */
const EVENTS = 12_000;

test('a queue that wants one type reads past all others in a few steps, and hears each of its own once', async () => {
  await using server = await shareInProcess({ counts: true });
  const { member, realm } = await organisation({}, { on: server });
  const saved = async (content: string) => {
    await member.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content }] });
    return content;
  };
  const { db } = server.app;
  /** As many events for the member as there are, in one step: each a draft of theirs. */
  const fillLog = async () => {
    const { id } = await db.event.findFirstOrThrow({
      where: { realmId: realm.id, type: 'drafts' },
      orderBy: { id: 'desc' },
    });
    const run = (sql: string, values: readonly unknown[]) => db.$executeRawUnsafe(sql, ...values);
    await lengthenLog(run, realm.id, { count: EVENTS, of: [Number(id)] });
  };

  await saved('to be copied');
  const queueOf = (type: string) => member.register({ event_types: [type], fetch_event_types: [] });
  const [statuses, drafts] = [await queueOf('user_status'), await queueOf('drafts')];
  /** All that a client hears who asks until there is nothing more. */
  const all = async ({ queue_id, last_event_id }: Json) => {
    const events: Json[] = [];
    for (;;) {
      const page = await member.poll(queue_id, events.at(-1)?.id ?? last_event_id, { dontBlock: true });
      if (page.length === 0) return events;
      events.push(...page);
    }
  };
  await member.ok('POST', '/users/me/status', { status_text: 'before' });
  await saved('to be copied');
  await fillLog();
  await member.ok('POST', '/users/me/status', { status_text: 'after' });

  const queries = await server.queriesOf(async () => {
    const events = await all(statuses);
    expect(events.map(({ status_text }) => status_text)).toEqual(['before', 'after']);
  });
  // With all that is for the member, a thousand at once, there would be more than seven.
  expect(queries.filter((sql) => sql.includes('AS concerned')).length).toBeLessThanOrEqual(4);

  const ids = (await all(drafts)).map(({ id }) => Number(id));
  expect(ids.length).toBe(EVENTS + 1);
  expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
});
