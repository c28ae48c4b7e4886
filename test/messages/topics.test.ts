import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { transact } from '../../src/events/log.ts';
import { moveTopicPolicies } from '../../src/messages/topic-policies/service.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { expectIgnoredParameters } from '../helpers/ignored.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { toTopic } from '../helpers/talk.ts';

const bad = (msg: string) => ({ status: 400, body: { result: 'error', code: 'BAD_REQUEST', msg } });
const INVALID_ID = bad('Invalid channel ID');

/** Creates a channel, by default with its creator as the only subscriber. @returns Its id. */
async function create(person: Person, name: string, fields: object = {}): Promise<number> {
  return (await person.ok('POST', '/channels/create', { name, subscribers: [person.id], ...fields })).id;
}

/** Sends a channel message. @returns Its id. */
async function send(person: Person, channel: number, topic: string, content = 'hello'): Promise<number> {
  return (await person.ok('POST', '/messages', { type: 'channel', to: channel, topic, content })).id;
}

const topicsFor = (person: Person, channel: number, parameters: object = {}) =>
  person.rest('GET', `/users/me/${channel}/topics`, { ...parameters });

const topicsOf = async (person: Person, channel: number, parameters: object = {}): Promise<Json[]> =>
  (await person.ok('GET', `/users/me/${channel}/topics`, { ...parameters })).topics;

const namesOf = async (person: Person, channel: number): Promise<string[]> =>
  (await topicsOf(person, channel)).map(({ name }) => name);

const subscribe = (person: Person, name: string, who: Person) =>
  person.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name }], principals: [who.id] });

const unsubscribe = (person: Person, name: string, who: Person) =>
  person.ok('DELETE', '/users/me/subscriptions', { subscriptions: [name], principals: [who.id] });

/** A service that only this file uses. Each call of its clock advances the clock by `step`. */
let service: InProcess;
const start = Date.UTC(2026, 0, 1);
const clock = { now: start, step: 0 };

beforeAll(async () => {
  const now = () => {
    clock.now += clock.step;
    return new Date(clock.now);
  };
  service = await shareInProcess({ now });
});
afterAll(() => service[Symbol.asyncDispose]());

const DAY_MS = 86_400_000;

/**
 * Inserts messages directly in the database, with send times distributed evenly between two days.
 *
 * @returns Number of inserted rows.
 */
const fill = (person: Person, organizationId: number, channel: number, [count, from, to]: [number, number, number]) =>
  service.app.db.$executeRaw`
    INSERT INTO message (realm_id, id, sender_id, channel_id, sent_channel_id, topic, content, rendered_content,
                         client_name, sent_at, sent_event_id, send_token)
    SELECT ${organizationId}, nextval('message_id_seq'), ${person.id}, ${channel}, ${channel}, 'topic', 'x', 'x', 'test',
           ${new Date(start + from * DAY_MS)}::timestamptz
             + make_interval(secs => ${((to - from) * 86_400) / count}::float8 * i), 0, i
    FROM generate_series(0, ${count - 1}::int) AS i`;

