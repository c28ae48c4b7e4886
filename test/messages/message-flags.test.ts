import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readFlags } from '../../src/messages/flag-conditions.ts';
import { compact } from '../../src/messages/flags/read-state.ts';
import { readUnread } from '../../src/messages/flags/unread.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import type { Parameters, Person } from '../helpers/person.ts';
import { createOrganization, type OrganizationOptions, type RoleName } from '../helpers/server.ts';
import { toTopic } from '../helpers/talk.ts';

let clock = Date.parse('2026-11-20T10:00:00Z');
/** Time by which each read of the clock advances it, in milliseconds. */
let tick = 0;
let service: InProcess;

function now(): Date {
  clock += tick;
  return new Date(clock);
}

beforeAll(async () => {
  service = await shareInProcess({ now });
});
afterAll(() => service[Symbol.asyncDispose]());

const place = <const P extends Readonly<Record<string, RoleName>>>(people: P = {} as P) =>
  createOrganization(people, { on: service } as OrganizationOptions);

const channelOf = async (by: Person, name: string, subscribers: readonly Person[], more: Parameters = {}) =>
  (await by.ok('POST', '/channels/create', { name, subscribers: subscribers.map(({ id }) => id), ...more })).id;

const GUARDED = { invite_only: true, history_public_to_subscribers: false };

const say = async (by: Person, to: number, topic: string, more: Parameters = {}): Promise<number> =>
  (await by.ok('POST', '/messages', { type: 'channel', to, topic, content: 'hello', ...more })).id;

const write = async (by: Person, to: readonly Person[], more: Parameters = {}): Promise<number> =>
  (await by.ok('POST', '/messages', { type: 'direct', to: to.map(({ id }) => id), content: 'hello', ...more })).id;

const flags = (by: Person, messages: readonly number[], op: string, flag: string) =>
  by.rest('POST', '/messages/flags', { messages, op, flag });
const flag = (by: Person, messages: readonly number[], op: string, name: string) =>
  by.ok('POST', '/messages/flags', { messages, op, flag: name });

const join = (by: Person, names: readonly string[], people: readonly Person[] = [by]) =>
  by.ok('POST', '/users/me/subscriptions', {
    subscriptions: names.map((name) => ({ name })),
    principals: people.map(({ id }) => id),
  });
const leave = (by: Person, names: readonly string[]) =>
  by.ok('DELETE', '/users/me/subscriptions', { subscriptions: names });

const MODERN = { client_capabilities: { notification_settings_null: true, empty_topic_name: true } };
const UNREAD = ['message', 'update_message_flags'];

const unread = async (by: Person, more: Parameters = MODERN): Promise<Json> =>
  (await by.register({ fetch_event_types: UNREAD, ...more })).unread_msgs;

/** Returns the ids of the user's unread messages in channels, by channel id and topic. */
const unreadIn = async (by: Person): Promise<Json> =>
  Object.fromEntries(
    (await unread(by)).streams.map((entry: Json) => [`${entry.stream_id} ${entry.topic}`, entry.unread_message_ids]),
  );

const ofFlags = (events: readonly Json[]) => events.filter(({ type }) => type === 'update_message_flags');
const added = (flag: string, messages: readonly number[]) => ({
  ...{ type: 'update_message_flags', op: 'add', operation: 'add', flag, messages, all: false },
});

const BAD = { result: 'error', code: 'BAD_REQUEST' };

