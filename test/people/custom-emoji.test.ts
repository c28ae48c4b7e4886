import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { animation, colorAt, download, NO_PICTURES, PNG, plain } from '../helpers/pictures.ts';
import { createOrganization } from '../helpers/server.ts';

/** Capabilities of a client that receives an event about each change of an emoji, instead of one with all emoji. */
const CAPABLE = { notification_settings_null: true, individual_emoji_changes: true };

const add = (person: Person, name: string, file: Uint8Array = PNG) =>
  person.rest('POST', `/realm/emoji/${encodeURIComponent(name)}`, { file });
const addByGraphql = (person: Person, name: string, image: Uint8Array = PNG) =>
  person.tryMutation('addCustomEmoji', { name, image }, 'customEmoji { name }');
const remove = (person: Person, name: string) => person.rest('DELETE', `/realm/emoji/${encodeURIComponent(name)}`);
const emojiOf = async (person: Person): Promise<Json[]> =>
  Object.values((await person.ok('GET', '/realm/emoji')).emoji as Json);
const named = async (person: Person, name: string): Promise<Json> =>
  (await emojiOf(person)).findLast((emoji) => emoji.name === name);

test('an emoji is added by name, and shown small and in full', async () => {
  const { member, guest } = await createOrganization();
  const wide = await plain('red', { width: 200, height: 100 }).jpeg().toBuffer();
  expect((await add(member, ' party duck', wide)).status).toBe(200);
  const [emoji, ...others] = await emojiOf(guest);
  expect(others).toEqual([]);
  expect(emoji).toEqual({
    ...{ id: expect.stringMatching(/^\d+$/), name: 'party_duck', deactivated: false, author_id: member.id },
    ...{ source_url: expect.stringMatching(/^\/emoji\/[0-9a-f-]{36}$/), still_url: null },
  });
  expect((await guest.ok('GET', '/realm/emoji')).emoji[emoji.id]).toEqual(emoji);
  const { status, headers, bytes } = await download(guest, emoji.source_url);
  expect([status, headers['content-type'], headers['x-content-type-options']]).toEqual([200, 'image/webp', 'nosniff']);
  expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
  expect(headers['content-security-policy']).toMatch(/default-src 'none'.*sandbox/);
  expect(await sharp(bytes).metadata()).toMatchObject({ format: 'webp', width: 64, height: 64 });
  expect((await colorAt(bytes, 32, 2))[3]).toBe(0);
  expect((await colorAt(bytes, 32, 32))[3]).toBe(255);
  const elsewhere = await createOrganization();
  for (const [visitor, path] of [
    [guest, `${emoji.source_url}/still`],
    [elsewhere.guest, emoji.source_url],
    [guest, '/emoji/00000000-0000-0000-0000-000000000000'],
    [guest, '/emoji/nonsense'],
  ] as const) {
    expect((await download(visitor, path)).status).toBe(404);
  }
});

test('an animated emoji stays animated, and also has its first frame as a still image', async () => {
  const { owner } = await createOrganization();
  await add(owner, 'lights', await animation(['red', 'blue', 'green']));
  const { source_url, still_url } = await named(owner, 'lights');
  const moving = await sharp((await download(owner, source_url)).bytes, { animated: true }).metadata();
  expect(moving).toMatchObject({ width: 64, pages: 3, pageHeight: 64, delay: [100, 100, 100] });
  const still = (await download(owner, still_url)).bytes;
  expect(await sharp(still).metadata()).toMatchObject({ width: 64, height: 64 });
  expect((await sharp(still).metadata()).pages).toBeUndefined();
  expect((await colorAt(still, 32, 32))[0]).toBeGreaterThan(240);
});

test('an animation with too many frames is refused', async () => {
  const { member } = await createOrganization();
  const colors = Array.from({ length: 251 }, (_, i) => (i % 2 === 0 ? 'red' : 'blue'));
  const { status, body } = await add(member, 'short_film', await animation(colors, { width: 2, height: 2 }));
  expect([status, body.code]).toEqual([400, 'BAD_IMAGE']);
});

