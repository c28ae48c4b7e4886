import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../helpers/control.ts';
import type { Json } from '../helpers/http.ts';
import type { InProcess } from '../helpers/in-process.ts';
import { createOrganization, OWNER_PASSWORD } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';

let service: InProcess;
beforeAll(async () => {
  service = await startOnDatabaseOfRun();
});
afterAll(() => service[Symbol.asyncDispose]());

const newOrganization = () => createOrganization({}, { on: service, password: OWNER_PASSWORD });
type NewOrganization = Awaited<ReturnType<typeof newOrganization>>;

/** Types of the events that a test compares, over REST. */
const TYPES = ['realm', 'realm_user', 'stream', 'user_group', 'realm_emoji', 'realm_domains', 'channel_folder'];
const SELECTION = '__typename position actor { databaseId }';

/** An event type over GraphQL, and the id of its actor. Null: none is named. */
type Named = readonly [type: string, actorId: number | null];
const named = ({ __typename, actor }: Json): Named => [__typename, actor?.databaseId ?? null];

/** Makes one change of each kind, each by another user. @returns The expected events. */
async function change({ owner, administrator, moderator, member, organization }: NewOrganization): Promise<Named[]> {
  const { id } = await administrator.ok('POST', '/channels/create', { name: 'ships', subscribers: [] });
  await administrator.ok('PATCH', `/streams/${id}`, { new_name: 'vessels' });
  await owner.ok('PATCH', `/users/${member.id}`, { full_name: 'Mary Ann' });
  await administrator.ok('PATCH', `/users/${member.id}`, { role: 300 });
  await owner.ok('PATCH', '/realm', { description: 'new' });
  await moderator.ok('PATCH', '/settings', { full_name: 'Moe Lee' });
  await runCommand(service.dataDir, 'org rename', { org: organization.subdomain, name: 'Renamed' });
  return [
    ['ChannelsCreatedEvent', administrator.id],
    ['ChannelUpdatedEvent', administrator.id],
    ['UserUpdatedEvent', owner.id],
    ['UserUpdatedEvent', administrator.id],
    ['OrganizationUpdatedEvent', owner.id],
    ['UserUpdatedEvent', moderator.id],
    ['OrganizationUpdatedEvent', null],
  ];
}

test('events name the user who made the change, live, on replay and in pages, in each organization', async () => {
  for (const at of [await newOrganization(), await newOrganization()]) {
    const { guest, owner } = at;
    const { queue_id: queueId, last_event_id: after } = await owner.register({ event_types: TYPES });
    // A poll of the first queue would end the subscription to it, and the client acknowledges the events that it receives.
    const received = await owner.receiving({ event_types: TYPES });
    const { queue_id: later } = await owner.register({ event_types: TYPES });
    const live = await owner.events(SELECTION, { queueId, after });
    const expected = await change(at);
    const count = (await received()).length;
    const shown = (await live.take(count)).map(named);
    await live[Symbol.asyncDispose]();
    const ofChanges = shown.filter(([type]) => expected.some(([expectedType]) => expectedType === type));
    expect(ofChanges).toEqual(expected);
    await using replay = await owner.events(SELECTION, { queueId: later });
    expect((await replay.take(count)).map(named)).toEqual(shown);
    const page = `{ events(queueId: "${queueId}", after: ${after}) { events { ${SELECTION} } } }`;
    expect((await owner.query(page)).events.events.map(named)).toEqual(shown);
    // Another field of the user than the event contains is read with the rights of the recipient.
    const { queue_id } = await guest.register({ event_types: ['realm'] });
    await using stream = await guest.events('actor { databaseId fullName }', { queueId: queue_id });
    await owner.ok('PATCH', '/realm', { description: 'newer' });
    const { fullName } = (await owner.query('{ viewer { fullName } }')).viewer;
    expect(await stream.next()).toEqual({ actor: { databaseId: owner.id, fullName } });
  }
});

test('moves of messages name their user, also under an idempotency key, and new messages name none', async () => {
  const { owner, administrator, organization } = await newOrganization();
  const { id: to } = await owner.ok('POST', '/channels/create', { name: 'ships', subscribers: [owner.id] });
  const types = { event_types: ['message', 'update_message'] };
  const { queue_id: queueId, last_event_id: after } = await owner.register(types);
  await using stream = await owner.events(SELECTION, { queueId, after });
  const { id } = await owner.ok('POST', '/messages', { type: 'channel', to, topic: 'a', content: 'hello' });
  const silent = { send_notification_to_old_thread: false, send_notification_to_new_thread: false };
  const reply = await administrator.rest(
    'PATCH',
    `/messages/${id}`,
    { topic: 'b', ...silent },
    { headers: { 'idempotency-key': 'move-1' } },
  );
  expect(reply.status).toBe(200);
  await owner.ok('PATCH', `/messages/${id}`, { content: 'hi' });
  expect((await stream.take(3)).map(named)).toEqual([
    ['MessageSentEvent', null],
    ['MessageUpdatedEvent', administrator.id],
    ['MessageUpdatedEvent', owner.id],
  ]);
  const rows = await service.app.db.event.findMany({
    where: { organizationId: organization.id, type: { in: types.event_types } },
    orderBy: { id: 'asc' },
  });
  expect(rows.map(({ actorId }) => actorId)).toEqual([null, administrator.id, owner.id]);
});

test('deletions of topics, and of the messages of a deactivated user, name their user', async () => {
  const { owner, administrator, member } = await newOrganization();
  const { id: to } = await owner.ok('POST', '/channels/create', { name: 'ships', subscribers: [owner.id, member.id] });
  const say = (topic: string) => member.ok('POST', '/messages', { type: 'channel', to, topic, content: 'hello' });
  const { queue_id: queueId, last_event_id: after } = await owner.register({ event_types: ['delete_message'] });
  await using stream = await owner.events(SELECTION, { queueId, after });
  await say('a');
  await administrator.ok('POST', `/streams/${to}/delete_topic`, { topic_name: 'a' });
  // More messages than are deleted with the user in one transaction.
  for (let i = 0; i <= 200; i++) await say('b');
  await owner.ok('DELETE', `/users/${member.id}`, { actions: { delete_public_channel_messages: true } });
  expect((await stream.take(3)).map(named)).toEqual([
    ['MessagesDeletedEvent', administrator.id],
    ['MessagesDeletedEvent', owner.id],
    ['MessagesDeletedEvent', owner.id],
  ]);
});