describe('POST /messages/flags', () => {
  test("a message moved out of reach leaves the user's flags, without revealing its location", async () => {
    const { ann, bob, owner } = await place({ ann: 'member', bob: 'member' });
    await owner.ok('PATCH', '/realm', { enable_read_receipts: true });
    const general = await channelOf(owner, 'general', [ann, bob, owner]);
    const secret = await channelOf(owner, 'secret', [bob, owner], { invite_only: true });
    const ids = [await say(owner, general, 'plans'), await say(owner, general, 'plans')];
    for (const one of [ann, bob]) await flag(one, ids, 'add', 'starred');
    await ann.ok('POST', '/mark_all_as_read');
    await bob.ok('POST', '/mark_all_as_read');
    const receipts = async () => (await owner.ok('GET', `/messages/${ids[0]}/read_receipts`)).user_ids;
    expect(await receipts()).toEqual([ann.id, bob.id].sort((a, b) => a - b));
    await owner.ok('PATCH', `/messages/${ids[0]}`, { stream_id: secret, propagate_mode: 'change_all' });
    for (const [op, name] of [
      ['add', 'collapsed'],
      ['remove', 'starred'],
      ['remove', 'read'],
    ] as const) {
      expect((await flags(ann, ids, op, name)).body).toMatchObject({ ...BAD, msg: 'Invalid message(s)' });
    }
    const starred = async (by: Person) =>
      (await by.register({ fetch_event_types: ['starred_messages'] })).starred_messages;
    expect([await starred(ann), await starred(bob)]).toEqual([[], ids]);
    await flag(bob, ids, 'add', 'collapsed');
    expect(await receipts()).toEqual([bob.id]);
  });

  test("adds and removes flags, and notifies only the user's own clients of changes", async () => {
    const { ann, bob } = await place({ ann: 'member', bob: 'member' });
    const general = await channelOf(bob, 'general', [ann, bob]);
    const ids = [await say(bob, general, 'one'), await say(bob, general, 'two'), await write(bob, [ann])];
    const [heard, other] = [await ann.receiving(), await bob.receiving()];
    for (const name of ['starred', 'collapsed', 'read']) {
      const reply = await flag(ann, [...ids, ids[0] ?? 0], 'add', name);
      expect(reply.messages).toEqual([...ids, ids[0]]);
      expect(reply.ignored_because_not_subscribed_channels).toEqual([]);
      await flag(ann, ids, 'add', name);
    }
    await flag(ann, ids.slice(0, 2), 'remove', 'starred');
    await flag(ann, ids, 'remove', 'starred');
    await flag(ann, [], 'remove', 'starred');
    const removed = { type: 'update_message_flags', op: 'remove', operation: 'remove', flag: 'starred', all: false };
    expect(ofFlags(await heard())).toEqual([
      ...['starred', 'collapsed', 'read'].map((name) => added(name, ids)),
      { ...removed, messages: ids.slice(0, 2) },
      { ...removed, messages: ids.slice(2) },
    ]);
    expect(await other()).toEqual([]);
    expect((await unread(ann)).count).toBe(0);
    expect((await ann.register({ fetch_event_types: ['starred_messages'] })).starred_messages).toEqual([]);
  });

  test('events for unread messages contain the empty topic as the client names it', async () => {
    const { ann, bob, cleo } = await place({ ann: 'member', bob: 'member', cleo: 'member' });
    const general = await channelOf(bob, 'general', [ann, bob]);
    const ids = [await say(bob, general, ''), await write(bob, [ann, cleo]), await write(ann, [ann])];
    await service.app.db.message.update({
      where: { organizationId_id: { organizationId: await organizationOf(ann), id: ids[0] ?? 0 } },
      data: { channelWildcard: true },
    });
    await flag(ann, ids, 'add', 'read');
    const [modern, legacy] = [await ann.receiving(MODERN), await ann.receiving()];
    await flag(ann, ids, 'remove', 'read');
    const details = (topic: string) => ({
      [ids[0] ?? 0]: { type: 'stream', stream_id: general, topic, mentioned: true, unmuted_stream_msg: true },
      [ids[1] ?? 0]: { type: 'private', user_ids: [bob.id, cleo.id].sort((a, b) => a - b) },
      [ids[2] ?? 0]: { type: 'private', user_ids: [] },
    });
    for (const [heard, topic] of [
      [modern, ''],
      [legacy, 'general chat'],
    ] as const) {
      expect(ofFlags(await heard())).toEqual([
        {
          ...{ type: 'update_message_flags', op: 'remove', operation: 'remove', flag: 'read', all: false },
          messages: ids,
          message_details: details(topic),
        },
      ]);
    }
  });

  test('refuses unknown values in both APIs with the same messages, and changes nothing', async () => {
    const { ann, bob } = await place({ ann: 'member', bob: 'member' });
    const stranger = await place();
    const general = await channelOf(bob, 'general', [ann, bob]);
    const hidden = await channelOf(bob, 'hidden', [bob], { invite_only: true });
    const guarded = await channelOf(bob, 'guarded', [bob], GUARDED);
    const [open, secret, own, elsewhere] = [
      await say(bob, general, 't'),
      await say(bob, hidden, 't'),
      await say(bob, guarded, 't'),
      await write(stranger.member, [stranger.owner]),
    ];
    // Ann is now subscribed. She can read messages in the channel from here on, but not earlier ones.
    await join(bob, ['guarded'], [ann]);
    const heard = await ann.receiving();
    for (const [messages, op, name, msg] of [
      [[open], 'toggle', 'read', "Invalid message flag operation: 'toggle'"],
      [[open], 'add', 'historical', "Flag not editable: 'historical'"],
      [[open], 'remove', 'mentioned', "Flag not editable: 'mentioned'"],
      [[open], 'add', 'wildcard_mentioned', "Flag not editable: 'wildcard_mentioned'"],
      [[open], 'add', 'active_mobile_push_notification', "Invalid flag: 'active_mobile_push_notification'"],
      [[open, secret], 'add', 'starred', 'Invalid message(s)'],
      [[open, own], 'add', 'starred', 'Invalid message(s)'],
      [[open, own], 'add', 'read', 'Invalid message(s)'],
      [[open, elsewhere], 'remove', 'read', 'Invalid message(s)'],
      [[open, 0], 'add', 'read', 'Invalid message(s)'],
      [[open, -5], 'add', 'read', 'Invalid message(s)'],
      [[open, 2_000_000_000], 'add', 'collapsed', 'Invalid message(s)'],
      [Array.from({ length: 5001 }, () => open), 'add', 'read', 'Too many messages requested (maximum 5000).'],
    ] as const) {
      const { status, body } = await flags(ann, messages, op, name);
      expect([status, body], msg).toEqual([400, { ...BAD, msg }]);
      if (
        ![op, name].some((word) => ['toggle', 'wildcard_mentioned', 'active_mobile_push_notification'].includes(word))
      ) {
        const result = await ann.tryMutation('updateMessageFlags', {
          messageIds: messages,
          ...{ operation: op.toUpperCase(), flag: name.toUpperCase() },
        });
        expect(result, msg).toMatchObject({
          __typename: expect.stringMatching(/^(NotFound|Validation)Error$/),
          code: 'BAD_REQUEST',
        });
      }
    }
    for (const [parameters, expected] of [
      [
        { op: 'add', flag: 'read' },
        { code: 'REQUEST_VARIABLE_MISSING', var_name: 'messages' },
      ],
      [
        { messages: [open], flag: 'read' },
        { code: 'REQUEST_VARIABLE_MISSING', var_name: 'op' },
      ],
      [
        { messages: [open], op: 'add' },
        { code: 'REQUEST_VARIABLE_MISSING', var_name: 'flag' },
      ],
      [{ messages: ['1'], op: 'add', flag: 'read' }, { msg: 'messages[0] is not an integer' }],
    ] as const) {
      expect((await ann.rest('POST', '/messages/flags', parameters)).body).toMatchObject(expected);
    }
    expect(await heard()).toEqual([]);
    expect(await unreadIn(ann)).toEqual({ [`${general} t`]: [open] });
  });

  test('adds flags to messages of a channel that were never received', async () => {
    const { ann, bob } = await place({ ann: 'member', bob: 'member' });
    const general = await channelOf(bob, 'general', [bob]);
    const ids = [await say(bob, general, 'old'), await say(bob, general, 'old')];
    // Messages of a channel cannot become unread for users who are not subscribed. The response reports the channel.
    const heard = await ann.receiving();
    const skipped = await flag(ann, ids, 'remove', 'read');
    expect(skipped.ignored_because_not_subscribed_channels).toEqual([general]);
    await flag(ann, ids, 'add', 'read');
    expect(await heard()).toEqual([]);
    await flag(ann, ids.slice(0, 1), 'add', 'starred');
    const { starred_messages } = await ann.register({ fetch_event_types: ['starred_messages'] });
    expect(starred_messages).toEqual(ids.slice(0, 1));
    expect(await flagsOf(ann, ids)).toEqual([
      ['read', 'starred', 'historical'],
      ['read', 'historical'],
    ]);
    await join(ann, ['general']);
    await flag(ann, ids, 'remove', 'read');
    expect(await unreadIn(ann)).toEqual({ [`${general} old`]: ids });
    expect(await flagsOf(ann, ids)).toEqual([['starred', 'historical'], ['historical']]);
    await ann.ok('POST', '/mark_stream_as_read', { stream_id: general });
    expect(await unreadIn(ann)).toEqual({});
    expect(await flagsOf(ann, ids)).toEqual([
      ['read', 'starred', 'historical'],
      ['read', 'historical'],
    ]);
  });
});