describe('refused in both APIs:', () => {
  const characters =
    'Emoji names must contain only lowercase English letters, digits, spaces, dashes, and underscores.';
  test.for([
    ['Upper', characters],
    ['grüße', characters],
    ['a.b', characters],
    ['a\nb', characters],
    ['', characters],
    ['ends_', 'Emoji names must end with either a letter or digit.'],
    ['-', 'Emoji names must end with either a letter or digit.'],
    ['x'.repeat(101), 'emoji_name is too long (limit: 100 characters)'],
    ['tada', 'Only administrators can override default emoji.'],
    ['team_chat', 'Only administrators can override default emoji.'],
  ] as const)('the name %j', async ([name, message]) => {
    const { member } = await createOrganization();
    // With an empty name, the path is that of another endpoint.
    if (name !== '') expect((await add(member, name)).body).toMatchObject({ code: 'BAD_REQUEST', msg: message });
    const __typename = message.startsWith('Only') ? 'ForbiddenError' : 'ValidationError';
    expect(await addByGraphql(member, name)).toMatchObject({ __typename, code: 'BAD_REQUEST' });
    expect(await emojiOf(member)).toEqual([]);
  });

  test('files that are not images, or too large', async () => {
    const { member } = await createOrganization();
    for (const [what, file] of Object.entries(NO_PICTURES)) {
      const { status, body } = await add(member, 'ducky', file);
      expect([status, body.code], what).toEqual([400, 'BAD_IMAGE']);
      expect(await addByGraphql(member, 'ducky', file), what).toMatchObject({ code: 'BAD_IMAGE', message: body.msg });
    }
    const large = Buffer.concat([PNG, Buffer.alloc(5 * 1024 * 1024)]);
    const message = 'Uploaded file is larger than the allowed limit of 5 MiB';
    expect((await add(member, 'ducky', large)).body).toMatchObject({ code: 'BAD_REQUEST', msg: message });
    expect((await member.rest('POST', '/realm/emoji/ducky')).body.msg).toBe('You must upload exactly one file.');
    expect(await emojiOf(member)).toEqual([]);
  });

  test('users without permission', async () => {
    const { owner, administrator, member, guest } = await createOrganization();
    const { realm_can_create_groups: members } = await owner.register({ fetch_event_types: ['realm'] });
    expect((await add(guest, 'ducky')).body.code).toBe('UNAUTHORIZED_PRINCIPAL');
    expect((await addByGraphql(guest, 'ducky')).code).toBe('UNAUTHORIZED_PRINCIPAL');
    await owner.ok('PATCH', '/realm', {
      can_add_custom_emoji_group: { new: { direct_members: [administrator.id], direct_subgroups: [] } },
    });
    expect((await add(member, 'ducky')).body).toMatchObject({ code: 'BAD_REQUEST', msg: 'Insufficient permission' });
    expect(await addByGraphql(member, 'ducky')).toMatchObject({
      ...{ __typename: 'ForbiddenError', message: 'This requires the permission "canAddCustomEmoji".' },
    });
    expect((await add(administrator, 'tada')).status).toBe(200);
    await owner.ok('PATCH', '/realm', { can_add_custom_emoji_group: { new: members } });
    expect((await add(member, 'ducky')).status).toBe(200);
  });

  test('a name in use, also in a concurrent request', async () => {
    const { member, moderator } = await createOrganization();
    const message = 'A custom emoji with this name already exists.';
    const both = await Promise.all([add(member, 'ducky'), add(moderator, 'ducky')]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 400]);
    expect(both.find(({ status }) => status === 400)?.body).toMatchObject({ code: 'BAD_REQUEST', msg: message });
    expect(await addByGraphql(member, 'ducky')).toMatchObject({ code: 'BAD_REQUEST', message });
    expect(await emojiOf(member)).toHaveLength(1);
  });
});

