import type { Client, CombinedError } from 'urql';
import { expect, test } from 'vitest';
import { belongsTo, type Placed } from '../../src/web/api/narrow.ts';
import { refusalIn } from '../../src/web/base/refusals.ts';
import type { MessageNarrowInput } from '../../src/web/generated/graphql.ts';
import { readSearch } from '../../src/web/search/read-search.ts';
import { createOrganization } from '../helpers/server.ts';

test.each([
  // Messages to oneself, and conversations with one and with two other users. Narrows name the participants with and without
  // the viewer.
  [['me'], ['me'], true],
  [[], ['me'], true],
  [['me'], ['me', 'ann'], false],
  [['ann'], ['me', 'ann'], true],
  [['me', 'ann'], ['ann', 'me'], true],
  [['ann'], ['me'], false],
  [['ann'], ['me', 'bo'], false],
  [['ann'], ['me', 'ann', 'bo'], false],
  [['me', 'ann'], ['me', 'ann', 'bo'], false],
  [['ann', 'bo'], ['me', 'ann', 'bo'], true],
  [['ann', 'ann'], ['me', 'ann'], true],
])('the page lists a message under %j if its participants are %j: %s', (directWith, participantIds, isListed) => {
  const message = { channelId: null, topicName: '', participantIds, flags: undefined };
  expect(belongsTo({ directWith }, message, 'me')).toBe(isListed);
  expect(belongsTo({ directWith }, { ...message, channelId: 'c' }, 'me')).toBe(false);
  // A message of a channel that the viewer cannot see.
  expect(belongsTo({ directWith }, { ...message, participantIds: [] }, 'me')).toBe(false);
});

test('the page lists a message by the flags that it knows', () => {
  const flags = ['TOPIC_WILDCARD_MENTIONED', 'STARRED'] as const;
  const message = { channelId: 'c', topicName: 'lunch', participantIds: [], flags };
  const isIn = (narrow: MessageNarrowInput, of: Placed = message) => belongsTo(narrow, of, 'me');
  expect(isIn({ is: ['STARRED', 'MENTIONED'] })).toBe(true);
  expect(isIn({ channel: { id: 'c' }, topicNamed: 'LUNCH', is: ['STARRED'] })).toBe(true);
  expect(isIn({ is: ['STARRED', 'ALERTED'] })).toBe(false);
  expect(isIn({ is: ['STARRED', 'FOLLOWED'] })).toBe(undefined);
  expect(isIn({ is: ['DIRECT', 'FOLLOWED'] })).toBe(false);
  expect(isIn({ is: ['STARRED'] }, { ...message, channelId: null, topicName: '', flags: undefined })).toBe(undefined);
  expect(isIn({ channel: { name: 'general' }, topicNamed: 'dinner' })).toBe(false);
  expect(isIn({ channel: { name: 'general' } })).toBe(undefined);
  expect(isIn({ search: 'lunch', channel: { id: 'd' } })).toBe(false);
  expect(isIn({ search: 'lunch' })).toBe(undefined);
});

test('the page explains in a sentence why the service refuses a search', async () => {
  const { member } = await createOrganization();
  // The searches name users by number, so that nothing is read before the search itself.
  const client = { readQuery: () => null } as unknown as Client;
  const said = async (text: string) => {
    try {
      const { narrow } = await readSearch(client, text);
      const query = 'query ($narrow: MessageNarrowInput) { messages(narrow: $narrow, first: 1) { nodes { id } } }';
      const { errors } = await member.graphql(query, { narrow });
      return refusalIn(undefined, { graphQLErrors: errors } as CombinedError);
    } catch (error) {
      return (error as Error).message;
    }
  };
  for (const [text, sentence] of [
    ['channel:nowhere', 'There is no channel “nowhere”.'],
    ['-channel:"no where"', 'There is no channel “no where”.'],
    ['from:|999999', 'There is no such user.'],
    ['mentions:|999999', 'There is no such user.'],
    ['dm:|999999', 'There is no such user.'],
    ['dm-including:|999999', 'There is no such user.'],
    ['sender:|99999999999', 'There is no such user.'],
    [`dm:|${member.id} channel:nowhere`, 'There is no channel “nowhere”.'],
    [`dm:|${member.id} topic:x`, 'No message can be both a channel message and direct message.'],
  ] as const) {
    expect(await said(text), text).toBe(sentence);
  }
});