const organizations = new Map<string, number>();
async function organizationOf({ host }: Person): Promise<number> {
  const subdomain = host.split('.')[0] ?? '';
  const known = organizations.get(subdomain);
  if (known !== undefined) return known;
  const { id } = await service.app.db.organization.findFirstOrThrow({ where: { subdomain } });
  organizations.set(subdomain, id);
  return id;
}

/** Returns the viewer's flags of messages over GraphQL. */
async function flagsOf(by: Person, ids: readonly number[]): Promise<string[][]> {
  const node = (id: number) =>
    `m${id}: node(id: "${Buffer.from(`Message:${id}`).toString('base64')}") { ... on Message { flags } }`;
  const found = await by.query(`{ ${ids.map(node).join(' ')} }`);
  return ids.map((id) => found[`m${id}`].flags.map((name: string) => name.toLowerCase()));
}

describe('marking as read', () => {
  test('a topic, in any case, in both APIs', async () => {
    const { ann, bob } = await place({ ann: 'member', bob: 'member' });
    const general = await channelOf(bob, 'general', [ann, bob]);
    const other = await channelOf(bob, 'other', [bob]);
    const said = async (topic: string) => [await say(bob, general, topic), await say(bob, general, topic)];
    const [tea, coffee, none] = [await said('Tea'), await said('coffee'), await said('')];
    await say(bob, other, 'tea');
    const heard = await ann.receiving();
    for (const topic_name of ['TEA', 'tea'])
      await ann.ok('POST', '/mark_topic_as_read', { stream_id: general, topic_name });
    const marked = await ann.mutate('markTopicAsRead', toTopic(general, 'Coffee'), 'readCount');
    expect(marked).toEqual({ readCount: 2 });
    await ann.ok('POST', '/mark_topic_as_read', { stream_id: general, topic_name: '(no topic)' });
    // The empty topic always exists, even without messages.
    await ann.ok('POST', '/mark_topic_as_read', { stream_id: other, topic_name: 'general chat' });
    expect(ofFlags(await heard())).toEqual([tea, coffee, none].map((ids) => added('read', ids)));
    expect((await unread(ann)).count).toBe(0);
    for (const [channelId, topic, message] of [
      [general, 'milk', "No such topic 'milk'"],
      [other, 'tea', "No such topic 'tea'"],
      [2_000_000_000, 'tea', 'Invalid channel ID'],
    ] as const) {
      const { status, body } = await ann.rest('POST', '/mark_topic_as_read', {
        stream_id: channelId,
        topic_name: topic,
      });
      expect([status, body]).toEqual([400, { ...BAD, msg: message }]);
      const result = await ann.tryMutation('markTopicAsRead', toTopic(channelId, topic));
      expect(result).toMatchObject({ __typename: 'NotFoundError', code: 'BAD_REQUEST' });
    }
    const missing = await ann.rest('POST', '/mark_topic_as_read', { stream_id: general });
    expect(missing.body).toMatchObject({ code: 'REQUEST_VARIABLE_MISSING', var_name: 'topic_name' });
  });

  test('a channel and everything, without events if nothing was unread', async () => {
    const { ann, bob } = await place({ ann: 'member', bob: 'member' });
    const [one, two] = [await channelOf(bob, 'one', [ann, bob]), await channelOf(bob, 'two', [ann, bob])];
    const hidden = await channelOf(bob, 'hidden', [bob], { invite_only: true });
    const ids = [await say(bob, one, 'a'), await say(bob, one, 'b')];
    const last = await say(bob, two, 'c');
    await write(bob, [ann]);
    const heard = await ann.receiving();
    await ann.ok('POST', '/mark_stream_as_read', { stream_id: one });
    expect(await ann.mutate('markChannelAsRead', { channelId: one }, 'readCount')).toEqual({ readCount: 0 });
    expect(await unreadIn(ann)).toEqual({ [`${two} c`]: [last] });
    expect(await ann.ok('POST', '/mark_all_as_read')).toEqual({ result: 'success', msg: '', complete: true });
    expect(await ann.mutate('markAllAsRead', {}, 'complete')).toEqual({ complete: true });
    expect(ofFlags(await heard())).toEqual([added('read', ids), { ...added('read', []), all: true }]);
    expect((await unread(ann)).count).toBe(0);
    const next = await say(bob, one, 'a');
    expect(await unreadIn(ann)).toEqual({ [`${one} a`]: [next] });
    const refused = await ann.rest('POST', '/mark_stream_as_read', { stream_id: hidden });
    expect(refused.body).toEqual({ ...BAD, msg: 'Invalid channel ID' });
    const result = await ann.tryMutation('markChannelAsRead', { channelId: hidden });
    expect(result).toMatchObject({ __typename: 'NotFoundError', code: 'BAD_REQUEST' });
  });

  test('a direct conversation, also messages that were marked one by one', async () => {
    const { ann, bob, cleo } = await place({ ann: 'member', bob: 'member', cleo: 'member' });
    const ids = [await write(bob, [ann]), await write(bob, [ann]), await write(ann, [bob]), await write(bob, [ann])];
    const [first = 0, second = 0, , last = 0] = ids;
    const other = await write(bob, [ann, cleo]);
    const conversation = async (by: Person, of: number) =>
      (
        await by.query(
          `{ message(by: { id: "${globalId('Message', of)}" }) { directConversation { id unreadCount } } }`,
        )
      ).message.directConversation;
    const { id } = await conversation(ann, first);
    await flag(ann, ids, 'add', 'read');
    await flag(ann, [second], 'remove', 'read');
    const newest = await write(bob, [ann]);
    const heard = await ann.receiving();
    const mark = (by: Person, conversationId: string) => by.tryMutation('markConversationAsRead', { conversationId });
    expect(await ann.mutate('markConversationAsRead', { conversationId: id }, 'readCount')).toEqual({ readCount: 2 });
    expect(await ann.mutate('markConversationAsRead', { conversationId: id }, 'readCount')).toEqual({ readCount: 0 });
    expect(ofFlags(await heard())).toEqual([added('read', [second, newest])]);
    expect(await conversation(ann, first)).toEqual({ id, unreadCount: 0 });
    expect(await flagsOf(ann, [first, second, last, newest])).toEqual([['read'], ['read'], ['read'], ['read']]);
    expect(await conversation(ann, other)).toMatchObject({ unreadCount: 1 });
    // The sender of a message can have it unread, too.
    const own = await write(ann, [bob], { read_by_sender: false });
    expect((await conversation(ann, own)).unreadCount).toBe(1);
    expect(await ann.mutate('markConversationAsRead', { conversationId: id }, 'readCount')).toEqual({ readCount: 1 });
    const next = await write(bob, [ann]);
    expect((await conversation(ann, next)).unreadCount).toBe(1);
    const invalid = { __typename: 'NotFoundError', code: 'BAD_REQUEST' };
    for (const unknown of [globalId('DirectConversation', 2_000_000_000), globalId('Channel', 1), 'nonsense'])
      expect(await mark(ann, unknown)).toMatchObject(invalid);
    expect(await mark(cleo, id)).toMatchObject(invalid);
  });

  test('everything of very much in steps with events, resumed after the time limit', async () => {
    const { ann, bob, organization } = await place({ ann: 'member', bob: 'member' });
    const general = await channelOf(bob, 'general', [ann, bob]);
    const first = await sendMany(organization.id, bob, general, 11_000);
    await service.app.db.$executeRaw`
      INSERT INTO read_exception (realm_id, user_id, message_id, recipient_id, is_read)
      SELECT ${organization.id}, ${ann.id}, id, ${2 * general}, false FROM message WHERE realm_id = ${organization.id} AND id >= ${first}`;
    await service.app.db.readMark.create({
      data: { organizationId: organization.id, userId: ann.id, recipientId: 2 * general, readThrough: first + 10_999 },
    });
    const before = await unread(ann);
    expect([before.count, before.old_unreads_missing]).toEqual([11_000, false]);
    // The queue must not expire, although each read advances the clock.
    const heard = await ann.receiving({ idle_queue_timeout: 86_400 });
    tick = 60_000;
    expect((await ann.ok('POST', '/mark_all_as_read')).complete).toBe(false);
    tick = 0;
    expect((await unread(ann)).count).toBe(6_000);
    expect((await ann.ok('POST', '/mark_all_as_read')).complete).toBe(true);
    expect((await unread(ann)).count).toBe(0);
    const told = ofFlags(await heard());
    expect(told.map(({ messages, all }) => (all ? 'all' : messages.length))).toEqual([...Array(100).fill(100), 'all']);
    expect(told.flatMap(({ messages }) => messages)).toEqual(Array.from({ length: 10_000 }, (_, i) => first + i));
  });
});

