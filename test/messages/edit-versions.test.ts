import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MAX_ORIG_HTML } from '../../src/messages/edits/events.ts';
import { MAX_PAGE_BYTES } from '../../src/messages/reply-size.ts';
import { TOTALS } from '../../src/platform/totals.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { channelOf, say } from '../helpers/talk.ts';

let clock = Date.parse('2026-11-20T10:00:00Z');
let service: InProcess;

beforeAll(async () => {
  service = await shareInProcess({ now: () => new Date(clock) });
});
afterAll(() => service[Symbol.asyncDispose]());

// The tests change a shared clock, so they run one after another.

const pass = (seconds: number) => {
  clock += seconds * 1000;
};

async function place() {
  const people = await createOrganization({}, { on: service });
  await service.app.db.organization.update({
    where: { id: people.organization.id },
    data: { settings: { message_content_edit_limit_seconds: null } },
  });
  const channelId = await channelOf(people.owner, 'general', [people.owner, people.member]);
  return { ...people, channelId };
}

const QUIET = { send_notification_to_new_thread: false };
const edit = (by: Person, id: number, fields: object) => by.ok('PATCH', `/messages/${id}`, { ...QUIET, ...fields });
const history = async (by: Person, id: number): Promise<Json[]> =>
  (await by.ok('GET', `/messages/${id}/history`)).message_history;
const contents = async (by: Person, id: number) => (await history(by, id)).map(({ content }) => content);
const rowsOf = (messageId: number) => service.app.db.messageEdit.count({ where: { messageId } });

interface Stored {
  readonly content?: string;
  readonly html?: string;
  readonly topic?: string;
}

/** Stores previous versions or moves of a message directly in the database, as if they were an hour old. */
const store = (
  organizationId: number,
  messageId: number,
  editorId: number,
  count: number,
  { content, html, topic }: Stored,
) =>
  service.app.db.$executeRaw`
    INSERT INTO message_edit (realm_id, message_id, editor_id, edited_at, prev_content, prev_rendered_content, prev_topic)
    SELECT ${organizationId}::int, ${messageId}::bigint, ${editorId}::int, ${new Date(clock - 3_600_000)}, ${content ?? null}::text,
           ${html ?? null}::text, ${topic ?? null}::text || n FROM generate_series(1, ${count}::int) AS n`;

/** Checks, over REST and GraphQL, that an edit is refused because the versions of the message reach the limit `name`. */
async function expectRefused(
  by: Person,
  messageId: number,
  name: 'versions_per_message' | 'versions_per_message_total_bytes',
) {
  const msg = `${TOTALS[name].refusal}.`;
  const refused = { status: 400, body: { code: 'BAD_REQUEST', msg, limit: `max_${name}` } };
  const path = `/messages/${messageId}`;
  expect(await by.rest('PATCH', path, { content: 'one more' })).toMatchObject(refused);
  // A request that also moves the message is refused, too.
  expect(await by.rest('PATCH', path, { ...QUIET, content: 'one more', topic: 'elsewhere' })).toMatchObject(refused);
  const input = { messageId, content: 'one more' };
  expect(await by.tryMutation('editMessage', input)).toEqual({
    ...{ __typename: 'ConflictError', code: 'BAD_REQUEST', message: msg },
  });
}

