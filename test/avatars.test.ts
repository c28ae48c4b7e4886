import { createHash } from 'node:crypto';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RequestTimeoutError } from '../src/platform/errors.ts';
import { prepareAvatar } from '../src/platform/images/prepare.ts';
import type { Json } from './helpers/http.ts';
import { send } from './helpers/http.ts';
import { type InProcess, startInProcess } from './helpers/in-process.ts';
import { multipart, multipartOperation, PREFLIGHT } from './helpers/multipart.ts';
import type { Person, Visitor } from './helpers/person.ts';
import { colorAt, download, NO_PICTURES, PNG, plain } from './helpers/pictures.ts';
import { type Organisation, organisation } from './helpers/server.ts';

const BLUE = [0, 0, 255, 255];
const isNear = (color: number[], wanted: number[]) => color.every((part, i) => Math.abs(part - (wanted[i] ?? 0)) < 12);

const upload = (person: Person, file: Uint8Array = PNG) => person.rest('POST', '/users/me/avatar', { file });
const set = (person: Person, image: Uint8Array | null) =>
  person.tryMutation('setAvatar', { image }, 'user { avatarUrl avatarVersion }');
const own = async (person: Person) => {
  const { avatar_url, avatar_url_medium, avatar_source } = await person.register({ fetch_event_types: ['realm_user'] });
  return { avatar_url, avatar_url_medium, avatar_source };
};

test('an upload becomes the avatar, a square in two sizes, and everybody hears of it', async () => {
  const { member, guest } = await organisation();
  const heard = await guest.hearing({ event_types: ['realm_user'] });
  // Red at the sides: the square is from the middle.
  const middle = await plain('blue', { width: 60, height: 60 }).png().toBuffer();
  const wide = await plain('red', { width: 200, height: 60 })
    .composite([{ input: middle, left: 70, top: 0 }])
    .jpeg()
    .toBuffer();
  const { avatar_url } = await member.ok('POST', '/users/me/avatar', { file: wide });
  expect(avatar_url).toBe(`/avatar/${member.id}?v=2`);
  const medium = `/avatar/${member.id}/medium?v=2`;
  expect(await own(member)).toEqual({ avatar_url, avatar_url_medium: medium, avatar_source: 'U' });
  const person = { user_id: member.id, avatar_url, avatar_url_medium: medium, avatar_source: 'U', avatar_version: 2 };
  expect(await heard()).toEqual([{ type: 'realm_user', op: 'update', person }]);
  for (const [path, pixels] of [
    [avatar_url, 100],
    [medium, 500],
  ] as const) {
    const { status, headers, bytes } = await download(guest, path);
    expect([status, headers['content-type'], headers['x-content-type-options']]).toEqual([
      200,
      'image/webp',
      'nosniff',
    ]);
    expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect(headers['content-security-policy']).toMatch(/default-src 'none'.*sandbox/);
    expect(await sharp(bytes).metadata()).toMatchObject({ format: 'webp', width: pixels, height: pixels });
    for (const place of [0.1, 0.9].map((share) => share * pixels)) {
      expect(isNear(await colorAt(bytes, place, place), BLUE)).toBe(true);
    }
  }
});

test('an image is turned upright, and nothing else of the file is left', async () => {
  const { member } = await organisation();
  // Blue on the left; the camera was turned by a quarter, so that it belongs on top.
  const half = await plain('blue', { width: 30, height: 60 }).png().toBuffer();
  const photograph = await plain('red', { width: 60, height: 60 })
    .composite([{ input: half, left: 0, top: 0 }])
    .withExif({ IFD0: { Artist: 'somebody' } })
    .withMetadata({ orientation: 6 })
    .jpeg()
    .toBuffer();
  expect(await sharp(photograph).metadata()).toMatchObject({ orientation: 6, exif: expect.anything() });
  const { avatar_url } = await member.ok('POST', '/users/me/avatar', { file: photograph });
  const { bytes } = await download(member, avatar_url);
  expect(isNear(await colorAt(bytes, 95, 5), BLUE)).toBe(true);
  expect(isNear(await colorAt(bytes, 5, 95), [255, 0, 0, 255])).toBe(true);
  const { exif, orientation, icc, xmp } = await sharp(bytes).metadata();
  expect({ exif, orientation, icc, xmp }).toEqual({});
});

