import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Deliveries } from '../src/api/graphql/deliveries.ts';
import { EntityFacts } from '../src/api/graphql/entity-facts.ts';
import { channelReference } from '../src/channels/entity-facts.ts';
import { messageReference } from '../src/messages/entity-facts.ts';
import { channels } from './entity-events/channels.ts';
import { groups } from './entity-events/groups.ts';
import { messagesAndWhatIsDone } from './entity-events/messages.ts';
import { thingsOfTheOrganization } from './entity-events/organization.ts';
import { ownThings } from './entity-events/own-things.ts';
import { people } from './entity-events/people.ts';
import { subscriptions } from './entity-events/subscriptions.ts';
import { notAsked, notThere, watchFacts } from './helpers/entity-events.ts';
import { type InProcess, startInProcess } from './helpers/in-process.ts';
import { IS_WHOLE } from './helpers/part.ts';
import type { Person } from './helpers/person.ts';
import { organisation } from './helpers/server.ts';
import { channelOf, say } from './helpers/talk.ts';

/** A service of this file's own, so that its statements can be counted. */
let service: InProcess;
beforeAll(async () => {
  service = await startInProcess();
  watchFacts();
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

describe('what events know', () => {
  test('is of fields that are there', () => {
    expect(notThere()).toEqual([]);
  });

  test('is no address: whoever hides theirs hides it from who has not read the event, too', () => {
    const known = EntityFacts.all.flatMap(({ typename, known }) => known.map((field) => `${typename}.${field}`));
    expect(known.filter((field) => /^User\..*email/i.test(field))).toEqual([]);
  });

  test.runIf(IS_WHOLE)('was asked of them here, all of it', () => {
    // No event tells of these by the id alone.
    expect(notAsked([messageReference, channelReference])).toEqual([]);
  });
});

test('an event that fails to say what it should know is read instead, and stops nobody', async () => {
  const { owner, member } = await organisation({}, { on: service });
  const channel = await channelOf(owner, 'general', [owner, member]);
  const { queue_id: queueId } = await member.register({ event_types: ['message'] });
  await using stream = await member.events('... on MessageSentEvent { message { said: content } }', { queueId });
  const { answer } = EntityFacts.prototype;
  const spy = vi.spyOn(EntityFacts.prototype, 'answer').mockImplementation(function (this: EntityFacts, ...asked) {
    if (asked[1] === 'content') throw new Error('It is not known after all');
    return answer.apply(this, asked);
  });
  await say(owner, channel, 'lunch', 'first');
  expect(await stream.next()).toEqual({ message: { said: 'first' } });
  spy.mockRestore();
  watchFacts();
  await say(owner, channel, 'lunch', 'second');
  expect(await stream.next()).toEqual({ message: { said: 'second' } });
});

describe('what takes reading', () => {
  test('is read for all who hear an event in as many statements as for one', async () => {
    const { owner, member, guest, moderator, administrator } = await organisation({}, { on: service });
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
      // What was done before may still be on its way to others, by statements of its own.
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

  test('is read in as many statements for twenty as for two, what each has not read, and what each received', async () => {
    const names = Array.from({ length: 20 }, (_, i) => [`reader${i}`, 'member'] as const);
    const place = await organisation(Object.fromEntries(names), { on: service });
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
      // What was done before may still be on its way to others, by statements of its own.
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

  test('is read for each in their own organization, of which several may have events at the same moment', async () => {
    const places = await Promise.all(
      [1, 2].map(async () => {
        const { owner, member } = await organisation({}, { on: service });
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

  test('is held for a reader a part at a time, and comes whole and in order', async () => {
    const { owner, member } = await organisation({}, { on: service });
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