describe('GET /users/me/{stream_id}/topics', () => {
  test.concurrent('lists each topic once, in the spelling of its last message, the most recent topic first', async () => {
    const { member, moderator } = await createOrganization();
    const channel = await create(member, 'general');
    expect(await topicsOf(member, channel)).toEqual([]);
    await send(member, channel, 'Lunch');
    const [greetings, umlauts] = [await send(member, channel, 'greetings'), await send(member, channel, 'äPFEL')];
    const lunch = await send(moderator, channel, 'LUNCH');
    const apples = await send(moderator, channel, 'Äpfel');
    const empty = await send(member, channel, '(no topic)');
    expect(umlauts).toBeLessThan(apples);
    const named = [
      { name: 'Äpfel', max_id: apples },
      { name: 'LUNCH', max_id: lunch },
      { name: 'greetings', max_id: greetings },
    ];
    expect(await topicsOf(member, channel)).toEqual([{ name: 'general chat', max_id: empty }, ...named]);
    const knowing = { allow_empty_topic_name: true };
    expect(await topicsOf(member, channel, knowing)).toEqual([{ name: '', max_id: empty }, ...named]);
    await expectIgnoredParameters(member, 'GET', async () => ({ path: `/users/me/${channel}/topics` }), 'stream_id');
  });

  test.concurrent('requires access to the channel, archived or not', async () => {
    const { owner, administrator, member, moderator, guest, bot } = await createOrganization();
    const open = await create(member, 'open', { subscribers: [] });
    const hidden = await create(member, 'hidden', { invite_only: true, history_public_to_subscribers: true });
    const granting = await create(member, 'granting', {
      ...{ invite_only: true, history_public_to_subscribers: true },
      can_subscribe_group: { direct_members: [moderator.id, guest.id], direct_subgroups: [] },
    });
    for (const channel of [open, hidden, granting]) await send(member, channel, 'topic');

    for (const person of [owner, administrator, moderator, member, bot]) {
      expect(await namesOf(person, open), person.name).toEqual(['topic']);
    }
    expect(await topicsFor(guest, open)).toMatchObject(INVALID_ID);
    // The role of an administrator gives no access to private channels.
    for (const person of [owner, administrator, moderator, guest, bot]) {
      expect(await topicsFor(person, hidden), person.name).toMatchObject(INVALID_ID);
    }
    expect(await namesOf(moderator, granting)).toEqual(['topic']);
    expect(await topicsFor(guest, granting)).toMatchObject(INVALID_ID);
    for (const id of [0, 2_000_000_000, 9_000_000_000]) {
      expect(await topicsFor(member, id)).toMatchObject(INVALID_ID);
    }

    await subscribe(member, 'hidden', guest);
    await subscribe(member, 'open', guest);
    await member.ok('DELETE', `/streams/${hidden}`);
    await member.ok('DELETE', `/streams/${open}`);
    for (const channel of [hidden, open]) expect(await namesOf(guest, channel)).toEqual(['topic']);
    expect(await topicsFor(moderator, hidden)).toMatchObject(INVALID_ID);
  });

  test.concurrent('lists all topics of a shared history, and of a protected one those received while subscribed', async () => {
    const { owner, member, moderator, guest, bot } = await createOrganization();
    const privacy = { invite_only: true, subscribers: [member.id] };
    const shared = await create(member, 'shared', { ...privacy, history_public_to_subscribers: true });
    const guarded = await create(member, 'guarded', privacy);
    const inBoth = async (topic: string) => {
      await send(member, shared, topic);
      return send(member, guarded, topic);
    };
    const joining = [moderator, guest, bot];
    await inBoth('before');
    await inBoth('always');
    for (const person of joining) {
      for (const name of ['shared', 'guarded']) await subscribe(member, name, person);
      expect(await namesOf(person, shared)).toEqual(['always', 'before']);
      expect(await namesOf(person, guarded)).toEqual([]);
    }
    await inBoth('during');
    const last = await inBoth('Always');
    for (const person of joining) {
      expect(await namesOf(person, shared)).toEqual(['Always', 'during', 'before']);
      expect(await namesOf(person, guarded)).toEqual(['Always', 'during']);
      for (const name of ['shared', 'guarded']) await unsubscribe(owner, name, person);
      for (const channel of [shared, guarded]) expect(await topicsFor(person, channel)).toMatchObject(INVALID_ID);
    }
    await inBoth('while away');
    await inBoth('always');
    for (const person of joining) {
      for (const name of ['shared', 'guarded']) await subscribe(member, name, person);
      expect(await namesOf(person, shared)).toEqual(['always', 'while away', 'during', 'before']);
      expect((await topicsOf(person, guarded))[0]).toEqual({ name: 'Always', max_id: last });
      expect(await namesOf(person, guarded)).toEqual(['Always', 'during']);
    }
    await inBoth('again');
    expect(await namesOf(guest, guarded)).toEqual(['again', 'Always', 'during']);
    expect(await namesOf(member, guarded)).toEqual(['again', 'always', 'while away', 'during', 'before']);
  });

  test.concurrent('follows moved messages, also into a protected channel for users who received them before', async () => {
    const { administrator, member, moderator, guest } = await createOrganization();
    const open = await create(administrator, 'open', { subscribers: [moderator.id] });
    const guarded = await create(administrator, 'guarded', { invite_only: true });
    const id = await send(member, open, 'moving');
    await send(member, open, 'staying');
    await administrator.ok('PATCH', `/messages/${id}`, { stream_id: guarded, send_notification_to_new_thread: false });
    expect(await namesOf(member, open)).toEqual(['staying']);
    for (const person of [member, moderator, guest]) await subscribe(administrator, 'guarded', person);
    // The moderator received the message and the member sent it. The guest did neither.
    for (const person of [member, moderator])
      expect(await topicsOf(person, guarded)).toEqual([{ name: 'moving', max_id: id }]);
    expect(await topicsOf(guest, guarded)).toEqual([]);
  });
});

describe('Topic.messages', () => {
  test.concurrent('paginates the messages of a topic that the viewer can read, in both directions and around one', async () => {
    const { member, moderator, guest } = await createOrganization();
    const channel = await create(member, 'a', { invite_only: true, history_public_to_subscribers: false });
    const early = await send(member, channel, 'Plans');
    await member.ok('POST', '/users/me/subscriptions', {
      ...{ subscriptions: [{ name: 'a' }], principals: [moderator.id] },
    });
    await send(member, channel, 'other');
    const later: number[] = [];
    for (const topic of ['plans', 'PLANS', 'Plans', 'plans']) later.push(await send(member, channel, topic));
    const [one, two, three, four] = later;
    const read = async (person: Person, args: string) => {
      const { node } = await person.query(`{ node(id: "${globalId('Topic', `${channel}:plans`)}") { ... on Topic {
        messages(${args}) { nodes { databaseId topic { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }
      } } }`);
      return node?.messages;
    };
    const idsIn = (page: Json) => page.nodes.map(({ databaseId }: Json) => databaseId);
    const newest = await read(member, 'last: 2');
    expect(idsIn(newest)).toEqual([three, four]);
    expect(newest.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true });
    expect(new Set(newest.nodes.map(({ topic }: Json) => topic.id))).toEqual(
      new Set([globalId('Topic', `${channel}:plans`)]),
    );
    const rest = await read(member, `last: 10, before: "${newest.pageInfo.startCursor}"`);
    expect([idsIn(rest), rest.pageInfo.hasPreviousPage]).toEqual([[early, one, two], false]);
    const on = await read(member, `first: 1, after: "${rest.pageInfo.endCursor}"`);
    expect([idsIn(on), on.pageInfo.hasNextPage]).toEqual([[three], true]);
    expect(idsIn(await read(member, 'first: 2'))).toEqual([early, one]);
    const around = await read(
      member,
      `anchor: { messageId: "${globalId('Message', two ?? 0)}" }, countBefore: 1, countAfter: 1`,
    );
    expect(idsIn(around)).toEqual([one, two, three]);
    // Users who subscribed later can read the messages that were sent since then.
    expect(idsIn(await read(moderator, 'first: 10'))).toEqual([one, two, three, four]);
    expect(await read(guest, 'first: 10')).toBeUndefined();
  });
});

