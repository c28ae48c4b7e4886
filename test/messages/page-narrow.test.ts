import type { Client, CombinedError } from 'urql';
import { expect, test } from 'vitest';
import { belongsTo } from '../../src/web/api/narrow.ts';
import { refusalIn } from '../../src/web/api/use-command.ts';
import { readSearch } from '../../src/web/search/read-search.ts';
import { organization } from '../helpers/server.ts';

test.each([
  // Notes to self, and conversations with one and two others, each named with and without the viewer.
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
  const message = { channelId: null, topicName: '', participantIds };
  expect(belongsTo({ directWith }, message, 'me')).toBe(isListed);
  expect(belongsTo({ directWith }, { ...message, channelId: 'c' }, 'me')).toBe(false);
  // A message of a channel that the viewer cannot see.
  expect(belongsTo({ directWith }, { ...message, participantIds: [] }, 'me')).toBe(false);
});

test('the page explains in a sentence why the service refuses a search', async () => {
  const { member } = await organization();
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
