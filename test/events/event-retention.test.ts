import { afterAll, beforeAll, expect, test } from 'vitest';
import { sweep } from '../../src/events/retention.ts';
import { decideNotifications } from '../../src/messages/notifications/decision-worker.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';

const MINUTE = 60_000;
let clock = Date.parse('2026-11-20T10:00:00Z');
let service: InProcess;

beforeAll(async () => {
  service = await startInProcess({ now: () => new Date(clock) });
});
afterAll(() => service[Symbol.asyncDispose]());

const saveDraft = (person: Person, content: string) =>
  person.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content }] });
const pruned = async (organizationId: number) =>
  Number((await service.app.db.eventCounter.findUniqueOrThrow({ where: { organizationId } })).prunedThrough);
const decideAndSweep = async () => {
  // Undecided events are kept for a day.
  await decideNotifications(service.app);
  await sweep(service.app);
};

// The tests change a shared clock, so they run one after another.

test('prunes no events younger than ten minutes, even if no queue needs them', async () => {
  const { organization, member } = await createOrganization({}, { on: service });
  await saveDraft(member, 'young');
  await decideAndSweep();
  expect(await pruned(organization.id)).toBe(0);
});

test('prunes below the lowest position of live queues, and reports that to a queue left behind', async () => {
  const { organization, member } = await createOrganization({}, { on: service });
  const { queue_id: slow } = await member.register({ fetch_event_types: [], idle_queue_timeout: 604_800 });
  const { queue_id: quick } = await member.register({ fetch_event_types: [], idle_queue_timeout: 604_800 });
  await saveDraft(member, 'one');
  await saveDraft(member, 'two');
  const [one, two] = await member.poll(slow, -1, { dontBlock: true });
  await member.poll(slow, one.id, { dontBlock: true });
  await member.poll(quick, two.id, { dontBlock: true });
  await service.app.queues.flush();
  clock += 11 * MINUTE;
  await decideAndSweep();
  expect(await pruned(organization.id)).toBe(one.id);
  expect(await member.poll(slow, one.id, { dontBlock: true })).toMatchObject([{ drafts: [{ content: 'two' }] }]);
  // Events above the maximum age are pruned even if a queue has not read them. Only a node that has them in memory can still
  // deliver them.
  clock += 9 * 24 * 60 * MINUTE;
  await service.app.queues.flush();
  await decideAndSweep();
  expect(await pruned(organization.id)).toBe(two.id);
  expect(await service.app.db.event.count({ where: { organizationId: organization.id } })).toBe(0);
});

test('keeps events from which no notification was decided yet, for a day', async () => {
  const { organization, member } = await createOrganization({}, { on: service });
  await saveDraft(member, 'undecided');
  // No notifications of suspended organizations are decided.
  await service.app.db.$executeRaw`UPDATE realm SET deactivated_at = now() WHERE id = ${organization.id}`;
  await service.app.db.$executeRaw`UPDATE notification_progress SET through_id = 0 WHERE realm_id = ${organization.id}`;
  clock += 11 * MINUTE;
  await sweep(service.app);
  expect(await pruned(organization.id)).toBe(0);
  clock += 24 * 60 * MINUTE;
  await sweep(service.app);
  expect(await pruned(organization.id)).toBeGreaterThan(0);
});

test('keeps events that the reader of links has not read yet, for a day, in organizations that show previews', async () => {
  const { organization, owner, member } = await createOrganization({}, { on: service });
  await owner.ok('PATCH', '/realm', { inline_url_embed_preview: true });
  await saveDraft(member, 'unread');
  await service.previewing.run();
  await decideNotifications(service.app);
  const { db } = service.app;
  // The log of a suspended organization is not read.
  await db.$executeRaw`UPDATE realm SET deactivated_at = now() WHERE id = ${organization.id}`;
  await db.$executeRaw`
    UPDATE notification_progress n SET through_id = c.last_id FROM event_counter c
    WHERE n.realm_id = ${organization.id} AND c.realm_id = n.realm_id`;
  expect(
    await db.$executeRaw`UPDATE link_preview_progress SET through_id = 0 WHERE realm_id = ${organization.id}`,
  ).toBe(1);
  clock += 11 * MINUTE;
  await sweep(service.app);
  expect(await pruned(organization.id)).toBe(0);
  clock += 24 * 60 * MINUTE;
  await sweep(service.app);
  expect(await pruned(organization.id)).toBeGreaterThan(0);
});

