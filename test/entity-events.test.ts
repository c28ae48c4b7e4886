import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type InProcess, startInProcess } from './helpers/in-process.ts';
import type { Person } from './helpers/person.ts';
import { organisation } from './helpers/server.ts';
import { channelOf, say } from './helpers/talk.ts';

/** A service of this file's own, so that its statements can be counted. */
let service: InProcess;
beforeAll(async () => {
  service = await startInProcess();
});
afterAll(() => service[Symbol.asyncDispose]());

describe('a message that is sent', () => {
  test('is shown by its event and by itself alike, whichever of the two a document takes', async () => {
    const { owner, member, guest } = await organisation({}, { on: service });
    const channel = await channelOf(owner, 'general', [owner, member, guest]);
    const fields = `__typename id databaseId type client topic content renderedContent isMeMessage sentAt lastEditedAt
      lastMovedAt flags topicLinks { text url } channel { id name } participants { id databaseId email fullName }
      reactions { emojiName } sender { id databaseId fullName email deliveryEmail role isActive isBot botType timezone
      avatarUrl large: avatarUrl(size: MEDIUM) avatarSource avatarVersion joinedAt isImportedStub isDeleted }`;
    for (const reader of [owner, member, guest]) {
      const listen = async (more = '') => {
        const { queue_id: queueId } = await reader.register({ event_types: ['message'] });
        return reader.events(`position ... on MessageSentEvent { message { ${fields} ${more} } }`, { queueId });
      };
      await using shared = await listen();
      await using own = await listen('channel { description } readReceipts { totalCount }');
      await say(owner, channel, 'lunch', `who comes, @**${member.name}**?`);
      await owner.ok('POST', '/messages', { type: 'direct', to: [member.id, guest.id], content: '/me waves' });
      for (const event of [await shared.next(), await shared.next()]) {
        expect(await own.next()).toMatchObject(event);
        expect(event.message.id).toEqual(expect.any(String));
      }
    }
  });
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
              channel { name description } readReceipts { totalCount } } }`,
            { queueId },
          );
        }),
      );
      await say(owner, channel, 'lunch');
      await Promise.all(streams.map((stream) => stream.next()));
      const queries = await service.queriesOf(async () => {
        await say(owner, channel, 'lunch');
        await Promise.all(streams.map((stream) => stream.next()));
      });
      await Promise.all(streams.map((stream) => stream[Symbol.asyncDispose]()));
      return queries;
    };
    const few = await statements([member]);
    const many = await statements([owner, member, guest, moderator, administrator]);
    expect(many.length, many.join('\n')).toBeLessThanOrEqual(few.length);
  });
});