describe('Channel.topics', () => {
  const document = `query ($first: Int, $last: Int, $after: String, $before: String) {
    channels(first: 10) { edges { node { name topics(first: $first, last: $last, after: $after, before: $before) {
      edges { cursor node { name viewerVisibility lastMessage { databaseId } } }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    } } } }
  }`;

  test.concurrent('paginates the topics of many channels, in both directions', async () => {
    const { administrator, member } = await createOrganization();
    const ids: number[] = [];
    for (const name of ['a', 'b']) ids.push(await create(member, name));
    const hidden = await create(member, 'c', { invite_only: true });
    for (const channel of [...ids, hidden]) {
      for (const topic of ['one', 'two', 'three', '']) await send(member, channel, topic);
    }
    const last = await send(member, ids[0] ?? 0, 'ONE');
    await member.ok('POST', '/user_topics', { stream_id: ids[0], topic: 'One', visibility_policy: 1 });

    const read = async (person: Person, page: object) =>
      (await person.query(document, { ...page })).channels.edges.map(({ node }: Json) => node.topics);
    const namesIn = (topics: Json): string[] => topics.edges.map(({ node }: Json) => node.name);

    const [a, b, c] = await read(member, { first: 3 });
    expect(a.edges[0].node).toEqual({
      ...{ name: 'ONE', viewerVisibility: 'MUTED', lastMessage: { databaseId: last } },
    });
    expect([a, b, c].map(namesIn)).toEqual([
      ['ONE', '', 'three'],
      ['', 'three', 'two'],
      ['', 'three', 'two'],
    ]);
    expect(a.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false, endCursor: a.edges[2].cursor });
    const [rest] = await read(member, { first: 3, after: a.pageInfo.endCursor });
    expect(namesIn(rest)).toEqual(['two']);
    expect(rest.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true });
    const [back] = await read(member, { last: 2, before: rest.pageInfo.startCursor });
    expect(namesIn(back)).toEqual(['', 'three']);
    expect(back.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: true });
    expect(namesIn((await read(member, { last: 0 }))[0])).toEqual([]);

    // An administrator can see the private channel, but not its content.
    expect((await read(administrator, { first: 1 })).map(namesIn)).toEqual([['ONE'], [''], []]);
    const { errors } = await member.graphql(document, { after: 'x' });
    expect(errors?.[0].message).toBe('"after" is not a cursor of this list');
  });
});

