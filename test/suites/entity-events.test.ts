import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { EventProjection } from '../../src/api/graphql/schema/event-projections.ts';
import { Deliveries } from '../../src/api/graphql/transports/deliveries.ts';
import { channelReference } from '../../src/channels/event-projections.ts';
import { messageReference } from '../../src/messages/event-projections.ts';
import { channels } from '../entity-events/channels.ts';
import { groups } from '../entity-events/groups.ts';
import { messagesAndWhatIsDone } from '../entity-events/messages.ts';
import { thingsOfTheOrganization } from '../entity-events/organization.ts';
import { ownThings } from '../entity-events/own-things.ts';
import { people } from '../entity-events/people.ts';
import { subscriptions } from '../entity-events/subscriptions.ts';
import { notAsked, notThere, watchProjections } from '../helpers/entity-events.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { channelOf, say } from '../helpers/talk.ts';

/** A service that no other test file uses, because the tests count its statements. */
let service: InProcess;
beforeAll(async () => {
  service = await startInProcess();
  watchProjections();
});
afterAll(async () => {
  vi.restoreAllMocks();
  await service[Symbol.asyncDispose]();
});

messagesAndWhatIsDone(() => service);
ownThings(() => service);
thingsOfTheOrganization(() => service);
channels(() => service);
subscriptions(() => service);
groups(() => service);
people(() => service);

describe('event projections', () => {
  test('contain only existing fields', () => {
    expect(notThere()).toEqual([]);
  });

  test('contain no address, so that a user who hides theirs also hides it in events not read yet', () => {
    const known = EventProjection.all.flatMap(({ typename, known }) => known.map((field) => `${typename}.${field}`));
    expect(known.filter((field) => /^User\..*email/i.test(field))).toEqual([]);
  });

  test('were read completely by these tests', () => {
    // Excludes two projections, because no event contains only the id of a message or channel.
    expect(notAsked([messageReference, channelReference])).toEqual([]);
  });
});

test('an event whose projection fails is read from the database, and delays no other event', async () => {
  const { owner, member } = await createOrganization({}, { on: service });
  const channel = await channelOf(owner, 'general', [owner, member]);
  const { queue_id: queueId } = await member.register({ event_types: ['message'] });
  await using stream = await member.events('... on MessageSentEvent { message { said: content } }', { queueId });
  const { answer } = EventProjection.prototype;
  const spy = vi.spyOn(EventProjection.prototype, 'answer').mockImplementation(function (
    this: EventProjection,
    ...asked
  ) {
    if (asked[1] === 'content') throw new Error('It is not known after all');
    return answer.apply(this, asked);
  });
  await say(owner, channel, 'lunch', 'first');
  expect(await stream.next()).toEqual({ message: { said: 'first' } });
  spy.mockRestore();
  watchProjections();
  await say(owner, channel, 'lunch', 'second');
  expect(await stream.next()).toEqual({ message: { said: 'second' } });
});