test('an avatar that is taken away leaves the default of the organization, once', async () => {
  const { owner, member } = await organisation();
  await member.ok('POST', '/users/me/avatar', { file: PNG });
  const heard = await owner.hearing({ event_types: ['realm_user'] });
  const removed = await member.ok('DELETE', '/users/me/avatar');
  expect(removed.avatar_url).toBe(`/avatar/${member.id}?v=3`);
  expect(await member.ok('DELETE', '/users/me/avatar')).toEqual(removed);
  expect(await heard()).toMatchObject([{ person: { avatar_source: 'J', avatar_version: 3 } }]);
  expect((await download(member, removed.avatar_url)).headers['content-type']).toBe('image/svg+xml');
  await owner.ok('PATCH', '/realm', { default_avatar_source: 'G' });
  await member.ok('POST', '/users/me/avatar', { file: PNG });
  expect(await set(member, null)).toMatchObject({ user: { avatarVersion: 5 } });
  expect((await own(member)).avatar_source).toBe('G');
});

test('a client that can work out hosted images is told null of those alone', async () => {
  const { owner, member, guest } = await organisation();
  await owner.ok('PATCH', '/realm', { default_avatar_source: 'G' });
  await member.ok('POST', '/users/me/avatar', { file: PNG });
  const heard = await Promise.all(
    [true, false].map((client_gravatar) => guest.hearing({ client_gravatar, event_types: ['realm_user'] })),
  );
  await member.ok('DELETE', '/users/me/avatar');
  const [byItself, told] = await Promise.all(heard.map((events) => events()));
  const shared = { user_id: member.id, avatar_source: 'G', avatar_version: 3 };
  expect(byItself).toMatchObject([{ person: { ...shared, avatar_url: null, avatar_url_medium: null } }]);
  expect(told).toMatchObject([{ person: { ...shared, avatar_url: `/avatar/${member.id}?v=3` } }]);
});

test('where avatars may not be changed, administrators may, on both doors alike', async () => {
  const { owner, administrator, member, bot } = await organisation();
  await owner.ok('PATCH', '/realm', { avatar_changes_disabled: true });
  const message = 'Avatar changes are disabled in this organization.';
  for (const person of [member, bot]) {
    expect(await upload(person)).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST', msg: message } });
    expect((await person.rest('DELETE', '/users/me/avatar')).body).toMatchObject({ code: 'BAD_REQUEST', msg: message });
    for (const image of [PNG, null]) {
      expect(await set(person, image)).toEqual({ __typename: 'BadRequestError', code: 'BAD_REQUEST', message });
    }
  }
  expect((await upload(administrator)).status).toBe(200);
});

