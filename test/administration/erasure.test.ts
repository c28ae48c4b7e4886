import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ofReminders, onlyFor } from '../../src/events/erase-logged.ts';
import { deleteExpired } from '../../src/messages/retention/service.ts';
import { queueMail } from '../../src/platform/mail/outbox.ts';
import { createMigratedDatabase, type TestDatabase } from '../helpers/database.ts';
import type { Json } from '../helpers/http.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import { Person } from '../helpers/person.ts';
import { makeObjects } from '../helpers/scene.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';
import { channelOf, say } from '../helpers/talk.ts';

/** A word that every text of the erased user contains. */
const WORD = 'quokka';
/** The name of the erased user. No other name or text contains it. */
const NAME = 'Zyxann Erased';

const ALL = {
  delete_profile: true,
  delete_public_channel_messages: true,
  delete_private_channel_messages: true,
  delete_direct_messages: true,
};
const LATER = Math.floor(Date.now() / 1000) + 30 * 86_400;

let service: InProcess;
let database: TestDatabase | undefined;
let org: Organization;
let ann: Person;
/** A user whose email address ends with the erased user's address. */
let other: Person;
let open: number;

const tables = async (): Promise<string[]> => {
  const rows = await service.app.db.$queryRaw<{ name: string }[]>`
    SELECT table_name::text AS name FROM information_schema.columns
    WHERE table_schema = current_schema() AND column_name = 'realm_id'`;
  return rows.map(({ name }) => name);
};

/** Returns the tables that contain rows of the organization with a text, as `table: number of rows`. */
async function holding(organizationId: number, text: string): Promise<string[]> {
  const found: string[] = [];
  for (const table of await tables()) {
    const rows = await service.app.db.$queryRawUnsafe<Json[]>(
      `SELECT to_jsonb(t)::text AS row FROM "${table}" t WHERE realm_id = ${organizationId}
         AND strpos(lower(to_jsonb(t)::text), lower($1)) > 0`,
      text,
    );
    found.push(...rows.map(({ row }) => `${table}: ${row}`));
  }
  return found;
}

const isWhole = (row: string, address: string): boolean =>
  new RegExp(`(?<![\\w.])${address.replaceAll('.', '\\.')}`, 'i').test(row);

beforeAll(async () => {
  const { DATABASE_URL: server = '' } = process.env;
  database = server === '' ? undefined : await createMigratedDatabase(server);
  const own = database && { DATABASE_URL: database.url, SECRET_KEY: 'x'.repeat(32) };
  service = await startInProcess({ env: { ...own } });
  org = await createOrganization({}, { on: service });
  ann = await org.signUp(NAME);
  other = await org.signUp('Jo');
  await service.app.db.user.updateMany({
    where: { id: other.id, organizationId: org.organization.id },
    data: { email: `jo${ann.email}` },
  });
  open = await channelOf(org.owner, 'open', [org.owner, ann, other]);
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await database?.[Symbol.asyncDispose]();
});

