import { beforeAll, describe, expect, test } from 'vitest';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

let people: Organization;
let channelId: number;
const ids: number[] = [];

beforeAll(async () => {
  people = await createOrganization();
  const { owner, member } = people;
  channelId = (await owner.ok('POST', '/channels/create', { name: 'general', subscribers: [owner.id, member.id] })).id;
  for (let i = 0; i < 9; i++) {
    const message = { type: 'channel', to: channelId, topic: 't', content: `message ${i}` };
    ids.push((await owner.ok('POST', '/messages', message)).id);
  }
  await member.ok('POST', '/messages/flags', { messages: ids.slice(0, 4), op: 'add', flag: 'read' });
});

const PAGE = 'nodes { databaseId } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }';
const DOCUMENT = `query ($anchor: MessageAnchor, $countBefore: Int, $countAfter: Int, $narrow: MessageNarrowInput
    $first: Int, $last: Int, $after: String, $before: String) {
  messages(anchor: $anchor, countBefore: $countBefore, countAfter: $countAfter, narrow: $narrow
    first: $first, last: $last, after: $after, before: $before) { ${PAGE} } }`;

interface Page {
  /** Indexes of the messages, in the order of the page. */
  readonly places: number[];
  /** Whether older messages precede the page. */
  readonly older: boolean;
  /** Whether newer messages follow the page. */
  readonly newer: boolean;
  readonly startCursor: string | null;
  readonly endCursor: string | null;
}

const pageIn = ({ messages }: Json): Page => {
  const { hasNextPage: newer, hasPreviousPage: older, ...cursors } = messages.pageInfo;
  return { places: messages.nodes.map(({ databaseId }: Json) => ids.indexOf(databaseId)), older, newer, ...cursors };
};

/** Reads a page of the channel's messages around an anchor. */
const around = async (anchor: object, page: object): Promise<Page> =>
  pageIn(
    await people.member.query(DOCUMENT, {
      ...{ anchor, narrow: { channel: { id: globalId('Channel', channelId) } } },
      ...page,
    }),
  );

const middle = () => ({ messageId: globalId('Message', ids[4] ?? 0) });

describe('messages around an anchor', () => {
  test.for([
    ['a message', middle, { countBefore: 2, countAfter: 1 }, [2, 3, 4, 5], true, true],
    [
      'the first unread',
      () => ({ place: 'FIRST_UNREAD' }),
      { countBefore: 1, countAfter: 2 },
      [3, 4, 5, 6],
      true,
      true,
    ],
    ['the newest', () => ({ place: 'NEWEST' }), { countBefore: 3 }, [6, 7, 8], true, false],
    ['the oldest', () => ({ place: 'OLDEST' }), { countAfter: 2 }, [0, 1], false, true],
    ['long ago', () => ({ sentAt: '2001-01-01T00:00:00Z' }), { countBefore: 3, countAfter: 1 }, [0, 1], false, true],
    ['to come', () => ({ sentAt: '2999-01-01T00:00:00Z' }), { countBefore: 2, countAfter: 2 }, [7, 8], true, false],
    ['a message, with no numbers', middle, {}, [0, 1, 2, 3, 4, 5, 6, 7, 8], false, false],
    ['a message alone', middle, { countBefore: 0 }, [4], true, true],
  ] as const)('%s', async ([, anchor, page, places, older, newer]) => {
    expect(await around(anchor(), page)).toMatchObject({ places: [...places], older, newer });
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
    const { places } = await around({ place: 'FIRST_UNREAD' }, { countBefore: 2, countAfter: 3 });
    expect(places.map((place) => ids[place])).toEqual(messages.map(({ id }: Json) => id));
  });

  test('can be continued in both directions, while the anchor and its counts stay as they are', async () => {
    const counts = { countBefore: 1, countAfter: 1 };
    const start = await around(middle(), counts);
    expect(start.places).toEqual([3, 4, 5]);
    const newer = await around(middle(), { ...counts, first: 2, after: start.endCursor });
    expect(newer).toMatchObject({ places: [6, 7], newer: true, older: true });
    const newest = await around(middle(), { ...counts, first: 2, after: newer.endCursor });
    expect(newest).toMatchObject({ places: [8], newer: false });
    const older = await around(middle(), { ...counts, last: 2, before: start.startCursor });
    expect(older).toMatchObject({ places: [1, 2], newer: true, older: true });
    const oldest = await around(middle(), { ...counts, last: 2, before: older.startCursor });
    expect(oldest).toMatchObject({ places: [0], older: false });
    // A document that names the size of later pages reads the first one by its counts.
    expect((await around(middle(), { ...counts, first: 50 })).places).toEqual([3, 4, 5]);
  });

  test('of a channel, a topic and the starred messages are read by the same arguments', async () => {
    const { member } = people;
    const starred = [1, 4, 7].map((place) => ids[place] ?? 0);
    await member.ok('POST', '/messages/flags', { messages: starred, op: 'add', flag: 'starred' });
    const read = async (field: string, args: string) => {
      const anchor = `anchor: { messageId: "${middle().messageId}" }`;
      const list = `messages(${args.replace('ANCHOR', anchor)}) { ${PAGE} }`;
      const channel = `channel(by: { id: "${globalId('Channel', channelId)}" })`;
      const data = await member.query(
        {
          channel: `{ at: ${channel} { ${list} } }`,
          topic: `{ at: node(id: "${globalId('Topic', `${channelId}:t`)}") { ... on Topic { ${list} } } }`,
          starred: `{ at: viewer { messages: starredM${list.slice(1)} } }`,
        }[field] ?? '',
      );
      return pageIn(data.at);
    };
    for (const field of ['channel', 'topic']) {
      expect(await read(field, 'last: 3')).toMatchObject({ places: [6, 7, 8], older: true, newer: false });
      expect(await read(field, 'ANCHOR, countBefore: 1')).toMatchObject({ places: [3, 4], older: true, newer: true });
    }
    expect(await read('starred', 'last: 2')).toMatchObject({ places: [4, 7], older: true, newer: false });
    expect(await read('starred', 'ANCHOR, countBefore: 1, countAfter: 5')).toMatchObject({ places: [1, 4, 7] });
  });

  test.for([
    ['no anchor in the input', 'anchor: {}', 'GRAPHQL_VALIDATION_FAILED'],
    ['two anchors', 'anchor: { place: NEWEST, sentAt: "2001-01-01T00:00:00Z" }', 'GRAPHQL_VALIDATION_FAILED'],
    ['the sizes of the previous release', 'anchor: { place: NEWEST }, first: 50, last: 50', 'BAD_REQUEST'],
    ['counts without an anchor', 'countBefore: 5', 'BAD_REQUEST'],
    ['a count that is too large', 'anchor: { place: NEWEST }, countBefore: 101', 'BAD_REQUEST'],
    ['a negative count', 'anchor: { place: NEWEST }, countAfter: -1', 'BAD_REQUEST'],
    ['a message that does not exist', 'anchor: { messageId: "nonsense" }', 'BAD_REQUEST'],
  ])('are refused for %s', async ([, args, code]) => {
    const { errors } = await people.member.graphql(`{ messages(${args}) { nodes { id } } }`);
    expect(errors?.[0]?.extensions.code).toBe(code);
  });

  test('are refused for a null variable in the anchor', async () => {
    const nullable = 'query ($date: DateTime) { messages(anchor: { sentAt: $date }) { nodes { id } } }';
    const { errors } = await people.member.graphql(nullable, { date: null });
    expect(errors?.[0]?.extensions.code).toMatch(/^(BAD_REQUEST|GRAPHQL_VALIDATION_FAILED)$/);
  });
});
