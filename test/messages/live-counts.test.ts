import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { EventOperation } from '../../src/api/graphql/execution/event-operation.ts';
import type { EventStream } from '../helpers/events.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';
import { channelOf, say } from '../helpers/talk.ts';

const COUNTS = 'id total channels conversations mentions hasOlder';
const OF_PLACE = 'id unreadCount unreadMentionCount';
const OF_TOPIC = `${OF_PLACE} viewerVisibility`;
const OF_CHANNEL = `${OF_PLACE} unmutedUnreadCount`;

const onAll = (selection: string) => `__typename position ... on UnreadEvent { ${selection} }`;

/**
 * Selects only fields of the unread counts for which the service executes the operation once, and inserts the values of each
 * reader into the result.
 */
const FILLED = onAll(`unreadChange { counts { ${COUNTS} } subscriptions { ${OF_CHANNEL} } topics { ${OF_TOPIC} }
  conversations { ${OF_PLACE} } }`);

/** Also selects fields for which the service must execute the operation again for each reader. */
const EXECUTED = onAll(`unreadChange { counts { ${COUNTS} } subscriptions { ${OF_CHANNEL} isMuted }
  topics { ${OF_TOPIC} } conversations { ${OF_PLACE} participants { id } } }`);

/**
 * A reader with a subscription for each of the selections `FILLED` and `EXECUTED`, and the entities that a client has stored
 * from the events of the first one.
 */
interface Reader {
  readonly person: Person;
  readonly filled: EventStream;
  readonly executed: EventStream;
  /** Unread counts, subscriptions and conversations by id. */
  readonly stored: Map<string, Json>;
}

let service: InProcess;
beforeAll(async () => {
  service = await startInProcess();
});
afterAll(() => service[Symbol.asyncDispose]());

const FIRST_SCREEN = `{ viewer { unreadCounts { ${COUNTS} } }
  subscriptions(first: 100) { nodes { ${OF_CHANNEL} } } directConversations(first: 100) { nodes { ${OF_PLACE} } } }`;

const NODES = `query ($ids: [ID!]!) { nodes(ids: $ids) { ... on UnreadCounts { ${COUNTS} }
  ... on ChannelSubscription { ${OF_CHANNEL} } ... on Topic { ${OF_TOPIC} } ... on DirectConversation { ${OF_PLACE} } } }`;

async function readerOf(person: Person): Promise<Reader> {
  const stored = new Map<string, Json>();
  const { viewer, subscriptions, directConversations } = await person.query(FIRST_SCREEN);
  for (const one of [viewer.unreadCounts, ...subscriptions.nodes, ...directConversations.nodes])
    stored.set(one.id, one);
  return { person, filled: await person.events(FILLED), executed: await person.events(EXECUTED), stored };
}

let marks = 0;

/** Takes all events up to now from both subscriptions of a reader. */
async function takeAll({ person, filled, executed }: Reader): Promise<[Json[], Json[]]> {
  await person.mutate('addAlertWords', { words: [`word${++marks}`] }, '__typename');
  const take = async (stream: EventStream) => {
    const events: Json[] = [];
    for (;;) {
      const event = await stream.next();
      if (event.__typename === 'AlertWordsChangedEvent') return events;
      events.push(event);
    }
  };
  return Promise.all([take(filled), take(executed)]);
}

/** Queries entities by id. Those that do not exist are left out. */
async function queried({ person }: Reader, ids: readonly string[]): Promise<Map<string, Json>> {
  const found = new Map<string, Json>();
  for (let i = 0; i < ids.length; i += 100) {
    const { nodes } = await person.query(NODES, { ids: ids.slice(i, i + 100) });
    for (const node of nodes) if (node !== null) found.set(node.id, node);
  }
  return found;
}

const entitiesIn = ({ counts, subscriptions, topics, conversations }: Json): Json[] =>
  [counts, ...subscriptions, ...topics, ...conversations].filter((one) => one !== null);