describe('edits of the content', () => {
  test('within a minute of the first are one version with the text before it, and one event each', async () => {
    const { member, owner, channelId } = await place();
    const id = await say(member, channelId, 'topic', 'one');
    const queue = await owner.register({ event_types: ['update_message'], fetch_event_types: [] });
    for (const content of ['two', 'three', 'four']) {
      await edit(member, id, { content });
      pass(19);
    }
    expect(await contents(owner, id)).toEqual(['one', 'four']);
    const { events } = await owner.ok('GET', '/events', {
      ...{ queue_id: queue.queue_id, last_event_id: queue.last_event_id, dont_block: true },
    });
    expect(events.map(({ orig_content, content }: Json) => [orig_content, content])).toEqual([
      ['one', 'two'],
      ['two', 'three'],
      ['three', 'four'],
    ]);
    // Edits of one minute share a version. The minute starts with the first of them, so a user who edits continuously adds one
    // version a minute.
    pass(3);
    await edit(member, id, { content: 'five' });
    expect(await contents(owner, id)).toEqual(['one', 'four', 'five']);
    expect((await owner.ok('GET', `/messages/${id}`)).message.edit_history).toMatchObject([
      { prev_content: 'four' },
      { prev_content: 'one' },
    ]);
  });

  test('are separate versions before and after a move, and together with one', async () => {
    const { member, owner, channelId } = await place();
    const id = await say(member, channelId, 'a', 'one');
    await edit(member, id, { content: 'two' });
    await edit(owner, id, { topic: 'b' });
    await edit(member, id, { content: 'three' });
    await edit(member, id, { content: 'four', topic: 'c' });
    expect((await history(owner, id)).map(({ topic, content }) => [topic, content])).toEqual([
      ['a', 'one'],
      ['a', 'two'],
      ['b', 'two'],
      ['b', 'three'],
      ['c', 'four'],
    ]);
  });

  test('beyond the number of versions are refused, over either API; one that adds no version is not', async () => {
    const { member, owner, organization, channelId } = await place();
    const id = await say(member, channelId, 'topic', 'now');
    const { max } = TOTALS.versions_per_message;
    await store(organization.id, id, member.id, max - 1, { content: 'x', html: '<p>x</p>' });
    await edit(member, id, { content: 'last' });
    await edit(member, id, { content: 'last of the minute' });
    pass(61);
    await expectRefused(member, id, 'versions_per_message');
    expect(await history(owner, id)).toHaveLength(max + 1);
    // The limit applies neither to moves nor to deletions.
    await edit(owner, id, { topic: 'elsewhere' });
    await owner.ok('DELETE', `/messages/${id}`);
    expect(await rowsOf(id)).toBe(0);
  });

  test('beyond the bytes of all versions are refused, over either API', async () => {
    const { member, organization, channelId } = await place();
    const id = await say(member, channelId, 'topic', 'now');
    const { max } = TOTALS.versions_per_message_total_bytes;
    await store(organization.id, id, member.id, 4, { content: 'x', html: 'x'.repeat(max / 4 - 20) });
    // The limit includes the current version and the new one.
    await edit(member, id, { content: 'n' });
    pass(61);
    await service.app.db.$executeRaw`UPDATE message SET rendered_content = ${'x'.repeat(100)} WHERE id = ${id}`;
    await expectRefused(member, id, 'versions_per_message_total_bytes');
  });
});

describe('moves', () => {
  test('beyond a hundred of one message are merged into the newest one, and never refused', async () => {
    const { owner, organization, channelId } = await place();
    const id = await say(owner, channelId, 'here', 'text');
    await store(organization.id, id, owner.id, 100, { topic: 'before ' });
    await edit(owner, id, { topic: 'there' });
    await edit(owner, id, { topic: 'yonder', propagate_mode: 'change_all' });
    expect(await rowsOf(id)).toBe(100);
    const topics = (await history(owner, id)).map(({ prev_topic, topic }) => [prev_topic, topic]);
    expect(topics.slice(-2)).toEqual([
      ['before 99', 'before 100'],
      ['before 100', 'yonder'],
    ]);
    // The message returns to its first topic, which removes one stored move.
    await edit(owner, id, { topic: 'before 100' });
    expect(await rowsOf(id)).toBe(99);
    // Edits of the content have a separate limit.
    await edit(owner, id, { content: 'other' });
    expect(await rowsOf(id)).toBe(100);
  });
});

test('fewer moves are stored for a long message, because each of them repeats its content', async () => {
  const { owner, organization, channelId } = await place();
  const id = await say(owner, channelId, 'here', ':octopus: '.repeat(900));
  await store(organization.id, id, owner.id, 30, { topic: 'before ' });
  await edit(owner, id, { topic: 'there' });
  expect(await rowsOf(id)).toBe(30);
});

