import { expect, test } from 'vitest';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { channelOf, say } from '../helpers/talk.ts';

const MATCHES = `query ($narrow: MessageNarrowInput, $anchor: MessageAnchor, $before: String) {
  messages(narrow: $narrow, anchor: $anchor, before: $before) {
    totalCount
    edges { cursor highlightedContent highlightedTopicName node { databaseId } }
    facets { senders { sender { databaseId } count } channels { channel { databaseId } count } }
  } }`;

async function found(who: Person, variables: Json): Promise<Json> {
  const { data, errors } = await who.graphql(MATCHES, variables);
  expect(errors).toBeUndefined();
  return data.messages;
}

const summary = ({ senders, channels }: Json) => ({
  senders: senders.map(({ sender, count }: Json) => [sender.databaseId, count]),
  channels: channels.map(({ channel, count }: Json) => [channel?.databaseId, count]),
});

test('results of a search have the highlighted content and topic, as over REST', async () => {
  const { owner, member } = await createOrganization();
  const channel = await channelOf(owner, 'general', [owner, member]);
  await say(owner, channel, 'release <b>', 'The *release* is near');
  await say(owner, channel, 'other', 'Nothing');
  await say(member, channel, 'other', 'Released &amp; done');
  const narrow = [{ operator: 'search', operand: 'release' }];
  const { messages } = await member.ok('GET', '/messages', { anchor: 'newest', num_before: 100, narrow });
  const overRest = messages.map(({ id, match_content, match_subject }: Json) => [id, match_content, match_subject]);
  expect(overRest).toHaveLength(2);
  const cursor = (await found(member, {})).edges.at(-1).cursor;
  for (const page of [{}, { anchor: { place: 'NEWEST' } }, { before: cursor }]) {
    const { edges } = await found(member, { narrow: { search: 'release' }, ...page });
    const shown = edges.map(({ node, highlightedContent, highlightedTopicName }: Json) => [
      node.databaseId,
      highlightedContent,
      highlightedTopicName,
    ]);
    expect(shown).toEqual(page.before === undefined ? overRest : overRest.slice(0, 1));
  }
  expect(overRest[0][1]).toContain('<span class="highlight">release</span>');
  expect(overRest[0][2]).toBe('<span class="highlight">release</span> &lt;b&gt;');
});

test('without a search nothing is highlighted', async () => {
  const { owner, member } = await createOrganization();
  const channel = await channelOf(owner, 'general', [owner, member]);
  await say(owner, channel, 'release', 'release');
  for (const narrow of [null, { channel: { id: globalId('Channel', channel) } }]) {
    const { edges } = await found(member, { narrow });
    expect(edges.map(({ highlightedContent: content, highlightedTopicName: topic }: Json) => [content, topic])).toEqual(
      [[null, null]],
    );
  }
});

test('facets count the matching messages that the viewer can read, by sender and by channel', async () => {
  const { owner, member, guest } = await createOrganization();
  const everyone = [owner, member, guest];
  const [open, other] = [await channelOf(owner, 'open', everyone), await channelOf(owner, 'other', everyone)];
  const secret = await channelOf(owner, 'secret', [owner, member], { invite_only: true });
  for (const [who, channel, content] of [
    [owner, open, 'a match'],
    [member, open, 'another match'],
    [member, other, 'the last match'],
    [member, other, 'no'],
    [owner, secret, 'a secret match'],
  ] as const)
    await say(who, channel, 'topic', content);
  await member.ok('POST', '/messages', { type: 'direct', to: [owner.id], content: 'a match between us' });
  const narrow = { search: 'match' };
  const ofMember = await found(member, { narrow });
  expect(ofMember.totalCount).toBe(5);
  expect(summary(ofMember.facets)).toEqual({
    senders: [
      [member.id, 3],
      [owner.id, 2],
    ],
    channels: [
      [open, 2],
      [other, 1],
      [secret, 1],
    ],
  });
  const ofGuest = await found(guest, { narrow });
  expect(summary(ofGuest.facets)).toEqual({
    senders: [
      [member.id, 2],
      [owner.id, 1],
    ],
    channels: [
      [open, 2],
      [other, 1],
    ],
  });
  // A page does not limit its facets.
  const { facets } = (
    await member.graphql(`{ messages(narrow: { search: "match" }, last: 1) {
    facets { senders { count sender { databaseId } } channels { count channel { databaseId } } } } }`)
  ).data.messages;
  expect(summary(facets)).toEqual(summary(ofMember.facets));
  const none = await found(guest, { narrow: { search: 'absent' } });
  expect(none.facets).toEqual({ senders: [], channels: [] });
});

test('highlighted texts count in the size of a reply, like other texts, however often they are selected', async () => {
  const { owner, member } = await createOrganization();
  const channel = await channelOf(owner, 'general', [owner, member]);
  // Each match of three letters becomes more than thirty, so the HTML of such a message is about 100 kB.
  for (let i = 0; i < 10; i++) await say(owner, channel, 'topic', 'aaa '.repeat(2_500));
  const asked = (times: number) => {
    const aliases = Array.from({ length: times }, (_, i) => `a${i}: highlightedContent`);
    return member.graphql(`{ messages(narrow: { search: "aaa" }) { edges { ${aliases.join(' ')} } } }`);
  };
  const { data, errors } = await asked(2);
  expect(errors).toBeUndefined();
  expect(data.messages.edges[0].a0.length).toBeGreaterThan(60_000);
  expect(data.messages.edges[0].a1).toBe(data.messages.edges[0].a0);
  const refused = await asked(40);
  expect(refused.errors?.[0]?.message).toContain('too large');
});