describe('PATCH /users/me/subscriptions/muted_topics', () => {
  const PATH = '/users/me/subscriptions/muted_topics';
  const patch = (person: Person, op: string, parameters: object) => person.rest('PATCH', PATH, { op, ...parameters });
  const mutedOf = async (person: Person, parameters: object = {}): Promise<Json[]> =>
    (await person.register({ fetch_event_types: ['muted_topics'], ...parameters })).muted_topics;
  const listed = (list: Json[]) => list.map(([channel, topic]) => [channel, topic]);

  test.concurrent('mutes and unmutes like POST /user_topics, by id or name, and sends old clients the whole list', async () => {
    const { member, moderator } = await createOrganization();
    const [general, other] = [await create(member, 'General'), await create(member, 'other')];
    const [old, modern, all, others] = [
      await member.receiving({ event_types: ['muted_topics'] }),
      await member.receiving({ event_types: ['muted_topics', 'user_topic'] }),
      await member.receiving(),
      await moderator.receiving(),
    ];
    const before = Math.floor(Date.now() / 1000);
    for (const [op, parameters] of [
      ['add', { stream_id: general, topic: 'Lunch' }],
      // Requests that change nothing succeed and send no event.
      ['add', { stream: 'general', topic: 'LUNCH' }],
      ['add', { stream: 'other', topic: '(no topic)' }],
      ['remove', { stream: 'GENERAL', topic: 'lunch' }],
      ['remove', { stream_id: general, topic: 'lunch' }],
    ] as const) {
      expect(await patch(member, op, parameters)).toMatchObject({ status: 200, body: { result: 'success', msg: '' } });
    }
    const told = (await old()).map(({ type, muted_topics }) => [type, listed(muted_topics)]);
    expect(told).toEqual([
      ['muted_topics', [['General', 'Lunch']]],
      [
        'muted_topics',
        [
          ['General', 'Lunch'],
          ['other', 'general chat'],
        ],
      ],
      ['muted_topics', [['other', 'general chat']]],
    ]);
    const list = await mutedOf(member);
    expect(list).toEqual([['other', 'general chat', expect.any(Number)]]);
    expect(list[0][2]).toBeGreaterThanOrEqual(before);
    const capable = { client_capabilities: { notification_settings_null: true, empty_topic_name: true } };
    expect(listed(await mutedOf(member, capable))).toEqual([['other', '']]);
    expect((await modern()).map(({ type, visibility_policy }) => [type, visibility_policy])).toEqual(
      [1, 1, 0].map((policy) => ['user_topic', policy]),
    );
    expect((await all()).map(({ type }) => type)).toEqual([1, 2, 3].flatMap(() => ['user_topic', 'muted_topics']));
    expect(await others()).toEqual([]);
    const { user_topics } = await member.register({ fetch_event_types: ['user_topic'] });
    expect(user_topics).toMatchObject([{ stream_id: other, topic_name: 'general chat', visibility_policy: 1 }]);
    await expectIgnoredParameters(member, 'PATCH', async () => ({
      path: PATH,
      parameters: { stream_id: general, topic: 'x', op: 'add' },
    }));
  });

  test.concurrent('sends events only if the muted topics change, for every kind of change', async () => {
    const { member, moderator } = await createOrganization();
    const channel = await create(member, 'general', { subscribers: [member.id, moderator.id] });
    const heard = await member.receiving({ event_types: ['muted_topics'] });
    const set = (topic: string, visibility_policy: number) =>
      member.ok('POST', '/user_topics', { stream_id: channel, topic, visibility_policy });
    const lists = async () => (await heard()).map(({ muted_topics }) => muted_topics.map(([, topic]: Json) => topic));
    await set('followed', 3);
    await set('unmuted', 2);
    await set('followed', 0);
    expect(await lists()).toEqual([]);
    await set('a', 1);
    const id = await send(moderator, channel, 'b');
    await set('b', 1);
    await moderator.ok('PATCH', `/messages/${id}`, { topic: 'c', propagate_mode: 'change_all' });
    await set('a', 2);
    expect(await lists()).toEqual([['a'], ['a', 'b'], ['a', 'c'], ['c']]);
  });

  test.concurrent('lists no topics of channels that are archived or invisible to the user', async () => {
    const { owner, member, guest } = await createOrganization();
    const people = { subscribers: [owner.id, member.id, guest.id] };
    const [open, closed, old] = [
      await create(owner, 'open', people),
      await create(owner, 'closed', { ...people, invite_only: true }),
      await create(owner, 'old', people),
    ];
    for (const person of [member, guest]) {
      for (const stream_id of [open, closed, old]) {
        expect(await patch(person, 'add', { stream_id, topic: 'x' })).toMatchObject({ status: 200 });
      }
    }
    await owner.ok('DELETE', `/streams/${old}`);
    const channels = async (person: Person) => (await mutedOf(person)).map(([name]) => name);
    expect([await channels(member), await channels(guest)]).toEqual([
      ['open', 'closed'],
      ['open', 'closed'],
    ]);
    for (const who of [member, guest]) {
      await unsubscribe(owner, 'open', who);
      await unsubscribe(owner, 'closed', who);
    }
    await owner.ok('PATCH', `/streams/${closed}`, { new_name: 'a secret by now' });
    expect([await channels(member), await channels(guest)]).toEqual([['open'], []]);
    // A visibility policy can still be removed after the user has lost access to the channel.
    expect(await patch(member, 'remove', { stream_id: closed, topic: 'x' })).toMatchObject({ status: 200 });
    expect(await patch(member, 'add', { stream_id: closed, topic: 'x' })).toMatchObject(INVALID_ID);
  });

  test.concurrent('requires exactly one channel, to which the user has access', async () => {
    const { owner, member } = await createOrganization();
    const general = await create(member, 'general');
    const hidden = await create(owner, 'hidden', { invite_only: true });
    expect(await patch(member, 'add', { topic: 'x' })).toMatchObject({
      ...{ status: 400, body: { code: 'REQUEST_VARIABLE_MISSING', var_name: 'stream_id' } },
    });
    expect(await patch(member, 'add', { topic: 'x', stream_id: general, stream: 'general' })).toMatchObject(
      bad('Unsupported parameter combination: stream_id, stream'),
    );
    expect(await patch(member, 'add', { topic: 'x', stream_id: hidden })).toMatchObject(INVALID_ID);
    for (const stream of ['hidden', 'nothing', '']) {
      expect(await patch(member, 'add', { topic: 'x', stream })).toMatchObject(bad(`Invalid channel name '${stream}'`));
    }
    for (const op of ['', 'toggle']) {
      expect(await patch(member, op, { topic: 'x', stream_id: general })).toMatchObject({ status: 400 });
    }
    expect(await mutedOf(member)).toEqual([]);
  });

  test('sends no events for more than 500 topics, because each would contain all of them', async () => {
    const { member } = await createOrganization({}, { on: service });
    const channel = await create(member, 'general');
    await service.app.db.$executeRaw`
      INSERT INTO user_topic (realm_id, user_id, channel_id, topic, policy, last_updated)
      SELECT realm_id, id, ${channel}, 'topic ' || i, 1, now() FROM user_account, generate_series(1, 499) AS i
      WHERE id = ${member.id}`;
    const heard = await member.receiving({ event_types: ['muted_topics'] });
    for (const topic of ['500th', '501st']) await patch(member, 'add', { stream_id: channel, topic });
    expect(await mutedOf(member)).toHaveLength(501);
    for (const topic of ['501st', '500th']) await patch(member, 'remove', { stream_id: channel, topic });
    expect((await heard()).map(({ muted_topics }) => muted_topics.length)).toEqual([500, 500, 499]);
  });

  test('sends the complete list in the last event, after many concurrent changes', async () => {
    const { member } = await createOrganization();
    const channel = await create(member, 'general');
    const heard = await member.receiving({ event_types: ['muted_topics'] });
    const topics = Array.from({ length: 24 }, (_, i) => `topic ${i}`);
    await Promise.all(topics.map((topic) => patch(member, 'add', { stream_id: channel, topic })));
    await Promise.all(topics.slice(0, 12).map((topic) => patch(member, 'remove', { stream_id: channel, topic })));
    const last = (await heard()).at(-1);
    expect(last.muted_topics).toEqual(await mutedOf(member));
    expect(last.muted_topics).toHaveLength(12);
  });
});

