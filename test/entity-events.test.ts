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