test('deletes role changes with their events, and keeps those that a queue still needs', async () => {
  const { organization, owner, member, guest } = await createOrganization({}, { on: service });
  const changes = () => service.app.db.roleChange.count({ where: { organizationId: organization.id } });
  await owner.ok('PATCH', `/users/${member.id}`, { role: 300 });
  await owner.ok('PATCH', `/users/${member.id}`, { role: 400 });
  clock += 11 * MINUTE;
  const { queue_id } = await member.register({ fetch_event_types: [], idle_queue_timeout: 604_800 });
  await owner.ok('PATCH', `/users/${guest.id}`, { role: 400 });
  clock += 11 * MINUTE;
  await service.app.queues.flush();
  await decideAndSweep();
  expect(await changes()).toBe(1);
  await member.ok('DELETE', '/events', { queue_id });
  await decideAndSweep();
  expect(await changes()).toBe(0);
});

test('ends a queue that was not read during its lifetime, and keeps its tombstone for 30 days', async () => {
  const { member } = await createOrganization({}, { on: service });
  const { queue_id } = await member.register({ fetch_event_types: [], idle_queue_timeout: 600 });
  const reasonOf = async () =>
    (await member.rest('GET', '/events', { queue_id, last_event_id: -1, dont_block: true })).body.reason;
  clock += 9 * MINUTE;
  expect(await reasonOf()).toBeUndefined();
  clock += 20 * MINUTE;
  await decideAndSweep();
  expect(await reasonOf()).toBe('expired');
  clock += 31 * 24 * 60 * MINUTE;
  await decideAndSweep();
  expect(await reasonOf()).toBe('unknown');
});

test('keeps a reply under an idempotency key as long as the longest idle queue', async () => {
  const { organization, member } = await createOrganization({}, { on: service });
  const DAY = 24 * 60 * MINUTE;
  const save = () =>
    member.ok('POST', '/saved_snippets', { title: 't', content: 'c' }, { headers: { 'idempotency-key': 'once' } });
  const snippets = async () => (await member.ok('GET', '/saved_snippets')).saved_snippets.length;
  const first = await save();
  const { queue_id } = await member.register({ fetch_event_types: [], idle_queue_timeout: 604_800 });
  const age = async (ms: number) => {
    const createdAt = new Date(clock - ms);
    await service.app.db.idempotencyRecord.updateMany({
      where: { organizationId: organization.id },
      data: { createdAt },
    });
    await decideAndSweep();
  };
  clock += 7 * DAY - MINUTE;
  await age(7 * DAY);
  await member.poll(queue_id, -1, { dontBlock: true });
  expect(await save()).toEqual(first);
  expect(await snippets()).toBe(1);
  await age(8 * DAY + MINUTE);
  await save();
  expect(await snippets()).toBe(2);
});

test('resumes an interrupted sweep, although the organization has no events since', async () => {
  const { organization, member } = await createOrganization({}, { on: service });
  const { db, database } = service.app;
  await saveDraft(member, 'the first of many');
  const many = 11_000;
  await db.$executeRaw`
    INSERT INTO event (realm_id, id, type, payload, channel_ids, user_ids, except_user_ids, created_at)
    SELECT ${organization.id}, c.last_id + i, 'drafts', '{}', '{}', '{}', '{}', ${new Date(clock)}
    FROM event_counter c, generate_series(1, ${many}::int) i WHERE c.realm_id = ${organization.id}`;
  await db.$executeRaw`UPDATE event_counter SET last_id = last_id + ${many} WHERE realm_id = ${organization.id}`;
  clock += 9 * 24 * 60 * MINUTE;
  const left = () => db.event.count({ where: { organizationId: organization.id } });
  // Makes the second batch of deletions fail.
  await database.runScript(`
    CREATE SEQUENCE deleted;
    CREATE FUNCTION trip() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN IF nextval('deleted') > 6000 THEN RAISE EXCEPTION 'tripped'; END IF; RETURN OLD; END $$;
    CREATE TRIGGER trip BEFORE DELETE ON event FOR EACH ROW WHEN (OLD.realm_id = ${organization.id}) EXECUTE FUNCTION trip()`);
  await expect(sweep(service.app)).rejects.toThrow('tripped');
  await database.runScript('DROP FUNCTION trip CASCADE; DROP SEQUENCE deleted');
  expect(await left()).toBeGreaterThan(5_000);
  await decideAndSweep();
  expect(await left()).toBe(0);
});

test('prunes the log beside rows of an organization that has moved and whose rows cannot be changed', async () => {
  const { organization, member } = await createOrganization({}, { on: service });
  const { organization: gone } = await createOrganization({}, { on: service });
  await saveDraft(member, 'old');
  clock += 10 * 24 * 60 * MINUTE;
  await service.app.db.$transaction([
    service.app.db.$executeRaw`SET LOCAL session_replication_role = replica`,
    service.app.db.$executeRaw`DELETE FROM realm WHERE id = ${gone.id}`,
    service.app.db.$executeRaw`UPDATE event_counter SET last_id = last_id + 1 WHERE realm_id = ${gone.id}`,
  ]);
  const before = await pruned(gone.id);
  await decideAndSweep();
  expect(await pruned(organization.id)).toBeGreaterThan(0);
  expect(await pruned(gone.id)).toBe(before);
});