describe('a reply', () => {
  const HTML = 1024 * 1024 - 100;

  test('with one message of maximum size contains all of it, and every stored version', async () => {
    const { member, organization, channelId } = await place();
    const id = await say(member, channelId, 'topic', 'now');
    await store(organization.id, id, member.id, 4, { content: 'x', html: 'x'.repeat(HTML) });
    const snapshots = await history(member, id);
    expect(snapshots).toHaveLength(5);
    expect(JSON.stringify(snapshots).length).toBeLessThan(MAX_PAGE_BYTES * 1.1);
    // Lists contain the text of previous versions, but not their HTML.
    const { messages } = await member.ok('GET', '/messages', { anchor: 'newest', num_before: 10, num_after: 0 });
    expect(JSON.stringify(messages).length).toBeLessThan(10_000);
    expect(messages.at(-1).edit_history).toHaveLength(4);
  });

  test('with a history older than the limits contains its first version and the newest ones', async () => {
    const { member, organization, channelId } = await place();
    const id = await say(member, channelId, 'topic', 'now');
    await store(organization.id, id, member.id, 1, { content: 'first', html: '<p>first</p>' });
    await store(organization.id, id, member.id, 30, { content: 'x', html: 'x'.repeat(HTML) });
    const snapshots = await history(member, id);
    expect(snapshots.map(({ content }) => content)).toEqual(['first', 'x', 'x', 'x', 'x', 'now']);
    const { data } = await member.graphql(
      `query ($id: ID!) { node(id: $id) { ... on Message { editHistory(first: 100) { nodes { content } } } } }`,
      { id: globalId('Message', id) },
    );
    expect(data.node.editHistory.nodes).toHaveLength(6);
  });

  test('with several messages is limited by the bytes of their versions, the moves and the reactions', async () => {
    const { member, owner, organization, channelId } = await place();
    const ids = [];
    for (const content of ['a', 'b', 'c', 'd']) ids.push(await say(member, channelId, 'topic', content));
    const page = async () => {
      const query = {
        anchor: 'newest',
        num_before: 4,
        num_after: 0,
        narrow: [{ operator: 'channel', operand: channelId }],
      };
      const { messages, found_oldest } = await owner.ok('GET', '/messages', query);
      return [messages.length, found_oldest];
    };
    expect(await page()).toEqual([4, false]);
    // The versions of all four messages together have slightly fewer bytes than a page can have.
    const version = { content: 'x'.repeat(10_000), html: '<p>x</p>' };
    for (const id of ids) await store(organization.id, id, member.id, 400, version);
    expect(await page()).toEqual([4, false]);
    for (const id of ids) await store(organization.id, id, member.id, 700, { topic: 'before ' });
    expect(await page()).toEqual([3, false]);
    await service.app.db.messageEdit.deleteMany({ where: { organizationId: organization.id, prevContent: null } });
    expect(await page()).toEqual([4, false]);
    for (const id of ids) {
      await service.app.db.$executeRaw`
        INSERT INTO reaction (realm_id, message_id, user_id, emoji_name, emoji_code, reaction_type)
        SELECT ${organization.id}::int, ${id}::bigint, ${member.id}::int, 'x', 'c' || n, 'unicode_emoji'
        FROM generate_series(1, 600) AS n`;
    }
    expect(await page()).toEqual([3, false]);
    const [first, ...others] = ids;
    expect(await owner.rest('GET', '/messages', { message_ids: ids })).toMatchObject({
      ...{ status: 400, body: { msg: 'The messages are too large for one reply. Request fewer.' } },
    });
    expect((await owner.ok('GET', '/messages', { message_ids: others })).messages).toHaveLength(3);
    // The limit of a page's size also applies to a page around an anchor: the oldest message of the page is omitted.
    const around = {
      anchor: ids[2],
      num_before: 2,
      num_after: 1,
      narrow: [{ operator: 'channel', operand: channelId }],
    };
    expect((await owner.ok('GET', '/messages', around)).messages.map(({ id }: Json) => id)).not.toContain(first);
  });

  test('over GraphQL has the snapshots of one full message, and an operation for more is refused', async () => {
    const { member, organization, channelId } = await place();
    const ids = [];
    for (const content of ['a', 'b']) ids.push(await say(member, channelId, 'topic', content));
    for (const id of ids) await store(organization.id, id, member.id, 3, { content: 'x', html: 'x'.repeat(HTML) });
    const of = (id: number | undefined) => `node(id: "${globalId('Message', id ?? 0)}")`;
    const HISTORY =
      'editHistory(first: 100) { totalCount nodes { content renderedContent prevRenderedContent contentHtmlDiff } }';
    const one = await member.graphql(`{ ${of(ids[0])} { ... on Message { ${HISTORY} } } }`);
    expect(one.data.node.editHistory.totalCount).toBe(4);
    const TOO_LONG = 'The edit histories are too large for one reply. Request fewer.';
    for (const query of [
      `{ a: ${of(ids[0])} { ... on Message { ${HISTORY} } } b: ${of(ids[1])} { ... on Message { ${HISTORY} } } }`,
      `{ ${of(ids[0])} { ... on Message { ${HISTORY} again: ${HISTORY} more: ${HISTORY} } } }`,
      `{ messages(first: 2) { nodes { ${HISTORY} } } }`,
    ]) {
      const { errors } = await member.graphql(query);
      expect(errors?.[0], query).toMatchObject({ message: TOO_LONG, extensions: { code: 'BAD_REQUEST' } });
    }
  });

  test('over GraphQL is refused beyond the limit also if messages are found one after another', async () => {
    const { member, organization, channelId } = await place();
    const ids: number[] = [];
    for (const content of ['a', 'b']) ids.push(await say(member, channelId, 'topic', content));
    for (const id of ids) await store(organization.id, id, member.id, 3, { content: 'x', html: 'x'.repeat(HTML) });
    const of = (rest: string) =>
      `{ node(id: "${globalId('Message', ids[0] ?? 0)}") { ... on Message { editHistory(first: 1) { totalCount } ${rest} } } }`;
    expect((await member.graphql(of(''))).data.node.editHistory.totalCount).toBe(4);
    const { errors } = await member.graphql(of('topic { lastMessage { id editHistory(first: 1) { totalCount } } }'));
    expect(errors?.[0].message).toBe('The edit histories are too large for one reply. Request fewer.');
  });

  test('over GraphQL can select its texts under several aliases, but not without limit', async () => {
    const { member, organization, channelId } = await place();
    const id = await say(member, channelId, 'topic', 'a');
    await store(organization.id, id, member.id, 3, { content: 'x', html: 'x'.repeat(HTML) });
    const times = (count: number, field: string) =>
      member.graphql(
        `{ node(id: "${globalId('Message', id)}") { ... on Message { editHistory(first: 10) { nodes {
          ${Array.from({ length: count }, (_, i) => `a${i}: ${field}`).join(' ')} } } } } }`,
      );
    for (const field of ['renderedContent', 'prevRenderedContent', 'contentHtmlDiff']) {
      expect((await times(3, field)).data.node.editHistory.nodes, field).toHaveLength(4);
      const { errors } = await times(45, field);
      expect(errors?.[0].message, field).toBe('The messages are too large for one reply. Request fewer.');
    }
  });
});