/** Creates personal data of every kind for the user whom the tests erase. */
async function leaveTraces(): Promise<void> {
  const { owner, member, organization } = org;
  const hidden = await channelOf(owner, 'hidden', [owner, ann], { invite_only: true });
  const field = await owner.ok('POST', '/realm/profile_fields', { field_type: 1, name: 'Phone' });
  await ann.ok('PATCH', '/users/me/profile_data', { data: [{ id: field.id, value: `${WORD} phone` }] });
  await ann.ok('POST', '/users/me/status', { status_text: `${WORD} away`, emoji_name: 'car' });
  await ann.ok('PATCH', '/settings', { timezone: 'Pacific/Kiritimati' });
  await ann.ok('POST', '/users/me/alert_words', { alert_words: [`${WORD} word`] });
  await ann.ok('POST', '/user_topics', { stream_id: open, topic: `${WORD} topic`, visibility_policy: 3 });
  await ann.ok('POST', '/navigation_views', { fragment: `narrow/${WORD}`, is_pinned: true, name: `${WORD} view` });
  const sent = await say(ann, open, 'a', `${WORD} in public`);
  await makeObjects(ann, { channelId: open, topic: 'a', messageId: sent, text: WORD });
  await ann.ok('PATCH', `/messages/${sent}`, { content: `${WORD} edited` });
  await say(ann, hidden, 'a', `${WORD} in private`);
  await ann.ok('POST', '/messages', { type: 'direct', to: [member.id], content: `${WORD} direct` });
  await ann.ok('DELETE', `/messages/${await say(ann, open, 'a', `${WORD} deleted before`)}`);
  const others = await say(member, open, 'a', 'a message of another');
  await ann.ok('POST', `/messages/${others}/reactions`, { emoji_name: 'car' });
  for (const by of [ann, member]) {
    await by.ok('POST', '/reminders', { message_id: sent, scheduled_delivery_timestamp: LATER, note: 'noted' });
  }
  await member.ok('POST', '/messages', { type: 'direct', to: [ann.id], content: 'an answer' });
  const invitation = { stream_ids: [open], welcome_message_custom_text: `${WORD} welcome` };
  await ann.ok('POST', '/invites', { ...invitation, invitee_emails: 'invited@new.example' });
  await ann.register({ narrow: [['channel', `${WORD}`]] });
  const mail = { organizationId: organization.id, subject: 'A mail', body: 'Hello' };
  await service.app.db.$transaction(async (tx) => {
    for (const to of [ann.email, ann.email.toUpperCase(), other.email]) await queueMail(tx as never, { ...mail, to });
    await queueMail(tx as never, { ...mail, to: other.email, body: `The account ${ann.email}.` });
    await queueMail(tx as never, {
      ...mail,
      to: other.email,
      body: `The account ${other.email} and ${ann.email}.invalid`,
    });
  });
}

describe('DELETE /users/{user_id} with all actions', () => {
  test('leaves no text, name or address of the user, in any table and for any reader', async () => {
    const { owner, guest, organization } = org;
    await leaveTraces();
    expect((await holding(organization.id, WORD)).length).toBeGreaterThan(10);
    expect((await guest.ok('GET', `/users/${ann.id}`)).user).toMatchObject({ delivery_email: ann.email });
    const heard = await guest.receiving({ event_types: ['realm_user'] });
    await owner.ok('DELETE', `/users/${ann.id}`, { actions: ALL });

    expect(await holding(organization.id, WORD)).toEqual([]);
    expect(await holding(organization.id, NAME)).toEqual([]);
    expect(await holding(organization.id, 'Kiritimati')).toEqual([]);
    const addressed = (await holding(organization.id, ann.email)).filter((row) => isWhole(row, ann.email));
    // The address with ".invalid" appended belongs to another user.
    expect(addressed.filter((row) => !row.includes(`${ann.email}.invalid`))).toEqual([]);
    const mails = await service.app.db.outgoingMail.findMany({ where: { organizationId: organization.id } });
    expect(mails.map(({ recipient }) => recipient)).toEqual([other.email, other.email]);

    const standIn = `user${ann.id}@users.invalid`;
    for (const reader of [guest, owner]) {
      const { user } = await reader.ok('GET', `/users/${ann.id}`);
      expect(user).toMatchObject({ full_name: 'Deleted user', email: standIn, delivery_email: null, timezone: '' });
    }
    const told = (await heard()).map(({ person }: Json) => person);
    expect(told).toContainEqual({ user_id: ann.id, full_name: 'Deleted user' });
    expect(told).toContainEqual({ user_id: ann.id, delivery_email: null });
    expect(told).toContainEqual({ user_id: ann.id, new_email: standIn });
    expect(JSON.stringify(told)).not.toContain(ann.email);
  });

  test('frees the address, and a reactivated user gets neither their API key nor their texts back', async () => {
    const { owner } = org;
    await owner.ok('POST', `/users/${ann.id}/reactivate`);
    expect((await ann.rest('GET', '/users/me')).status).toBe(401);
    const { user } = await owner.ok('GET', `/users/${ann.id}`);
    expect(user).toMatchObject({ is_active: true, full_name: 'Deleted user', delivery_email: null });
    const again = await org.signUp(NAME);
    expect(again.email).toBe(ann.email);
  });

  test('keeps data of other users with a similar address or id', async () => {
    const { owner, member, organization } = org;
    const bea = await org.signUp('Bea');
    await member.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: 'wombat' }] });
    await member.ok('POST', '/users/me/status', { status_text: 'wombat' });
    await say(member, open, 'a', 'wombat');
    const before = (await holding(organization.id, 'wombat')).length;
    await owner.ok('DELETE', `/users/${bea.id}`, { actions: ALL });
    expect((await holding(organization.id, 'wombat')).length).toBe(before);
  });

  test('without actions keeps name, address, drafts and snippets', async () => {
    const { owner, organization } = org;
    const cid = await org.signUp('Cid');
    await cid.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: 'numbat' }] });
    await owner.ok('DELETE', `/users/${cid.id}`);
    expect((await holding(organization.id, 'numbat')).length).toBeGreaterThan(0);
    expect((await owner.ok('GET', `/users/${cid.id}`)).user).toMatchObject({
      full_name: 'Cid',
      delivery_email: cid.email,
    });
  });
});

