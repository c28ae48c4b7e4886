import { beforeAll, describe, expect, test } from 'vitest';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

// Tests that in a channel with protected history, users cannot read messages that they did not receive, by any path.

let place: Organization;
/** A user who subscribed to the channel after the secret message was sent. */
let late: Person;
let guarded: number;
let open: number;
let secret: number;
const WORD = 'unmistakable';

const post = async (who: Person, to: number, topic: string, content: string): Promise<number> =>
  (await who.ok('POST', '/messages', { type: 'channel', to, topic, content })).id;

beforeAll(async () => {
  place = await createOrganization();
  const { owner, member } = place;
  late = await place.signUp('Latecomer');
  const create = (name: string, more: object = {}) =>
    owner.ok('POST', '/channels/create', { name, subscribers: [owner.id, member.id], ...more });
  guarded = (await create('guarded', { invite_only: true, history_public_to_subscribers: false })).id;
  open = (await create('open')).id;
  await owner.ok('PATCH', '/realm', { enable_read_receipts: true });
  const moderation = { name: 'moderation', subscribers: [owner.id], invite_only: true };
  const { id } = await owner.ok('POST', '/channels/create', moderation);
  await owner.ok('PATCH', '/realm', { moderation_request_channel_id: id });
  secret = await post(owner, guarded, 'old topic', `the ${WORD} secret`);
  await owner.ok('PATCH', `/messages/${secret}`, { content: `the ${WORD} secret, edited` });
  await member.ok('POST', `/messages/${secret}/reactions`, { emoji_name: 'octopus' });
  await owner.ok('POST', '/users/me/subscriptions', {
    ...{ subscriptions: [{ name: 'guarded' }], principals: [late.id], send_new_subscription_messages: false },
  });
});

/** Functions with which a user acts on the message with the given id, by description. */
const ACTS: Readonly<Record<string, (who: Person, id: number) => Promise<{ status: number; body: Json }>>> = {
  reading: (who, id) => who.rest('GET', `/messages/${id}`),
  'the history': (who, id) => who.rest('GET', `/messages/${id}/history`),
  'read receipts': (who, id) => who.rest('GET', `/messages/${id}/read_receipts`),
  reacting: (who, id) => who.rest('POST', `/messages/${id}/reactions`, { emoji_name: 'tada' }),
  'reacting as another did': (who, id) => who.rest('POST', `/messages/${id}/reactions`, { emoji_name: 'octopus' }),
  'taking back a reaction': (who, id) => who.rest('DELETE', `/messages/${id}/reactions`, { emoji_name: 'octopus' }),
  reporting: (who, id) => who.rest('POST', `/messages/${id}/report`, { report_type: 'spam', description: '' }),
  reminding: (who, id) =>
    who.rest('POST', '/reminders', { message_id: id, scheduled_delivery_timestamp: 4_102_444_800 }),
  editing: (who, id) => who.rest('PATCH', `/messages/${id}`, { content: 'mine' }),
  'moving it': (who, id) => who.rest('PATCH', `/messages/${id}`, { topic: 'another', propagate_mode: 'change_one' }),
  'moving all': (who, id) => who.rest('PATCH', `/messages/${id}`, { stream_id: open, propagate_mode: 'change_all' }),
  deleting: (who, id) => who.rest('DELETE', `/messages/${id}`),
  'telling of editing': (who, id) => who.rest('POST', `/messages/${id}/typing`, { op: 'start' }),
  starring: (who, id) => who.rest('POST', '/messages/flags', { messages: [id], op: 'add', flag: 'starred' }),
  'fetching by id': (who, id) => who.rest('GET', '/messages', { message_ids: [id] }),
  matching: (who, id) => who.rest('GET', '/messages/matches_narrow', { msg_ids: [id], narrow: [['search', WORD]] }),
  'narrowing by id': (who, id) =>
    who.rest('GET', '/messages', { anchor: id, narrow: [{ operator: 'id', operand: id }] }),
  'narrowing with it': (who, id) => {
    const narrow = [
      { operator: 'channel', operand: guarded },
      { operator: 'with', operand: id },
    ];
    return who.rest('GET', '/messages', { anchor: 'newest', num_before: 9, narrow });
  },
  linking: (who, id) =>
    who.rest('POST', '/messages/render', { content: `#**guarded>old topic@${id}** #**guarded>old topic**` }),
};

