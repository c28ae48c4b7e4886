import { createHash } from 'node:crypto';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RequestTimeoutError } from '../../src/platform/errors.ts';
import { prepareAvatar } from '../../src/platform/images/prepare.ts';
import { heldImages } from '../helpers/held-images.ts';
import type { Json } from '../helpers/http.ts';
import { send } from '../helpers/http.ts';
import { type HttpServer, startHttpServer } from '../helpers/http-server.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import { multipart, multipartOperation, PREFLIGHT } from '../helpers/multipart.ts';
import type { Person, Visitor } from '../helpers/person.ts';
import { colorAt, download, NO_PICTURES, PNG, plain } from '../helpers/pictures.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

const BLUE = [0, 0, 255, 255];
const isNear = (color: number[], wanted: number[]) => color.every((part, i) => Math.abs(part - (wanted[i] ?? 0)) < 12);

const upload = (person: Person, file: Uint8Array = PNG) => person.rest('POST', '/users/me/avatar', { file });
const set = (person: Person, image: Uint8Array | null) =>
  person.tryMutation('setAvatar', { image }, 'user { avatarUrl avatarVersion }');
/** Returns the URL of a user's avatar, as it is returned to another user. */
const addressOf = async (by: Person, id: number): Promise<string> =>
  (await by.ok('GET', `/users/${id}`)).user.avatar_url;
const own = async (person: Person) => {
  const { avatar_url, avatar_url_medium, avatar_source } = await person.register({ fetch_event_types: ['realm_user'] });
  return { avatar_url, avatar_url_medium, avatar_source };
};