/**
 * Inserts messages directly in the database, as the function `send_message` does, but without events. @returns The id of the
 * first message.
 */
async function sendMany(
  organizationId: number,
  { id: sender }: Person,
  channelId: number,
  count: number,
): Promise<number> {
  const [row] = await service.app.db.$queryRaw<{ first: bigint }[]>`
    WITH sent AS (
      INSERT INTO message (realm_id, id, sender_id, channel_id, sent_channel_id, topic, content, rendered_content,
                           client_name, sent_at, sent_event_id, send_token)
      SELECT ${organizationId}, nextval('message_id_seq'), ${sender}, ${channelId}, ${channelId}, 'topic', 'hello', 'hello',
             'test', ${new Date(clock)}, 1, 1 FROM generate_series(1, ${count}::int)
      RETURNING id)
    SELECT min(id) AS first FROM sent`;
  return Number(row?.first);
}

test('read receipts list the users who read a message', async () => {
  const org = await place({ ann: 'member', bob: 'member', cleo: 'member', dan: 'member' });
  const { ann, bob, cleo, dan, bot } = org;
  const everybody = [ann, bob, cleo, dan, bot];
  const general = await channelOf(ann, 'general', everybody);
  const hidden = await channelOf(ann, 'hidden', [ann], { invite_only: true });
  const [id, secret, note] = [await say(ann, general, 't'), await say(ann, hidden, 't'), await write(ann, [bob, cleo])];
  const receipts = async (by: Person, message: number) =>
    (await by.rest('GET', `/messages/${message}/read_receipts`)).body;
  const overGraphql = async (by: Person, message: number) => {
    const { node } = await by.query(
      'query ($id: ID!) { node(id: $id) { ... on Message { readReceipts { edges { node { databaseId } } } } } }',
      { id: Buffer.from(`Message:${message}`).toString('base64') },
    );
    return node.readReceipts.edges.map((edge: Json) => edge.node.databaseId);
  };
  // The service checks whether the user can read the message before it checks whether read receipts are enabled.
  expect(await receipts(bob, secret)).toEqual({ ...BAD, msg: 'Invalid message(s)' });
  expect(await receipts(bob, id)).toEqual({ ...BAD, msg: 'Read receipts are disabled in this organization.' });
  expect(await overGraphql(bob, id)).toEqual([]);
  const { db } = service.app;
  await db.organization.update({
    where: { id: org.organization.id },
    data: { settings: { enable_read_receipts: true } },
  });
  for (const person of everybody) await flag(person, [id], 'add', 'read');
  const all = [bob, cleo, dan, bot].map((person) => person.id).sort((a, b) => a - b);
  expect((await receipts(bob, id)).user_ids).toEqual(all);
  expect(await overGraphql(bob, id)).toEqual(all);
  await flag(bob, [note], 'add', 'read');
  expect((await receipts(cleo, note)).user_ids).toEqual([bob.id]);
  expect(await receipts(dan, note)).toEqual({ ...BAD, msg: 'Invalid message(s)' });
  // The receipts omit users who mark the message as unread, disable read receipts or are deactivated. They list users who have
  // left the channel.
  await flag(bob, [id], 'remove', 'read');
  await db.user.updateMany({ where: { id: cleo.id }, data: { settings: { send_read_receipts: false } } });
  await db.user.updateMany({ where: { id: dan.id }, data: { isActive: false } });
  expect((await receipts(ann, id)).user_ids).toEqual([bot.id]);
  await leave(bot, ['general']);
  expect((await receipts(ann, id)).user_ids).toEqual([bot.id]);
  // If a user who did not receive a message adds a flag to it, the message is marked as read for them.
  await flag(org.owner, [id], 'add', 'starred');
  expect((await receipts(ann, id)).user_ids).toEqual([org.owner.id, bot.id].sort((a, b) => a - b));
  const { readReceipts } = (
    await ann.query(
      `query ($id: ID!) { node(id: $id) { ... on Message { readReceipts(last: 1) {
        pageInfo { hasNextPage hasPreviousPage } edges { node { databaseId } }
      } } } }`,
      { id: Buffer.from(`Message:${id}`).toString('base64') },
    )
  ).node;
  expect(readReceipts).toEqual({
    pageInfo: { hasNextPage: false, hasPreviousPage: true },
    edges: [{ node: { databaseId: Math.max(org.owner.id, bot.id) } }],
  });
});

