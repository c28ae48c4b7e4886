import { expect, test } from 'vitest';
import { globalId } from './helpers/global-ids.ts';
import type { Json } from './helpers/http.ts';
import type { Parameters, Person } from './helpers/person.ts';
import { organisation } from './helpers/server.ts';
import { channelOf, say } from './helpers/talk.ts';

const QUERY = `query ($text: String!, $kinds: [SuggestionKind!], $channelId: ID, $first: Int) {
  suggestions(text: $text, kinds: $kinds, channelId: $channelId, first: $first) {
    __typename ... on Node { id } ... on User { fullName } ... on Channel { name } ... on UserGroup { name }
    ... on Topic { topic: name }
  }
}`;

async function suggested(person: Person, variables: Parameters): Promise<string[]> {
  const { suggestions } = await person.query(QUERY, variables);
  return suggestions.map((one: Json) => `${one.__typename} ${one.fullName ?? one.name ?? one.topic}`);
}

test('what is begun is completed: by names that begin so, then by later words, of what the viewer sees', async () => {
  const { owner, member, guest } = await organisation();
  const other = await organisation();
  const rename = (person: Person, full_name: string) => person.ok('PATCH', '/settings', { full_name });
  await rename(owner, 'Bea Anders');
  await rename(member, 'Anna 100%_Sure');
  await rename(other.owner, 'Anna Elsewhere');
  const mine = await channelOf(owner, 'Anchors', [owner, guest]);
  await channelOf(owner, 'The anteroom', [owner]);
  const hidden = (
    await owner.ok('POST', '/channels/create', {
      ...{ name: 'Answers in secret', subscribers: [owner.id], invite_only: true },
    })
  ).id as number;
  const old = await channelOf(owner, 'Ancient', [owner]);
  await owner.ok('DELETE', `/streams/${old}`);
  await owner.ok('POST', '/user_groups/create', { name: 'Analysts', description: '', members: [owner.id] });
  for (const topic of ['annual plans', 'lunch', 'plans, annotated']) await say(owner, mine, topic);
  await say(owner, hidden, 'anything');
  const id = globalId('Channel', mine);

  const all = { text: ' AN', channelId: id, first: 5 };
  const users = ['User Anna 100%_Sure', 'User Bea Anders'];
  const topics = ['Topic annual plans', 'Topic plans, annotated'];
  expect(await suggested(owner, all)).toEqual([
    ...[...users, 'Channel Anchors', 'Channel Answers in secret', 'Channel The anteroom', 'UserGroup Analysts'],
    ...topics,
  ]);
  expect(await suggested(member, { ...all, kinds: ['CHANNEL'] })).toEqual(['Channel Anchors', 'Channel The anteroom']);
  // A guest sees the channels they are in, and no groups.
  expect(await suggested(guest, all)).toEqual([...users, 'Channel Anchors', ...topics]);
  expect(await suggested(member, { text: '', kinds: ['TOPIC'], channelId: globalId('Channel', hidden) })).toEqual([]);
  expect(await suggested(owner, { text: 'an', kinds: ['TOPIC'] })).toEqual([]);
  // What stands for anything in a pattern stands for itself.
  expect(await suggested(owner, { text: '%', kinds: ['USER', 'CHANNEL'] })).toEqual([]);
  expect(await suggested(owner, { text: '100%_s', kinds: ['USER'] })).toEqual(['User Anna 100%_Sure']);
  expect(await suggested(owner, { ...all, kinds: ['TOPIC', 'USER'], first: 1 })).toEqual([topics[0], users[0]]);
});

test('what is no beginning, or asks for too many, is refused', async () => {
  const { owner } = await organisation();
  const refusal = { data: { suggestions: null }, errors: [{ extensions: { code: 'BAD_REQUEST' } }] };
  for (const wrong of [{ text: 'x'.repeat(101) }, { text: 'a', first: 0 }, { text: 'a', first: 21 }, { text: 'a\0' }]) {
    expect(await owner.graphql(QUERY, wrong), JSON.stringify(wrong)).toMatchObject(refusal);
  }
  expect((await owner.query(QUERY, { text: '' })).suggestions.length).toBeGreaterThan(0);
});
