import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MAX_MOVES } from '../../src/messages/topics/topic-moves.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import type { Parameters, Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { channelOf, say, topicRef } from '../helpers/talk.ts';

// Tests topics as objects of the GraphQL API: lookups, lists, moves, and the mark of resolved topics.

let service: InProcess;
beforeAll(async () => {
  service = await shareInProcess();
});
afterAll(() => service[Symbol.asyncDispose]());

const organization = () => createOrganization({}, { on: service });

const PRIVATE = { invite_only: true, history_public_to_subscribers: true };
const PROTECTED = { invite_only: true, history_public_to_subscribers: false };

/** Moves a message, and by default all others of its topic. */
const move = (person: Person, id: number, to: Parameters, mode = 'change_all') =>
  person.ok('PATCH', `/messages/${id}`, {
    ...{ send_notification_to_new_thread: false, propagate_mode: mode },
    ...to,
  });

const SHOWN = 'name isResolved lastMessage { databaseId } movedTo { name channel { name } lastMessage { databaseId } }';

/** Reads a topic in three ways, which must agree. */
async function topicAt(person: Person, channel: number, name: string): Promise<Json> {
  const query = `query ($by: TopicRef!, $id: ID!, $channelId: ID!, $name: String!) {
    byName: topic(by: $by) { id ${SHOWN} }
    byId: topic(by: { id: $id }) { id ${SHOWN} }
    node(id: $id) { id ... on Topic { ${SHOWN} } }
    channel(by: { id: $channelId }) { topic(name: $name) { id ${SHOWN} } } }`;
  const id = globalId('Topic', `${channel}:${name.toLowerCase()}`);
  const variables = { by: topicRef(channel, name), id, channelId: globalId('Channel', channel), name };
  const { byName, byId, node, channel: inChannel } = await person.query(query, variables);
  expect([byId, node, inChannel?.topic ?? null]).toEqual([byName, byName, byName]);
  if (byName === null) return null;
  const { id: found, ...topic } = byName;
  expect(found).toBe(id);
  return topic;
}

/** Returns the channel and name to which a topic leads: itself, the topic that has its messages, or null. */
async function followed(person: Person, channel: number, name: string): Promise<string | null> {
  const topic = await topicAt(person, channel, name);
  if (topic === null) return null;
  return topic.movedTo === null ? topic.name : `${topic.movedTo.channel.name} > ${topic.movedTo.name}`;
}