describe('unread data', () => {
  test('counts messages that are not muted, and mentions by their muting rules', async () => {
    const { ann, bob, cleo } = await place({ ann: 'member', bob: 'member', cleo: 'member' });
    const [open, muted] = [await channelOf(bob, 'open', [ann, bob]), await channelOf(bob, 'muted', [ann, bob])];
    await ann.ok('POST', `/users/me/subscriptions/${muted}`, { property: 'is_muted', value: true });
    const topic = (stream_id: number, topic: string, visibility_policy: number) =>
      ann.ok('POST', '/user_topics', { stream_id, topic, visibility_policy });
    await ann.ok('PATCH', '/settings', { automatically_follow_topics_where_mentioned: false });
    await topic(open, 'noise', 1);
    await topic(muted, 'News', 2);
    await topic(muted, 'work', 3);
    const [all, you] = [{ content: '@**all** hello' }, { content: `@**ann|${ann.id}** hello` }];
    const ids = {
      loud: await say(bob, open, 'noise', all),
      named: await say(bob, open, 'NOISE', you),
      heard: await say(bob, open, '', all),
      quiet: await say(bob, muted, 'a', all),
      quietly: await say(bob, muted, 'A', you),
      news: await say(bob, muted, 'news', all),
      work: await say(bob, muted, 'work'),
      pair: await write(bob, [ann], you),
      note: await write(ann, [ann]),
      group: await write(cleo, [ann, bob], all),
    };
    const expected = {
      count: 6,
      pms: [
        { other_user_id: ann.id, sender_id: ann.id, unread_message_ids: [ids.note] },
        { other_user_id: bob.id, sender_id: bob.id, unread_message_ids: [ids.pair] },
      ].sort((a, b) => a.other_user_id - b.other_user_id),
      streams: [
        { stream_id: open, topic: '', unread_message_ids: [ids.heard] },
        { stream_id: open, topic: 'NOISE', unread_message_ids: [ids.loud, ids.named] },
        { stream_id: muted, topic: 'A', unread_message_ids: [ids.quiet, ids.quietly] },
        { stream_id: muted, topic: 'news', unread_message_ids: [ids.news] },
        { stream_id: muted, topic: 'work', unread_message_ids: [ids.work] },
      ],
      huddles: [
        {
          user_ids_string: [ann.id, bob.id, cleo.id].sort((a, b) => a - b).join(),
          unread_message_ids: [ids.group],
        },
      ],
      mentions: [ids.named, ids.heard, ids.quietly, ids.news, ids.pair, ids.group],
      old_unreads_missing: false,
    };
    expect(await unread(ann)).toEqual(expected);
    expect((await unread(ann, {})).streams[0].topic).toBe('general chat');
    const { viewer } = await ann.query(
      '{ viewer { unreadCounts { total channels conversations mentions hasOlder } } }',
    );
    expect(viewer.unreadCounts).toEqual({ total: 6, channels: 3, conversations: 3, mentions: 6, hasOlder: false });
    const other = await ann.query('query ($userId: ID!) { user(by: { id: $userId }) { unreadCounts { total } } }', {
      userId: bob.id,
    });
    expect(other.user.unreadCounts).toBeNull();
    // The service adds `unread_msgs` to the state only if both groups are requested.
    for (const group of UNREAD) {
      expect(await ann.register({ fetch_event_types: [group] })).not.toHaveProperty('unread_msgs');
    }
    // The newest messages of all kinds are returned, up to a maximum.
    const holder = { organizationId: await organizationOf(ann), userId: ann.id };
    for (const max of [1, 4, 9, 10]) {
      const { groups, isCut } = await readUnread(service.app.db, holder, max);
      const newest = Object.values(ids)
        .toSorted((a, b) => b - a)
        .slice(0, max);
      expect(groups.flatMap((group) => group.ids).sort((a, b) => b - a)).toEqual(newest);
      expect(isCut).toBe(max < 10);
    }
    await ann.ok('DELETE', `/streams/${muted}`).catch(() => bob.ok('DELETE', `/streams/${muted}`));
    expect((await unread(ann)).streams.map((entry: Json) => entry.stream_id)).toEqual([open, open]);
  });

  test('drops unread messages of a channel when the user leaves it', async () => {
    const { ann, bob } = await place({ ann: 'member', bob: 'member' });
    const [one, two] = [await channelOf(bob, 'one', [ann, bob]), await channelOf(bob, 'two', [ann, bob])];
    const guarded = await channelOf(bob, 'guarded', [ann, bob], GUARDED);
    const before = [await say(bob, one, 'before'), await say(bob, one, 'moved')];
    const moved = before[1] ?? 0;
    const move = (id: number, stream_id: number) =>
      bob.ok('PATCH', `/messages/${id}`, { stream_id, send_notification_to_new_thread: false });
    await move(moved, two);
    const secret = await say(bob, guarded, 'secret');
    const arrived = await say(bob, two, 'arrived');
    await move(arrived, one);
    await leave(ann, ['one', 'guarded']);
    const missed = await say(bob, one, 'missed');
    await say(bob, guarded, 'missed');
    expect(await unreadIn(ann)).toEqual({ [`${two} moved`]: [moved] });
    await join(ann, ['one']);
    await join(bob, ['guarded'], [ann]);
    const after = [await say(bob, one, 'after'), await say(bob, guarded, 'after')];
    expect(await unreadIn(ann)).toEqual({
      [`${two} moved`]: [moved],
      [`${one} after`]: [after[0]],
      [`${guarded} after`]: [after[1]],
    });
    expect(await flagsOf(ann, [...before, missed, arrived])).toEqual([['read'], [], ['read', 'historical'], ['read']]);
    // In the protected channel, she can still read the messages that she received, and mark them as unread.
    await flag(ann, [secret], 'remove', 'read');
    expect((await unreadIn(ann))[`${guarded} secret`]).toEqual([secret]);
  });

  test('moves the read state of each reader together with messages', async () => {
    const { ann, bob, cleo } = await place({ ann: 'member', bob: 'member', cleo: 'member' });
    const [from, to] = [await channelOf(bob, 'from', [ann, bob, cleo]), await channelOf(bob, 'to', [ann, bob, cleo])];
    const ids = [await say(bob, from, 't'), await say(bob, from, 't'), await say(bob, from, 't')];
    await say(bob, to, 'other');
    await flag(ann, ids.slice(0, 1), 'add', 'read');
    await cleo.ok('POST', '/mark_all_as_read');
    await bob.ok('PATCH', `/messages/${ids[0]}`, {
      ...{ stream_id: to, topic: 'u', propagate_mode: 'change_all', send_notification_to_new_thread: false },
    });
    expect((await unreadIn(ann))[`${to} u`]).toEqual(ids.slice(1));
    expect(await unreadIn(cleo)).toEqual({});
    // Marking messages in the target channel as read does not affect the source channel.
    const stays = await say(bob, from, 't');
    await ann.ok('POST', '/mark_stream_as_read', { stream_id: to });
    expect(await unreadIn(ann)).toEqual({ [`${from} t`]: [stays] });
    await flag(cleo, ids, 'remove', 'read');
    await cleo.ok('POST', '/mark_stream_as_read', { stream_id: from });
    expect(await unreadIn(cleo)).toEqual({ [`${to} u`]: ids });
  });
});