test('the event of an edit to a long message omits the previous HTML', async () => {
  const { member, owner, channelId } = await place();
  const long = ':octopus: '.repeat(900);
  const id = await say(member, channelId, 'topic', long);
  const queue = await owner.register({ event_types: ['update_message'], fetch_event_types: [], apply_markdown: true });
  await edit(member, id, { content: `${long}:tada:` });
  await edit(member, id, { content: 'short' });
  pass(61);
  await edit(member, id, { content: 'shorter' });
  const { events } = await owner.ok('GET', '/events', {
    ...{ queue_id: queue.queue_id, last_event_id: queue.last_event_id, dont_block: true },
  });
  const [first, second, third] = events;
  expect(first.rendered_content.length).toBeGreaterThan(MAX_ORIG_HTML);
  expect(first).toMatchObject({ orig_content: long.trim(), content: `${long}:tada:` });
  for (const event of [first, second]) expect(event).not.toHaveProperty('orig_rendered_content');
  expect(third).toMatchObject({ orig_content: 'short', orig_rendered_content: '<p>short</p>' });
  const [{ bytes }] = await service.app.db.$queryRaw<[{ bytes: number }]>`
    SELECT max(octet_length(payload::text))::int AS bytes FROM event WHERE type = 'update_message' AND id > ${queue.last_event_id}`;
  expect(bytes).toBeLessThan(first.rendered_content.length * 1.5);
});