test('authors and administrators deactivate an emoji, which frees its name', async () => {
  const { owner, member, moderator } = await createOrganization();
  await add(member, 'ducky');
  await add(member, 'gander');
  const denied = 'Must be an organization administrator or emoji author';
  expect((await remove(moderator, 'ducky')).body).toMatchObject({ code: 'BAD_REQUEST', msg: denied });
  expect((await remove(member, 'ducky')).status).toBe(200);
  const gone = { status: 404, body: { code: 'BAD_REQUEST', msg: "Emoji 'ducky' does not exist" } };
  expect(await remove(member, 'ducky')).toMatchObject(gone);
  expect(await remove(member, 'no\0thing')).toMatchObject({ status: 404 });
  const { customEmoji } = await owner.mutate('deactivateCustomEmoji', { name: 'gander' }, 'customEmoji { isActive }');
  expect(customEmoji).toEqual({ isActive: false });
  expect(await owner.tryMutation('deactivateCustomEmoji', { name: 'ducky' })).toMatchObject({
    ...{ __typename: 'NotFoundError', code: 'BAD_REQUEST' },
  });
  await add(moderator, 'ducky');
  const [old, , again] = await emojiOf(owner);
  expect([old.deactivated, again.deactivated, again.name]).toEqual([true, false, 'ducky']);
  expect(again.id).not.toBe(old.id);
  expect((await download(owner, old.source_url)).status).toBe(200);
  const { customEmoji: page } = await owner.query(
    '{ customEmoji(isActive: false, first: 5) { edges { node { name isActive author { databaseId } } } } }',
  );
  const author = { databaseId: member.id };
  expect(page.edges.map(({ node }: Json) => node)).toEqual(
    ['ducky', 'gander'].map((name) => ({ name, isActive: false, author })),
  );
});

test('clients receive an event about one emoji if they support it, otherwise about all', async () => {
  const { owner, member, guest } = await createOrganization();
  const one = await guest.receiving({ client_capabilities: CAPABLE });
  const all = await guest.receiving();
  await add(member, 'ducky');
  const added = (await guest.ok('GET', '/realm/emoji')).emoji;
  await remove(owner, 'ducky');
  const [emoji] = Object.values<Json>(added);
  expect(await one()).toEqual([
    { type: 'realm_emoji', op: 'add', emoji },
    { type: 'realm_emoji', op: 'update_one', emoji_id: emoji.id, data: { deactivated: true } },
  ]);
  const update = (realm_emoji: Json) => ({ type: 'realm_emoji', op: 'update', realm_emoji });
  expect(await all()).toEqual([update(added), update((await guest.ok('GET', '/realm/emoji')).emoji)]);
});

test('GraphQL streams contain the same', async () => {
  const { member } = await createOrganization();
  const modern = (await member.register({ client_capabilities: CAPABLE })).queue_id;
  const selection = `... on CustomEmojiAddedEvent { customEmoji { name isActive } }
    ... on CustomEmojiDeactivatedEvent { customEmoji { databaseId isActive } }
    ... on CustomEmojiUpdatedEvent { all: allCustomEmoji { name isActive } }`;
  await using one = await member.events(selection, { queueId: modern });
  await using all = await member.events(selection);
  await add(member, 'ducky');
  await remove(member, 'ducky');
  const { id } = await named(member, 'ducky');
  expect(await one.next()).toMatchObject({ customEmoji: { name: 'ducky', isActive: true } });
  expect(await one.next()).toMatchObject({ customEmoji: { databaseId: Number(id), isActive: false } });
  expect(await all.next()).toMatchObject({ all: [{ name: 'ducky', isActive: true }] });
  expect(await all.next()).toMatchObject({ all: [{ name: 'ducky', isActive: false }] });
});

