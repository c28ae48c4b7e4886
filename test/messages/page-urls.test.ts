import { expect, test } from 'vitest';
import { addressOfFragment } from '../../src/web/routing/fragments.ts';
import { routeOf } from '../../src/web/routing/routes.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { channelOf, say, topicRef } from '../helpers/talk.ts';

/** Returns the origin of a URL, and the route that the page opens at it. */
function opened(url: string): Json {
  const { origin, pathname, hash } = new URL(url);
  expect(pathname).toBe('/');
  const path = addressOfFragment(hash.slice(1));
  expect(path, url).toBeDefined();
  const { otherwise, ...route } = routeOf(path ?? '') as Json;
  return { origin, ...route, ...(otherwise !== undefined && { otherwise: routeOf(otherwise) }) };
}

const MESSAGE = `query ($id: ID!) { organization { url } message(by: { id: $id }) {
  id url channel { id url } topic { name url } directConversation { url participants { id } } } }`;
const read = async (by: Person, id: number) => by.query(MESSAGE, { id: globalId('Message', id) });

test.for([
  ['general', 'lunch'],
  ['dev/ops & "more" 50%', 'a.b/c~d (e) #f?'],
  ['Küche 厨房', 'Straße 🍜'],
  ['~tilde~', ''],
])('the URLs of channel "%s" and topic "%s" lead to them', async ([name = '', topic = '']) => {
  const { owner } = await createOrganization();
  const channelId = globalId('Channel', await channelOf(owner, name, [owner]));
  const id = await say(owner, name, topic);
  const { organization, message } = await read(owner, id);
  const { origin } = new URL(organization.url);
  const place = { name: 'channel', channelId, topic };
  expect(opened(message.channel.url)).toEqual({ origin, name: 'channel', channelId });
  expect(opened(message.topic.url)).toEqual({ origin, ...place });
  expect(opened(message.url)).toEqual({ origin, name: 'message', messageId: message.id, by: 'near', otherwise: place });
  expect(message.url).toMatch(/^[!-}]+$/);
});

test('the URLs of a conversation and its messages lead to them, for each participant', async () => {
  const { owner, member, guest } = await createOrganization();
  for (const to of [[owner], [member], [member, guest]]) {
    const direct = { type: 'direct', to: to.map(({ id }) => id), content: 'x' };
    const { id } = await owner.ok('POST', '/messages', direct);
    for (const person of new Set([owner, ...to])) {
      const { message } = await read(person, id);
      const { origin, ...conversation } = opened(message.directConversation.url);
      expect(conversation.name).toBe('direct');
      const ids = message.directConversation.participants.map((user: Json) => user.id);
      expect([...conversation.userIds].sort()).toEqual(ids.sort());
      const { otherwise, ...route } = opened(message.url);
      expect(route).toEqual({ origin, name: 'message', messageId: message.id, by: 'near' });
      expect(otherwise).toEqual(conversation);
    }
  }
});

test('a topic has one URL however its name is spelled, and events contain the URL of their message', async () => {
  const { owner, member } = await createOrganization();
  const channel = await channelOf(owner, 'general', [owner, member]);
  const first = await say(owner, channel, 'lunch');
  await say(owner, channel, 'Lunch');
  const { topic } = await owner.query('query ($by: TopicRef!) { topic(by: $by) { url } }', {
    by: topicRef(channel, 'LUNCH'),
  });
  const { message } = await read(owner, first);
  expect(message.topic.url).toBe(topic.url);
  expect(topic.url).toMatch(/\/topic\/Lunch$/);
  const { queue_id: queueId } = await member.register({ event_types: ['message'] });
  await using stream = await member.events('... on MessageSentEvent { message { url channel { url } } }', { queueId });
  const sent = await say(owner, channel, 'dinner');
  const { message: expected } = await read(member, sent);
  expect(await stream.next()).toEqual({ message: { url: expected.url, channel: { url: expected.channel.url } } });
});

test('a message is found by its URL, also after a move, in its organization only', async () => {
  const [{ owner, member, guest }, other] = await Promise.all([createOrganization(), createOrganization()]);
  const channel = await channelOf(owner, 'general', [owner, member]);
  const id = await say(owner, channel, 'near/12');
  const { message } = await read(owner, id);
  await owner.ok('PATCH', `/messages/${id}`, { topic: 'elsewhere' });
  const direct = await owner.ok('POST', '/messages', { type: 'direct', to: [owner.id], content: 'x' });
  const own = (await read(owner, direct.id)).message;
  const find = async (by: Person, url: string) =>
    (await by.query('query ($url: String!) { message(by: { url: $url }) { id } }', { url })).message?.id ?? null;
  const { hash } = new URL(message.url);
  for (const url of [message.url, hash, (await read(owner, id)).message.url, `#narrow/id/${id}`, `${hash}/`]) {
    expect([await find(owner, url), await find(member, url), await find(guest, url)]).toEqual([
      message.id,
      message.id,
      null,
    ]);
  }
  expect([await find(owner, own.url), await find(member, own.url)]).toEqual([own.id, null]);
  for (const url of [
    '',
    'near',
    `/near/${id}`,
    `${hash}0`,
    `${hash}/x`,
    `${hash}//`,
    message.channel.url,
    message.topic.url,
  ]) {
    expect(await find(owner, url), url).toBeNull();
  }
  expect(await find(other.owner, message.url)).toBeNull();
  const theirs = await say(other.owner, await channelOf(other.owner, 'general', [other.owner]), 'x');
  expect(await find(owner, (await read(other.owner, theirs)).message.url)).toBeNull();
});

