import { expect, test } from 'vitest';
import { expectIgnoredParameters } from '../helpers/ignored.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';

const path = '/users/me/alert_words';
const add = (person: Person, ...alert_words: string[]) => person.ok('POST', path, { alert_words });
const remove = (person: Person, ...alert_words: string[]) => person.ok('DELETE', path, { alert_words });

test.concurrent('alert words are added and removed case-insensitively, and only their user receives the events', async () => {
  const { member, bot, owner } = await createOrganization();
  const [heard, others] = [await member.receiving(), await owner.receiving()];
  expect((await member.ok('GET', path)).alert_words).toEqual([]);
  expect((await add(member, ' Release ', 'my project', '  ', 'RELEASE', '👋'.repeat(100))).alert_words).toEqual([
    ...['Release', 'my project', '👋'.repeat(100)],
  ]);
  // Requests without new words change nothing.
  expect((await add(member, 'release', '')).alert_words).toHaveLength(3);
  expect((await add(member)).alert_words).toHaveLength(3);
  expect((await remove(member, 'nothing of the kind')).alert_words).toHaveLength(3);
  expect((await remove(member, 'MY PROJECT ', '👋'.repeat(100))).alert_words).toEqual(['Release']);
  expect((await heard()).map(({ type, alert_words }) => [type, alert_words.length])).toEqual([
    ['alert_words', 3],
    ['alert_words', 1],
  ]);
  expect(await others()).toEqual([]);
  expect((await member.register({ fetch_event_types: ['alert_words'] })).alert_words).toEqual(['Release']);
  expect((await add(bot, 'bots too')).alert_words).toEqual(['bots too']);
  expect((await member.ok('GET', path)).alert_words).toEqual(['Release']);
  await expectIgnoredParameters(member, 'POST', async () => ({ path, parameters: { alert_words: ['a'] } }));
});

test.concurrent('refuses a word that is too long, too many words, and an empty word', async () => {
  const { member } = await createOrganization();
  const refused = async (alert_words: unknown) => (await member.rest('POST', path, { alert_words })).body;
  expect(await refused(['a', 'w'.repeat(101)])).toMatchObject({
    ...{ code: 'BAD_REQUEST', msg: 'alert_words[1] is too long (limit: 100 characters)' },
  });
  expect(await refused(['a\0b'])).toMatchObject({ code: 'BAD_REQUEST' });
  expect(await refused(undefined)).toMatchObject({ code: 'REQUEST_VARIABLE_MISSING', var_name: 'alert_words' });
  const many = Array.from({ length: 500 }, (_, i) => `word ${i}`);
  await add(member, ...many);
  expect(await refused(['one more'])).toMatchObject({ code: 'BAD_REQUEST' });
  expect((await member.ok('GET', path)).alert_words).toEqual(many);
});

test.concurrent('GraphQL gives the same results and events', async () => {
  const { member } = await createOrganization();
  await using events = await member.events('... on AlertWordsChangedEvent { alertWords }');
  expect(await member.mutate('addAlertWords', { words: ['a', ' B '] }, 'alertWords')).toEqual({
    alertWords: ['a', 'B'],
  });
  expect(await member.mutate('removeAlertWords', { words: ['A'] }, 'alertWords')).toEqual({ alertWords: ['B'] });
  expect(await member.query('{ alertWords }')).toEqual({ alertWords: ['B'] });
  expect(await events.take(2)).toEqual([{ alertWords: ['a', 'B'] }, { alertWords: ['B'] }]);
});

test.concurrent('a message is flagged for each recipient whose alert word it contains as a separate word', async () => {
  const { owner, member, guest, moderator } = await createOrganization();
  const subscribers = [owner.id, member.id];
  const { id: channel } = await owner.ok('POST', '/channels/create', { name: 'general', subscribers });
  // The user has no alert words yet.
  const heard = await member.receiving({ event_types: ['message'] });
  const say = (content: string, to: object = { type: 'channel', to: channel, topic: 'a' }) =>
    owner.ok('POST', '/messages', { ...to, content });
  await say('release');
  await add(member, 'Release', 'état-major', 'c++');
  await add(owner, 'release');
  await add(guest, 'release');
  const contents = {
    'a RELEASE.': true,
    '*release*': true,
    '(release) "x': true,
    prerelease: false,
    'release-2': false,
    '-release': false,
    'prerelease, then release!': true,
    '`release`': true,
    '> release?': true,
    'released\nRelease\n': true,
    'L’ÉTAT-MAJOR': false,
    'ÉTAT-MAJOR: here': true,
    'c++': true,
    'c++11': false,
    '"release"': false,
  };
  for (const content of Object.keys(contents)) await say(content);
  const [first, ...flagged] = await heard();
  expect(first?.['flags']).toEqual([]);
  const seen = flagged.map(({ message, flags }) => [message.content, flags.includes('has_alert_word')]);
  expect(Object.fromEntries(seen)).toEqual(
    Object.fromEntries(Object.entries(contents).map(([content, flag]) => [content.trim(), flag])),
  );
  // In a channel, the message is flagged only for subscribers. A direct message is flagged for all of its recipients.
  const [toGuest, toModerator, toOwner] = await Promise.all(
    [guest, moderator, owner].map((person) => person.receiving({ event_types: ['message'] })),
  );
  await say('release');
  await say('release', { type: 'direct', to: [guest.id, moderator.id] });
  expect((await toGuest?.())?.map(({ flags }) => flags)).toEqual([['has_alert_word']]);
  expect((await toModerator?.())?.map(({ flags }) => flags)).toEqual([[]]);
  expect((await toOwner?.())?.map(({ flags }) => flags.includes('has_alert_word'))).toEqual([true, true]);
  // Messages that are fetched later have the same flags as in their events.
  const narrow = [{ operator: 'is', operand: 'alerted' }];
  const { messages } = await member.ok('GET', '/messages', { anchor: 'newest', num_before: 100, num_after: 0, narrow });
  const inHistory = Object.values(contents).filter((flag) => flag).length + 1;
  expect(messages).toHaveLength(inHistory);
});

test.concurrent('an edit updates the flag for the users who received the message', async () => {
  const { owner, member, guest } = await createOrganization();
  const { id: channel } = await owner.ok('POST', '/channels/create', { name: 'a', subscribers: [owner.id, member.id] });
  await add(member, 'release');
  await add(guest, 'release');
  const { id } = await owner.ok('POST', '/messages', { type: 'channel', to: channel, topic: 'a', content: 'hello' });
  const flags = async (person: Person) => {
    const { message } = await person.ok('GET', `/messages/${id}`);
    return message.flags.includes('has_alert_word');
  };
  const edit = (content: string) => owner.ok('PATCH', `/messages/${id}`, { content });
  // The member received the message and has left the channel. The guest subscribed later.
  await owner.ok('DELETE', '/users/me/subscriptions', { subscriptions: ['a'], principals: [member.id] });
  await owner.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'a' }], principals: [guest.id] });
  await edit('the release');
  expect([await flags(member), await flags(guest)]).toEqual([true, false]);
  await edit('nothing');
  expect(await flags(member)).toBe(false);
});
