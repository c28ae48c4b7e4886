import { expect, test } from 'vitest';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { createOrganization } from '../helpers/server.ts';
import { channelOf } from '../helpers/talk.ts';

/** Error code of documents that validation refuses, before they are executed. */
const INVALID = 'GRAPHQL_VALIDATION_FAILED';
const REFUSED = 'BAD_REQUEST';

test.for<[string, string, unknown, string]>([
  ['nothing, as a literal', '{}', undefined, INVALID],
  ['nothing, in a variable', '$it', {}, REFUSED],
  ['two, as a literal', '{ direct: [], topic: { named: { channel: { name: "a" }, name: "b" } } }', undefined, INVALID],
  ['two, one of them null', '$it', { direct: [], topic: null }, REFUSED],
  ['null, as a literal', '{ direct: null }', undefined, INVALID],
  ['null, in a variable', '$it', { direct: null }, REFUSED],
  ['two ways to name one thing', '$it', { topic: { named: { channel: { id: 'a', name: 'b' }, name: 'c' } } }, REFUSED],
])('an input of several alternatives is refused if it is %s', async ([, to, it, code]) => {
  const { member } = await createOrganization();
  const query = `mutation ${it === undefined ? '' : '($it: MessageTarget!)'} {
    sendMessage(input: { to: ${to}, content: "x" }) { __typename } }`;
  const { data, errors } = await member.graphql(query, it === undefined ? {} : { it });
  expect([data ?? null, errors?.[0]?.extensions.code]).toEqual([null, code]);
});

/**
 * Validation accepts a nullable variable at these positions, so the execution must refuse null. graphql-js executes the
 * mutation, and a query plan executes the query.
 */
test.for([
  [
    'mutation',
    'sendMessage(input: { to: { topic: { named: { channel: { id: $id }, name: "a" } } }, content: "x" }) { __typename }',
  ],
  ['query', 'channel(by: { id: $id }) { id }'],
])('an input of alternatives is refused if it contains a null variable: of a %s', async ([kind, field]) => {
  const { member } = await createOrganization();
  for (const variables of [{ id: null }, {}]) {
    const { data, errors } = await member.graphql(`${kind} ($id: ID) { viewer: __typename ${field} }`, variables);
    expect(errors).toMatchObject([{ extensions: { code: REFUSED } }]);
    expect(Object.values(data ?? {}).filter((value) => typeof value === 'object' && value !== null)).toEqual([]);
  }
});

test('accepts a non-null variable within the input, and a channel name in any case', async () => {
  const { owner, member } = await createOrganization();
  const channelId = await channelOf(owner, 'General', [owner, member]);
  const send = `mutation ($channel: ChannelRef!, $name: String!) {
    sendMessage(input: { to: { topic: { named: { channel: $channel, name: $name } } }, content: "here" }) { __typename } }`;
  for (const channel of [{ id: globalId('Channel', channelId) }, { name: 'gENERAL' }]) {
    const sent = await member.query(send, { channel, name: 'a' });
    expect(sent.sendMessage.__typename).toBe('SendMessagePayload');
  }
});

test('a channel name has the same meaning wherever it can replace the id, ignoring spaces around it', async () => {
  const { owner, member } = await createOrganization();
  const channelId = await channelOf(owner, 'General', [owner, member]);
  const channel = { name: ' gENERAL ' };
  const to = { topic: { named: { channel, name: 'a' } } };
  const found = await member.query('query ($by: ChannelRef!) { channel(by: $by) { databaseId } }', { by: channel });
  expect(found.channel.databaseId).toBe(channelId);
  const narrowed = await member.query(
    'query ($narrow: MessageNarrowInput) { messages(narrow: $narrow, first: 1) { nodes { id } } }',
    { narrow: { channel } },
  );
  expect(narrowed.messages.nodes).toEqual([]);
  const done = await member.query(
    `mutation ($to: MessageTarget!, $channels: [ChannelRef!]!) {
      sendMessage(input: { to: $to, content: "x" }) { __typename }
      createDrafts(input: { drafts: [{ to: $to, content: "x" }] }) { __typename }
      setTyping(input: { operation: START, to: $to }) { __typename }
      unsubscribe(input: { channels: $channels }) { __typename ... on UnsubscribePayload { outcomes { channel { databaseId } } } }
    }`,
    { to, channels: [channel] },
  );
  expect(Object.values<Json>(done).map(({ __typename }) => __typename)).toEqual([
    ...['SendMessagePayload', 'CreateDraftsPayload', 'SetTypingPayload', 'UnsubscribePayload'],
  ]);
  expect(done.unsubscribe.outcomes).toEqual([{ channel: { databaseId: channelId } }]);
});

test('errors about drafts or their owner are reported before a channel is looked up by name', async () => {
  const { owner, member } = await createOrganization();
  const { ids } = await owner.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: 'own' }] });
  const draft = { to: { topic: { named: { channel: { name: 'nowhere' }, name: 'a' } } }, content: 'x' };
  const create = `mutation ($drafts: [DraftInput!]!) {
    createDrafts(input: { drafts: $drafts }) { ... on ServiceError { message } } }`;
  const update = `mutation ($draftId: ID!, $draft: DraftInput!) {
    updateDraft(input: { draftId: $draftId, draft: $draft }) { ... on ServiceError { message } } }`;
  const saying = async (document: string, variables: Json) =>
    (Object.values<Json>(await member.query(document, variables))[0] as Json).message;
  expect(await saying(create, { drafts: [draft] })).toMatch(/^The channel does not exist/);
  expect(await saying(create, { drafts: [draft, { content: ' ' }] })).toMatch(/cannot be blank$/);
  expect(await saying(update, { draftId: globalId('Draft', ids[0]), draft })).toMatch(/^The draft does not exist/);
  await member.ok('PATCH', '/settings', { enable_drafts_synchronization: false });
  expect(await saying(create, { drafts: [draft] })).toBe('User has disabled synchronizing drafts.');
});