const withoutCounts = { unreadCount: 0, unreadMentionCount: 0 };

/**
 * Checks that all counts of the events since the last call equal those of a query, and that a client that stores them has the
 * current counts.
 */
async function expectCurrent(reader: Reader, what: string): Promise<void> {
  const [filled, executed] = await takeAll(reader);
  const who = `${reader.person.name} after ${what}: ${JSON.stringify(filled)}`;
  const last = new Map<string, Json>();
  for (const { unreadChange } of filled) {
    if (unreadChange == null) continue;
    for (const entity of entitiesIn(unreadChange)) {
      last.set(entity.id, entity);
      if (reader.stored.has(entity.id) || !('unreadCount' in entity)) reader.stored.set(entity.id, entity);
    }
    for (const one of [...unreadChange.subscriptions, ...unreadChange.conversations]) reader.stored.set(one.id, one);
  }
  const now = await queried(reader, [...new Set([...last.keys(), ...reader.stored.keys()])]);
  for (const [id, entity] of last) {
    // Topics and conversations without messages do not exist. Clients can still have stored them.
    expect(entity, who).toEqual(now.get(id) ?? { ...entity, ...withoutCounts });
  }
  for (const [id, entity] of reader.stored) {
    if (now.has(id)) expect(entity, who).toEqual(now.get(id));
    else reader.stored.delete(id);
  }
  // The other subscription receives the same events. It was read for the reader, so entities that do not exist are missing.
  expect(executed.map(({ position }) => position)).toEqual(filled.map(({ position }) => position));
  for (const { unreadChange } of executed) {
    if (unreadChange == null) continue;
    for (const { isMuted: _, participants: __, ...entity } of entitiesIn(unreadChange))
      expect(last.get(entity.id) ?? entity, who).toEqual(now.get(entity.id));
  }
}

const TOPICS = ['', 'Plans', 'plans', 'Lunch'] as const;

interface Setup {
  readonly org: Organization;
  readonly people: readonly Person[];
  readonly channels: readonly { readonly id: number; readonly name: string }[];
}

async function setUp(): Promise<Setup> {
  const org = await createOrganization({ ann: 'member', bob: 'member' }, { on: service });
  const { owner, ann, bob, guest } = org;
  const people = [owner, ann, bob, guest];
  const privacies = [
    {},
    { invite_only: true, history_public_to_subscribers: true },
    { invite_only: true, history_public_to_subscribers: false },
  ];
  const channels = [];
  for (const [i, privacy] of privacies.entries()) {
    const name = `channel ${i}`;
    channels.push({ id: await channelOf(owner, name, i === 1 ? [owner, ann] : people, privacy), name });
  }
  return { org, people, channels };
}

type Act = (of: Setup) => Promise<unknown>;

const at = <T>(list: readonly T[], i: number): T => list[i % list.length] as T;

/** Contents that mention nobody, or some of the readers. */
const contentOf = ({ people }: Setup, i: number): string =>
  at(['hello', 'hello', 'hello', `@**${at(people, i).name}** hello`, '@**all** hello', '@**topic** hello'], i);

async function someIds({ org }: Setup, from: number, count: number): Promise<number[]> {
  const rows = await service.app.db.$queryRaw<{ id: bigint }[]>`
    SELECT id FROM message WHERE realm_id = ${org.organization.id} ORDER BY id DESC OFFSET ${from} LIMIT ${count}`;
  return rows.map(({ id }) => Number(id));
}