describe('a message marked as unread before the read mark', () => {
  test.for(['direct', 'own direct', 'channel'] as const)('is in every narrow of unread messages: %s', async (kind) => {
    const { owner, member } = await createOrganization();
    const { id: channelId } = await owner.ok('POST', '/channels/create', {
      name: 'general',
      subscribers: [owner.id, member.id],
    });
    const to =
      kind === 'channel' ? { type: 'channel', to: channelId, topic: 't' } : { type: 'direct', to: [member.id] };
    const sent: number[] = [];
    for (const content of ['an otter', 'a heron', 'a crane']) {
      sent.push((await owner.ok('POST', '/messages', { ...to, content })).id);
    }
    const [first] = sent;
    const reader = kind === 'own direct' ? owner : member;
    await reader.ok('POST', '/mark_all_as_read');
    await reader.ok('POST', '/messages/flags', { messages: [first], op: 'remove', flag: 'read' });
    const other = kind === 'own direct' ? member : owner;
    const place =
      kind === 'channel' ? { operator: 'channel', operand: channelId } : { operator: 'dm', operand: [other.id] };
    const direct = { operator: 'is', operand: 'dm' };
    const unread = { operator: 'is', operand: 'unread' };
    const otter = { operator: 'search', operand: 'otter' };
    const narrows = [[place], [place, unread], [unread], [unread, otter], [place, unread, otter], []];
    if (kind !== 'channel') narrows.push([direct], [direct, unread], [direct, unread, otter], [direct, otter]);
    for (const narrow of narrows) {
      const range = { anchor: 'first_unread', num_before: 0, num_after: 0, narrow };
      const { anchor } = await reader.ok('GET', '/messages', range);
      expect([narrow, anchor]).toEqual([narrow, first]);
      if (!narrow.includes(unread)) continue;
      const { messages } = await reader.ok('GET', '/messages', {
        anchor: 'newest',
        num_before: 9,
        num_after: 0,
        narrow,
      });
      expect([narrow, messages.map(({ id }: Json) => id)]).toEqual([narrow, [first]]);
    }
  });
});