describe('POST /user_topics', () => {
  const set = (person: Person, stream_id: number, topic: string, visibility_policy: unknown) =>
    person.rest('POST', '/user_topics', { stream_id, topic, visibility_policy });
  const policiesOf = async (person: Person, parameters: object = {}): Promise<Json[]> =>
    (await person.register({ fetch_event_types: ['user_topic'], ...parameters })).user_topics;

  test.concurrent("sets the user's policy for a topic in any case, and notifies only their clients", async () => {
    const { member, moderator } = await createOrganization();
    const channel = await create(member, 'general');
    const [heard, others] = [await member.receiving(), await moderator.receiving()];
    const before = Math.floor(Date.now() / 1000);
    for (const [topic, policy] of [
      ['Lunch', 1],
      ['LUNCH', 1],
      ['LUNCH', 3],
      ['(no topic)', 2],
      ['nothing here', 0],
      ['lunch', 0],
    ] as const) {
      expect(await set(member, channel, topic, policy)).toMatchObject({ status: 200, body: { msg: '' } });
      if (policy === 2) {
        expect(await policiesOf(member)).toEqual([
          { stream_id: channel, topic_name: 'LUNCH', visibility_policy: 3, last_updated: expect.any(Number) },
          { stream_id: channel, topic_name: 'general chat', visibility_policy: 2, last_updated: expect.any(Number) },
        ]);
      }
    }
    const events = (await heard()).filter(({ type }) => type !== 'muted_topics');
    expect(events[0].last_updated).toBeGreaterThanOrEqual(before);
    expect(events.map(({ topic_name, visibility_policy }) => [topic_name, visibility_policy])).toEqual([
      ['Lunch', 1],
      ['LUNCH', 3],
      ['general chat', 2],
      ['lunch', 0],
    ]);
    expect(events.every(({ type, stream_id }) => type === 'user_topic' && stream_id === channel)).toBe(true);
    expect(await others()).toEqual([]);
    const capable = { client_capabilities: { notification_settings_null: true, empty_topic_name: true } };
    expect(await policiesOf(member, capable)).toMatchObject([{ topic_name: '', visibility_policy: 2 }]);
    const parameters = { stream_id: channel, topic: 'x', visibility_policy: 1 };
    await expectIgnoredParameters(member, 'POST', async () => ({ path: '/user_topics', parameters }));
  });

  test.concurrent('requires access to the channel, except to remove an existing policy', async () => {
    const { owner, member, guest, administrator } = await createOrganization();
    const hidden = await create(member, 'hidden', { invite_only: true, subscribers: [member.id, guest.id] });
    expect(await set(guest, hidden, 'topic', 3)).toMatchObject({ status: 200 });
    expect(await set(administrator, hidden, 'topic', 3)).toMatchObject(INVALID_ID);
    expect(await set(administrator, hidden, 'topic', 0)).toMatchObject(INVALID_ID);
    await unsubscribe(owner, 'hidden', guest);
    expect(await set(guest, hidden, 'topic', 1)).toMatchObject(INVALID_ID);
    expect(await set(guest, hidden, 'other', 0)).toMatchObject(INVALID_ID);
    expect(await set(guest, hidden, 'TOPIC', 0)).toMatchObject({ status: 200 });
    expect(await set(guest, hidden, 'topic', 0)).toMatchObject(INVALID_ID);
    for (const id of [0, 2_000_000_000, 9_000_000_000]) expect(await set(member, id, 'x', 0)).toMatchObject(INVALID_ID);
  });

  test.concurrent('accepts four policies, and topics of up to 60 characters', async () => {
    const { member } = await createOrganization();
    const channel = await create(member, 'general');
    expect(await set(member, channel, 't'.repeat(60), 1)).toMatchObject({ status: 200 });
    expect(await set(member, channel, 't'.repeat(61), 1)).toMatchObject(
      bad('topic is too long (limit: 60 characters)'),
    );
    for (const policy of [4, -1]) {
      expect(await set(member, channel, 'x', policy)).toMatchObject(bad('Invalid visibility_policy'));
    }
    expect(await set(member, channel, 'x\0', 1)).toMatchObject(bad('topic must not contain null bytes'));
  });

  test.concurrent('is setTopicVisibility over GraphQL, where userTopics lists the policies', async () => {
    const { member, owner } = await createOrganization();
    const channel = await create(owner, 'hidden', { invite_only: true, subscribers: [member.id] });
    await using events = await member.events(
      '... on TopicVisibilityChangedEvent { channel { databaseId } topicName visibility updatedAt }',
    );
    const input = { ...toTopic(channel, 'general chat'), visibility: 'FOLLOWED' };
    expect(
      await member.mutate('setTopicVisibility', input, 'channel { name } topicName topic { id } visibility'),
    ).toEqual({
      ...{ channel: { name: 'hidden' }, topicName: '', topic: null, visibility: 'FOLLOWED' },
    });
    expect(await events.next()).toEqual({
      ...{ channel: { databaseId: channel }, topicName: '', visibility: 'FOLLOWED' },
      updatedAt: expect.stringMatching(/^20/),
    });
    await member.mutate('setTopicVisibility', { ...toTopic(channel, 'other'), visibility: 'MUTED' }, '__typename');
    const document = '{ userTopics { edges { node { topicName topic { name } visibility channel { name } } } } }';
    const nodes = async () => (await member.query(document)).userTopics.edges.map(({ node }: Json) => node);
    const wanted = [
      { topicName: '', topic: null, visibility: 'FOLLOWED', channel: { name: 'hidden' } },
      { topicName: 'other', topic: null, visibility: 'MUTED', channel: { name: 'hidden' } },
    ];
    expect(await nodes()).toEqual(wanted);
    // A topic exists as soon as it contains a message.
    await member.ok('POST', '/messages', { type: 'channel', to: channel, topic: 'Other', content: 'x' });
    expect((await nodes()).map((node: Json) => node.topic)).toEqual([null, { name: 'Other' }]);
    await unsubscribe(owner, 'hidden', member);
    expect((await nodes()).map((node: Json) => node.channel)).toEqual([null, null]);
  });
});