/** Changes the name and email address of a user as an administrator. @returns The user with the new address. */
async function rename(user: Person, name: string, email: string): Promise<Person> {
  const { owner } = org;
  await owner.ok('PATCH', `/users/${user.id}`, { full_name: name, new_email: email });
  return new Person(user, { ...user, name, email });
}

describe('DELETE /users/{user_id} for a user who had other names and addresses', () => {
  beforeAll(() => service.app.db.user.updateMany({ where: { id: org.owner.id }, data: { canChangeUserEmails: true } }));

  test('leaves none of their former names and addresses in any table', async () => {
    const { owner, member, organization } = org;
    const names = ['Dagny Zero', 'Dagny First', 'Dagny Second'];
    const address = (i: number) => `dagny${i}@former.example`;
    let dag = await org.signUp('Dagny Zero');
    const signedUpAs = dag.email;
    const message = await say(member, open, 'a', 'a message of another');
    for (const [i, name] of names.entries()) {
      dag = await rename(dag, name, address(i));
      await dag.ok('PATCH', `/messages/${await say(dag, open, `dag ${i}`, 'sent')}`, { content: 'edited' });
      await dag.ok('POST', `/messages/${message}/reactions`, { emoji_name: ['car', 'tada', 'heart'][i] });
      await dag.ok('PATCH', '/settings', { timezone: ['Europe/Oslo', 'Asia/Tokyo', 'Africa/Lagos'][i] });
      await dag.ok('PATCH', '/settings', { email_address_visibility: 5 });
      await dag.ok('PATCH', '/settings', { email_address_visibility: 1 });
    }
    const addresses = [signedUpAs, ...[0, 1, 2].map(address)];
    for (const text of [...names, ...addresses])
      expect([text, await holding(organization.id, text)]).not.toEqual([text, []]);
    await owner.ok('DELETE', `/users/${dag.id}`, { actions: { delete_profile: true } });
    for (const text of [...names, ...addresses])
      expect([text, await holding(organization.id, text)]).toEqual([text, []]);
  });

  test('finds addresses in emails about changes that the event log no longer contains', async () => {
    const { owner, organization } = org;
    let eli = await org.signUp('Eli');
    const signedUpAs = eli.email;
    for (const email of ['eli1@former.example', 'eli2@former.example']) eli = await rename(eli, 'Eli', email);
    await service.app.db.event.deleteMany({ where: { organizationId: organization.id, type: 'realm_user' } });
    expect(await holding(organization.id, 'eli1@former.example')).not.toEqual([]);
    await owner.ok('DELETE', `/users/${eli.id}`, { actions: { delete_profile: true } });
    for (const email of [signedUpAs, 'eli1@former.example', 'eli2@former.example']) {
      expect([email, await holding(organization.id, email)]).toEqual([email, []]);
    }
  });

  test('keeps an address that now belongs to another user', async () => {
    const { owner, organization } = org;
    const fay = await org.signUp('Fay');
    await rename(fay, 'Fay', 'fay1@former.example');
    const gus = await rename(await org.signUp('Gus'), 'Gus', fay.email);
    await say(gus, open, 'a', 'sent');
    await service.app.db.$transaction((tx) =>
      queueMail(tx as never, {
        organizationId: organization.id,
        to: gus.email,
        subject: 'A mail to Gus',
        body: 'Hello',
      }),
    );
    await owner.ok('DELETE', `/users/${fay.id}`, { actions: { delete_profile: true } });
    const held = await holding(organization.id, fay.email);
    for (const table of ['user_account', 'event', 'outgoing_mail']) {
      expect(held.map((row) => row.split(':')[0])).toContain(table);
    }
    expect(await holding(organization.id, 'fay1@former.example')).toEqual([]);
  });
});