describe('a topic', () => {
  test.concurrent('is found by id, by channel and name in any spelling, and in its channel', async () => {
    const { owner, member, guest } = await organization();
    const channel = await channelOf(owner, 'deck', [owner, member]);
    const id = await say(owner, channel, 'Lunch');
    for (const name of ['lunch', 'LUNCH']) {
      expect(await topicAt(member, channel, name)).toEqual({
        ...{ name: 'Lunch', isResolved: false, lastMessage: { databaseId: id }, movedTo: null },
      });
    }
    const { topic } = await member.query(
      '{ topic(by: { named: { channel: { name: "DECK" }, name: "lunch" } }) { name } }',
    );
    expect(topic).toEqual({ name: 'Lunch' });
    expect(await topicAt(member, channel, 'dinner')).toBeNull();
    expect(await topicAt(guest, channel, 'lunch')).toBeNull();
    expect(await topicAt(member, 2_000_000_000, 'lunch')).toBeNull();
    const nothing = await member.query(`{
      malformed: topic(by: { id: "nonsense" }) { name }
      ofAnotherType: topic(by: { id: "${globalId('Channel', channel)}" }) { name }
      inNoChannel: topic(by: { named: { channel: { name: "nowhere" }, name: "lunch" } }) { name } }`);
    expect(nothing).toEqual({ malformed: null, ofAnotherType: null, inNoChannel: null });
    const odd = 'query ($name: String!) { channel(by: { name: "deck" }) { topic(name: $name) { name } } }';
    expect((await member.query(odd, { name: 'a\0b' })).channel.topic).toBeNull();
    await say(owner, channel, '');
    expect((await topicAt(member, channel, '')).name).toBe('');
  });

  test.concurrent('is accepted by its id wherever an input names a topic', async () => {
    const { owner, member } = await organization();
    const [deck, hidden] = [
      await channelOf(owner, 'deck', [owner, member]),
      await channelOf(owner, 'hidden', [owner], PRIVATE),
    ];
    const id = await say(owner, deck, 'Lunch');
    await say(owner, hidden, 'secret');
    const topic = { id: globalId('Topic', `${deck}:lunch`) };
    const sent = await member.mutate('sendMessage', { to: { topic }, content: 'hello' }, 'sentMessage { topicName }');
    // A message is sent to the topic in its current spelling, not to the folded name in the id.
    expect(sent.sentMessage.topicName).toBe('Lunch');
    const draft = { to: { topic }, content: 'begun' };
    const { drafts } = await member.mutate('createDrafts', { drafts: [draft] }, 'drafts { topicName }');
    expect(drafts).toEqual([{ topicName: 'Lunch' }]);
    expect(await member.mutate('markTopicAsRead', { topic }, 'readCount')).toMatchObject({ readCount: 2 });
    const followed = await member.mutate('setTopicVisibility', { topic, visibility: 'FOLLOWED' }, 'topicName');
    expect(followed.topicName).toBe('Lunch');
    const { messages } = await member.query(
      'query ($narrow: MessageNarrowInput) { messages(narrow: $narrow) { nodes { content } } }',
      { narrow: { topic } },
    );
    expect(messages.nodes.map(({ content }: Json) => content)).toEqual(['hello', 'hello']);
    const other = await say(member, deck, 'other');
    const quietly = { sendNotificationToNewTopic: false };
    await owner.mutate('moveMessages', { messageId: other, to: topic, ...quietly }, '__typename');
    expect((await topicAt(member, deck, 'lunch')).lastMessage.databaseId).toBe(other);
    await owner.mutate('deleteTopic', { topic }, 'complete');
    expect(await topicAt(member, deck, 'lunch')).toBeNull();

    const secret = { id: globalId('Topic', `${hidden}:secret`) };
    for (const given of [topic, secret, { id: 'nonsense' }]) {
      for (const [name, input] of [
        ['sendMessage', { to: { topic: given }, content: 'x' }],
        ['createDrafts', { drafts: [{ to: { topic: given }, content: 'x' }] }],
        ['markTopicAsRead', { topic: given }],
        ['setTopicVisibility', { topic: given, visibility: 'MUTED' }],
        ['moveMessages', { messageId: id, to: given }],
        ['resolveTopic', { topic: given }],
      ] as const) {
        const { __typename: kind, code } = await member.tryMutation(name, input);
        expect([name, given, kind, code]).toEqual([name, given, 'NotFoundError', 'BAD_REQUEST']);
      }
    }
  });
});