describe('moveTopicPolicies', () => {
  test('does not reveal the new names of topics to users who have left the channel', async () => {
    const { owner, member, moderator } = await createOrganization({}, { on: service });
    const subscribers = [owner.id, member.id, moderator.id];
    const hidden = await create(owner, 'hidden', { invite_only: true, subscribers });
    const first = await send(owner, hidden, 'plans');
    for (const person of [member, moderator]) {
      await person.ok('POST', '/user_topics', { stream_id: hidden, topic: 'plans', visibility_policy: 3 });
    }
    await unsubscribe(owner, 'hidden', member);
    const heard = await Promise.all(
      [member, moderator].map((person) => person.receiving({ event_types: ['user_topic'] })),
    );
    await owner.ok('PATCH', `/messages/${first}`, { topic: 'layoffs', propagate_mode: 'change_all' });
    const policies = heard.map(async (events) =>
      (await events()).map(({ topic_name, visibility_policy }) => [topic_name, visibility_policy]),
    );
    expect(await policies[0]).toEqual([['plans', 0]]);
    expect(await policies[1]).toEqual([
      ['plans', 0],
      ['layoffs', 3],
    ]);
  });

  test("moves every user's policy, and keeps the more visible of two", async () => {
    const { app } = service;
    const people = await createOrganization(
      { ann: 'member', bob: 'member', cyd: 'member', dan: 'member' },
      { on: service },
    );
    const { owner, ann, bob, cyd, dan, guest } = people;
    const open = await create(owner, 'open', { subscribers: [guest.id] });
    const hidden = await create(owner, 'hidden', { invite_only: true, subscribers: [owner.id, ann.id] });
    const organization = await app.db.organization.findUniqueOrThrow({ where: { id: people.organization.id } });
    const move = (from: string, to: string, merging: boolean, toChannelId = open) =>
      transact({ work: app.work, organizationId: organization.id }, (tx, emit) => {
        const place = { organization, now: app.now() };
        return moveTopicPolicies(tx, emit, place, {
          ...{ fromChannelId: open, fromTopic: from, toChannelId, toTopic: to, merging },
        });
      });
    const set = async (person: Person, topic: string, ...policies: number[]) => {
      for (const visibility_policy of policies) {
        await person.ok('POST', '/user_topics', { stream_id: open, topic, visibility_policy });
      }
    };
    const policiesOf = async (person: Person) => {
      const { user_topics } = await person.register({ fetch_event_types: ['user_topic'] });
      return user_topics.map((entry: Json) => [entry.stream_id, entry.topic_name, entry.visibility_policy]);
    };

    // If a topic is moved to a new one, all visibility policies for it move along. Users without a policy for the old topic
    // keep their policy for the new one.
    for (const [person, from, to] of [
      [ann, 1, 0],
      [bob, 3, 1],
      [cyd, 0, 2],
    ] as const) {
      if (from !== 0) await set(person, 'old', from);
      if (to !== 0) await set(person, 'new', to);
    }
    const heard = await bob.receiving({ event_types: ['user_topic'] });
    await move('OLD', 'New', false);
    expect(await policiesOf(ann)).toEqual([[open, 'New', 1]]);
    expect(await policiesOf(bob)).toEqual([[open, 'New', 3]]);
    expect(await policiesOf(cyd)).toEqual([[open, 'new', 2]]);
    expect((await heard()).map((event) => [event.topic_name, event.visibility_policy])).toEqual([
      ['OLD', 0],
      ['New', 3],
    ]);

    // If two topics are merged, the more visible of a user's two policies applies. So the result is muted only if both topics
    // were.
    await set(ann, 'other', 1);
    await set(bob, 'other', 2);
    await set(dan, 'other', 1);
    await set(owner, 'other', 2);
    await move('New', 'other', true);
    for (const [person, policies] of [
      [ann, [[open, 'other', 1]]],
      [bob, [[open, 'other', 3]]],
      [cyd, [[open, 'other', 2]]],
      [dan, []],
      [owner, [[open, 'other', 2]]],
    ] as const) {
      expect(await policiesOf(person), person.name).toEqual(policies);
    }

    // If only the case of the name changes, the topic is not moved: it keeps its identity, and its name is displayed in the new
    // spelling.
    await move('other', 'OTHER', false);
    expect(await policiesOf(bob)).toEqual([[open, 'OTHER', 3]]);

    // Users who cannot access the channel have no policies for its topics.
    await set(guest, 'other', 3);
    await move('other', 'there', false, hidden);
    expect(await policiesOf(ann)).toEqual([[hidden, 'there', 1]]);
    expect(await policiesOf(owner)).toEqual([[hidden, 'there', 2]]);
    for (const person of [bob, cyd, guest]) expect(await policiesOf(person), person.name).toEqual([]);
  });
});

