import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expiredInRange, expiredMessages } from '../../src/messages/retention/expired.ts';
import { type Compared, deleteExpired } from '../../src/messages/retention/service.ts';
import { RetentionWorker } from '../../src/messages/retention/worker.ts';
import { tryLockKind } from '../../src/platform/db/advisory-lock.ts';
import type { Tx } from '../../src/platform/db/client.ts';
import { retention } from '../../src/platform/metrics.ts';
import { createMigratedDatabase } from '../helpers/database.ts';
import type { Json } from '../helpers/http.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';
import { channelOf, say } from '../helpers/talk.ts';

const DAY = 86_400_000;
const START = Date.parse('2026-03-01T10:00:00Z');
/** Capabilities with which a client receives one event about several deletions. */
const CAPABLE = { client_capabilities: { notification_settings_null: true, bulk_message_deletion: true } };
let clock = START;
let service: InProcess;

beforeAll(async () => {
  service = await startInProcess({ now: () => new Date(clock) });
  // Passes that delete expired messages run only when a test starts them.
  await service.retention.stop();
});
afterAll(() => service[Symbol.asyncDispose]());

const house = () => createOrganization({}, { on: service });
const direct = async (by: Person, to: Person, content: string): Promise<number> =>
  (await by.ok('POST', '/messages', { type: 'direct', to: [to.id], content })).id;
const isStored = async (id: number): Promise<boolean> => (await service.app.db.message.count({ where: { id } })) > 0;
const storedOf = async (ids: readonly number[]): Promise<number[]> => {
  const stored = await Promise.all(ids.map(isStored));
  return ids.filter((_, i) => stored[i]);
};
const pass = () => deleteExpired(service.app);
/**
 * Deletes expired messages in a pass that compares all messages of each organization with a limit. Skips organizations with an
 * entry of the last hour in `compared`.
 */
const fullPass = (compared: Compared = new Map()) => deleteExpired(service.app, undefined, compared);
/**
 * Copies a message `count` times, directly in the database, because sending so many messages would take long. Returns the ids
 * of the copies, which differ from all ids in other organizations.
 */
const copyMessage = async ({ app }: InProcess, id: number, count: number): Promise<number[]> => {
  const rows = await app.db.$queryRaw<{ id: bigint }[]>`
    INSERT INTO message SELECT (jsonb_populate_record(m, jsonb_build_object(
      'id', m.id + 1000000 + i, 'send_token', m.send_token + 1000000 + i))).*
    FROM message m, generate_series(1, ${count}::int) i WHERE m.id = ${id} RETURNING id`;
  return rows.map((row) => Number(row.id)).sort((a, b) => a - b);
};
const backdate = async (ids: readonly number[], { app } = service): Promise<void> => {
  await app.db
    .$executeRaw`UPDATE message SET sent_at = sent_at - interval '40 days' WHERE id = ANY(${[...ids]}::bigint[])`;
};