describe('a former topic', () => {
  test.concurrent('leads to its new name, until it has messages again', async () => {
    const { owner, member } = await organization();
    const deck = await channelOf(owner, 'deck', [owner, member]);
    const id = await say(owner, deck, 'Lunch');
    await say(owner, deck, 'lunch');
    await move(owner, id, { topic: 'Dinner' });
    expect(await topicAt(member, deck, 'lunch')).toMatchObject({
      // The spelling of the message that was selected for the move.
      ...{ name: 'Lunch', lastMessage: null },
      movedTo: { name: 'Dinner', channel: { name: 'deck' } },
    });
    expect(await followed(member, deck, 'dinner')).toBe('Dinner');
    await say(member, deck, 'LUNCH');
    expect(await followed(member, deck, 'lunch')).toBe('LUNCH');
  });

  test.concurrent('of which messages remain leads nowhere, and to the last move once none remain', async () => {
    const { owner, member } = await organization();
    const deck = await channelOf(owner, 'deck', [owner, member]);
    const ids = [await say(owner, deck, 'a'), await say(owner, deck, 'a')];
    await move(owner, ids[0] ?? 0, { topic: 'b' }, 'change_one');
    expect(await followed(member, deck, 'a')).toBe('a');
    await move(owner, ids[1] ?? 0, { topic: 'c' }, 'change_one');
    expect(await followed(member, deck, 'a')).toBe('deck > c');
  });

  test.concurrent('leads through a chain of names and channels to the present one', async () => {
    const { owner, member } = await organization();
    const [deck, hold] = [await channelOf(owner, 'deck', [owner, member]), await channelOf(owner, 'hold', [owner])];
    const id = await say(owner, deck, 'a');
    await move(owner, id, { topic: 'b' });
    await move(owner, id, { stream_id: hold });
    await move(owner, id, { stream_id: hold, topic: 'c' });
    for (const [channel, name] of [
      [deck, 'a'],
      [deck, 'b'],
      [hold, 'b'],
    ] as const) {
      expect(await followed(owner, channel, name)).toBe('hold > c');
    }
    // A new topic with one of the former names does not end the search.
    await say(owner, deck, 'b');
    expect(await followed(owner, deck, 'a')).toBe('hold > c');
    expect(await followed(owner, deck, 'b')).toBe('b');
  });

  test.concurrent('in a circle of names leads to the messages, or nowhere if they were deleted', async () => {
    const { owner } = await organization();
    const deck = await channelOf(owner, 'deck', [owner]);
    const id = await say(owner, deck, 'a');
    for (const topic of ['b', 'c', 'a', 'b']) await move(owner, id, { topic });
    expect(await followed(owner, deck, 'a')).toBe('deck > b');
    expect(await followed(owner, deck, 'c')).toBe('deck > b');
    expect(await followed(owner, deck, 'b')).toBe('b');
    await owner.ok('DELETE', `/messages/${id}`);
    for (const name of ['a', 'b', 'c']) expect(await topicAt(owner, deck, name)).toBeNull();
    expect(await service.app.db.topicMove.count({ where: { channelId: deck } })).toBe(0);
  });

  test.concurrent('does not exist if only the case of the name changed', async () => {
    const { owner } = await organization();
    const deck = await channelOf(owner, 'deck', [owner]);
    const id = await say(owner, deck, 'lunch');
    await move(owner, id, { topic: 'LUNCH' });
    expect(await followed(owner, deck, 'lunch')).toBe('LUNCH');
    expect(await service.app.db.topicMove.count({ where: { channelId: deck } })).toBe(0);
  });

  test.concurrent('is hidden from users who cannot read where it went, or where it was', async () => {
    const { owner, member, guest } = await organization();
    const deck = await channelOf(owner, 'deck', [owner, member]);
    const hidden = await channelOf(owner, 'hidden', [owner, guest], PRIVATE);
    const id = await say(owner, deck, 'plans');
    await move(owner, id, { stream_id: hidden });
    expect(await followed(owner, deck, 'plans')).toBe('hidden > plans');
    expect(await topicAt(member, deck, 'plans')).toBeNull();
    // A guest who reads only the target learns nothing about the source.
    expect(await topicAt(guest, deck, 'plans')).toBeNull();
    expect(await followed(guest, hidden, 'plans')).toBe('plans');
    await move(owner, id, { stream_id: deck, topic: 'open plans' });
    // The member sees only the final topic, and not that it was in the hidden channel.
    expect(await followed(member, deck, 'plans')).toBe('deck > open plans');
    expect(await topicAt(member, hidden, 'plans')).toBeNull();
  });

  test.concurrent('of a protected history is followed only by users who received its messages', async () => {
    const { owner, member, signUp } = await organization();
    const late = await signUp('late');
    const guarded = await channelOf(owner, 'guarded', [owner, member], PROTECTED);
    const id = await say(owner, guarded, 'layoffs');
    await move(owner, id, { topic: 'plans' });
    await owner.ok('POST', '/users/me/subscriptions', {
      ...{ subscriptions: [{ name: 'guarded' }], principals: [late.id] },
    });
    await say(owner, guarded, 'plans');
    expect(await followed(late, guarded, 'plans')).toBe('plans');
    expect(await followed(member, guarded, 'layoffs')).toBe('guarded > plans');
    expect(await topicAt(late, guarded, 'layoffs')).toBeNull();
  });

  test.concurrent('is hidden if the organization does not show moves', async () => {
    const { owner } = await organization();
    const deck = await channelOf(owner, 'deck', [owner]);
    await move(owner, await say(owner, deck, 'a'), { topic: 'b' });
    await owner.ok('PATCH', '/realm', { message_edit_history_visibility_policy: 'none' });
    expect(await topicAt(owner, deck, 'a')).toBeNull();
    await owner.ok('PATCH', '/realm', { message_edit_history_visibility_policy: 'moves' });
    expect(await followed(owner, deck, 'a')).toBe('deck > b');
  });

  test('is stored for at most 100 moves of a message, the newest ones', { timeout: 120_000 }, async () => {
    const { owner } = await organization();
    const deck = await channelOf(owner, 'deck', [owner]);
    const id = await say(owner, deck, 'name 0');
    for (let i = 1; i <= MAX_MOVES + 2; i++) await move(owner, id, { topic: `name ${i}` });
    const rows = await service.app.db.topicMove.findMany({ where: { channelId: deck }, orderBy: { id: 'asc' } });
    expect(rows).toHaveLength(MAX_MOVES);
    expect(rows.at(0)?.topic).toBe('name 2');
    expect(await topicAt(owner, deck, 'name 1')).toBeNull();
    expect(await followed(owner, deck, 'name 2')).toBe(`deck > name ${MAX_MOVES + 2}`);
  });
});