const [USER, OTHER, CHANNEL, MESSAGE_ID] = [
  globalId('User', 5),
  globalId('User', 7),
  globalId('Channel', 9),
  globalId('Message', 17),
];
const [PLACE, TOPIC] = [
  { name: 'channel', channelId: CHANNEL },
  { name: 'channel', channelId: CHANNEL, topic: 'a b' },
];

/** All forms of fragments that the page knows, each with the route that it opens. */
const FORMS: Readonly<Record<string, Json>> = {
  inbox: { name: 'inbox' },
  recent: { name: 'recent' },
  recent_topics: { name: 'recent' },
  feed: { name: 'view', view: 'all' },
  all_messages: { name: 'view', view: 'all' },
  drafts: { name: 'writing', list: 'drafts' },
  scheduled: { name: 'writing', list: 'scheduled' },
  reminders: { name: 'writing', list: 'reminders' },
  'narrow/is/starred': { name: 'view', view: 'starred' },
  'narrow/is/mentioned': { name: 'view', view: 'mentions' },
  'user/5': { name: 'direct', userIds: [USER] },
  'user/5/profile': { name: 'direct', userIds: [USER] },
  'channels/all': { name: 'channels' },
  'channels/subscribed': { name: 'channels' },
  'streams/all': { name: 'channels' },
  'channels/9': PLACE,
  'channels/9/general/subscribers': PLACE,
  'streams/9/general': PLACE,
  groups: { name: 'groups' },
  'groups/your': { name: 'groups' },
  'groups/3/crew/members': { name: 'groups' },
  settings: { name: 'settings', section: 'profile' },
  'settings/profile': { name: 'settings', section: 'profile' },
  'settings/account-and-privacy': { name: 'settings', section: 'account' },
  'settings/your-account': { name: 'settings', section: 'account' },
  'settings/preferences': { name: 'settings', section: 'preferences' },
  'settings/notifications': { name: 'settings', section: 'preferences' },
  'organization/users/active': { name: 'people' },
  'narrow/channel/9-general': PLACE,
  'narrow/stream/9': PLACE,
  'narrow/channel/9-general/topic/a.20b': TOPIC,
  'narrow/stream/9-general/subject/a.20b': TOPIC,
  'narrow/channel/9-general/topic/a.20b/near/17': {
    name: 'message',
    messageId: MESSAGE_ID,
    by: 'near',
    otherwise: TOPIC,
  },
  'narrow/channel/9-general/topic/a.20b/with/17': {
    name: 'message',
    messageId: MESSAGE_ID,
    by: 'with',
    otherwise: TOPIC,
  },
  'narrow/id/17': { name: 'message', messageId: MESSAGE_ID, by: 'near' },
  'narrow/dm/5,7-group': { name: 'direct', userIds: [USER, OTHER] },
  'narrow/pm-with/5-bela': { name: 'direct', userIds: [USER] },
  'narrow/dm/5-dm/near/17': {
    name: 'message',
    messageId: MESSAGE_ID,
    by: 'near',
    otherwise: { name: 'direct', userIds: [USER] },
  },
  'narrow/sender/5-bela': { name: 'search', text: 'sender:|5' },
  'narrow/group-pm-with/5,7': { name: 'search', text: 'dm-including:|5,|7' },
  'narrow/search/rope/-is/starred': { name: 'search', text: 'rope -is:starred' },
  'narrow/has/reaction/sender/me': { name: 'search', text: 'has:reaction sender:me' },
  'narrow/channels/public': { name: 'search', text: 'channels:public' },
};

test.for(Object.entries(FORMS))('the page opens #%s', ([fragment, route]) => {
  const { origin, ...found } = opened(`http://chat.example/#${fragment}`);
  expect(found).toEqual(route);
  // Some clients end fragments with a slash.
  expect(addressOfFragment(`${fragment}/`)).toBe(addressOfFragment(fragment));
});

test.for(['', 'user', 'user/bela', 'organization/emoji-settings', 'narrow/unknown/x', 'keyboard-shortcuts', 'x/y'])(
  'the page leaves #%s alone',
  (fragment) => expect(addressOfFragment(fragment)).toBeUndefined(),
);