const acts: Readonly<Record<string, (a: number, b: number, c: number) => Act>> = {
  say: (a, b, c) => (of) =>
    at(of.people, a).rest('POST', '/messages', {
      ...{ type: 'channel', to: at(of.channels, b).id, topic: at(TOPICS, c), content: contentOf(of, a + b + c) },
    }),
  write: (a, b, c) => (of) => {
    const to = [at(of.people, b).id, ...(c % 3 === 0 ? [at(of.people, c).id] : [])];
    return at(of.people, a).rest('POST', '/messages', { type: 'direct', to, content: contentOf(of, a + b + c) });
  },
  read: (a, b, c) => async (of) =>
    at(of.people, a).rest('POST', '/messages/flags', {
      ...{ messages: await someIds(of, b % 10, 1 + (c % 5)), op: 'add', flag: 'read' },
    }),
  star: (a, b) => async (of) =>
    at(of.people, a).rest('POST', '/messages/flags', {
      ...{ messages: await someIds(of, b % 10, 1), op: 'add', flag: 'starred' },
    }),
  unread: (a, b, c) => async (of) =>
    at(of.people, a).rest('POST', '/messages/flags', {
      ...{ messages: await someIds(of, b % 10, 1 + (c % 5)), op: 'remove', flag: 'read' },
    }),
  readTopic: (a, b, c) => (of) =>
    at(of.people, a).rest('POST', '/mark_topic_as_read', {
      ...{ stream_id: at(of.channels, b).id, topic_name: at(TOPICS, c) },
    }),
  readChannel: (a, b) => (of) =>
    at(of.people, a).rest('POST', '/mark_stream_as_read', { stream_id: at(of.channels, b).id }),
  readAll: (a) => (of) => at(of.people, a).ok('POST', '/mark_all_as_read'),
  edit: (a, b) => async (of) => {
    const [id] = await someIds(of, a % 10, 1);
    for (const person of of.people) await person.rest('PATCH', `/messages/${id}`, { content: contentOf(of, b) });
  },
  move: (a, b, c) => async (of) => {
    const [id] = await someIds(of, a % 10, 1);
    await of.org.owner.rest('PATCH', `/messages/${id}`, {
      ...{ propagate_mode: at(['change_one', 'change_later', 'change_all'], b), topic: at(TOPICS, c) },
      ...(b % 2 === 0 && { stream_id: at(of.channels, c).id }),
    });
  },
  delete: (a) => async (of) => of.org.owner.rest('DELETE', `/messages/${(await someIds(of, a % 10, 1))[0]}`),
  deleteTopic: (a, b) => (of) =>
    of.org.owner.rest('POST', `/streams/${at(of.channels, a).id}/delete_topic`, { topic_name: at(TOPICS, b) }),
  mute: (a, b, c) => (of) =>
    at(of.people, a).rest('POST', '/user_topics', {
      ...{ stream_id: at(of.channels, b).id, topic: at(TOPICS, c), visibility_policy: a % 4 },
    }),
  muteChannel: (a, b) => (of) =>
    at(of.people, a).rest('POST', '/users/me/subscriptions/properties', {
      subscription_data: [{ stream_id: at(of.channels, b).id, property: 'is_muted', value: a % 2 === 0 }],
    }),
  leave: (a, b) => (of) =>
    at(of.people, a).rest('DELETE', '/users/me/subscriptions', { subscriptions: [at(of.channels, b).name] }),
  join: (a, b) => (of) =>
    of.org.owner.rest('POST', '/users/me/subscriptions', {
      ...{ subscriptions: [{ name: at(of.channels, b).name }], principals: [at(of.people, a).id] },
    }),
  archive: (a) => (of) => of.org.owner.rest('DELETE', `/streams/${at(of.channels, a).id}`),
  restore: (a) => (of) => of.org.owner.rest('PATCH', `/streams/${at(of.channels, a).id}`, { is_archived: false }),
  count: (a) => (of) =>
    service.app.db.$queryRaw`SELECT tally_messages(${of.org.organization.id}::int, ${1 + (a % 20)}::int) AS more`,
};

const nat = fc.nat(1000);
const act = fc
  .tuple(fc.constantFrom('say', 'say', 'say', 'say', 'write', 'read', 'unread', ...Object.keys(acts)), nat, nat, nat)
  .map(([name, a, b, c]) => ({ name, toString: () => `${name} ${a} ${b} ${c}`, run: acts[name]?.(a, b, c) as Act }));

