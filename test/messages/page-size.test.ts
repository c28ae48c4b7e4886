import { afterAll, beforeAll, expect, test } from 'vitest';
import { MAX_PAGE_BYTES } from '../../src/messages/reply-size.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { channelOf, say } from '../helpers/talk.ts';

// Tests pages over GraphQL that contain messages whose HTML is as long as that of 9,990 emoji.

/** Number of messages: more than a page has room for on both sides of the one in the middle. */
const COUNT = 24;
const HTML = 1_000_000;

let service: InProcess;
let owner: Person;
/** Ids of the long messages, oldest first. */
const ids: number[] = [];

beforeAll(async () => {
  service = await shareInProcess();
  ({ owner } = await createOrganization({}, { on: service }));
  const channel = await channelOf(owner, 'long', [owner]);
  for (let i = 0; i < COUNT; i++) ids.push(await say(owner, channel, 'x', `message ${i}`));
  await service.app.db.$executeRaw`
    UPDATE message SET rendered_content = repeat('x', ${HTML}::int) WHERE id = ANY(${ids}::bigint[])`;
});
afterAll(() => service[Symbol.asyncDispose]());

const NARROW = 'narrow: { channel: { name: "long" }, topicNamed: "x" }';
const NODES = 'pageInfo { hasNextPage hasPreviousPage endCursor startCursor } nodes { databaseId renderedContent }';

test('a page contains as many messages as fit into a response, and the next pages the others', async () => {
  for (const [size, cursor, more, near] of [
    ['first', 'after', 'hasNextPage', 'endCursor'],
    ['last', 'before', 'hasPreviousPage', 'startCursor'],
  ] as const) {
    const found: number[] = [];
    let position = '';
    for (let hasMore = true; hasMore; ) {
      const { messages } = await owner.query(`{ messages(${NARROW}, ${size}: 100 ${position}) { ${NODES} } }`);
      const page = messages.nodes.map(({ databaseId }: Json) => databaseId);
      expect(page.length).toBeLessThanOrEqual(MAX_PAGE_BYTES / HTML);
      found.push(...(size === 'first' ? page : page.toReversed()));
      hasMore = messages.pageInfo[more];
      position = `, ${cursor}: "${messages.pageInfo[near]}"`;
    }
    expect([size, found.filter((id) => ids.includes(id))]).toEqual([size, size === 'first' ? ids : ids.toReversed()]);
  }
});

test('a page around a message contains the messages nearest to it', async () => {
  const middle = ids[COUNT / 2] ?? 0;

  const id = globalId('Message', middle);
  const { messages } = await owner.query(
    `{ messages(${NARROW}, anchor: { messageId: "${id}" }, countBefore: 100, countAfter: 100) { ${NODES} } }`,
  );
  const page: number[] = messages.nodes.map(({ databaseId }: Json) => databaseId);
  const from = ids.indexOf(page[0] ?? 0);
  expect(page).toEqual(ids.slice(from, from + page.length));
  expect(page).toContain(middle);
  expect(page.length * HTML).toBeLessThanOrEqual(MAX_PAGE_BYTES);
  expect(messages.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: true });
});

test('an operation returns at most two such pages, and an error for the others', async () => {
  const aliases = Array.from({ length: 6 }, (_, i) => `p${i}: messages(${NARROW}, first: ${40 + i}) { ${NODES} }`);
  const { data, errors } = await owner.graphql(`{ ${aliases.join(' ')} }`);
  const text = JSON.stringify(data);
  expect(text.length).toBeLessThan(3 * MAX_PAGE_BYTES);
  expect(data.p0.nodes.length).toBeGreaterThan(10);
  expect(data.p5).toBeNull();
  expect(errors).toContainEqual(
    expect.objectContaining({ message: 'The messages are too large for one reply. Request fewer.', path: ['p5'] }),
  );
});