describe('POST /messages/flags/narrow', () => {
  test('changes the messages of a narrow around an anchor', async () => {
    const { ann, bob } = await place({ ann: 'member', bob: 'member' });
    const [one, two] = [await channelOf(bob, 'one', [ann, bob]), await channelOf(bob, 'two', [bob])];
    const ids: number[] = [];
    for (let i = 0; i < 6; i++) ids.push(await say(bob, one, i % 2 === 0 ? 'even' : 'odd'));
    const [a = 0, b = 0, c = 0, d = 0, e = 0] = ids;
    const other = await say(bob, two, 'even');
    const narrow = [{ operator: 'channel', operand: one }];
    const change = (by: Person, parameters: Parameters) =>
      by.rest('POST', '/messages/flags/narrow', {
        ...{ anchor: 'oldest', num_before: 0, num_after: 10, narrow, op: 'add', flag: 'read', ...parameters },
      });
    const heard = await ann.receiving();
    expect((await change(ann, { narrow: [...narrow, ['topic', 'EVEN']] })).body).toEqual({
      ...{ result: 'success', msg: '', processed_count: 3, updated_count: 3, found_oldest: true, found_newest: true },
      ...{ first_processed_id: a, last_processed_id: e, ignored_because_not_subscribed_channels: [] },
    });
    expect((await change(ann, { anchor: String(b), num_after: 2, include_anchor: false })).body).toMatchObject({
      ...{ processed_count: 2, updated_count: 1, first_processed_id: c, last_processed_id: d, found_newest: false },
    });
    expect(
      (await change(ann, { anchor: 'first_unread', num_after: 0, op: 'add', flag: 'starred' })).body,
    ).toMatchObject({ processed_count: 1, first_processed_id: b, found_oldest: false });
    expect((await change(ann, { narrow: [['is', 'dm']] })).body).toMatchObject({
      ...{ processed_count: 0, updated_count: 0, first_processed_id: null, last_processed_id: null },
    });
    // Messages of a channel without a subscription cannot become unread, but can be starred.
    const unseen = [{ operator: 'channel', operand: two }];
    expect((await change(ann, { narrow: unseen, op: 'remove' })).body).toMatchObject({
      ...{ processed_count: 1, updated_count: 0, ignored_because_not_subscribed_channels: [two] },
    });
    const starred = await ann.mutate(
      'updateMessageFlagsInNarrow',
      {
        narrow: { channel: { id: globalId('Channel', two) } },
        anchor: { place: 'NEWEST' },
        countBefore: 5,
        countAfter: 0,
        operation: 'ADD',
        flag: 'STARRED',
      },
      `change { changedCount changedMessages { databaseId } skippedChannels { name } } processedCount
        firstProcessed { databaseId } lastProcessed { databaseId } foundOldest foundNewest`,
    );
    const found = { databaseId: other };
    expect(starred).toEqual({
      change: { changedCount: 1, changedMessages: [found], skippedChannels: [] },
      ...{ processedCount: 1, firstProcessed: found, lastProcessed: found, foundOldest: true, foundNewest: true },
    });
    expect(ofFlags(await heard())).toEqual([
      added('read', [a, c, e]),
      added('read', [d]),
      added('starred', [b]),
      added('starred', [other]),
    ]);
    const { viewer } = await ann.query(
      '{ viewer { starredMessages(last: 1) { edges { node { databaseId flags } } pageInfo { hasPreviousPage } } } }',
    );
    expect(viewer.starredMessages).toEqual({
      edges: [{ node: { databaseId: other, flags: ['READ', 'STARRED', 'HISTORICAL'] } }],
      pageInfo: { hasPreviousPage: true },
    });
    for (const [parameters, expected] of [
      [{ num_after: 5001 }, { msg: 'Too many messages requested (maximum 5000).' }],
      [
        { num_before: 1, include_anchor: false, anchor: '5' },
        { msg: 'The anchor can only be excluded at an end of the range' },
      ],
      [{ anchor: 'date' }, { msg: 'Invalid anchor' }],
      [{ num_before: -1 }, { msg: 'num_before is too small' }],
      [{ flag: 'historical' }, { msg: "Flag not editable: 'historical'" }],
      [{ op: 'turn' }, { msg: "Invalid message flag operation: 'turn'" }],
      [{ narrow: [['colour', 'red']] }, { code: 'BAD_NARROW' }],
      [{ anchor: undefined }, { code: 'REQUEST_VARIABLE_MISSING', var_name: 'anchor' }],
      [{ narrow: undefined }, { code: 'REQUEST_VARIABLE_MISSING', var_name: 'narrow' }],
    ] as const) {
      expect((await change(ann, parameters)).body, JSON.stringify(parameters)).toMatchObject(expected);
    }
    expect(await heard().then(ofFlags)).toHaveLength(4);
  });
});

test('GraphQL clients receive flag changes with current data', async () => {
  const { ann, bob } = await place({ ann: 'member', bob: 'member' });
  const general = await channelOf(bob, 'general', [ann, bob]);
  const [id, direct] = [await say(bob, general, 't'), await write(bob, [ann])];
  await using stream = await ann.events(`
    ... on MessageFlagsAddedEvent { flag messages { databaseId } all }
    ... on MessageFlagsRemovedEvent { flag messages { databaseId flags } }`);
  const change = (operation: string, flag: string) =>
    ann.mutate(
      'updateMessageFlags',
      { messageIds: [id, direct], operation, flag },
      'change { changedCount changedMessages { databaseId } skippedChannels { name } }',
    );
  const changedMessages = [id, direct].map((databaseId) => ({ databaseId }));
  const both = { change: { changedCount: 2, changedMessages, skippedChannels: [] } };
  expect(await change('ADD', 'STARRED')).toEqual(both);
  expect(await change('ADD', 'STARRED')).toEqual({
    change: { changedCount: 0, changedMessages: [], skippedChannels: [] },
  });
  await change('REMOVE', 'STARRED');
  await ann.ok('POST', '/mark_all_as_read');
  await change('REMOVE', 'READ');
  const messages = [{ databaseId: id }, { databaseId: direct }];
  const unmarked = messages.map((message) => ({ ...message, flags: [] }));
  expect(await stream.take(4)).toEqual([
    { flag: 'STARRED', messages, all: false },
    // Entities are loaded when an event is delivered, so their flags may be newer than the event.
    { flag: 'STARRED', messages: messages.map((message) => ({ ...message, flags: expect.any(Array) })) },
    { flag: 'READ', messages: [], all: true },
    { flag: 'READ', messages: unmarked },
  ]);
});