describe('resolveTopic and unresolveTopic', () => {
  const RESULT = 'topic { id name isResolved lastMessage { databaseId } } position';

  test.concurrent('mark and unmark a topic, with the events of a move, and change nothing twice', async () => {
    const { owner, member } = await organization();
    const deck = await channelOf(owner, 'deck', [owner, member]);
    await say(owner, deck, 'Lunch');
    const topic = topicRef(deck, 'lunch');
    const heard = await member.receiving({ event_types: ['update_message'] });
    const resolved = await owner.mutate('resolveTopic', { topic }, RESULT);
    expect(resolved).toMatchObject({
      topic: { id: globalId('Topic', `${deck}:✔ lunch`), name: '✔ Lunch', isResolved: true },
      position: expect.any(Number),
    });
    const marked = { topic: { id: resolved.topic.id } };
    expect((await owner.mutate('resolveTopic', marked, RESULT)).position).toBeNull();
    expect(await followed(member, deck, 'lunch')).toBe('deck > ✔ Lunch');
    const open = await owner.mutate('unresolveTopic', marked, RESULT);
    expect(open.topic).toMatchObject({ name: 'Lunch', isResolved: false });
    expect(await followed(member, deck, '✔ lunch')).toBe('deck > Lunch');
    expect((await owner.mutate('unresolveTopic', { topic }, RESULT)).position).toBeNull();
    const events = (await heard()).map(({ orig_subject, subject, propagate_mode }) => [
      ...[orig_subject, subject, propagate_mode],
    ]);
    expect(events).toEqual([
      ['Lunch', '✔ Lunch', 'change_all'],
      ['✔ Lunch', 'Lunch', 'change_all'],
    ]);
  });

  test.concurrent('are refused like the move over REST', async () => {
    const { owner, member, guest } = await organization();
    const deck = await channelOf(owner, 'deck', [owner, member, guest]);
    const id = await say(owner, deck, 'lunch');
    const topic = topicRef(deck, 'lunch');
    const refusal = async (person: Person, to: string, name: string, given: object) => {
      const { body } = await person.rest('PATCH', `/messages/${id}`, { topic: to, propagate_mode: 'change_all' });
      expect((await person.tryMutation(name, { topic: given })).code).toBe(body.code);
      return body.msg;
    };
    const { realm_user_groups } = await owner.register({ fetch_event_types: ['realm_user_groups'] });
    const moderators = realm_user_groups.find(({ name }: Json) => name === 'role:moderators').id;
    await owner.ok('PATCH', '/realm', { can_resolve_topics_group: { new: moderators } });
    expect(await refusal(guest, '✔ lunch', 'resolveTopic', topic)).toMatch(/permission to resolve/);
    expect(await refusal(member, '✔ lunch', 'resolveTopic', topic)).toMatch(/permission to resolve/);
    await say(owner, deck, '');
    const { code } = await owner.tryMutation('resolveTopic', { topic: topicRef(deck, '') });
    expect(code).toBe('BAD_REQUEST');
    await owner.ok('DELETE', `/streams/${deck}`);
    expect((await owner.tryMutation('resolveTopic', { topic })).code).toBe('BAD_REQUEST');
  });

  test.concurrent('cut a long name like the move over REST', async () => {
    const { owner } = await organization();
    const deck = await channelOf(owner, 'deck', [owner]);
    await say(owner, deck, 'x'.repeat(60));
    const { topic } = await owner.mutate('resolveTopic', { topic: topicRef(deck, 'x'.repeat(60)) }, 'topic { name }');
    expect(topic.name).toBe(`✔ ${'x'.repeat(55)}...`);
  });
});