const NOTHING = 2_000_000_000;
const without = ({ status, body }: { status: number; body: Json }, id: number) =>
  `${status} ${JSON.stringify(body).replaceAll(String(id), '<id>')}`;

describe('a message sent before a user joined', () => {
  test.for(Object.entries(ACTS))('does not exist for %s', async ([name, act]) => {
    if (name === 'linking') {
      // The request itself contains the id, so its presence reveals nothing. A text that the service adds, such as "/with/",
      // would reveal that the message exists.
      expect(JSON.stringify((await act(late, secret)).body)).not.toContain('/with/');
      return;
    }
    expect(without(await act(late, secret), secret)).toBe(without(await act(late, NOTHING), NOTHING));
  });

  test('exists for its recipients', async () => {
    for (const name of ['reading', 'the history', 'read receipts', 'fetching by id', 'matching', 'narrowing by id']) {
      const act = ACTS[name] as (typeof ACTS)[string];
      expect(without(await act(place.member, secret), secret), name).not.toBe(
        without(await act(place.member, NOTHING), NOTHING),
      );
    }
  });

  test('is not in the searches, lists, topics and counts of the user', async () => {
    const found = async (narrow: Json) =>
      (await late.ok('GET', '/messages', { anchor: 'oldest', num_after: 100, narrow })).messages;
    const channel = ['channel', 'guarded'];
    for (const narrow of [
      [channel],
      [channel, ['topic', 'old topic']],
      [['search', WORD]],
      [channel, ['search', WORD]],
      [['sender', place.owner.email], channel],
      [channel, { operator: 'has', operand: 'reaction' }],
      [channel, { operator: 'is', operand: 'unread' }],
      [channel, { operator: 'search', operand: 'no such word', negated: true }],
    ]) {
      expect(JSON.stringify(await found(narrow)), JSON.stringify(narrow)).not.toContain(WORD);
    }
    expect((await late.ok('GET', `/users/me/${guarded}/topics`)).topics).toEqual([]);
    const state = await late.register();
    expect(JSON.stringify([state.unread_msgs, state.recent_private_conversations])).not.toContain(String(secret));
    const query = `{ channel(by: { id: "${globalId('Channel', guarded)}" }) { topics { edges { node { name } } } } }`;
    const { data } = await late.graphql(query);
    expect(JSON.stringify(data ?? null)).not.toContain('old topic');
  });

  test('is not revealed by sending, scheduling, drafting or muting in its topic', async () => {
    const said = async (topic: string) => {
      const to = { type: 'channel', to: guarded, topic };
      const replies = [
        await late.rest('POST', '/scheduled_messages', {
          ...to,
          content: 'x',
          scheduled_delivery_timestamp: 4_102_444_800,
        }),
        await late.rest('POST', '/drafts', { drafts: [{ type: 'stream', to: [guarded], topic, content: 'x' }] }),
        await late.rest('POST', '/user_topics', { stream_id: guarded, topic, visibility_policy: 1 }),
        await late.rest('POST', '/mark_topic_as_read', { stream_id: guarded, topic_name: topic }),
        await late.rest('POST', '/typing', { op: 'start', type: 'channel', stream_id: guarded, topic }),
        await late.rest('POST', `/streams/${guarded}/delete_topic`, { topic_name: topic }),
      ];
      return replies.map(({ status, body }) =>
        `${status} ${JSON.stringify(body)}`.replaceAll(topic, '_').replaceAll(/\d+/g, '0'),
      );
    };
    expect(await said('old topic')).toEqual(await said('new topic'));
  });

  test('is not moved or quoted out of the channel by a user who did not receive it', async () => {
    const own = await post(late, guarded, 'old topic', 'I am new here');
    const heard = await late.receiving();
    const { status } = await late.rest('PATCH', `/messages/${own}`, { stream_id: open, propagate_mode: 'change_all' });
    const stays = await place.owner.ok('GET', `/messages/${secret}`);
    // The status depends on the user's permission to move messages. A message that the user cannot read is not moved in either
    // case.
    expect([status === 200 || status === 400, stays.message.stream_id]).toEqual([true, guarded]);
    const { status: renamed } = await late.rest('PATCH', `/messages/${own}`, {
      topic: 'new',
      propagate_mode: 'change_all',
    });
    expect([200, 400]).toContain(renamed);
    const { body } = await late.rest('GET', `/messages/${secret}`);
    expect(body.msg).toBe('Invalid message(s)');
    for (const { message_ids = [] } of await heard()) expect(message_ids).not.toContain(secret);
  });

  test('is not revealed by a move into the channel, and exists again when it is moved back', async () => {
    const { owner } = place;
    const moved = await post(owner, open, 'moving', `another ${WORD}`);
    const heard = await late.receiving();
    await owner.ok('PATCH', `/messages/${moved}`, { stream_id: guarded, propagate_mode: 'change_all' });
    // The message was sent in another channel. Moving it into this one does not reveal it to users who were not subscribed to
    // this channel when it was sent.
    expect((await late.rest('GET', `/messages/${moved}`)).body.msg).toBe('Invalid message(s)');
    expect(JSON.stringify((await heard()).filter(({ type }) => type === 'update_message'))).not.toContain(WORD);
    await owner.ok('PATCH', `/messages/${moved}`, { stream_id: open, propagate_mode: 'change_all' });
    expect((await late.rest('GET', `/messages/${moved}`)).status).toBe(200);
  });
});