describe('message retention', () => {
  test('keeps every message while no limit is set', async () => {
    const { owner, member } = await house();
    const channel = await channelOf(owner, 'kept', [owner, member]);
    const ids = [await say(owner, channel, 'a'), await direct(owner, member, 'hi')];
    clock += 4_000 * DAY;
    await pass();
    expect(await storedOf(ids)).toEqual(ids);
  });

  /**
   * Message retention limits of the organization and the channel in days, and the messages that are deleted when their age is
   * just above one day. No message is deleted when its age is just below one day.
   */
  const CASES = [
    { organization: 1, channel: undefined, gone: ['channel', 'direct'] },
    { organization: 1, channel: '"realm_default"', gone: ['channel', 'direct'] },
    { organization: 1, channel: '"unlimited"', gone: ['direct'] },
    { organization: 1, channel: 2, gone: ['direct'] },
    { organization: '"unlimited"', channel: 1, gone: ['channel'] },
    { organization: 2, channel: 1, gone: ['channel'] },
    { organization: '"unlimited"', channel: '"unlimited"', gone: [] },
    { organization: 2_147_483_647, channel: 2_147_483_647, gone: [] },
  ] as const;
  test("applies the channel's limit, else the organization's, which also applies to direct messages", async () => {
    const made = [];
    for (const { organization, channel, gone } of CASES) {
      const { owner, member } = await house();
      const more = channel === undefined ? {} : { message_retention_days: channel };
      const id = await channelOf(owner, 'aged', [owner, member], more);
      made.push({
        ...{ owner, gone, set: () => owner.ok('PATCH', '/realm', { message_retention_days: organization }) },
        channel: await say(owner, id, 'a'),
        direct: await direct(owner, member, 'hi'),
      });
    }
    clock += DAY - 1_000;
    for (const { set } of made) await set();
    await pass();
    for (const each of made) expect(await storedOf([each.channel, each.direct])).toEqual([each.channel, each.direct]);
    clock += 2_000;
    await pass();
    const results = await Promise.all(
      made.map(async (each) => ({
        gone: [
          ...((await isStored(each.channel)) ? [] : ['channel']),
          ...((await isStored(each.direct)) ? [] : ['direct']),
        ],
      })),
    );
    expect(results).toEqual(CASES.map(({ gone }) => ({ gone: [...gone] })));
  });

  test('deletes all data of a message, also its text in the log, and sends the events of a deletion', async () => {
    const { owner, member, guest, organization } = await house();
    const { db } = service.app;
    const channel = await channelOf(owner, 'aged', [owner, member], { message_retention_days: 1 });
    const old = await say(owner, channel, 'Topic', `secret barnacle @**${member.name}**`);
    const both = [await say(owner, channel, 'other', 'secret two'), await say(member, channel, 'Topic', 'secret 3')];
    await member.ok('POST', `/messages/${old}/reactions`, { emoji_name: 'car' });
    await member.ok('POST', '/messages/flags', { messages: [old], op: 'add', flag: 'starred' });
    await owner.ok('PATCH', `/messages/${old}`, { content: 'secret barnacle edited' });
    await owner.ok('PATCH', `/messages/${old}`, { content: 'secret barnacle edited twice' });
    const due = Math.floor(clock / 1000) + 40 * 86_400;
    await member.ok('POST', '/reminders', { message_id: old, scheduled_delivery_timestamp: due });
    const later = {
      type: 'channel',
      to: channel,
      topic: 'Topic',
      content: 'secret five',
      scheduled_delivery_timestamp: due,
    };
    const { scheduled_message_id } = await member.ok('POST', '/scheduled_messages', later);
    await member.ok('PATCH', `/scheduled_messages/${scheduled_message_id}`, { content: 'secret five edited' });
    await db.scheduledMessage.updateMany({
      where: { organizationId: organization.id, id: scheduled_message_id },
      data: { state: 'delivered', deliveredMessageId: old },
    });
    const deletedBefore = await say(owner, channel, 'Topic', 'secret four');
    await member.ok('POST', '/reminders', { message_id: deletedBefore, scheduled_delivery_timestamp: due });
    await owner.ok('DELETE', `/messages/${deletedBefore}`);
    expect((await member.register()).unread_msgs.count).toBe(3);
    clock += DAY + 1_000;
    const young = await say(owner, channel, 'Topic', 'young barnacle');
    const event_types = ['delete_message', 'reminders'];
    const heard = await Promise.all([member, guest].map((person) => person.receiving({ ...CAPABLE, event_types })));
    await pass();
    const [toMember, toGuest] = await Promise.all(heard.map((hear) => hear()));
    expect(toMember).toMatchObject([
      {
        type: 'delete_message',
        message_ids: [old, both[1]],
        message_type: 'stream',
        stream_id: channel,
        topic: 'Topic',
      },
      { type: 'delete_message', message_ids: [both[0]], topic: 'other' },
      { type: 'reminders', op: 'remove' },
      { type: 'reminders', op: 'remove' },
    ]);
    expect(toGuest).toEqual([]);
    const { messages } = await member.ok('GET', '/messages', { anchor: 'newest', num_before: 50, num_after: 0 });
    expect(messages.filter((m: Json) => m.stream_id === channel).map(({ id }: Json) => id)).toContain(young);
    const where = { organizationId: organization.id, messageId: old };
    expect(await db.reaction.count({ where })).toBe(0);
    expect(await db.messageEdit.count({ where })).toBe(0);
    expect(await db.userMessage.count({ where })).toBe(0);
    const state = await member.register();
    expect(state.unread_msgs.count).toBe(1);
    expect(state.unread_msgs.mentions).toEqual([]);
    expect(state.starred_messages).toEqual([]);
    const search = { anchor: 'newest', num_before: 50, num_after: 0, narrow: [['search', 'barnacle']] };
    expect((await member.ok('GET', '/messages', search)).messages.map(({ id }: Json) => id)).toEqual([young]);
    const tables = ['event', 'deleted_message', 'scheduled_message', 'message_edit', 'message', 'idempotency_record'];
    for (const table of tables) {
      const rows = await db.$queryRawUnsafe<unknown[]>(
        `SELECT 1 FROM "${table}" t WHERE realm_id = ${organization.id} AND to_jsonb(t)::text LIKE '%secret%'`,
      );
      expect([table, rows.length]).toEqual([table, 0]);
    }
  });

  test('erases stored replies, but a repeated request has no second effect', async () => {
    const { owner, member, organization } = await house();
    const { db } = service.app;
    const channel = await channelOf(owner, 'aged', [owner, member], { message_retention_days: 1 });
    const keyed = (key: string) => ({ headers: { 'idempotency-key': key } });
    const save = () =>
      member.rest('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: 'secret' }] }, keyed('draft'));
    const said = { type: 'channel', to: String(channel), topic: 'Topic', content: 'secret' };
    const send = () => owner.rest('POST', '/messages', said, keyed('message'));
    expect((await save()).status).toBe(200);
    const sent = await send();
    const where = { organizationId: organization.id };
    await db.idempotencyRecord.updateMany({ where, data: { createdAt: new Date(clock - DAY - 1_000) } });
    await pass();
    expect(await save()).toMatchObject({ status: 400, body: { reason: 'reply_not_kept' } });
    expect((await member.ok('GET', '/drafts')).drafts).toHaveLength(1);
    // The reply to a sent message is rendered from facts, which contain no text.
    expect(await send()).toMatchObject({ status: 200, body: sent.body });
  });

  test('does not replay erased events to a queue that is behind', async () => {
    const { owner, member } = await house();
    const channel = await channelOf(owner, 'aged', [owner, member], { message_retention_days: 1 });
    const { queue_id } = await member.register({
      event_types: ['message', 'delete_message'],
      idle_queue_timeout: 604_800,
    });
    const old = await say(owner, channel, 'Topic', 'secret');
    clock += DAY + 1_000;
    const young = await say(owner, channel, 'Topic', 'young');
    await pass();
    const events = await member.poll(queue_id, -1, { dontBlock: true });
    const ids = events.map(({ message, message_id }: Json) => message?.id ?? message_id);
    expect(ids.at(-1)).toBe(old);
    expect(ids).toContain(young);
  });

  test('keeps the other messages of a logged edit, but not the text', async () => {
    const { owner, member, organization } = await house();
    await owner.ok('PATCH', '/realm', { message_content_edit_limit_seconds: '"unlimited"' });
    const channel = await channelOf(owner, 'aged', [owner, member], { message_retention_days: 1 });
    const old = await say(owner, channel, 'before', 'first');
    clock += DAY - 60_000;
    const young = await say(owner, channel, 'before', 'young');
    const { queue_id } = await member.register({ ...CAPABLE, event_types: ['update_message', 'delete_message'] });
    const edit = {
      topic: 'after',
      content: 'secret',
      propagate_mode: 'change_all',
      send_notification_to_new_thread: false,
    };
    await owner.ok('PATCH', `/messages/${old}`, edit);
    clock += 61_000;
    await service.app.queues.flush();
    await pass();
    const rows = await service.app.db.$queryRaw<{ payload: Json }[]>`
      SELECT payload FROM event WHERE realm_id = ${organization.id} AND type = 'update_message'`;
    expect(JSON.stringify(rows)).not.toContain('secret');
    expect(rows.map(({ payload }) => [payload.ids, payload.content, payload.move.topic])).toEqual([
      [[old, young], null, 'after'],
    ]);
    const events = await member.poll(queue_id, -1, { dontBlock: true });
    expect(events[0]).toMatchObject({ type: 'update_message', message_ids: [old, young], subject: 'after' });
    expect(events.at(-1)).toMatchObject({ type: 'delete_message', message_ids: [old] });
  });

  test('applies to archived, private and protected channels, and to moved messages by their location', async () => {
    const { owner, member } = await house();
    const set = { message_retention_days: 1 };
    const archived = await channelOf(owner, 'archived', [owner], set);
    const hidden = await channelOf(owner, 'hidden', [owner, member], { ...set, invite_only: true });
    const guarded = await channelOf(owner, 'guarded', [owner, member], {
      ...set,
      ...{ invite_only: true, history_public_to_subscribers: false },
    });
    const kept = await channelOf(owner, 'kept', [owner, member]);
    const gone = [await say(owner, archived, 'a'), await say(owner, hidden, 'a'), await say(owner, guarded, 'a')];
    const [into, outOf] = [await say(owner, kept, 'in'), await say(owner, hidden, 'out')];
    await owner.ok('PATCH', `/messages/${into}`, { stream_id: hidden, propagate_mode: 'change_one' });
    await owner.ok('PATCH', `/messages/${outOf}`, { stream_id: kept, propagate_mode: 'change_one' });
    await owner.ok('DELETE', `/streams/${archived}`);
    clock += DAY + 1_000;
    await pass();
    expect(await storedOf([...gone, into, outOf])).toEqual([outOf]);
  });

  test('deletes long backlogs in batches; concurrent passes delete each message once', async () => {
    const { owner, member, organization } = await house();
    const channel = await channelOf(owner, 'aged', [owner, member], { message_retention_days: 1 });
    const last = await say(owner, channel, 'a', 'first');
    await copyMessage(service, last, 249);
    clock += DAY + 1_000;
    const { queue_id } = await member.register({ ...CAPABLE, event_types: ['delete_message'] });
    const batches: number[] = [];
    await Promise.all(
      [0, 1].map(() =>
        deleteExpired(service.app, async (ms) => {
          batches.push(ms);
          return true;
        }),
      ),
    );
    await pass();
    const events = await member.poll(queue_id, -1, { dontBlock: true });
    const ids = events.flatMap(({ message_ids }: Json) => message_ids);
    const left = await service.app.db.message.count({
      where: { organizationId: organization.id, channelId: channel, topic: 'a' },
    });
    expect({ left, deleted: ids.length, once: new Set(ids).size }).toEqual({ left: 0, deleted: 250, once: 250 });
    expect(Math.max(...events.map(({ message_ids }: Json) => message_ids.length))).toBeLessThanOrEqual(100);
    expect(batches.length).toBeGreaterThan(2);
  });

  test('reads few messages of channels in which none has expired', async () => {
    const { owner, organization } = await house();
    const { db } = service.app;
    const set = { message_retention_days: 1 };
    const channels: number[] = [];
    for (let i = 0; i < 20; i++) channels.push(await channelOf(owner, `aged ${i}`, [owner], set));
    const first = await say(owner, channels[0] as number, 'a', 'first');
    await db.$executeRaw`
      INSERT INTO message SELECT (jsonb_populate_record(m, jsonb_build_object(
        'id', m.id + 100 * c.nr + i, 'send_token', m.send_token + 100 * c.nr + i, 'channel_id', c.id, 'sent_channel_id', c.id))).*
      FROM message m, unnest(${channels}::int[]) WITH ORDINALITY AS c(id, nr), generate_series(1, 100) i WHERE m.id = ${first}`;
    await db.$executeRaw`ANALYZE message`;
    const row = await db.organization.findUniqueOrThrow({ where: { id: organization.id } });
    const readBy = (work: (tx: Tx) => Promise<unknown>) =>
      db.$transaction(async (tx) => {
        // In a table of this size, PostgreSQL may prefer to read and sort all messages.
        await tx.$executeRaw`SET LOCAL enable_seqscan = off`;
        await tx.$executeRaw`SET LOCAL enable_sort = off`;
        // The counter can still include rows of earlier transactions of the session, because PostgreSQL reports them only once a
        // second.
        const count = async () => {
          const [{ rows } = { rows: 0n }] = await tx.$queryRaw<{ rows: bigint }[]>`
          SELECT idx_tup_fetch + seq_tup_read AS rows FROM pg_stat_xact_user_tables WHERE relname = 'message'`;
          return Number(rows);
        };
        const before = await count();
        await work(tx as never);
        return (await count()) - before;
      });
    const read = await readBy(async (tx) => {
      expect(await expiredMessages(tx, row, new Date(clock))).toEqual([]);
    });
    expect(read).toBeGreaterThan(0);
    // The organization has 2,000 messages.
    expect(read).toBeLessThan(500);
    let after: number | null = 0;
    const ranges: number[] = [];
    while (after !== null) {
      const from: number = after;
      ranges.push(
        await readBy(async (tx) => {
          const { expired, last } = await expiredInRange(tx, row, new Date(clock), from);
          expect(expired).toEqual([]);
          after = last;
        }),
      );
    }
    expect(ranges.reduce((sum, rows) => sum + rows, 0)).toBeGreaterThan(2_000);
    expect(Math.max(...ranges)).toBeLessThan(1_100);
  });

  test('deletes archived copies of messages in batches, together with their events', async () => {
    const { owner, organization } = await house();
    const { db } = service.app;
    const channel = await channelOf(owner, 'aged', [owner], { message_retention_days: 1 });
    const kept = await channelOf(owner, 'kept', [owner]);
    for (const id of [await say(owner, channel, 'a', 'secret'), await say(owner, kept, 'a', 'kept')]) {
      await owner.ok('DELETE', `/messages/${id}`);
    }
    await db.$executeRaw`
      INSERT INTO deleted_message (realm_id, id, deleted_at, body)
      SELECT realm_id, id + 1000 + i, deleted_at, body FROM deleted_message, generate_series(1, 249) i
      WHERE realm_id = ${organization.id} AND channel_id = ${channel}`;
    clock += DAY + 1_000;
    let batches = 0;
    await deleteExpired(service.app, async () => {
      batches++;
      return true;
    });
    expect(batches).toBeGreaterThanOrEqual(3);
    const left = await db.deletedMessage.findMany({
      where: { organizationId: organization.id },
      select: { channelId: true },
    });
    expect(left).toEqual([{ channelId: kept }]);
    const logged = await db.event.findMany({
      where: { organizationId: organization.id, type: 'message' },
      select: { payload: true },
    });
    expect(JSON.stringify(logged)).not.toContain('secret');
  });

  test('resumes an interrupted pass, and applies a changed limit without a restart', async () => {
    const { owner }: Organization = await house();
    const channel = await channelOf(owner, 'aged', [owner]);
    const ids = [await say(owner, channel, 'a'), await say(owner, channel, 'b')];
    clock += 3 * DAY;
    await pass();
    expect(await storedOf(ids)).toEqual(ids);
    await owner.ok('PATCH', `/streams/${channel}`, { message_retention_days: 5 });
    await pass();
    expect(await storedOf(ids)).toEqual(ids);
    await owner.ok('PATCH', `/streams/${channel}`, { message_retention_days: 2 });
    await service.app.database.runScript(`
      CREATE FUNCTION trip() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'tripped'; END $$;
      CREATE TRIGGER trip BEFORE DELETE ON message FOR EACH ROW WHEN (OLD.id = ${ids[1]}) EXECUTE FUNCTION trip()`);
    await expect(pass()).rejects.toThrow('tripped');
    expect(await storedOf(ids)).toEqual(ids);
    await service.app.database.runScript('DROP FUNCTION trip CASCADE');
    await pass();
    expect(await storedOf(ids)).toEqual([]);
  });

  /** Message retention limits of the organization and the channel in days, and whether messages of the channel are limited. */
  const LIMITS = [
    { organization: 1, channel: '"realm_default"', isLimited: true },
    { organization: '"unlimited"', channel: 1, isLimited: true },
    { organization: 1, channel: '"unlimited"', isLimited: false },
    { organization: '"unlimited"', channel: '"realm_default"', isLimited: false },
  ] as const;
  test('a full pass deletes expired messages anywhere in a channel, and keeps those without a limit', async () => {
    const made = [];
    for (const { organization, channel, isLimited } of LIMITS) {
      const { owner } = await house();
      const id = await channelOf(owner, 'aged', [owner], { message_retention_days: channel });
      await owner.ok('PATCH', '/realm', { message_retention_days: organization });
      const ids: number[] = [];
      for (let i = 0; i < 20; i++) ids.push(await say(owner, id, 'a', `message ${i}`));
      const old = [ids[10], ids[19]] as number[];
      await backdate(old);
      made.push({ ids, left: isLimited ? ids.filter((one) => !old.includes(one)) : ids });
    }
    await fullPass();
    for (const { ids, left } of made) expect(await storedOf(ids)).toEqual(left);
  });

  test('a full pass deletes expired direct messages among many, in batches', async () => {
    const { owner, member } = await house();
    await owner.ok('PATCH', '/realm', { message_retention_days: 1 });
    const first = await direct(owner, member, 'hi');
    const ids = [first, ...(await copyMessage(service, first, 2_400))];
    const old = ids.slice(2_100);
    await backdate(old);
    const { queue_id } = await member.register({ ...CAPABLE, event_types: ['delete_message'] });
    await fullPass();
    expect(await storedOf(ids)).toEqual(ids.slice(0, 2_100));
    const events = await member.poll(queue_id, -1, { dontBlock: true });
    const deleted: number[][] = events.map(({ message_ids }: Json) => message_ids);
    expect(deleted.flat()).toEqual(old);
    expect(Math.max(...deleted.map(({ length }) => length))).toBeLessThanOrEqual(100);
  });

  test('passes compare all messages once in an hour, and after a failure', async () => {
    const { owner, organization } = await house();
    const channel = await channelOf(owner, 'aged', [owner], { message_retention_days: 1 });
    const ids: number[] = [];
    for (let i = 0; i < 20; i++) ids.push(await say(owner, channel, 'a', `message ${i}`));
    const compared: Compared = new Map();
    await fullPass(compared);
    await backdate(ids.slice(18));
    await fullPass(compared);
    expect(await storedOf(ids)).toEqual(ids);
    await service.app.database.runScript(`
      CREATE FUNCTION trip() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'tripped'; END $$;
      CREATE TRIGGER trip BEFORE DELETE ON message FOR EACH ROW WHEN (OLD.id = ${ids[19]}) EXECUTE FUNCTION trip()`);
    compared.set(organization.id, performance.now() - 3_600_001);
    await expect(fullPass(compared)).rejects.toThrow('tripped');
    await service.app.database.runScript('DROP FUNCTION trip CASCADE');
    await fullPass(compared);
    expect(await storedOf(ids)).toEqual(ids.slice(0, 18));
    // After a time without a limit, messages of the organization are due for deletion again.
    await owner.ok('PATCH', `/streams/${channel}`, { message_retention_days: '"unlimited"' });
    await backdate(ids.slice(17));
    await fullPass(compared);
    expect(await storedOf(ids)).toEqual(ids.slice(0, 18));
    await owner.ok('PATCH', `/streams/${channel}`, { message_retention_days: 1 });
    await fullPass(compared);
    expect(await storedOf(ids)).toEqual(ids.slice(0, 17));
  });

  test('the metric of overdue messages includes those that only a full pass finds', async () => {
    const { owner } = await house();
    const channel = await channelOf(owner, 'aged', [owner], { message_retention_days: 1 });
    const ids: number[] = [];
    for (let i = 0; i < 20; i++) ids.push(await say(owner, channel, 'a', `message ${i}`));
    await backdate(ids.slice(19));
    const seen: number[] = [];
    const look = async () => {
      seen.push((await retention.overdueSeconds.get()).values[0]?.value ?? 0);
      return true;
    };
    await deleteExpired(service.app, look, new Map());
    expect(Math.floor(Math.max(...seen) / 86_400)).toBe(39);
    expect((await retention.overdueSeconds.get()).values[0]?.value).toBe(0);
  });

  test('the first pass of a worker compares all messages', async () => {
    const { owner } = await house();
    const channel = await channelOf(owner, 'aged', [owner], { message_retention_days: 1 });
    const ids: number[] = [];
    for (let i = 0; i < 20; i++) ids.push(await say(owner, channel, 'a', `message ${i}`));
    await backdate(ids.slice(19));
    const worker = new RetentionWorker(service.app);
    worker.start(0);
    await expect.poll(() => storedOf(ids)).toEqual(ids.slice(0, 19));
    await worker.stop();
  });

  test('shows its progress in the metrics', async () => {
    const { owner } = await house();
    const channel = await channelOf(owner, 'aged', [owner], { message_retention_days: 1 });
    await say(owner, channel, 'a');
    const metricOf = async (name: string) => {
      const text = await (await fetch(`${service.url}/metrics`)).text();
      return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
    };
    const before = await metricOf('message_retention_deleted_total');
    clock += DAY + 1_000;
    await pass();
    expect(await metricOf('message_retention_deleted_total')).toBeGreaterThan(before);
    expect(await metricOf('message_retention_overdue_seconds')).toBe(0);
    expect(await metricOf('message_retention_passes_total')).toBeGreaterThan(0);
  });
});

const { DATABASE_URL = '' } = process.env;

describe.runIf(DATABASE_URL !== '')('message retention of several nodes on one PostgreSQL database', () => {
  test('deletes each message once, by the clock of the database', async () => {
    await using database = await createMigratedDatabase(DATABASE_URL);
    const env = { DATABASE_URL: database.url, SECRET_KEY: 'x'.repeat(32) };
    // Two nodes have clocks that are 400 days ahead and behind. Messages must be deleted neither too early nor too late.
    await using one = await startInProcess({ env, now: () => new Date(Date.now() + 400 * DAY) });
    await using two = await startInProcess({ env, now: () => new Date(Date.now() - 400 * DAY) });
    const { owner, member } = await createOrganization({}, { on: one });
    const channel = await channelOf(owner, 'aged', [owner, member], { message_retention_days: 1 });
    const [first, kept] = [await say(owner, channel, 'a', 'first'), await say(owner, channel, 'a', 'kept')];
    const { db } = one.app;
    await db.$executeRaw`
      INSERT INTO message SELECT (jsonb_populate_record(m, jsonb_build_object('id', m.id + 1000 + i, 'send_token', m.send_token + i))).*
      FROM message m, generate_series(1, 399) i WHERE m.id = ${first}`;
    const age = (hours: number, where: { id: object | number }) =>
      db.message.updateMany({ where, data: { sentAt: new Date(Date.now() - hours * 3_600_000) } });
    await age(25, { id: { not: kept } });
    await age(23, { id: kept });
    const { queue_id } = await member.register({ ...CAPABLE, event_types: ['delete_message'] });
    await Promise.all([one, two, one, two].map(({ app }) => deleteExpired(app)));
    await deleteExpired(two.app);
    const deleted = async () => {
      const events = await member.poll(queue_id, -1, { dontBlock: true });
      return events.flatMap(({ message_ids, topic }: Json) => (topic === 'a' ? message_ids : []));
    };
    // The other node sends the last events, and this one may be notified of them later.
    await expect.poll(async () => (await deleted()).length).toBeGreaterThanOrEqual(400);
    const ids = await deleted();
    expect({ deleted: ids.length, once: new Set(ids).size }).toEqual({ deleted: 400, once: 400 });
    const left = await db.message.findMany({ where: { channelId: channel, topic: 'a' }, select: { id: true } });
    expect(left.map(({ id }) => Number(id))).toEqual([kept]);
  });

  test('compares all messages on several nodes, and again if another node is deleting', async () => {
    await using database = await createMigratedDatabase(DATABASE_URL);
    const env = { DATABASE_URL: database.url, SECRET_KEY: 'x'.repeat(32) };
    await using one = await startInProcess({ env });
    await using two = await startInProcess({ env });
    const { owner, member, organization } = await createOrganization({}, { on: one });
    const channel = await channelOf(owner, 'aged', [owner, member], { message_retention_days: 1 });
    const first = await say(owner, channel, 'a', 'first');
    const ids = [first, ...(await copyMessage(one, first, 1_500))];
    const old = ids.slice(1_250);
    await backdate(old, one);
    const stored = async () => {
      const rows = await one.app.db.message.findMany({
        where: { channelId: channel, topic: 'a' },
        orderBy: { id: 'asc' },
      });
      return rows.map(({ id }) => Number(id));
    };
    const nodes = [one, two].map(({ app }) => ({ app, compared: new Map() as Compared }));
    const passes = () => Promise.all(nodes.map(({ app, compared }) => deleteExpired(app, undefined, compared)));
    await one.app.db.$transaction(async (tx) => {
      expect(await tryLockKind(tx as never, 'message_retention', organization.id)).toBe(true);
      await passes();
      expect(nodes.map(({ compared }) => compared.size)).toEqual([0, 0]);
    });
    expect(await stored()).toEqual(ids);
    const { queue_id } = await member.register({ ...CAPABLE, event_types: ['delete_message'] });
    while (nodes.some(({ compared }) => compared.size === 0)) await passes();
    expect(await stored()).toEqual(ids.slice(0, 1_250));
    const deleted = async () => {
      const events = await member.poll(queue_id, -1, { dontBlock: true });
      return events.flatMap(({ message_ids }: Json) => message_ids);
    };
    // The other node sends some of the events, and this one may be notified of them later.
    await expect.poll(deleted).toEqual(old);
  });

  test('leaves archived copies to the node that is deleting messages of the organization', async () => {
    await using database = await createMigratedDatabase(DATABASE_URL);
    const env = { DATABASE_URL: database.url, SECRET_KEY: 'x'.repeat(32) };
    await using one = await startInProcess({ env });
    const { owner, organization } = await createOrganization({}, { on: one });
    const channel = await channelOf(owner, 'aged', [owner], { message_retention_days: 1 });
    const id = await say(owner, channel, 'a', 'secret');
    const { db } = one.app;
    await db.message.updateMany({ where: { id }, data: { sentAt: new Date(Date.now() - 2 * DAY) } });
    await owner.ok('DELETE', `/messages/${id}`);
    const copies = () => db.deletedMessage.count({ where: { organizationId: organization.id } });
    await db.$transaction(async (tx) => {
      expect(await tryLockKind(tx as never, 'message_retention', organization.id)).toBe(true);
      await deleteExpired(one.app);
      expect(await copies()).toBe(1);
    });
    await deleteExpired(one.app);
    expect(await copies()).toBe(0);
  });
});
