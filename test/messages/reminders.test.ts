import { afterAll, beforeAll, expect, test } from 'vitest';
import { withGlobalIds } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { expectIgnoredParameters } from '../helpers/ignored.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import type { Parameters as Fields, Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';

const MINUTE = 60_000;
const NOBODY = 2_000_000_000;
/** UNIX time in seconds, in the year 2100. */
const LATER = 4_102_444_800;

let clock = Date.parse('2026-11-20T10:00:00Z');
let service: InProcess;

// The tests change a shared clock, so they run one after another.
beforeAll(async () => {
  service = await startInProcess({ now: () => new Date(clock) });
});
afterAll(() => service[Symbol.asyncDispose]());

async function pass(ms: number): Promise<void> {
  clock += ms;
  await service.deliveries.deliverDue();
}

const inSeconds = (seconds: number) => ({ scheduled_delivery_timestamp: Math.floor(clock / 1000) + seconds });

/**
 * Creates an organization with a channel to which the owner and the member are subscribed, and a message of the owner in it.
 */
async function house(channel: Fields = {}) {
  const made = await createOrganization({}, { on: service });
  const { owner, member } = made;
  const subscribers = [owner.id, member.id];
  const { id: general } = await owner.ok('POST', '/channels/create', { name: 'general', subscribers, ...channel });
  const message = await say(owner, general);
  return { ...made, general, message };
}

async function say(person: Person, to: number, content = 'Bring *cake*'): Promise<number> {
  return (await person.ok('POST', '/messages', { type: 'channel', to, topic: 'plans', content })).id;
}

const list = async (person: Person): Promise<Json[]> => (await person.ok('GET', '/reminders')).reminders;
const messagesIn = (events: readonly Json[]) =>
  events.filter(({ type }) => type === 'message').map(({ message }) => message);

test('reminds of a message with a link, the note, and the current text of the message', async () => {
  const { owner, member, message } = await house();
  const heard = await member.receiving();
  const first = { message_id: message, ...inSeconds(60), note: '  for *Bob*\nand Ann ' };
  const { reminder_id: id } = await member.ok('POST', '/reminders', first);
  const second = await member.mutate(
    'createReminder',
    { messageId: message, scheduledAt: new Date(clock + 30_000).toISOString() },
    'reminder { databaseId message { databaseId } content scheduledAt state failureReason }',
  );
  expect(second.reminder).toMatchObject({ message: { databaseId: message }, state: 'SCHEDULED', failureReason: null });
  const [other, reminder] = await list(member);
  expect(other.reminder_id).toBe(second.reminder.databaseId);
  expect(reminder).toEqual({
    ...{ reminder_id: id, type: 'private', to: [member.id], failed: false, reminder_target_message_id: message },
    ...{ content: expect.stringContaining('for *Bob*\nand Ann\n'), rendered_content: expect.stringContaining('cake') },
    scheduled_delivery_timestamp: first.scheduled_delivery_timestamp,
  });
  expect((await heard()).map(({ op, reminders }) => [op, reminders])).toEqual([
    ['add', [reminder]],
    ['add', [other]],
  ]);
  // The list of scheduled messages does not contain reminders.
  expect((await member.ok('GET', '/scheduled_messages')).scheduled_messages).toEqual([]);
  expect(await list(owner)).toEqual([]);
  await service.app.db.message.updateMany({ where: { id: message }, data: { content: 'Bring ```pie```' } });
  await pass(MINUTE);
  const events = (await heard()).slice(2);
  expect(events.map(({ type, op, reminder_id }) => [type, op, reminder_id])).toEqual([
    ['message', undefined, undefined],
    ['reminders', 'remove', other.reminder_id],
    ['message', undefined, undefined],
    ['reminders', 'remove', id],
  ]);
  const [plain, noted] = messagesIn(events);
  expect(plain).toMatchObject({ sender_full_name: 'Notification Bot', type: 'private' });
  expect(plain.content).toContain(`#**general>plans@${message}**`);
  expect(plain.content).toContain('quote\nBring ```pie```\n');
  expect(plain.content).not.toContain('note');
  expect(noted.content).toContain('for *Bob*\nand Ann\n');
  expect(noted.content).toContain('quote\nBring ```pie```\n');
  expect(await list(member)).toEqual([]);
  expect((await member.rest('DELETE', `/reminders/${id}`)).body.msg).toBe('Reminder does not exist');
});

test('uses the last known text if the owner can no longer read the message, however late it is', async () => {
  const { owner, member, message } = await house({ invite_only: true });
  await member.ok('POST', '/reminders', { message_id: message, ...inSeconds(60) });
  const [reminder] = await list(member);
  await owner.ok('DELETE', '/users/me/subscriptions', { subscriptions: ['general'], principals: [member.id] });
  await service.app.db.message.updateMany({ where: { id: message }, data: { content: 'A secret' } });
  const heard = await member.receiving({ idle_queue_timeout: 86_400 });
  await pass(60 * MINUTE);
  expect(messagesIn(await heard()).map(({ content }) => content)).toEqual([reminder.content]);
});