describe('an emoji referred to by name', () => {
  test('resolves first to the organization, then to the service, then to Unicode', async () => {
    const { owner } = await createOrganization();
    await add(owner, 'tada');
    const { id } = await named(owner, 'tada');
    const statusAfter = async (emoji_name: string) => {
      await owner.ok('POST', '/users/me/status', { emoji_name });
      return (await owner.ok('GET', `/users/${owner.id}/status`)).status;
    };
    expect(await statusAfter('tada')).toEqual({ emoji_name: 'tada', emoji_code: id, reaction_type: 'realm_emoji' });
    expect(await statusAfter('team_chat')).toMatchObject({ reaction_type: 'service_extra_emoji' });
    expect(await statusAfter('wave')).toMatchObject({ emoji_code: '1f44b', reaction_type: 'unicode_emoji' });
    await remove(owner, 'tada');
    expect(await statusAfter('tada')).toMatchObject({ emoji_code: '1f389', reaction_type: 'unicode_emoji' });
  });

  test('and code is validated, in statuses and reactions', async () => {
    const { owner, member, organization: _ } = await createOrganization();
    const elsewhere = await createOrganization();
    await add(owner, 'ducky');
    await add(owner, 'dodos');
    await remove(owner, 'dodos');
    await add(elsewhere.owner, 'ducky');
    const [ducky, dodos] = (await emojiOf(owner)).map((emoji) => emoji.id);
    const foreign = (await named(elsewhere.owner, 'ducky')).id;
    const { id: channelId } = await owner.ok('POST', '/channels/create', { name: 'a', subscribers: [member.id] });
    const message = { type: 'channel', to: channelId, topic: 't', content: 'hello' };
    const { id } = await member.ok('POST', '/messages', message);
    for (const [emoji_name, emoji_code, msg] of [
      ['ducky', '999999999', 'Invalid custom emoji.'],
      ['ducky', foreign, 'Invalid custom emoji.'],
      ['ducky', '99999999999', 'Invalid custom emoji.'],
      ['ducky', `0${ducky}`, 'Invalid custom emoji.'],
      ['ducky', 'x', 'Invalid custom emoji.'],
      ['gander', ducky, 'Invalid custom emoji name.'],
      ['dodos', dodos, 'This custom emoji has been deactivated.'],
    ]) {
      const emoji = { emoji_name, emoji_code, reaction_type: 'realm_emoji' };
      for (const path of ['/users/me/status', `/messages/${id}/reactions`]) {
        const { status, body } = await member.rest('POST', path, emoji);
        expect([status, body.code, body.msg], JSON.stringify(emoji)).toEqual([400, 'BAD_REQUEST', msg]);
      }
    }
    const good = { emoji_name: 'ducky', emoji_code: ducky, reaction_type: 'realm_emoji' };
    await member.ok('POST', `/messages/${id}/reactions`, good);
    await owner.ok('POST', `/messages/${id}/reactions`, { emoji_name: 'ducky' });
    const { reactions } = (await owner.ok('GET', `/messages/${id}`)).message;
    expect(reactions).toMatchObject([good, good]);
  });

  test('can be added to and removed from an existing reaction, although it is deactivated', async () => {
    const { owner, member, moderator } = await createOrganization();
    await add(owner, 'ducky');
    const { id: emoji_code } = await named(owner, 'ducky');
    const { id: channelId } = await owner.ok('POST', '/channels/create', {
      name: 'a',
      subscribers: [member.id, moderator.id],
    });
    const { id } = await owner.ok('POST', '/messages', { type: 'channel', to: channelId, topic: 't', content: 'x' });
    const path = `/messages/${id}/reactions`;
    for (const person of [owner, member]) await person.ok('POST', path, { emoji_name: 'ducky' });
    await remove(owner, 'ducky');
    const inFull = { emoji_code, reaction_type: 'realm_emoji' };
    expect((await moderator.rest('POST', path, { emoji_name: 'ducky' })).body.msg).toBe("Emoji 'ducky' does not exist");
    await moderator.ok('POST', path, { emoji_name: 'ducky', ...inFull });
    await owner.ok('DELETE', path, { emoji_name: 'ducky' });
    await member.ok('DELETE', path, inFull);
    await moderator.mutate('removeReaction', { messageId: id, emoji: { name: 'ducky' } }, '__typename');
    expect((await owner.ok('GET', `/messages/${id}`)).message.reactions).toEqual([]);
    expect((await owner.rest('DELETE', path, inFull)).body.code).toBe('REACTION_DOES_NOT_EXIST');
  });
});