test('an upload becomes the avatar, a square in two sizes, and other users are notified', async () => {
  const { member, guest } = await createOrganization();
  const heard = await guest.receiving({ event_types: ['realm_user'] });
  // The image is red on both sides and blue in the middle. The avatar is cut from the middle.
  const middle = await plain('blue', { width: 60, height: 60 }).png().toBuffer();
  const wide = await plain('red', { width: 200, height: 60 })
    .composite([{ input: middle, left: 70, top: 0 }])
    .jpeg()
    .toBuffer();
  const { avatar_url } = await member.ok('POST', '/users/me/avatar', { file: wide });
  expect(avatar_url).toMatch(new RegExp(`^/avatar/${member.id}/[\\w-]{22}\\?v=2$`));
  const medium = avatar_url.replace('?', '/medium?');
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

test('an image is rotated upright, and its metadata is removed', async () => {
  const { member } = await createOrganization();
  // The pixels are blue on the left. The orientation tag rotates the image by 90 degrees, so that blue is at the top.
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

test('deleting an avatar restores the default of the organization, once', async () => {
  const { owner, member } = await createOrganization();
  await member.ok('POST', '/users/me/avatar', { file: PNG });
  const heard = await owner.receiving({ event_types: ['realm_user'] });
  const removed = await member.ok('DELETE', '/users/me/avatar');
  expect(removed.avatar_url).toMatch(/\?v=3$/);
  expect(await member.ok('DELETE', '/users/me/avatar')).toEqual(removed);
  expect(await heard()).toMatchObject([{ person: { avatar_source: 'J', avatar_version: 3 } }]);
  expect((await download(member, removed.avatar_url)).headers['content-type']).toBe('image/png');
  await owner.ok('PATCH', '/realm', { default_avatar_source: 'G' });
  await member.ok('POST', '/users/me/avatar', { file: PNG });
  expect(await set(member, null)).toMatchObject({ user: { avatarVersion: 5 } });
  expect((await own(member)).avatar_source).toBe('G');
});

test('every client receives the address of an image, even if it could compute the address at the provider', async () => {
  const { owner, member, guest } = await createOrganization();
  await owner.ok('PATCH', '/realm', { default_avatar_source: 'G' });
  await member.ok('POST', '/users/me/avatar', { file: PNG });
  const heard = await Promise.all(
    [true, false].map((client_gravatar) =>
      guest.receiving({
        ...{ client_gravatar, event_types: ['realm_user'] },
        client_capabilities: { notification_settings_null: true, user_avatar_url_field_optional: true },
      }),
    ),
  );
  const { avatar_url } = await member.ok('DELETE', '/users/me/avatar');
  const shared = { user_id: member.id, avatar_source: 'G', avatar_version: 3, avatar_url };
  for (const events of heard) expect(await events()).toMatchObject([{ person: shared }]);
});

test('if avatar changes are disabled, only administrators can change avatars, in both APIs', async () => {
  const { owner, administrator, member, bot } = await createOrganization();
  await owner.ok('PATCH', '/realm', { avatar_changes_disabled: true });
  const message = 'Avatar changes are disabled in this organization.';
  for (const person of [member, bot]) {
    expect(await upload(person)).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST', msg: message } });
    expect((await person.rest('DELETE', '/users/me/avatar')).body).toMatchObject({ code: 'BAD_REQUEST', msg: message });
    for (const image of [PNG, null]) {
      expect(await set(person, image)).toMatchObject({ __typename: 'ForbiddenError', code: 'BAD_REQUEST' });
    }
  }
  expect((await upload(administrator)).status).toBe(200);
});

describe('a file', () => {
  let there: Organization;
  beforeAll(async () => {
    there = await createOrganization();
  });

  test.for(Object.entries(NO_PICTURES))('that is %s is refused in both APIs', async ([, file]) => {
    const { status, body } = await upload(there.member, file);
    expect([status, body.code]).toEqual([400, 'BAD_IMAGE']);
    expect(await set(there.member, file)).toEqual({ __typename: 'BadImageError', code: body.code, message: body.msg });
    expect((await own(there.member)).avatar_source).toBe('J');
  });

  test('of more than 5 MiB is refused in both APIs, and one of 5 MiB is decoded', async () => {
    const limit = 5 * 1024 * 1024;
    const message = 'Uploaded file is larger than the allowed limit of 5 MiB';
    const over = Buffer.concat([PNG, Buffer.alloc(limit + 1 - PNG.length)]);
    expect((await upload(there.member, over)).body).toMatchObject({ code: 'BAD_REQUEST', msg: message });
    expect(await set(there.member, over)).toMatchObject({ code: 'BAD_REQUEST', message });
    expect((await upload(there.guest, over.subarray(0, limit))).status).toBe(200);
  });

  test('must be the only one, under any field name', async () => {
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

test('no more than 20 images wait for decoding, which bounds the memory for their files', async () => {
  const read = () =>
    Promise.allSettled(Array.from({ length: 26 }, (_, account) => prepareAvatar(PNG, { account, limitMib: 5 })));
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

  test('with more parts than any form needs is refused', async () => {
    const { member } = await createOrganization();
    const save = (fields: number) => {
      const snippet = [...Object.entries({ title: 'title', content: 'content' }), ...Array(fields).fill(['more', 'x'])];
      return member.rest('POST', '/saved_snippets', {}, { body: multipart(snippet) });
    };
    expect((await save(900)).body).toMatchObject({ result: 'success', ignored_parameters_unsupported: ['more'] });
    expect((await save(1000)).body).toMatchObject({ result: 'error', msg: 'The multipart body is malformed' });
  });

  test('can have the length of a file only at endpoints that accept files', async () => {
    const { member } = await createOrganization();
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

  test('requires a header that pages of other origins cannot send', async () => {
    const { member } = await createOrganization();
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
  ])('accepts the header of other clients: %o', async (header) => {
    const { member } = await createOrganization();
    expect(await ask(member, multipartOperation(operation), header)).toMatchObject({
      status: 200,
      data: { setAvatar: { user: { avatarVersion: 2 } } },
    });
  });

  test('is refused if a file replaces a value that is not null', async () => {
    const { member } = await createOrganization();
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

  test('is refused if it is malformed or too long, or if the file is part of the JSON', async () => {
    const { member } = await createOrganization();
    const broken = { type: 'multipart/form-data; boundary=x', content: Buffer.from('--y\r\n\r\n--y--') };
    expect((await ask(member, broken, PREFLIGHT)).status).toBe(400);
    const huge = multipartOperation({ ...operation, variables: { input: { image: Buffer.alloc(7_000_000) } } });
    expect((await ask(member, huge, PREFLIGHT)).status).toBe(413);
    for (const image of ['text', 7, {}, { 0: 1, length: 1 }]) {
      const { errors } = await member.graphql(QUERY, { input: { image } });
      expect(errors?.[0].message).toContain('A File must be sent with the operation in a multipart body.');
    }
  });
});

test('a generated avatar is a PNG in the size of its address, always the same, and different for each user', async () => {
  const { member, guest, bot } = await createOrganization();
  const drawn = async (path: string, pixels: number) => {
    const { status, headers, bytes } = await download(guest, path);
    expect([status, headers['content-type'], headers['x-content-type-options']]).toEqual([200, 'image/png', 'nosniff']);
    expect(await sharp(bytes).metadata()).toMatchObject({ format: 'png', width: pixels, height: pixels });
    return bytes.toString('base64');
  };
  const addresses = await Promise.all([member, guest, bot].map(({ id }) => addressOf(guest, id)));
  const small = await Promise.all(addresses.map((address) => drawn(address, 100)));
  expect(new Set(small).size).toBe(3);
  expect(await drawn(addresses[0] ?? '', 100)).toBe(small[0]);
  await drawn(addresses[0]?.replace('?', '/medium?') ?? '', 500);
  for (const path of ['/avatar/organization', '/avatar/0', '/api/v1/users/0/avatar']) await drawn(path, 100);
  for (const path of ['/avatar/0/medium', '/api/v1/users/0/avatar/medium']) await drawn(path, 500);
});

describe('the address of an image', () => {
  test('leads users to the current image, by id and by address', async () => {
    const { member, guest } = await createOrganization();
    const old = await addressOf(guest, member.id);
    await upload(member);
    const small = await addressOf(guest, member.id);
    const medium = small.replace('?', '/medium?');
    for (const [asked, found] of [
      [`/avatar/${member.id}`, small],
      [`/avatar/${member.id}/medium`, medium],
      [`/avatar/${member.email}`, small],
      [`/avatar/${encodeURIComponent(member.email)}/medium`, medium],
      [`/api/v1/users/${member.id}/avatar`, small],
      [`/api/v1/users/${member.id}/avatar/medium`, medium],
    ] as const) {
      const { status, headers } = await download(guest, asked, guest.headers);
      expect([asked, status, headers.location, headers['cache-control']]).toEqual([
        ...[asked, 302, found, 'private, no-store'],
      ]);
    }
    expect((await download(guest, old)).headers.location).toBe(small);
  });

  test('that can be guessed returns the same neutral picture for every user', async () => {
    const { member, guest } = await createOrganization();
    const elsewhere = await createOrganization();
    await upload(member);
    const shown = await addressOf(guest, member.id);
    const shape = async (path: string, headers = {}) => {
      const { status, headers: all, bytes } = await download(guest, path, headers);
      const { date: _, 'x-request-id': __, ...others } = all;
      return { status, headers: others, bytes: bytes.toString('base64') };
    };
    const neutral = await shape('/avatar/2147483647');
    expect([neutral.status, neutral.headers['content-type']]).toEqual([200, 'image/png']);
    for (const path of [
      ...[`/avatar/${member.id}`, `/avatar/${member.id}?v=2`, '/avatar/0', '/avatar/99999999999999', '/avatar/1'],
      ...[`/avatar/${member.email}`, '/avatar/nobody@nowhere.example', `/api/v1/users/${member.id}/avatar`],
      ...[`/avatar/${member.id}/${'x'.repeat(22)}?v=2`, shown.replace('v=2', 'v=1'), shown.replace('v=2', 'v=3')],
      shown.replace(`/${member.id}/`, `/${guest.id}/`),
    ]) {
      expect([path, await shape(path)]).toEqual([path, neutral]);
    }
    // Users of another organization get the same response as clients without credentials.
    const { bytes } = await download(elsewhere.member, `/avatar/${member.id}`, elsewhere.member.headers);
    expect(bytes.toString('base64')).toBe(neutral.bytes);
    expect((await shape(shown)).bytes).not.toBe(neutral.bytes);
  });
});

describe('in the process', () => {
  let service: InProcess;
  let there: Organization;
  const asked: string[] = [];
  let hosted: { type: string; body: Uint8Array; location?: string } = { type: 'image/png', body: PNG };
  let provider: HttpServer;
  beforeAll(async () => {
    provider = await startHttpServer(({ url = '' }, response) => {
      asked.push(url);
      const { type, body, location } = hosted;
      if (location === undefined) response.writeHead(200, { 'content-type': type }).end(body);
      else response.writeHead(302, { location }).end();
    });
    service = await startInProcess({ env: { AVATAR_PROVIDER_URL: `${provider.url}/avatar/?d=identicon` } });
    there = await createOrganization({}, { on: service });
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await provider[Symbol.asyncDispose]();
  });

  test('unused images are deleted', async () => {
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

  test('an avatar is not set if its user was deactivated or lost the permission while it was decoded', async () => {
    const { owner, guest, moderator } = there;
    using images = heldImages();
    const uploads = Promise.all([upload(guest), upload(moderator)]);
    await images.until(1);
    await owner.ok('DELETE', `/users/${guest.id}`, { actions: { delete_profile: true } });
    await owner.ok('PATCH', '/realm', { avatar_changes_disabled: true });
    images.release();
    expect((await uploads).map(({ status, body }) => [status, body.code])).toEqual([
      [401, 'USER_DEACTIVATED'],
      [400, 'BAD_REQUEST'],
    ]);
    await owner.ok('PATCH', '/realm', { avatar_changes_disabled: false });
    const sources = await service.app.db.user.findMany({ where: { id: { in: [guest.id, moderator.id] } } });
    expect(sources.map(({ avatarSource }) => avatarSource)).toEqual(['J', 'J']);
  });

  test('a hosted image is fetched by the service, and clients never receive the hash of an address', async () => {
    const { owner } = there;
    await owner.ok('PATCH', '/realm', { default_avatar_source: 'G' });
    const zoe = await there.signUp('Zoe');
    const hash = createHash('sha256').update(zoe.email.toLowerCase()).digest('hex');
    const medium = (await addressOf(zoe, zoe.id)).replace('?', '/medium?');
    const { status, headers, bytes } = await download(zoe, medium);
    expect([status, headers.location, headers['content-type'], bytes]).toEqual([200, undefined, 'image/png', PNG]);
    expect(asked).toEqual([`/avatar/${hash}?d=identicon&s=500`]);
    await download(zoe, medium);
    expect(asked).toHaveLength(1);
    await zoe.ok('PATCH', '/settings', { email_address_visibility: 2 });
    const hidden = await download(zoe, medium);
    expect([hidden.status, hidden.bytes.equals(PNG)]).toEqual([200, false]);
  });

  test.for([
    ['is no image', { type: 'text/html', body: Buffer.from('<script>') }],
    ['is an image that may hold scripts', { type: 'image/svg+xml', body: Buffer.from('<svg/>') }],
    ['is too large', { type: 'image/png', body: Buffer.alloc(2 ** 20 + 1) }],
    ['leads elsewhere', { type: '', body: PNG, location: 'http://127.0.0.1:1/' }],
  ] as const)('a provider image that %s is replaced by the generated image', async ([, answer]) => {
    await there.owner.ok('PATCH', '/realm', { default_avatar_source: 'G' });
    const person = await there.signUp(`hosted ${Math.random()}`);
    hosted = answer;
    const { status, headers, bytes } = await download(person, await addressOf(person, person.id));
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([
      ...[200, 'image/png', 'public, max-age=300'],
    ]);
    expect(await sharp(bytes).metadata()).toMatchObject({ width: 100, height: 100 });
  });
});