test('counts in events equal those of a query after any change, for readers with different rights and mutes', async () => {
  const executions = vi.spyOn(EventOperation.prototype, 'ownResultOf');
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 20, maxLength: 30, size: 'max' }), async (made) => {
      const of = await setUp();
      const readers = await Promise.all(of.people.map(readerOf));
      for (const one of made) {
        await one.run(of);
        for (const reader of readers) await expectCurrent(reader, String(one));
      }
      for (const { filled, executed } of readers) {
        await filled[Symbol.asyncDispose]();
        await executed[Symbol.asyncDispose]();
      }
    }),
    { numRuns: 3, seed: 7, endOnFailure: true },
  );
  expect(executions).toHaveBeenCalled();
  executions.mockRestore();
});

describe('the documents of the README', () => {
  const readme = readFileSync(new URL('../../src/api/graphql/README.md', import.meta.url), 'utf8');
  const chapter = readme.split(/^## /m).find((text) => text.startsWith('Unread counts')) ?? '';
  const [screen = '', events = ''] = [...chapter.matchAll(/^```graphql\n(.*?)^```/gms)].map(([, text]) => text);

  test('show all unread counts, without a read for each reader', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    await owner.ok('PATCH', '/settings', { automatically_follow_topics_where_mentioned: false });
    const channelId = await channelOf(owner, 'general', [owner, member]);
    await say(member, channelId, 'lunch', 'first');
    const executions = vi.spyOn(EventOperation.prototype, 'ownResultOf');
    const { registerEventQueue } = await owner.query(screen);
    const [, selection = ''] = /^subscription .*events\(queueId: \$queueId\) \{(.*)\} \}$/s.exec(events.trim()) ?? [];
    await using stream = await owner.events(selection, { queueId: registerEventQueue.queueId });
    const { subscriptions } = registerEventQueue.query;
    expect(subscriptions.nodes).toMatchObject([
      { unreadCount: 1, channel: { topics: { nodes: [{ unreadCount: 1 }] } } },
    ]);
    await say(member, channelId, 'dinner', `@**${owner.name}**`);
    await member.ok('POST', '/messages', { type: 'direct', to: [owner.id], content: 'hello' });
    const [toTopic, toUser] = await stream.take(2);
    const dinner = { name: 'dinner', unreadCount: 1, unreadMentionCount: 1 };
    expect(toTopic).toMatchObject({
      message: { topic: dinner, directConversation: null },
      unreadChange: {
        counts: { total: 2, channels: 2, conversations: 0, mentions: 1 },
        subscriptions: [{ id: subscriptions.nodes[0].id, unreadCount: 2, unreadMentionCount: 1 }],
        topics: [{ id: toTopic?.message.topic.id, unreadCount: 1, unreadMentionCount: 1 }],
        conversations: [],
      },
    });
    const participants = [owner, member].map(({ id, name }) => ({ id: globalId('User', id), fullName: name }));
    const { id } = toUser?.message.directConversation ?? {};
    expect(toUser).toMatchObject({
      message: { topic: null, directConversation: { participants, unreadCount: 1, unreadMentionCount: 0 } },
      unreadChange: { counts: { total: 3, conversations: 1 }, topics: [], conversations: [{ id, unreadCount: 1 }] },
    });
    expect(executions).not.toHaveBeenCalled();
    executions.mockRestore();
    const now = (await owner.query(screen)).registerEventQueue.query;
    expect(now.directConversations.nodes).toEqual([toUser?.message.directConversation]);
    expect(now.viewer.unreadCounts).toEqual(toUser?.unreadChange.counts);
    expect(now.subscriptions.nodes[0].channel.topics.nodes[0]).toEqual(toTopic?.message.topic);
  });
});