test('messages of several channels in one query equal those of each channel, page by page', async () => {
  const { owner, member } = place;
  const third = await owner.ok('POST', '/channels/create', {
    name: 'third',
    subscribers: [owner.id, member.id, late.id],
  });
  for (const to of [guarded, open, third.id]) {
    for (const n of [1, 2, 3]) await post(owner, to, `topic ${n % 2}`, `${n} for all`);
  }
  await post(late, guarded, 'mine', 'I was here');
  // This message is moved into the protected channel from a channel in which the user received it.
  const movedIn = await post(owner, third.id, 'goes', 'away');
  await owner.ok('PATCH', `/messages/${movedIn}`, { stream_id: guarded, propagate_mode: 'change_one' });
  await owner.ok('DELETE', '/users/me/subscriptions', { subscriptions: ['guarded'], principals: [late.id] });
  await post(owner, guarded, 'topic 1', 'not for who left');
  await owner.ok('POST', '/users/me/subscriptions', {
    ...{ subscriptions: [{ name: 'guarded' }], principals: [late.id], send_new_subscription_messages: false },
  });
  await post(owner, guarded, 'topic 1', 'for who is back');
  const contents = ({ nodes }: Json): string[] => nodes.map(({ content }: Json) => content);
  for (const who of [owner, member, late]) {
    for (const args of ['first: 2', 'last: 2', 'first: 100', 'last: 100']) {
      const page = `{ nodes { content } edges { cursor } pageInfo { hasNextPage hasPreviousPage } }`;
      const { channels } = await who.query(`{ channels(first: 20) { nodes { id name messages(${args}) ${page} } } }`);
      for (const { id, messages } of channels.nodes) {
        const narrowed = (more: string) =>
          who.query(`{ messages(narrow: { channel: { id: "${id}" } } ${more}) ${page} }`);
        expect(messages).toEqual((await narrowed(args)).messages);
        const cursor = messages.edges.at(args.startsWith('first') ? -1 : 0)?.cursor;
        if (cursor === undefined) continue;
        const next = args.startsWith('first') ? `${args} after: "${cursor}"` : `${args} before: "${cursor}"`;
        const { channel } = await who.query(`{ channel(by: { id: "${id}" }) { messages(${next}) ${page} } }`);
        expect(channel.messages).toEqual((await narrowed(next)).messages);
      }
    }
  }
  const { channel } =
    await late.query(`{ channel(by: { id: "${globalId('Channel', guarded)}" }) { messages(first: 100) {
    nodes { content } } } }`);
  expect(contents(channel.messages)).toEqual(
    expect.arrayContaining(['away', 'I was here', '3 for all', 'for who is back']),
  );
  for (const hidden of [`the ${WORD} secret, edited`, 'not for who left']) {
    expect(contents(channel.messages)).not.toContain(hidden);
  }
});