describe('a file', () => {
  let there: Organisation;
  beforeAll(async () => {
    there = await organisation();
  });

  test.for(Object.entries(NO_PICTURES))('that is %s is refused on both doors alike', async ([, file]) => {
    const { status, body } = await upload(there.member, file);
    expect([status, body.code]).toEqual([400, 'BAD_IMAGE']);
    expect(await set(there.member, file)).toEqual({ __typename: 'BadImageError', code: body.code, message: body.msg });
    expect((await own(there.member)).avatar_source).toBe('J');
  });

  test('of more than 5 MiB is refused on both doors alike, and one of 5 MiB is looked at', async () => {
    const limit = 5 * 1024 * 1024;
    const message = 'Uploaded file is larger than the allowed limit of 5 MiB';
    const over = Buffer.concat([PNG, Buffer.alloc(limit + 1 - PNG.length)]);
    expect((await upload(there.member, over)).body).toMatchObject({ code: 'BAD_REQUEST', msg: message });
    expect(await set(there.member, over)).toMatchObject({ code: 'BAD_REQUEST', message });
    expect((await upload(there.guest, over.subarray(0, limit))).status).toBe(200);
  });

  test('must be there, and alone, under whatever name', async () => {
    const send = (...fields: [string, string | Buffer][]) =>
      there.moderator.rest('POST', '/users/me/avatar', {}, { body: multipart(fields) });
    const refusal = { status: 400, body: { code: 'BAD_REQUEST', msg: 'You must upload exactly one file.' } };
    expect(await there.moderator.rest('POST', '/users/me/avatar')).toMatchObject(refusal);
    expect(await there.moderator.rest('POST', '/users/me/avatar', { file: 'text' })).toMatchObject(refusal);
    expect(await send(['file', 'text'])).toMatchObject(refusal);
    expect(await send(['a', PNG], ['b', PNG])).toMatchObject(refusal);
    expect(await send(['a', PNG], ['a', PNG])).toMatchObject(refusal);
    const { status, body } = await send(['anything', PNG], ['file', 'text'], ['client', 'test']);
    expect([status, body.ignored_parameters_unsupported]).toEqual([200, ['file']]);
  });
});

test('no more than 20 images wait to be read: the files of any more would fill the memory', async () => {
  const read = () => Promise.allSettled(Array.from({ length: 25 }, () => prepareAvatar(PNG, 5)));
  for (const attempts of [await read(), await read()]) {
    const refused = attempts.flatMap((attempt) => (attempt.status === 'rejected' ? [attempt.reason] : []));
    expect(refused).toEqual(Array(5).fill(expect.any(RequestTimeoutError)));
  }
});

describe('a body', () => {
  const mebibytes = (count: number) => Buffer.alloc(count * 1024 * 1024, 'x');
  const attempt = (person: Person, path: string, file: Buffer, headers = {}) =>
    person.rest(
      'POST',
      path,
      {},
      {
        body: multipart([
          ['title', 't'],
          ['content', 'c'],
          ['file', file],
        ]),
        headers,
      },
    );

  test('may not be of more parts than any form has', async () => {
    const { member } = await organisation();
    const save = (fields: number) => {
      const snippet = [...Object.entries({ title: 'title', content: 'content' }), ...Array(fields).fill(['more', 'x'])];
      return member.rest('POST', '/saved_snippets', {}, { body: multipart(snippet) });
    };
    expect((await save(900)).body).toMatchObject({ result: 'success', ignored_parameters_unsupported: ['more'] });
    expect((await save(1000)).body).toMatchObject({ result: 'error', msg: 'The multipart body is malformed' });
  });

  test('may be as long as a file takes where a file belongs, and nowhere else', async () => {
    const { member } = await organisation();
    expect((await attempt(member, '/users/me/avatar', mebibytes(5.5))).status).toBe(400);
    for (const [path, size] of [
      ['/users/me/avatar', 7],
      ['/saved_snippets', 1],
    ] as const) {
      const { status, body } = await attempt(member, path, mebibytes(size));
      expect([status, body.code]).toEqual([413, 'BAD_REQUEST']);
    }
    const form = { type: 'application/x-www-form-urlencoded', content: mebibytes(2) };
    expect((await member.rest('POST', '/users/me/avatar', {}, { body: form })).status).toBe(413);
    expect((await member.ok('GET', '/saved_snippets')).saved_snippets).toEqual([]);
  });
});

