import { expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import { shareInProcess } from '../helpers/in-process.ts';
import type { Parameters as Fields, Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { channelOf, toTopic } from '../helpers/talk.ts';

async function send(person: Person, to: Fields): Promise<number> {
  return (await person.ok('POST', '/messages', { content: 'hello', ...to })).id;
}

const type = (person: Person, parameters: Fields) => person.rest('POST', '/typing', { op: 'start', ...parameters });
const edit = (person: Person, id: number, op = 'start') => person.rest('POST', `/messages/${id}/typing`, { op });

/**
 * Registers a queue for each person.
 *
 * @param capable Whether the clients have the capability for typing notifications in channels.
 * @returns For each person, a function that reads the person's typing events.
 */
const hearing = (people: readonly Person[], capable = true) =>
  Promise.all(
    people.map(async (person) => {
      const capabilities = { notification_settings_null: true, stream_typing_notifications: capable };
      const heard = await person.receiving({ client_capabilities: capabilities });
      return async () => (await heard()).filter(({ type }) => String(type).startsWith('typing'));
    }),
  );

const counts = (hearings: readonly (() => Promise<Json[]>)[]) =>
  Promise.all(hearings.map(async (heard) => (await heard()).length));

test.concurrent('notifies the participants of a conversation who enabled it, and the typing user, in both APIs', async () => {
  const { owner, member, guest, moderator } = await createOrganization();
  await guest.ok('PATCH', '/settings', { receives_typing_notifications: false });
  const hearings = await hearing([member, owner, guest, moderator]);
  const to = [member.id, guest.id];
  await owner.ok('POST', '/typing', { op: 'start', to });
  await owner.mutate('setTyping', { operation: 'STOP', to: { direct: to } }, 'operation');
  const events = (await hearings[0]?.()) ?? [];
  expect(events).toEqual(
    ['start', 'stop'].map((op) => ({
      ...{ type: 'typing', op, message_type: 'direct', sender: { user_id: owner.id, email: owner.email } },
      recipients: [owner, member, guest].map(({ id, email }) => ({ user_id: id, email })),
    })),
  );
  expect(await counts(hearings.slice(1))).toEqual([2, 0, 0]);
});

test.concurrent('notifies the subscribers of a channel whose clients support it', async () => {
  const { owner, member, guest, moderator } = await createOrganization();
  const channel = await channelOf(owner, 'general', [owner, member, guest]);
  await guest.ok('PATCH', '/settings', { receives_typing_notifications: false });
  const hearings = await hearing([member, owner, guest, moderator]);
  const [old] = await hearing([member], false);
  await moderator.ok('POST', '/typing', { op: 'start', type: 'stream', stream_id: channel, topic: '(no topic)' });
  await moderator.mutate('setTyping', { operation: 'STOP', to: toTopic(channel, ' lunch ') }, 'operation');
  const sender = { user_id: moderator.id, email: moderator.email };
  const about = { type: 'typing', message_type: 'stream', sender, stream_id: channel };
  expect(await hearings[0]?.()).toEqual([
    { ...about, op: 'start', topic: 'general chat' },
    { ...about, op: 'stop', topic: 'lunch' },
  ]);
  expect(await counts(hearings.slice(1))).toEqual([2, 0, 0]);
  expect(await old?.()).toEqual([]);
});

test.concurrent('refuses with the same codes in both APIs', async () => {
  const { owner, member, guest } = await createOrganization();
  const channel = await channelOf(owner, 'general', [owner]);
  const hidden = await channelOf(owner, 'hidden', [owner], { invite_only: true });
  const nobody = 2_000_000_000;
  for (const [rest, to, expected] of [
    // Null: GraphQL cannot express the call, because its schema requires the missing parameters.
    [{}, null, { code: 'REQUEST_VARIABLE_MISSING', msg: "Missing 'to' argument" }],
    [{ to: [] }, { direct: [] }, { code: 'BAD_REQUEST', msg: "Empty 'to' list" }],
    [{ to: [nobody] }, { direct: [nobody] }, { code: 'BAD_REQUEST', msg: `Invalid user ID ${nobody}` }],
    [{ type: 'stream', topic: 't' }, null, { code: 'REQUEST_VARIABLE_MISSING', msg: "Missing 'stream_id' argument" }],
    [{ type: 'channel', stream_id: channel }, null, { code: 'BAD_REQUEST', msg: 'Missing topic' }],
    [
      { type: 'channel', stream_id: channel, topic: 'a\u0007' },
      toTopic(channel, 'a\u0007'),
      { code: 'BAD_REQUEST', msg: 'Invalid character in topic, at position 2!' },
    ],
    [
      { type: 'channel', stream_id: nobody, topic: 't' },
      toTopic(nobody, 't'),
      { code: 'STREAM_DOES_NOT_EXIST', msg: `Channel with ID '${nobody}' does not exist` },
    ],
    [
      { type: 'channel', stream_id: hidden, topic: 't' },
      toTopic(hidden, 't'),
      { code: 'STREAM_DOES_NOT_EXIST', msg: `Channel with ID '${hidden}' does not exist` },
    ],
  ] as const) {
    const { code, msg } = expected;
    expect(await type(member, rest), msg).toMatchObject({ status: 400, body: { code, msg } });
    if (to === null) continue;
    const refused = await member.tryMutation('setTyping', { operation: 'START', to });
    expect(refused).toMatchObject({ code });
  }
  expect((await type(guest, { type: 'channel', stream_id: channel, topic: 't' })).status).toBe(400);
  expect((await type(member, { op: 'pause', to: [owner.id] })).body).toMatchObject({ msg: 'Invalid op' });
  await member.ok('PATCH', '/settings', {
    send_private_typing_notifications: false,
    send_stream_typing_notifications: false,
  });
  for (const [kind, to] of [
    ['direct', { to: [owner.id] }],
    ['channel', { type: 'channel', stream_id: channel, topic: 't' }],
  ] as const) {
    const msg = `User has disabled typing notifications for ${kind} messages`;
    expect((await type(member, to)).body).toMatchObject({ code: 'BAD_REQUEST', msg });
  }
});

test.concurrent('notifies users who can read a message while its sender edits it', async () => {
  const { owner, member, moderator, guest } = await createOrganization();
  const guarded = await channelOf(owner, 'guarded', [owner, member], {
    ...{ invite_only: true, history_public_to_subscribers: false },
  });
  const id = await send(owner, { type: 'channel', to: guarded, topic: '' });
  await owner.ok('POST', '/users/me/subscriptions', {
    subscriptions: [{ name: 'guarded' }],
    principals: [moderator.id],
  });
  const direct = await send(owner, { type: 'direct', to: [member.id, guest.id] });
  await guest.ok('PATCH', '/settings', { receives_typing_notifications: false });
  const hearings = await hearing([member, owner, moderator, guest]);
  expect(await edit(owner, id)).toMatchObject({ status: 200 });
  await owner.mutate('setEditTyping', { messageId: direct, operation: 'STOP' }, 'operation');
  const about = { type: 'typing_edit_message', sender_id: owner.id };
  expect(await hearings[0]?.()).toEqual([
    {
      ...about,
      op: 'start',
      message_id: id,
      recipient: { type: 'channel', channel_id: guarded, topic: 'general chat' },
    },
    // The event lists only the users who are notified.
    { ...about, op: 'stop', message_id: direct, recipient: { type: 'direct', user_ids: [owner.id, member.id] } },
  ]);
  expect(await counts(hearings.slice(1))).toEqual([2, 0, 0]);
});

test('refuses edits in the documented order, and sends no events in channels with more than 100 users', async () => {
  let now = Date.now();
  await using server = await shareInProcess({ now: () => new Date(now) });
  const { owner, member, organization } = await createOrganization({}, { on: server });
  const channel = await channelOf(owner, 'general', [owner, member]);
  const id = await send(owner, { type: 'channel', to: channel, topic: 't' });
  const refusal = async (person: Person, messageId = id) => {
    const { status, body } = await edit(person, messageId);
    const { data } = await person.graphql(
      'mutation ($input: SetEditTypingInput!) { setEditTyping(input: $input) { ... on ServiceError { code } } }',
      { input: { messageId, operation: 'START' } },
    );
    expect(data.setEditTyping.code).toBe(status === 200 ? undefined : body.code);
    return body.msg;
  };
  expect(await refusal(owner)).toBe('');
  await owner.ok('PATCH', '/settings', { send_stream_typing_notifications: false });
  expect(await refusal(owner)).toBe('User has disabled typing notifications for channel messages');
  await owner.ok('PATCH', '/realm', { message_content_edit_limit_seconds: 600 });
  now += 601_000;
  expect(await refusal(owner)).toBe('The time limit for editing this message has passed');
  expect(await refusal(member)).toBe("You don't have permission to edit this message");
  await owner.ok('PATCH', '/realm', { allow_message_editing: false });
  expect(await refusal(member)).toBe('Your organization has turned off message editing');
  expect(await refusal(member, 2 ** 40)).toBe('Invalid message(s)');

  const heard = await hearing([member]);
  const start = { op: 'start', type: 'channel', stream_id: channel, topic: 't' };
  const crowd = async (count: number) => {
    await server.app.db.$executeRaw`
      WITH made AS (
        INSERT INTO user_account (realm_id, email, full_name)
        SELECT ${organization.id}, gen_random_uuid() || '@crowd.example', 'One of many' FROM generate_series(1, ${count}::int) RETURNING id)
      INSERT INTO subscription (realm_id, user_id, channel_id, color) SELECT ${organization.id}, id, ${channel}, '#aabbcc' FROM made`;
  };
  await crowd(98);
  await member.ok('POST', '/typing', start);
  expect(await counts(heard)).toEqual([1]);
  await crowd(1);
  await member.ok('POST', '/typing', start);
  expect(await counts(heard)).toEqual([1]);
  await owner.ok('DELETE', `/streams/${channel}`);
  expect(await refusal(owner)).toBe('Invalid message(s)');
});