test('reminds of a direct message, with a long text truncated', async () => {
  const { owner, member } = await house();
  const content = 'x'.repeat(10_000);
  const direct = { type: 'direct', to: [member.id], content };
  const { id } = await owner.ok('POST', '/messages', direct);
  await member.ok('POST', '/reminders', { message_id: id, ...inSeconds(60), note: 'n'.repeat(500) });
  const [{ content: reminder }] = await list(member);
  expect([...reminder].length).toBe(10_000);
  expect(reminder).toContain('\n[message truncated]\n');
  expect(reminder).toContain(`/near/${id})`);
  const heard = await member.receiving();
  await pass(MINUTE);
  expect(messagesIn(await heard()).map((message) => message.content)).toEqual([reminder]);
});

test('refuses invalid reminders, in both APIs', async () => {
  const { owner, member, guest, message } = await house();
  const past = 'Scheduled delivery time must be in the future.';
  const refused: readonly (readonly [Fields, string, Person?])[] = [
    [{ message_id: NOBODY, scheduled_delivery_timestamp: 1 }, past],
    [{ message_id: NOBODY, scheduled_delivery_timestamp: LATER }, 'Invalid message(s)'],
    [{ message_id: message, scheduled_delivery_timestamp: LATER }, 'Invalid message(s)', guest],
    [
      { message_id: message, scheduled_delivery_timestamp: LATER, note: 'n'.repeat(501) },
      'note is too long (limit: 500 characters)',
    ],
    [{ message_id: message, scheduled_delivery_timestamp: LATER, note: 'a\0b' }, 'note must not contain null bytes'],
  ];
  for (const [fields, message, person = member] of refused) {
    const { status, body } = await person.rest('POST', '/reminders', fields);
    expect([status, body]).toEqual([400, { result: 'error', code: 'BAD_REQUEST', msg: message }]);
    const { message_id: messageId, scheduled_delivery_timestamp: seconds, ...note } = fields;
    const scheduledAt = new Date(Number(seconds) * 1000).toISOString();
    expect(await person.tryMutation('createReminder', { messageId, scheduledAt, ...note })).toMatchObject({
      code: 'BAD_REQUEST',
    });
  }
  const { body } = await member.rest('POST', '/reminders', { message_id: message });
  expect(body).toMatchObject({ code: 'REQUEST_VARIABLE_MISSING', var_name: 'scheduled_delivery_timestamp' });
  expect(await list(member)).toEqual([]);

  const create = async () => {
    const parameters = { message_id: message, scheduled_delivery_timestamp: LATER };
    return (await member.ok('POST', '/reminders', parameters)).reminder_id;
  };
  const [one, two] = [await create(), await create()];
  const absent = await owner.rest('DELETE', `/reminders/${one}`);
  expect([absent.status, absent.body.msg]).toEqual([404, 'Reminder does not exist']);
  expect(await owner.tryMutation('deleteReminder', { reminderId: one })).toMatchObject({ __typename: 'NotFoundError' });
  const heard = await member.receiving();
  await member.ok('DELETE', `/reminders/${one}`);
  expect(await member.mutate('deleteReminder', { reminderId: two }, 'reminderId')).toEqual(
    withGlobalIds({ reminderId: two }),
  );
  expect((await heard()).map(({ op, reminder_id }) => [op, reminder_id])).toEqual([
    ['remove', one],
    ['remove', two],
  ]);
  const kept = await create();
  const edges = async (person: Person) =>
    (await person.query('{ reminders { edges { node { databaseId } } } }')).reminders.edges;
  expect([await edges(member), await edges(owner)]).toEqual([[{ node: { databaseId: kept } }], []]);
  // The endpoints of scheduled messages do not find reminders, and vice versa.
  expect((await member.rest('DELETE', `/scheduled_messages/${kept}`)).status).toBe(404);
  await expectIgnoredParameters(member, 'GET', async () => ({ path: '/reminders' }));
  await expectIgnoredParameters(member, 'DELETE', async () => ({ path: `/reminders/${await create()}` }));
  await expectIgnoredParameters(member, 'POST', async () => ({
    path: '/reminders',
    parameters: { message_id: message, scheduled_delivery_timestamp: LATER },
  }));
});

test('a failed reminder sends an event, and stays until it is deleted', async () => {
  const { member, message } = await house();
  const { reminder_id: id } = await member.ok('POST', '/reminders', { message_id: message, ...inSeconds(60) });
  const heard = await member.receiving();
  await service.app.database.runScript(`
    CREATE FUNCTION trip() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'tripped'; END $$;
    CREATE TRIGGER trip BEFORE INSERT ON message FOR EACH ROW WHEN (NEW.content LIKE '%cake%') EXECUTE FUNCTION trip();`);
  await pass(MINUTE);
  await pass(MINUTE);
  await service.app.database.runScript('DROP TRIGGER trip ON message');
  const events = await heard();
  expect(events.map(({ type, op }) => [type, op])).toEqual([
    ['reminders', 'remove'],
    ['reminders', 'add'],
    ['message', undefined],
  ]);
  expect(messagesIn(events)[0].content).toContain('\nInternal server error\n');
  expect(await list(member)).toMatchObject([{ reminder_id: id, failed: true }]);
  await member.ok('DELETE', `/reminders/${id}`);
});