describe('an operation with a file over GraphQL', () => {
  const QUERY = `mutation ($input: SetAvatarInput!) { setAvatar(input: $input) {
    __typename ... on SetAvatarPayload { user { avatarVersion } } } }`;
  const operation = { query: QUERY, variables: { input: { image: PNG } } };

  async function ask(
    visitor: Visitor,
    { type, content }: { type: string; content: Buffer },
    headers = {},
  ): Promise<Json> {
    const sent = { ...visitor.headers, 'content-type': type, ...headers };
    const { status, text } = await send(visitor.url, {
      method: 'POST',
      path: '/graphql',
      headers: sent,
      body: content,
    });
    return { status, ...JSON.parse(text) };
  }
  const withMap = (operations: unknown, map: unknown) =>
    multipart([
      ['operations', JSON.stringify(operations)],
      ['map', JSON.stringify(map)],
      ['0', PNG],
    ]);

  test('takes a header that no page of another origin can send', async () => {
    const { member } = await organisation();
    const body = multipartOperation(operation);
    expect((await ask(member, body)).status).toBe(415);
    for (const name of ['graphql-require-preflight', 'apollo-require-preflight', 'x-apollo-operation-name']) {
      expect((await ask(member, body, { [name]: '' })).status).toBe(415);
    }
    expect((await own(member)).avatar_source).toBe('J');
    expect(await ask(member, body, PREFLIGHT)).toMatchObject({
      status: 200,
      data: { setAvatar: { user: { avatarVersion: 2 } } },
    });
    expect((await ask(member.as(undefined), body, PREFLIGHT)).errors[0].extensions.code).toBe('UNAUTHORIZED');
  });

  test.for<Record<string, string>>([
    { 'apollo-require-preflight': 'true' },
    { 'x-apollo-operation-name': 'SetAvatar' },
  ])('takes the header of other clients: %o', async (header) => {
    const { member } = await organisation();
    expect(await ask(member, multipartOperation(operation), header)).toMatchObject({
      status: 200,
      data: { setAvatar: { user: { avatarVersion: 2 } } },
    });
  });

  test('is refused when a file would go where the operation holds no null', async () => {
    const { member } = await organisation();
    const empty = { query: QUERY, variables: { input: { image: null } } };
    for (const [operations, map] of [
      [empty, { 0: ['variables.input.other'] }],
      [empty, { 0: ['variables.input.__proto__.image'] }],
      [empty, { 0: ['variables.constructor.prototype.image'] }],
      [empty, { 0: ['query'] }],
      [empty, { 0: ['variables'] }],
      [empty, { 0: ['variables.input.image', 'variables.input.image'] }],
      [empty, { 0: ['variables.input.image', 'variables.input.image.0'] }],
      [empty, { 1: ['variables.input.image'] }],
      [empty, { 0: null }],
      [empty, null],
      [[empty], { 0: ['0.variables.input.image'] }],
      [null, {}],
      ['text', {}],
    ]) {
      const { status, errors } = await ask(member, withMap(operations, map), PREFLIGHT);
      expect([status, errors[0].extensions.code], JSON.stringify(map)).toEqual([400, 'BAD_REQUEST']);
    }
    expect(Object.hasOwn(Object.prototype, 'image')).toBe(false);
    expect((await own(member)).avatar_source).toBe('J');
  });

  test('is refused when it cannot be read, or is too long, and a file in JSON is none', async () => {
    const { member } = await organisation();
    const broken = { type: 'multipart/form-data; boundary=x', content: Buffer.from('--y\r\n\r\n--y--') };
    expect((await ask(member, broken, PREFLIGHT)).status).toBe(400);
    const huge = multipartOperation({ ...operation, variables: { input: { image: Buffer.alloc(7_000_000) } } });
    expect((await ask(member, huge, PREFLIGHT)).status).toBe(413);
    for (const image of ['text', 7, {}, { 0: 1, length: 1 }]) {
      const { errors } = await member.graphql(QUERY, { input: { image } });
      expect(errors?.[0].message).toContain('A File is sent with the operation in a multipart body.');
    }
  });
});