describe('POST /streams/{stream_id}/delete_topic', () => {
  const remove = (person: Person, channel: number, topic_name: string) =>
    person.rest('POST', `/streams/${channel}/delete_topic`, { topic_name });
  const complete = (value: boolean) => ({ status: 200, body: { complete: value } });

  test.concurrent('deletes the messages of a topic in any case, and its policies', async () => {
    const { administrator, moderator, member } = await createOrganization();
    const channel = await create(member, 'general');
    const policy = { stream_id: channel, topic: 'lunch', visibility_policy: 3 };
    await moderator.ok('POST', '/user_topics', policy);
    const ids = [await send(member, channel, 'Lunch'), await send(moderator, channel, 'LUNCH')];
    await send(member, channel, 'other');
    const [heard, members] = [await moderator.receiving(), await member.receiving()];
    expect(await remove(administrator, channel, 'lunch')).toMatchObject(complete(true));
    expect(await namesOf(member, channel)).toEqual(['other']);
    expect(await heard()).toContainEqual({
      ...{ type: 'user_topic', stream_id: channel, topic_name: 'lunch', visibility_policy: 0 },
      last_updated: expect.any(Number),
    });
    const deleted = (await members()).filter(({ type }) => type === 'delete_message');
    expect(
      deleted.flatMap(({ message_id, message_ids }) => message_ids ?? [message_id]).toSorted((a, b) => a - b),
    ).toEqual(ids);
    // The first topic no longer exists, and the second one has never existed.
    expect(await remove(administrator, channel, 'lunch')).toMatchObject(complete(true));
    expect(await administrator.mutate('deleteTopic', toTopic(channel, 'none'), 'complete')).toEqual({
      complete: true,
    });
    const parameters = { topic_name: 'none' };
    const call = async () => ({ path: `/streams/${channel}/delete_topic`, parameters });
    await expectIgnoredParameters(administrator, 'POST', call, 'stream_id');
  });

  test.concurrent('requires an administrator with access to the channel', async () => {
    const { administrator, moderator, member } = await createOrganization();
    const open = await create(member, 'open');
    const hidden = await create(member, 'hidden', { invite_only: true });
    for (const channel of [open, hidden]) await send(member, channel, 'topic');
    expect(await remove(moderator, open, 'topic')).toMatchObject({
      status: 400,
      body: { code: 'UNAUTHORIZED_PRINCIPAL' },
    });
    for (const channel of [hidden, 0, 2_000_000_000]) {
      expect(await remove(administrator, channel, 'topic')).toMatchObject(INVALID_ID);
    }
    // In a channel with protected history, only the messages that the administrator received are deleted.
    await subscribe(member, 'hidden', administrator);
    await send(member, hidden, 'topic');
    expect(await remove(administrator, hidden, 'topic')).toMatchObject(complete(true));
    expect(await namesOf(administrator, hidden)).toEqual([]);
    expect(await namesOf(member, hidden)).toEqual(['topic']);
    await member.ok('DELETE', `/streams/${open}`);
    expect(await remove(administrator, open, 'topic')).toMatchObject(INVALID_ID);
  });

  test('continues where it stopped at a timeout', async () => {
    const { owner, organization } = await createOrganization({}, { on: service });
    const channel = await create(owner, 'general');
    const first = await send(owner, channel, 'topic');
    await fill(owner, organization.id, channel, [119, 0, 1]);
    clock.step = 60_000;
    expect(await remove(owner, channel, 'topic')).toMatchObject(complete(false));
    clock.step = 0;
    expect(await topicsOf(owner, channel)).toEqual([{ name: 'topic', max_id: first + 19 }]);
    expect(await remove(owner, channel, 'topic')).toMatchObject(complete(true));
    expect(await topicsOf(owner, channel)).toEqual([]);
  });
});

