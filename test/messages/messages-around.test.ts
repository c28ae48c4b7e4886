import { beforeAll, describe, expect, test } from 'vitest';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { type Organization, organization } from '../helpers/server.ts';

let people: Organization;
let channelId: number;
const ids: number[] = [];

beforeAll(async () => {
  people = await organization();
  const { owner, member } = people;
  channelId = (await owner.ok('POST', '/channels/create', { name: 'general', subscribers: [owner.id, member.id] })).id;
  for (let i = 0; i < 9; i++) {
    const message = { type: 'channel', to: channelId, topic: 't', content: `message ${i}` };
    ids.push((await owner.ok('POST', '/messages', message)).id);
  }
  await member.ok('POST', '/messages/flags', { messages: ids.slice(0, 4), op: 'add', flag: 'read' });
});

const PAGE = 'nodes { databaseId } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }';

/**
 * Reads a page around an anchor.
 *
 * @returns Indexes of the messages, newest first, and whether older or newer messages follow.
 */
async function around(anchor: object, page: object): Promise<{ places: number[]; older: boolean; newer: boolean }> {
  const query = `query ($anchor: MessageAnchor, $first: Int, $last: Int, $narrow: MessageNarrowInput) {
    messages(anchor: $anchor, first: $first, last: $last, narrow: $narrow) { ${PAGE} } }`;
  const { messages } = await people.member.query(query, {
    anchor,
    narrow: { channel: { id: globalId('Channel', channelId) } },
    ...page,
  });
  const { hasNextPage: older, hasPreviousPage: newer } = messages.pageInfo;
  return { places: messages.nodes.map(({ databaseId }: Json) => ids.indexOf(databaseId)), older, newer };
}

describe('messages around an anchor', () => {
  test.for([
    [
      'a message',
      () => ({ messageId: globalId('Message', ids[4] ?? 0) }),
      { first: 2, last: 1 },
      [5, 4, 3, 2],
      true,
      true,
    ],
    ['the first unread', () => ({ place: 'FIRST_UNREAD' }), { first: 1, last: 2 }, [6, 5, 4, 3], true, true],
    ['the newest', () => ({ place: 'NEWEST' }), { first: 3 }, [8, 7, 6], true, false],
    ['the oldest', () => ({ place: 'OLDEST' }), { last: 2 }, [1, 0], false, true],
    ['a time long ago', () => ({ date: '2001-01-01T00:00:00Z' }), { first: 3, last: 1 }, [1, 0], false, true],
    ['a time to come', () => ({ date: '2999-01-01T00:00:00Z' }), { first: 2, last: 2 }, [8, 7], true, false],
    [
      'a message, with no numbers',
      () => ({ messageId: globalId('Message', ids[4] ?? 0) }),
      {},
      [8, 7, 6, 5, 4, 3, 2, 1, 0],
      false,
      false,
    ],
  ] as const)('%s', async ([, anchor, page, places, older, newer]) => {
    expect(await around(anchor(), page)).toEqual({ places: [...places], older, newer });
  });

  test('are the same as in REST', async () => {
    const { member } = people;
    const range = {
      anchor: 'first_unread',
      num_before: 2,
      num_after: 3,
      narrow: JSON.stringify([['channel', 'general']]),
    };
    const { messages } = await member.ok('GET', '/messages', range);
    const { places } = await around({ place: 'FIRST_UNREAD' }, { first: 2, last: 3 });
    expect(places.toReversed().map((place) => ids[place])).toEqual(messages.map(({ id }: Json) => id));
  });

  test('can be paginated by cursor in both directions', async () => {
    const { member } = people;
    const query = `query ($id: ID!) { messages(anchor: { messageId: $id }, first: 1, last: 1) { ${PAGE} } }`;
    const { messages } = await member.query(query, { id: globalId('Message', ids[4] ?? 0) });
    const { startCursor, endCursor } = messages.pageInfo;
    const read = async (page: string) =>
      (await member.query(`{ messages(${page}) { nodes { databaseId } } }`)).messages.nodes.map(
        ({ databaseId }: Json) => ids.indexOf(databaseId),
      );
    expect(await read(`first: 2, after: "${endCursor}"`)).toEqual([2, 1]);
    expect(await read(`last: 2, before: "${startCursor}"`)).toEqual([7, 6]);
  });

  test('are refused if the anchor is empty, ambiguous, or combined with a cursor', async () => {
    const { member } = people;
    const refusal = async (query: string, variables = {}) =>
      (await member.graphql(query, variables)).errors?.[0]?.extensions.code;
    expect(await refusal('{ messages(anchor: {}) { totalCount } }')).toBe('GRAPHQL_VALIDATION_FAILED');
    expect(await refusal('{ messages(anchor: { place: NEWEST, date: "2001-01-01T00:00:00Z" }) { totalCount } }')).toBe(
      'GRAPHQL_VALIDATION_FAILED',
    );
    const nullable = 'query ($date: DateTime) { messages(anchor: { date: $date }) { totalCount } }';
    expect(await refusal(nullable, { date: null })).toMatch(/^(BAD_REQUEST|GRAPHQL_VALIDATION_FAILED)$/);
    const { messages } = await member.query(`{ messages { ${PAGE} } }`);
    const both = `{ messages(anchor: { place: NEWEST }, after: "${messages.pageInfo.startCursor}") { totalCount } }`;
    expect(await refusal(both)).toBe('BAD_REQUEST');
  });
});