describe('lists of topics', () => {
  const namesIn = ({ nodes }: Json): string[] => nodes.map(({ name }: Json) => name);

  test.concurrent('of all channels have the recent ones, by state and name, in both orders and by page', async () => {
    const { owner, member } = await organization();
    const [deck, hold] = [
      await channelOf(owner, 'deck', [owner, member]),
      await channelOf(owner, 'hold', [owner, member]),
    ];
    const hidden = await channelOf(owner, 'hidden', [owner], PRIVATE);
    await say(member, deck, 'Lunch');
    await say(member, hold, 'lunch');
    await say(owner, deck, 'crew', `@**${member.name}**`);
    await say(owner, hold, '✔ engine');
    await say(owner, deck, 'LUNCH');
    await say(owner, hidden, 'secret');
    await owner.ok('POST', '/messages', { type: 'direct', to: [member.id], content: 'no topic' });
    await member.ok('POST', '/mark_topic_as_read', { stream_id: hold, topic_name: 'lunch' });
    await member.ok('POST', '/user_topics', { stream_id: hold, topic: 'lunch', visibility_policy: 3 });
    await member.ok('POST', '/user_topics', { stream_id: deck, topic: 'crew', visibility_policy: 1 });
    const list = async (args: string) =>
      (await member.query(`{ topics${args} { totalCount nodes { name } pageInfo { hasNextPage endCursor } } }`)).topics;
    const all = await list('');
    expect([namesIn(all), all.totalCount]).toEqual([['LUNCH', '✔ engine', 'crew', 'lunch'], 4]);
    expect(namesIn(await list('(orderBy: { field: NAME })'))).toEqual(['crew', 'LUNCH', 'lunch', '✔ engine']);
    const first = await list('(first: 3)');
    expect(first.pageInfo.hasNextPage).toBe(true);
    expect(namesIn(await list(`(first: 3, after: "${first.pageInfo.endCursor}")`))).toEqual(['lunch']);
    for (const [filter, names] of [
      ['is: [UNREAD]', ['LUNCH', '✔ engine', 'crew']],
      ['is: [UNREAD], not: [MUTED]', ['LUNCH', '✔ engine']],
      ['is: [MENTIONED]', ['crew']],
      // The member follows the topics that they started.
      ['is: [FOLLOWED]', ['LUNCH', 'lunch']],
      ['is: [MUTED]', ['crew']],
      ['is: [RESOLVED]', ['✔ engine']],
      ['is: [RESOLVED, FOLLOWED]', []],
      ['nameContains: "lun"', ['LUNCH', 'lunch']],
      ['nameContains: "eng", is: [UNREAD]', ['✔ engine']],
    ] as const) {
      expect([filter, namesIn(await list(`(filter: { ${filter} })`))]).toEqual([filter, names]);
    }
  });

  test.concurrent('of a channel are counted and found by words of their names', async () => {
    const { owner, member, guest } = await organization();
    const deck = await channelOf(owner, 'deck', [owner, member]);
    const guarded = await channelOf(owner, 'guarded', [owner], PROTECTED);
    for (const topic of ['Engine room', 'Crèche', 'engine oil', 'lunch', '']) await say(owner, deck, topic);
    await say(owner, guarded, 'early');
    const list = async (person: Person, channel: number, args: string) =>
      (
        await person.query(`{ channel(by: { id: "${globalId('Channel', channel)}" }) {
          topics${args} { totalCount nodes { name } pageInfo { hasNextPage endCursor } } } }`)
      ).channel?.topics;
    expect(await list(member, deck, '(first: 2)')).toMatchObject({
      totalCount: 5,
      nodes: [{ name: '' }, { name: 'lunch' }],
    });
    const engines = await list(member, deck, '(nameContains: "ENGINE", first: 1)');
    expect(engines).toMatchObject({ totalCount: 2, nodes: [{ name: 'engine oil' }], pageInfo: { hasNextPage: true } });
    const next = `(nameContains: "ENGINE", first: 1, after: "${engines.pageInfo.endCursor}")`;
    expect(namesIn(await list(member, deck, next))).toEqual(['Engine room']);
    expect(namesIn(await list(member, deck, '(nameContains: "creche")'))).toEqual(['Crèche']);
    expect(namesIn(await list(member, deck, '(nameContains: "room eng")'))).toEqual(['Engine room']);
    expect(await list(guest, deck, '')).toBeUndefined();
    await owner.ok('POST', '/users/me/subscriptions', {
      ...{ subscriptions: [{ name: 'guarded' }], principals: [member.id] },
    });
    expect(await list(member, guarded, '')).toMatchObject({ totalCount: 0, nodes: [] });
    await say(owner, guarded, 'late');
    expect(await list(member, guarded, '')).toMatchObject({ totalCount: 1, nodes: [{ name: 'late' }] });
  });
});
