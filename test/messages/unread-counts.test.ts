import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countMessages } from '../../src/messages/flags/count-worker.ts';
import { readUnread } from '../../src/messages/flags/unread.ts';
import { countUnreadInTopics, countUnreadOfEach, firstUnreadIn } from '../../src/messages/flags/unread-counts.ts';
import { unreadMentionsOfEach } from '../../src/messages/flags/unread-mentions.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

let service: InProcess;
beforeAll(async () => {
  service = await shareInProcess();
});
afterAll(() => service[Symbol.asyncDispose]());

const TOPICS = ['', 'Plans', 'plans ', 'Lunch'] as const;

interface Setup {
  readonly org: Organization;
  readonly organizationId: number;
  readonly readers: readonly Person[];
  readonly channels: readonly { readonly id: number; readonly name: string }[];
}

async function setUp(): Promise<Setup> {
  const org = await createOrganization({ ann: 'member', bob: 'member' }, { on: service });
  const { owner, ann, bob } = org;
  const readers = [owner, ann, bob];
  const channels = [];
  for (const name of ['one', 'two', 'three']) {
    const { id } = await owner.ok('POST', '/channels/create', { name, subscribers: readers.map((one) => one.id) });
    channels.push({ id, name });
  }
  return { org, organizationId: org.organization.id, readers, channels };
}

/** Inserts many messages in one statement, without events. */
async function sendMany(
  { organizationId, channels }: Setup,
  by: Person,
  channel: number,
  topic: string,
  count: number,
) {
  const { db } = service.app;
  const id = channels[channel]?.id ?? 0;
  await db.$executeRaw`
    INSERT INTO message (realm_id, id, sender_id, channel_id, sent_channel_id, topic, content, rendered_content, client_name,
                         sent_at, sent_event_id, send_token, read_by_sender, channel_wildcard)
    SELECT ${organizationId}, nextval('message_id_seq'), ${by.id}, ${id}, ${id}, ${topic}, 'hello', '<p>hello</p>', 'test', now(), 1, 1,
           i % 3 > 0, i % 17 = 0
    FROM generate_series(1, ${count}::int) AS i`;
  await db.$executeRaw`
    INSERT INTO user_message (realm_id, user_id, message_id, mentioned)
    SELECT ${organizationId}, u.id, m.id, true FROM user_account u JOIN message m ON m.realm_id = u.realm_id
    WHERE u.realm_id = ${organizationId} AND NOT u.is_system AND (m.id + u.id) % 13 = 0 ON CONFLICT DO NOTHING`;
}

type Act = (of: Setup) => Promise<unknown>;

async function someIds({ organizationId }: Setup, from: number, count: number): Promise<number[]> {
  const rows = await service.app.db.$queryRaw<{ id: bigint }[]>`
    SELECT id FROM message WHERE realm_id = ${organizationId} ORDER BY id OFFSET ${from} LIMIT ${count}`;
  return rows.map(({ id }) => Number(id));
}

const at = <T>(list: readonly T[], i: number): T => list[i % list.length] as T;
const nat = fc.nat(1000);

const acts: Readonly<Record<string, (a: number, b: number, c: number) => Act>> = {
  many: (a, b, c) => (of) => sendMany(of, at(of.readers, a), b % 3, at(TOPICS, c), 5 + (a % 40)),
  say: (a, b, c) => (of) =>
    at(of.readers, a).ok('POST', '/messages', {
      ...{
        type: 'channel',
        to: at(of.channels, b).id,
        topic: at(TOPICS, c),
        content: c % 2 ? '@**all** hello' : 'hello',
      },
    }),
  write: (a, b) => (of) =>
    at(of.readers, a).ok('POST', '/messages', { type: 'direct', to: [at(of.readers, b).id], content: 'hello' }),
  count: (a) => (of) =>
    service.app.db.$queryRaw`SELECT tally_messages(${of.organizationId}::int, ${5 + (a % 90)}::int) AS more`,
  read: (a, b, c) => async (of) =>
    at(of.readers, a).rest('POST', '/messages/flags', {
      ...{ messages: await someIds(of, b % 200, 1 + (c % 60)), op: 'add', flag: 'read' },
    }),
  unread: (a, b, c) => async (of) =>
    at(of.readers, a).rest('POST', '/messages/flags', {
      ...{ messages: await someIds(of, b % 200, 1 + (c % 20)), op: 'remove', flag: 'read' },
    }),
  readTopic: (a, b, c) => (of) =>
    at(of.readers, a).rest('POST', '/mark_topic_as_read', {
      stream_id: at(of.channels, b).id,
      topic_name: at(TOPICS, c),
    }),
  readChannel: (a, b) => (of) =>
    at(of.readers, a).rest('POST', '/mark_stream_as_read', { stream_id: at(of.channels, b).id }),
  readAll: (a) => (of) => at(of.readers, a).ok('POST', '/mark_all_as_read'),
  move: (a, b, c) => async (of) => {
    const [id] = await someIds(of, a % 200, 1);
    await of.org.owner.rest('PATCH', `/messages/${id}`, {
      ...{ propagate_mode: at(['change_one', 'change_later', 'change_all'], b), topic: at(TOPICS, c) },
      ...(b % 2 === 0 && { stream_id: at(of.channels, c).id }),
    });
  },
  delete: (a) => async (of) => of.org.owner.rest('DELETE', `/messages/${(await someIds(of, a % 200, 1))[0]}`),
  deleteTopic: (a, b) => (of) =>
    of.org.owner.rest('POST', `/streams/${at(of.channels, a).id}/delete_topic`, { topic_name: at(TOPICS, b) }),
  mute: (a, b, c) => (of) =>
    at(of.readers, a).rest('POST', '/user_topics', {
      ...{ stream_id: at(of.channels, b).id, topic: at(TOPICS, c), visibility_policy: a % 4 },
    }),
  muteChannel: (a, b) => (of) =>
    at(of.readers, a).ok('POST', '/users/me/subscriptions/properties', {
      subscription_data: [{ stream_id: at(of.channels, b).id, property: 'is_muted', value: a % 2 === 0 }],
    }),
  away: (a, b, c) => async (of) => {
    const subscriptions = [at(of.channels, b).name];
    await at(of.readers, a).rest('DELETE', '/users/me/subscriptions', { subscriptions });
    if (c % 4 > 0) await sendMany(of, of.org.owner, b % 3, 'Lunch', 12);
    await at(of.readers, a).rest('POST', '/users/me/subscriptions', {
      subscriptions: subscriptions.map((name) => ({ name })),
    });
  },
};