test('events for a single user and those of reminders are found by the index on users', async () => {
  const { db } = service.app;
  const organizationId = org.organization.id;
  // The events have ids beyond the end of the log, so that no reader receives them.
  await db.$executeRaw`
    INSERT INTO event (realm_id, id, type, op, payload, channel_ids, user_ids, except_user_ids)
    SELECT ${organizationId}, 1000000 + i, 'drafts', 'add', '{"drafts": []}', '{}', ARRAY[i], '{}' FROM generate_series(1, 3000) i`;
  await db.$executeRaw`ANALYZE event`;
  for (const which of [onlyFor(ann.id), ofReminders([{ id: 1, ownerId: ann.id }])]) {
    const plan = await db.$queryRaw<Json[]>`
      EXPLAIN UPDATE event SET payload = '{}' WHERE realm_id = ${organizationId} AND (${which}) AND payload <> '{}'`;
    expect(plan.map((line) => line['QUERY PLAN']).join('\n')).toContain('event_by_user_1');
  }
  await db.$executeRaw`DELETE FROM event WHERE realm_id = ${organizationId} AND id > 1000000`;
});

describe('after an erasure', () => {
  /** Polls a queue from its start until an event for which `isLast` returns true. @returns All events read. */
  async function until(reader: Person, queue: Json, isLast: (event: Json) => boolean): Promise<Json[]> {
    for (let tries = 0; tries < 100; tries++) {
      const events = await reader.poll(queue.queue_id, queue.last_event_id, { dontBlock: true });
      if (events.some(isLast)) return events;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error('The event did not pass');
  }

  /**
   * Erases a user and expires an old message at one node. Before that, `reader` reads the events about them at the node
   * `reading`, which may be another node. So that node has these events in memory.
   */
  async function eraseWhileRead(reading: InProcess): Promise<void> {
    const { owner, member, guest } = org;
    const at = { url: reading.url, host: guest.host };
    const reader = new Person(at, member);
    const queue = await reader.register({ fetch_event_types: [] });
    // Loads the log tail of the organization into memory before the events are logged.
    await reader.poll(queue.queue_id, queue.last_event_id, { dontBlock: true });
    const aged = await channelOf(owner, `aged ${queue.queue_id}`, [owner, member], { message_retention_days: 1 });
    const old = await say(owner, aged, 'a', 'pangolin of old');
    const hal = await org.signUp('Pangolin Hal');
    await owner.ok('POST', '/users/me/subscriptions', {
      subscriptions: [{ name: 'open' }],
      principals: [hal.id, member.id],
    });
    await hal.ok('POST', '/users/me/status', { status_text: 'pangolin away' });
    const sent = await say(hal, open, 'a', 'pangolin sent');
    await hal.ok('PATCH', `/messages/${sent}`, { content: 'pangolin edited' });
    const last = await say(owner, open, 'a', 'the last');
    const before = await until(reader, queue, ({ message }) => message?.id === last);
    expect(JSON.stringify(before)).toMatch(/pangolin.*Pangolin|Pangolin.*pangolin/);
    expect(JSON.stringify(before)).toContain(hal.email);

    await owner.ok('DELETE', `/users/${hal.id}`, { actions: ALL });
    const sentAt = new Date(Date.now() - 2 * 86_400_000);
    await service.app.db.message.updateMany({ where: { id: old }, data: { sentAt } });
    await deleteExpired(service.app);
    const deletesOld = (event: Json) => event.type === 'delete_message' && event.message_id === old;
    const after = await until(reader, queue, deletesOld);
    expect(JSON.stringify(after).toLowerCase()).not.toContain('pangolin');
    expect(JSON.stringify(after)).not.toContain(hal.email);
    const ids = after.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    // All events that are not erased keep their ids.
    const isErased = ({ type, message }: Json) =>
      type === 'update_message' || (type === 'message' && message.id !== last);
    const kept = before.filter((event) => !isErased(event)).map(({ id }) => id);
    expect(kept.filter((id) => !ids.includes(id))).toEqual([]);
  }

  test('the node does not serve erased events from its memory', () => eraseWhileRead(service));

  test.skipIf((process.env['DATABASE_URL'] ?? '') === '')(
    'another node does not serve erased events from its memory',
    async () => {
      await using another = await startInProcess({
        env: { DATABASE_URL: database?.url ?? '', SECRET_KEY: 'x'.repeat(32) },
      });
      await eraseWhileRead(another);
    },
  );
});