describe('the address of an image', () => {
  test('leads to the image of now, unless it names the version', async () => {
    const { member, guest, realm } = await organisation();
    await upload(member);
    const [small, medium] = [`/avatar/${member.id}`, `/avatar/${member.id}/medium`];
    for (const [asked, found] of [
      [small, small],
      [`${small}?v=1`, small],
      [`${medium}?v=old`, medium],
      [`/api/v1/users/${member.id}/avatar`, small],
      [`/api/v1/users/${member.id}/avatar/medium`, medium],
    ]) {
      const { status, headers } = await download(guest, asked as string);
      expect([status, headers.location, headers['cache-control']]).toEqual([
        ...[302, `${found}?v=2`, 'public, max-age=300'],
      ]);
    }
    const elsewhere = await organisation();
    const neutral = await download(guest, '/avatar/2147483647');
    for (const path of [
      `/avatar/${elsewhere.member.id}?v=1`,
      '/avatar/0',
      '/avatar/99999999999999',
      '/api/v1/users/0/avatar',
    ]) {
      const { status, headers, bytes } = await download(guest, path);
      expect([status, headers['content-type']]).toEqual([200, 'image/svg+xml']);
      expect(bytes).toEqual(neutral.bytes);
    }
    expect(realm.id).not.toBe(elsewhere.realm.id);
  });
});

describe('inside', () => {
  let service: InProcess;
  let there: Organisation;
  beforeAll(async () => {
    service = await startInProcess({ env: { AVATAR_PROVIDER_URL: 'https://pictures.example/avatar/?d=identicon' } });
    there = await organisation({}, { on: service });
  });
  afterAll(() => service[Symbol.asyncDispose]());

  test('no image stays that nobody has', async () => {
    const { member, owner } = there;
    const count = () => service.app.db.image.count();
    for (const [act, left] of [
      [() => upload(member), 1],
      [() => upload(member), 1],
      [() => upload(owner), 2],
      [() => member.rest('DELETE', '/users/me/avatar'), 1],
      [() => set(owner, null), 0],
    ] as const) {
      await act();
      expect(await count()).toBe(left);
    }
  });

  test('nobody gets one who was deactivated, or may set none any more, while it was read', async () => {
    const { owner, guest, moderator } = there;
    const large = await plain('red', { width: 4_000, height: 4_000 }).png().toBuffer();
    // The uploads wait behind these, which are in the same process.
    const before = Promise.all(Array.from({ length: 4 }, () => prepareAvatar(large, 5)));
    const uploads = Promise.all([upload(guest), upload(moderator)]);
    await owner.ok('DELETE', `/users/${guest.id}`, { actions: { delete_profile: true } });
    await owner.ok('PATCH', '/realm', { avatar_changes_disabled: true });
    await before;
    expect((await uploads).map(({ status, body }) => [status, body.code])).toEqual([
      [401, 'USER_DEACTIVATED'],
      [400, 'BAD_REQUEST'],
    ]);
    await owner.ok('PATCH', '/realm', { avatar_changes_disabled: false });
    const sources = await service.app.db.user.findMany({ where: { id: { in: [guest.id, moderator.id] } } });
    expect(sources.map(({ avatarSource }) => avatarSource)).toEqual(['J', 'J']);
  });

  test('a hosted image is at the provider, by the hash of an address that everybody may see', async () => {
    const { owner } = there;
    await owner.ok('PATCH', '/realm', { default_avatar_source: 'G' });
    const zoe = await there.signUp('Zoe');
    const hash = createHash('sha256').update(zoe.email.toLowerCase()).digest('hex');
    const asked = () => download(zoe, `/avatar/${zoe.id}/medium?v=1`);
    const { status, headers } = await asked();
    expect([status, headers.location]).toEqual([302, `https://pictures.example/avatar/${hash}?d=identicon&s=500`]);
    await zoe.ok('PATCH', '/settings', { email_address_visibility: 2 });
    const hidden = await asked();
    expect([hidden.status, hidden.headers['content-type']]).toEqual([200, 'image/svg+xml']);
    expect((await download(owner, `/avatar/${owner.id}`)).headers.location).toMatch(/^\/avatar\//);
  });
});