/**
 * Returns unread counts computed from the complete lists of unread messages, in the format of the counts that the service
 * computes.
 */
async function listed({ organizationId }: Setup, { id: userId }: Person) {
  const { groups } = await readUnread(service.app.db, { organizationId, userId });
  const conversations = await service.app.db.conversation.findMany({ where: { organizationId } });
  const known = new Map(conversations.map(({ id, memberIds }) => [memberIds.join(), id]));
  const places = groups.map(({ channelId, memberIds, topic, isMuted, ids, mentions }) => ({
    ...{ channelId, conversationId: known.get(memberIds?.join() ?? '') ?? null, topic: topic.toLowerCase(), isMuted },
    ...{ count: ids.length, first: ids[0], mentions: mentions.length },
  }));
  const counts: Record<string, number> = {};
  for (const { channelId, conversationId, isMuted, count } of places) {
    const key = `${channelId} ${conversationId} ${isMuted}`;
    counts[key] = (counts[key] ?? 0) + count;
  }
  return { places, counts };
}

async function expectCounted(of: Setup): Promise<void> {
  const { db } = service.app;
  const userIds = of.readers.map(({ id }) => id);
  const counted = await countUnreadOfEach(db, of.organizationId, userIds);
  const mentioned = await unreadMentionsOfEach(db, of.organizationId, userIds);
  for (const reader of of.readers) {
    const { places, counts } = await listed(of, reader);
    const asCounted = (
      rows: readonly { channelId: unknown; conversationId: unknown; isMuted: boolean; count: number }[] = [],
    ) =>
      Object.fromEntries(
        rows.map(({ channelId, conversationId, isMuted, count }) => [
          `${channelId} ${conversationId} ${isMuted}`,
          count,
        ]),
      );
    expect(asCounted(counted.get(reader.id))).toEqual(counts);
    // For a single reader, the service uses another query.
    expect(asCounted((await countUnreadOfEach(db, of.organizationId, [reader.id])).get(reader.id))).toEqual(counts);
    const mentions = (mentioned.get(reader.id) ?? []).map(
      ({ channelId, conversationId, topic, count }) => [`${channelId} ${conversationId} ${topic}`, count] as const,
    );
    expect(Object.fromEntries(mentions)).toEqual(
      Object.fromEntries(
        places
          .filter((one) => one.mentions > 0)
          .map((one) => [`${one.channelId} ${one.conversationId} ${one.topic}`, one.mentions]),
      ),
    );
    const topics = of.channels.flatMap(({ id }) =>
      TOPICS.map((topic) => ({ userId: reader.id, channelId: id, conversationId: null, topic: topic.trim() })),
    );
    const there = (one: (typeof topics)[number]) =>
      places.find(({ channelId, topic }) => channelId === one.channelId && topic === one.topic.toLowerCase());
    expect(await countUnreadInTopics(db, of.organizationId, topics)).toEqual(
      topics.map((one) => there(one)?.count ?? 0),
    );
    const direct = places.flatMap(({ conversationId }) =>
      conversationId === null ? [] : [{ userId: reader.id, channelId: null, conversationId, topic: '' }],
    );
    expect(await firstUnreadIn(db, of.organizationId, [...topics, ...direct])).toEqual([
      ...topics.map((one) => there(one)?.first ?? null),
      ...direct.map((one) => places.find(({ conversationId }) => conversationId === one.conversationId)?.first),
    ]);
  }
}

const act = fc
  .tuple(fc.constantFrom('many', 'many', 'many', 'count', 'count', 'read', ...Object.keys(acts)), nat, nat, nat)
  .map(([name, a, b, c]) => ({ toString: () => `${name} ${a} ${b} ${c}`, run: acts[name]?.(a, b, c) as Act }));

test('unread counts match the full lists after any changes, whenever the stored counts are written', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 16, maxLength: 26, size: 'max' }), async (made) => {
      const of = await setUp();
      for (const { run } of made) await run(of);
      await expectCounted(of);
      await countMessages(service.app);
      await service.app.db.$queryRaw`SELECT tally_messages(${of.organizationId}::int, 100000) AS more`;
      await expectCounted(of);
    }),
    { numRuns: 12, seed: 7, endOnFailure: true },
  );
});