describe('read state', () => {
  const KINDS = 3;

  /** Creates a user with messages of every kind in two channels and a conversation. All messages are unread except her own. */
  async function reader() {
    const org = await place({ ann: 'member', bob: 'member' });
    const { ann, bob, organization } = org;
    const { db } = service.app;
    const [early, here, there] = [
      await channelOf(bob, 'early', [bob]),
      await channelOf(bob, 'here', [ann, bob]),
      await channelOf(bob, 'there', [ann, bob]),
    ];
    const missed = await sendMany(organization.id, bob, early, 10);
    await join(ann, ['early']);
    await write(bob, [ann]);
    for (const channelId of [early, here, there, here]) await sendMany(organization.id, bob, channelId, 70);
    await db.$executeRaw`
      UPDATE message SET topic = 't' || id % ${KINDS} WHERE realm_id = ${organization.id} AND channel_id IS NOT NULL`;
    await db.$executeRaw`
      UPDATE message SET sender_id = ${ann.id}, read_by_sender = id % 2 = 0
      WHERE realm_id = ${organization.id} AND id % 11 = 0 AND id >= ${missed} + 10`;
    await db.$executeRaw`
      UPDATE message SET channel_id = ${there} WHERE realm_id = ${organization.id} AND channel_id = ${here} AND id % 7 = 0`;
    const rows = await db.message.findMany({ where: { organizationId: organization.id }, orderBy: { id: 'asc' } });
    const messages = rows.map((row) => ({ ...row, id: Number(row.id) }));
    const read = new Set(
      messages
        .filter((row) => row.id < missed + 10 || (row.senderId === ann.id && row.readBySender))
        .map(({ id }) => id),
    );
    return { ...org, messages, read, channels: { early, here, there } };
  }

  type Reader = Awaited<ReturnType<typeof reader>>;
  type Op = (of: Reader) => Promise<unknown>;

  const some = ({ messages }: Reader, from: number, count: number, step: number) =>
    messages
      .slice(from % messages.length)
      .filter((_, i) => i % step === 0)
      .slice(0, count)
      .map(({ id }) => id);

  const change = (op: 'add' | 'remove') => (from: number, count: number, step: number) => ({
    toString: () => `${op} ${count} from ${from}, each ${step}`,
    run: async (of: Reader) => {
      const ids = some(of, from, count, step);
      await flag(of.ann, ids, op, 'read');
      for (const id of ids) op === 'add' ? of.read.add(id) : of.read.delete(id);
    },
  });

  const readAll = ({ messages, read }: Reader, which: (message: Reader['messages'][number]) => boolean) => {
    for (const message of messages) if (which(message)) read.add(message.id);
  };
  const NAMES = ['early', 'here', 'there'] as const;
  const whole = fc.constantFrom(...NAMES).chain((name) =>
    fc.constantFrom<readonly [string, Op]>(
      [
        `all of ${name}`,
        async (of) => {
          const stream_id = of.channels[name];
          await of.ann.ok('POST', '/mark_stream_as_read', { stream_id });
          readAll(of, ({ channelId }) => channelId === stream_id);
        },
      ],
      [
        `a topic of ${name}`,
        async (of) => {
          const stream_id = of.channels[name];
          await of.ann.ok('POST', '/mark_topic_as_read', { stream_id, topic_name: 'T1' });
          readAll(of, ({ channelId, topic }) => channelId === stream_id && topic === 't1');
        },
      ],
      [
        `away from ${name} and back`,
        async (of) => {
          await leave(of.ann, [name]);
          readAll(of, ({ channelId }) => channelId === of.channels[name]);
          await join(of.ann, [name]);
        },
      ],
      [
        'everything',
        async (of) => {
          await of.ann.ok('POST', '/mark_all_as_read');
          readAll(of, () => true);
        },
      ],
      [
        `the marks of ${name}`,
        ({ ann, organization, channels }) =>
          service.app.db.$transaction((tx) =>
            compact(tx, { organizationId: organization.id, userId: ann.id }, 2 * channels[name]),
          ),
      ],
    ),
  );
  const slice = [fc.nat(290), fc.integer({ min: 1, max: 150 }), fc.constantFrom(1, 1, 2, 3)] as const;
  const operation = fc.oneof(
    { weight: 3, arbitrary: fc.tuple(...slice).map(([...parts]) => change('add')(...parts)) },
    { weight: 3, arbitrary: fc.tuple(...slice).map(([...parts]) => change('remove')(...parts)) },
    { weight: 3, arbitrary: whole.map(([name, run]) => ({ toString: () => name, run })) },
  );

  const isReadNow = async ({ ann, organization, messages }: Reader) => {
    const ids = messages.map(({ id }) => id);
    const own = await readFlags(service.app.db, { id: ann.id, organization }, ids);
    return ids.filter((id) => own.get(id)?.read === true);
  };

  test('equals the set of messages that were marked as read, for any read marks', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 10, maxLength: 16, size: 'max' }), async (operations) => {
        const of = await reader();
        const { messages, read, ann, organization } = of;
        for (const operation of operations) {
          await operation.run(of);
          const expected = messages.filter(({ id }) => read.has(id)).map(({ id }) => id);
          expect(await isReadNow(of)).toEqual(expected);
          const { groups } = await readUnread(service.app.db, { organizationId: organization.id, userId: ann.id });
          const ids = groups.flatMap((group) => group.ids).sort((a, b) => a - b);
          expect(ids).toEqual(messages.filter(({ id }) => !read.has(id)).map(({ id }) => id));
        }
      }),
      { numRuns: 6, seed: 20_261_120, endOnFailure: true },
    );
  });

  test('takes few rows for a user who reads in order, even with gaps', async () => {
    const of = await reader();
    const { ann, organization, channels, messages } = of;
    const recipientId = 2 * channels.here;
    const sent = messages.filter(({ sentChannelId }) => sentChannelId === channels.here).map(({ id }) => id);
    for (let i = 0; i < sent.length; i += 20) {
      await flag(
        ann,
        sent.slice(i, i + 20).filter((id) => id % 10 !== 0),
        'add',
        'read',
      );
    }
    const where = { userId: ann.id, recipientId };
    expect(await service.app.db.readException.count({ where })).toBeLessThan(64);
    const mark = await service.app.db.readMark.findFirst({ where: { ...where, organizationId: organization.id } });
    expect(Number(mark?.readThrough)).toBeGreaterThan(sent[60] ?? 0);
  });
});