describe('in messages', () => {
  let service: InProcess;
  beforeAll(async () => {
    service = await shareInProcess({ counts: true });
  });
  afterAll(() => service[Symbol.asyncDispose]());

  test('active ones are shown, and take precedence over built-in ones with the same name', async () => {
    const { owner } = await createOrganization({}, { on: service });
    for (const name of ['ducky', 'tada', 'slight_smile', 'dodos']) await add(owner, name);
    await remove(owner, 'dodos');
    const image = async (name: string) => {
      const { source_url } = await named(owner, name);
      return `<img alt=":${name}:" class="emoji" src="${source_url}" title="${name.replaceAll('_', ' ')}">`;
    };
    const rendered = async (content: string) => (await owner.ok('POST', '/messages/render', { content })).rendered;
    expect(await rendered(':ducky::tada: :dodos: `:ducky:`')).toBe(
      `<p>${await image('ducky')}${await image('tada')} :dodos: <code>:ducky:</code></p>`,
    );
    expect(await rendered(':team_chat: :Ducky:')).toBe(
      '<p><img alt=":team_chat:" class="emoji" src="/static/generated/emoji/images/emoji/unicode/team_chat.png" ' +
        'title="team chat"> :Ducky:</p>',
    );
    expect(await rendered('hello :)')).toBe('<p>hello :)</p>');
    await owner.ok('PATCH', '/settings', { translate_emoticons: true });
    expect(await rendered('hello :)')).toBe(`<p>hello ${await image('slight_smile')}</p>`);
  });

  test('they take one query, and none if the message contains none', async () => {
    const { owner } = await createOrganization({}, { on: service });
    for (const name of ['ducky', 'gander']) await add(owner, name);
    const queries = (content: string) => service.queriesOf(() => owner.ok('POST', '/messages/render', { content }));
    await queries('hello');
    const plain = await queries('hello, at https://example.com :) **bold**');
    expect(plain.join()).not.toContain('custom_emoji');
    expect(await queries(':ducky: :gander: :tada: :nothing:')).toHaveLength(plain.length + 1);
  });
});

describe('the emoji table', () => {
  test('is served without credentials, cached permanently, and revalidated by its tag', async () => {
    const { anonymous, member } = await createOrganization();
    const { server_emoji_data_url: path } = await member.register({ fetch_event_types: ['realm'] });
    const { status, headers, bytes } = await download(anonymous, path);
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([
      ...[200, 'application/json', 'public, max-age=31536000, immutable'],
    ]);
    const { code_to_names: names } = JSON.parse(bytes.toString());
    expect(names['1f389'][0]).toBe('tada');
    expect(Object.keys(names).filter((code) => /fe0f|1f3f[b-f]/.test(code))).toEqual([]);
    const tag = headers.etag as string;
    expect(tag).toMatch(/^"[\w-]+"$/);
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const again = await download(anonymous, path, { 'if-none-match': known });
      expect([again.status, again.bytes.length, again.headers.etag]).toEqual([304, 0, tag]);
    }
    expect((await download(anonymous, path, { 'if-none-match': '"other"' })).status).toBe(200);
    const old = await download(anonymous, `${path.split('?')[0]}?v=old`);
    expect(old.headers['cache-control']).toBe('public, max-age=300');
    expect(old.bytes).toEqual(bytes);
    const head = await fetch(`${anonymous.url}${path}`, { method: 'HEAD', headers: { 'accept-encoding': 'identity' } });
    expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, tag, '']);
  });

  test('the emoji of the service has an image', async () => {
    const { anonymous } = await createOrganization();
    const path = '/static/generated/emoji/images/emoji/unicode/team_chat.png';
    const { status, headers, bytes } = await download(anonymous, path);
    expect([status, headers['content-type']]).toEqual([200, 'image/png']);
    expect(await sharp(bytes).metadata()).toMatchObject({ format: 'png', width: 64, height: 64 });
  });
});