describe('an event whose result must be read from the database', () => {
  test('needs as many statements for all recipients of an event as for one', async () => {
    const { owner, member, guest, moderator, administrator } = await createOrganization({}, { on: service });
    const channel = await channelOf(owner, 'general', [owner, member, guest, moderator, administrator]);
    const statements = async (readers: readonly Person[]): Promise<readonly string[]> => {
      const streams = await Promise.all(
        readers.map(async (reader) => {
          const { queue_id: queueId } = await reader.register({ event_types: ['message'] });
          return reader.events(
            `... on MessageSentEvent { message { content flags sender { fullName } reactions { emojiName }
              topicName topic { id name } viewerHasRead viewerHasStarred reactionGroups { count viewerHasReacted }
              channel { name description } readReceipts { totalCount } } }`,
            { queueId },
          );
        }),
      );
      await say(owner, channel, 'lunch');
      await Promise.all(streams.map((stream) => stream.next()));
      const runs: string[][] = [];
      // The first runs can include statements for earlier events that are still being delivered to other readers.
      for (let i = 0; i < 3; i++) {
        const run = await service.queriesOf(async () => {
          await say(owner, channel, 'lunch');
          await Promise.all(streams.map((stream) => stream.next()));
        });
        runs.push(run);
      }
      await Promise.all(streams.map((stream) => stream[Symbol.asyncDispose]()));
      return runs.toSorted((a, b) => a.length - b.length)[0] ?? [];
    };
    const few = await statements([member]);
    const many = await statements([owner, member, guest, moderator, administrator]);
    expect(many.length, many.join('\n')).toBeLessThanOrEqual(few.length);
  });

  test('takes as many statements for twenty readers as for two, with the messages of each reader', async () => {
    const names = Array.from({ length: 20 }, (_, i) => [`reader${i}`, 'member'] as const);
    const place = await createOrganization(Object.fromEntries(names), { on: service });
    const { owner } = place;
    const readers = names.map(([name]) => place[name] as Person);
    const channel = await channelOf(owner, 'guarded', [owner], {
      ...{ invite_only: true, history_public_to_subscribers: false },
    });
    await say(owner, channel, 'before their time', 'old');
    const principals = readers.map(({ id }) => id);
    await owner.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'guarded' }], principals });
    await say(owner, channel, 'dinner', 'none');
    const [late] = readers;
    await late?.ok('POST', '/user_topics', { stream_id: channel, topic: 'dinner', visibility_policy: 1 });
    const statements = async (some: readonly Person[]): Promise<readonly string[]> => {
      const streams = await Promise.all(
        some.map(async (reader) => {
          const { queue_id: queueId } = await reader.register({ event_types: ['message'] });
          return reader.events(
            `... on MessageSentEvent { message { content
              topic { name unreadCount unreadMentionCount viewerVisibility firstUnread { content } lastMessage { content } }
              channel { ownSubscription { isMuted unreadCount } topics(first: 3) { nodes { name unreadCount } } } } }`,
            { queueId },
          );
        }),
      );
      const runs: string[][] = [];
      let muted = 0;
      // The first runs can include statements for earlier events that are still being delivered to other readers.
      for (let i = 0; i < 3; i++) {
        const run = await service.queriesOf(async () => {
          await say(owner, channel, 'Dinner', `now ${++said}`);
          for (const { message } of await Promise.all(streams.map((stream) => stream.next()))) {
            expect(message.topic).toMatchObject({ unreadCount: said + 1, firstUnread: { content: 'none' } });
            expect(message.topic.lastMessage).toEqual({ content: `now ${said}` });
            expect(message.channel).toEqual({
              ownSubscription: { isMuted: false, unreadCount: said + 1 },
              topics: { nodes: [{ name: 'Dinner', unreadCount: said + 1 }] },
            });
            muted += message.topic.viewerVisibility === 'MUTED' ? 1 : 0;
          }
        });
        runs.push(run);
      }
      expect(muted).toBe(3);
      await Promise.all(streams.map((stream) => stream[Symbol.asyncDispose]()));
      return runs.toSorted((a, b) => a.length - b.length)[0] ?? [];
    };
    let said = 0;
    const few = await statements(readers.slice(0, 2));
    const many = await statements(readers);
    expect(many.length, many.join('\n')).toBeLessThanOrEqual(few.length);
  });

  test('is read for each organization, several of which can have events concurrently', async () => {
    const places = await Promise.all(
      [1, 2].map(async () => {
        const { owner, member } = await createOrganization({}, { on: service });
        const channel = await channelOf(owner, 'general', [owner, member]);
        const stream = await member.events(
          '... on MessageSentEvent { message { content reactionGroups { count } channel { id description } sender { id joinedAt profileData { value } } } }',
        );
        return { owner, channel, stream };
      }),
    );
    const { hub } = service.app;
    const held: (() => void)[] = [];
    const publish = hub.publish.bind(hub);
    const spy = vi.spyOn(hub, 'publish').mockImplementation((...asked) => void held.push(() => publish(...asked)));
    for (const { owner, channel } of places) await say(owner, channel, 'lunch', `by ${owner.id}`);
    spy.mockRestore();
    for (const tell of held) tell();
    for (const { owner, stream } of places) {
      expect(await stream.next()).toMatchObject({
        message: { content: `by ${owner.id}`, channel: { description: '' } },
      });
      await stream[Symbol.asyncDispose]();
    }
  });

  test('is buffered for a reader in parts, and delivered completely and in order', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const channel = await channelOf(owner, 'general', [owner, member]);
    const { queue_id: queueId } = await member.register({ event_types: ['message'] });
    const long = 'word '.repeat(1_900);
    const said: string[] = [];
    for (let i = 0; i < 30; i++) {
      said.push(`${i} ${long}`.trim());
      await say(owner, channel, 'lunch', said.at(-1));
    }
    const prepare = vi.spyOn(Deliveries.prototype, 'prepare');
    const parts = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `${name}: content`).join(' ');
    await using stream = await member.events(
      `... on MessageSentEvent { message { content ${parts} channel { description } } }`,
      { queueId },
    );
    expect((await stream.take(30)).map(({ message }) => message.content)).toEqual(said);
    const prepared = await Promise.all(prepare.mock.results.map(({ value }) => value as Promise<number>));
    prepare.mockRestore();
    expect(prepared.length).toBeGreaterThan(1);
    expect(prepared.reduce((sum, count) => sum + count, 0)).toBe(30);
  });
});