describe('message statistics of a channel', () => {
  const activityOf = async (person: Person, channel: number) => {
    const { stream } = await person.ok('GET', `/streams/${channel}`);
    return [stream.first_message_id, stream.is_recently_active, stream.stream_weekly_traffic];
  };

  test('are the first message, recent activity, and weekly traffic', async () => {
    const on = (day: number) => {
      clock.now = start + day * DAY_MS;
    };
    on(0);
    const { member, moderator, organization } = await createOrganization({}, { on: service });
    const [busy, quiet, silent] = [
      await create(member, 'busy'),
      await create(member, 'quiet'),
      await create(member, 'silent'),
    ];
    for (const channel of [busy, quiet, silent])
      expect(await activityOf(moderator, channel)).toEqual([null, true, null]);

    on(1);
    const first = await send(member, quiet, 'topic');
    await send(member, quiet, 'topic');
    await fill(member, organization.id, busy, [300, 1, 6]);
    on(6.9);
    expect(await activityOf(moderator, quiet)).toEqual([first, true, null]);
    on(8);
    expect(await activityOf(moderator, quiet)).toEqual([first, true, 1]);
    expect(await activityOf(moderator, silent)).toEqual([null, true, 0]);
    expect(await activityOf(moderator, busy)).toEqual([first + 2, true, 260]);

    // The messages of the first week are older than the period for which traffic is counted. In the busy channel, only a part
    // of the later messages is counted.
    await fill(member, organization.id, busy, [1500, 15, 27]);
    await fill(member, organization.id, quiet, [43, 27, 28]);
    await fill(member, organization.id, busy, [1500, 28, 40]);
    on(40);
    expect(await activityOf(moderator, quiet)).toEqual([first, true, 10]);
    const [, , traffic] = await activityOf(moderator, busy);
    expect(traffic).toBeGreaterThanOrEqual(740);
    expect(traffic).toBeLessThanOrEqual(760);

    on(200);
    expect(await activityOf(moderator, quiet)).toEqual([first, true, 0]);
    expect(await activityOf(moderator, silent)).toEqual([null, false, 0]);
    on(221);
    expect(await activityOf(moderator, quiet)).toEqual([first, false, 0]);

    // Expected values of these fields, wherever the channel is returned.
    const wanted = { first_message_id: first, is_recently_active: false, stream_weekly_traffic: 0 };
    const heard = await moderator.receiving();
    await subscribe(member, 'quiet', moderator);
    expect((await heard())[0].subscriptions).toMatchObject([wanted]);
    const { streams, subscriptions } = await moderator.register({ fetch_event_types: ['stream', 'subscription'] });
    expect(streams.find(({ stream_id }: Json) => stream_id === quiet)).toMatchObject(wanted);
    expect(subscriptions).toMatchObject([wanted]);
    const document =
      '{ channel(by: { name: "quiet" }) { firstMessage { databaseId } isRecentlyActive weeklyTraffic } }';
    expect((await member.query(document)).channel).toEqual({
      firstMessage: { databaseId: first },
      ...{ isRecentlyActive: false, weeklyTraffic: 0 },
    });
  });
});

describe('topics_policy', () => {
  const police = (person: Person, channel: number, topics_policy: string) =>
    person.rest('PATCH', `/streams/${channel}`, { topics_policy });

  test.concurrent('cannot become empty_topic_only while other topics contain messages', async () => {
    const { owner } = await createOrganization();
    const channel = await create(owner, 'general');
    await send(owner, channel, '');
    await send(owner, channel, 'named');
    const heard = await owner.receiving();
    const name = 'general chat';
    expect(await police(owner, channel, 'empty_topic_only')).toMatchObject({
      status: 400,
      body: {
        ...{ code: 'BAD_REQUEST', empty_topic_display_name: name },
        msg: `To enable this configuration, all messages in this channel must be in the ${name} topic. Consider renaming or deleting other topics.`,
      },
    });
    const input = { channelId: channel, topicsPolicy: 'EMPTY_TOPIC_ONLY' };
    expect(await owner.tryMutation('updateChannel', input)).toMatchObject({ code: 'BAD_REQUEST' });
    expect(await heard()).toEqual([]);

    const other = await create(owner, 'other');
    await send(owner, other, '');
    expect(await police(owner, other, 'empty_topic_only')).toMatchObject({ status: 200 });
    const refused = await owner.rest('POST', '/messages', { type: 'channel', to: other, topic: 'x', content: 'x' });
    expect(refused).toMatchObject({ status: 400, body: { empty_topic_display_name: name } });
    expect(await police(owner, other, 'disable_empty_topic')).toMatchObject({ status: 200 });
    await send(owner, other, 'x');
  });

  test.concurrent('admits no messages in other topics during the change to empty_topic_only', async () => {
    const { owner, member } = await createOrganization();
    for (let i = 0; i < 5; i++) {
      const channel = await create(owner, `channel ${i}`, { subscribers: [owner.id, member.id] });
      const message = { type: 'channel', to: channel, topic: 'named', content: 'x' };
      const [sent, policed] = await Promise.all([
        member.rest('POST', '/messages', message),
        police(owner, channel, 'empty_topic_only'),
      ]);
      expect([sent.status, policed.status].toSorted()).toEqual([200, 400]);
    }
  });
});
