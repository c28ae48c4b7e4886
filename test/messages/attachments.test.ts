import { randomBytes } from 'node:crypto';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHUNK_BYTES } from '../../src/messages/attachments/content.ts';
import { deleteUnclaimed, UNCLAIMED_MS } from '../../src/messages/attachments/service.ts';
import { type Json, send } from '../helpers/http.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import { VIDEO_START, wav } from '../helpers/media.ts';
import { multipart } from '../helpers/multipart.ts';
import type { Person, Visitor } from '../helpers/person.ts';
import { animation, black, download, PNG, plain } from '../helpers/pictures.ts';
import { createOrganization } from '../helpers/server.ts';

let service: InProcess;
let clock = new Date();

beforeAll(async () => {
  service = await startInProcess({ now: () => clock });
});
afterAll(() => service[Symbol.asyncDispose]());

const organization = <const P extends Readonly<Record<string, 'member' | 'guest'>>>(people: P = {} as P) =>
  createOrganization(people, { on: service });

interface Sent {
  readonly name?: string;
  readonly query?: Record<string, unknown>;
}

/** Encodes a file with a name, as browsers do. */
function form(file: Uint8Array, name: string, field = 'file') {
  const boundary = 'x'.repeat(30);
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="${field}"; filename="${name}"\r\nContent-Type: image/png\r\n\r\n`;
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    content: Buffer.concat([Buffer.from(head), file, Buffer.from(`\r\n--${boundary}--\r\n`)]),
  };
}

const tryUpload = (by: Visitor, file: Uint8Array, { name = 'notes.txt' }: Sent = {}) =>
  by.rest('POST', '/user_uploads', {}, { body: form(file, name) });

async function upload(by: Person, file: Uint8Array, sent?: Sent): Promise<string> {
  const { status, body } = await tryUpload(by, file, sent);
  expect([status, body.msg]).toEqual([200, '']);
  return body.url;
}

/** Reads a file as a user. */
const read = (by: Visitor, path: string, headers: Record<string, string> = {}) =>
  download(by, encodeURI(path), { ...by.headers, ...headers });
const statusOf = async (by: Visitor, path: string) => (await read(by, path)).status;

async function post(by: Person, to: string, content: string): Promise<number> {
  return (await by.ok('POST', '/messages', { type: 'stream', to, topic: 'files', content })).id;
}
const direct = async (by: Person, to: Person, content: string): Promise<number> =>
  (await by.ok('POST', '/messages', { type: 'direct', to: [to.id], content })).id;

const privateChannel = async (by: Person, name: string, others: readonly Person[] = []) => {
  const subscriptions = [{ name }];
  await by.ok('POST', '/users/me/subscriptions', {
    ...{ subscriptions, invite_only: true },
    principals: [by.id, ...others.map(({ id }) => id)],
  });
};

test('a file is stored, listed, served with ranges, and deleted', async () => {
  const { member } = await organization();
  const events = await member.receiving({ event_types: ['attachment'] });
  const before = await member.register({ fetch_event_types: ['attachment', 'realm'] });
  expect(before.upload_space_used).toBe(0);
  expect(before.max_file_upload_size_mib).toBe(100);
  expect(before.server_thumbnail_formats).toContainEqual({
    ...{ name: '840x560.webp', max_width: 840, max_height: 560, format: 'webp', animated: false },
  });
  const content = randomBytes(CHUNK_BYTES * 2 + 1000);
  const reply = await member.ok('POST', '/user_uploads', {}, { body: form(content, 'Übersicht (1).bin') });
  expect(reply).toMatchObject({ filename: 'Übersicht (1).bin', uri: reply.url });
  expect(reply.url).toMatch(/^\/user_uploads\/\d+\/[\w-]{2}\/[\w-]{24}\/Übersicht-1.bin$/);
  const { attachments, upload_space_used } = await member.ok('GET', '/attachments');
  expect(upload_space_used).toBe(content.length);
  const [{ id }] = attachments;
  const listed = {
    ...{ id, name: 'Übersicht (1).bin', path_id: reply.url.slice('/user_uploads/'.length) },
    ...{ size: content.length, create_time: expect.any(Number), message_ids: [] },
  };
  expect(attachments).toEqual([listed]);
  expect(await events()).toEqual([
    { type: 'attachment', op: 'add', attachment: listed, upload_space_used: content.length },
  ]);

  const whole = await read(member, reply.url);
  expect(whole.bytes.equals(content)).toBe(true);
  expect(whole.headers).toMatchObject({
    ...{ 'content-type': 'application/octet-stream', 'accept-ranges': 'bytes', 'x-content-type-options': 'nosniff' },
    ...{ 'content-length': String(content.length), 'cache-control': 'private, no-cache, no-transform' },
    'content-disposition': `attachment; filename="Ubersicht (1).bin"; filename*=UTF-8''%C3%9Cbersicht%20%281%29.bin`,
  });
  expect(whole.headers['content-security-policy']).toMatch(/default-src 'none'.*sandbox/);
  for (const [range, start, end] of [
    ['bytes=0-9', 0, 9],
    [`bytes=${CHUNK_BYTES - 5}-${CHUNK_BYTES + 5}`, CHUNK_BYTES - 5, CHUNK_BYTES + 5],
    [`bytes=${content.length - 7}-`, content.length - 7, content.length - 1],
    ['bytes=-7', content.length - 7, content.length - 1],
  ] as const) {
    const part = await read(member, reply.url, { range });
    expect(part.status).toBe(206);
    expect(part.headers['content-range']).toBe(`bytes ${start}-${end}/${content.length}`);
    expect(part.bytes.equals(content.subarray(start, end + 1))).toBe(true);
  }
  const beyond = await read(member, reply.url, { range: `bytes=${content.length}-` });
  expect([beyond.status, beyond.headers['content-range']]).toEqual([416, `bytes */${content.length}`]);
  const fresh = await read(member, reply.url, { 'if-none-match': String(whole.headers.etag) });
  expect([fresh.status, fresh.bytes.length]).toEqual([304, 0]);

  await member.ok('DELETE', `/attachments/${id}`);
  expect(await statusOf(member, reply.url)).toBe(404);
  expect((await member.ok('GET', '/attachments')).attachments).toEqual([]);
  expect((await events()).at(-1)).toEqual({
    ...{ type: 'attachment', op: 'remove', attachment: { id }, upload_space_used: 0 },
  });
  const again = await member.rest('DELETE', `/attachments/${id}`);
  expect([again.status, again.body.msg]).toEqual([400, 'Invalid attachment']);
});

test('a file is readable by its owner and the readers of messages that link it, while they are', async () => {
  const { owner, member, moderator, guest, anonymous } = await organization();
  const stranger = (await organization()).member;
  await privateChannel(member, 'secret', [moderator]);
  const url = await upload(member, Buffer.from('a secret'));
  for (const other of [owner, moderator, guest, anonymous, stranger]) expect(await statusOf(other, url)).toBe(404);
  expect(await statusOf(member, url)).toBe(200);

  const events = await member.receiving({ event_types: ['attachment'] });
  const messageId = await post(member, 'secret', `See [notes](${url}).`);
  const [update] = await events();
  expect(update).toMatchObject({ op: 'update', attachment: { message_ids: [messageId] } });
  expect(await statusOf(moderator, url)).toBe(200);
  for (const other of [owner, guest, anonymous, stranger]) expect(await statusOf(other, url)).toBe(404);
  const found = await member.ok('GET', '/messages', {
    ...{ anchor: 'newest', num_before: 5, num_after: 0, narrow: [{ operator: 'has', operand: 'attachment' }] },
  });
  expect(found.messages.map(({ id }: Json) => id)).toEqual([messageId]);

  // Players of videos request ranges.
  const part = async (by: Visitor) => (await read(by, url, { range: 'bytes=2-4' })).status;
  expect([await part(moderator), await part(guest)]).toEqual([206, 404]);
  await moderator.ok('DELETE', '/users/me/subscriptions', { subscriptions: ['secret'] });
  expect([await statusOf(moderator, url), await part(moderator)]).toEqual([404, 404]);
  // A user without access cannot give it to others by linking the address.
  await direct(moderator, guest, `Look: ${url} [again](${url})`);
  expect(await statusOf(guest, url)).toBe(404);
  // The owner can.
  const shown = await direct(member, guest, `[for you](${url})`);
  expect(await statusOf(guest, url)).toBe(200);
  await member.ok('PATCH', `/messages/${shown}`, { content: 'Nothing.' });
  expect(await statusOf(guest, url)).toBe(404);
  const { detached_uploads } = await member.ok('PATCH', `/messages/${messageId}`, { content: 'Nothing here.' });
  expect(detached_uploads).toMatchObject([{ name: 'notes.txt', message_ids: [] }]);
  await member.ok('PATCH', `/messages/${messageId}`, { content: `Here: [notes](${url})` });
  await member.ok('DELETE', `/messages/${messageId}`);
  expect((await member.ok('GET', '/attachments')).attachments).toMatchObject([{ message_ids: [] }]);
});

test('a reader can pass a file on to the readers of another message', async () => {
  const { member, moderator, guest } = await organization();
  const url = await upload(member, Buffer.from('shared'));
  await direct(member, moderator, `[x](${url})`);
  await direct(moderator, guest, `[x](${url})`);
  expect(await statusOf(guest, url)).toBe(200);
});

test('a temporary address needs no credentials, and ends after a minute', async () => {
  const { member, guest, anonymous } = await organization();
  const stranger = (await organization()).anonymous;
  const url = await upload(member, Buffer.from('hello'));
  const refused = await guest.rest('GET', url);
  expect([refused.status, refused.body.msg]).toEqual([404, 'File not found.']);
  const { url: temporary } = await member.ok('GET', url);
  const opened = await download(anonymous, temporary);
  expect([opened.status, opened.bytes.toString()]).toEqual([200, 'hello']);
  expect((await download(stranger, temporary)).status).toBe(404);
  expect((await download(anonymous, temporary.replace(/until=\d+/, 'until=99999999999'))).status).toBe(404);
  const other = temporary.endsWith('_') ? '-' : '_';
  expect((await download(anonymous, `${temporary.slice(0, -1)}${other}`)).status).toBe(404);
  const now = clock;
  clock = new Date(now.getTime() + 61_000);
  expect((await download(anonymous, temporary)).status).toBe(404);
  clock = now;
});

describe('images', () => {
  test('are shown below messages with their size, and lose private metadata', async () => {
    const { member, guest } = await organization();
    const photograph = await plain('blue', { width: 1200, height: 600 })
      .withExif({ IFD0: { Artist: 'somebody' }, IFD3: { GPSLatitude: '52/1 30/1 0/1', GPSLatitudeRef: 'N' } })
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer();
    expect((await sharp(photograph).metadata()).exif).toBeDefined();
    const url = await upload(member, photograph, { name: 'sea.jpg' });
    const stored = await read(member, url);
    expect(stored.headers['content-type']).toBe('image/jpeg');
    expect(stored.headers['content-disposition']).toMatch(/^inline; /);
    expect(stored.bytes.includes('somebody')).toBe(false);
    const metadata = await sharp(stored.bytes).metadata();
    expect(metadata.orientation).toBe(6);
    expect(metadata.exif?.length).toBeLessThan(64);

    const id = await direct(member, guest, `Look: [the sea](${url})`);
    const { message } = await guest.ok('GET', `/messages/${id}`);
    const thumbnail = `${url.replace('/user_uploads/', '/user_uploads/thumbnail/')}/840x560.webp`;
    expect(message.content).toBe(
      `<p>Look: <a href="${url}">the sea</a></p>\n<div class="message_inline_image"><a href="${url}" title="the sea">` +
        `<img data-original-dimensions="600x1200" data-original-content-type="image/jpeg" src="${thumbnail}"></a></div>`,
    );
    const reduced = await read(guest, thumbnail);
    expect(reduced.headers['content-type']).toBe('image/webp');
    expect(await sharp(reduced.bytes).metadata()).toMatchObject({ format: 'webp', width: 280, height: 560 });
    const { data } = await guest.graphql(`{ viewer { id } node: message(by: { url: "#narrow/id/${id}" }) {
      images { title url thumbnailUrl width height }
      attachments { name size mediaType width height isAnimated url thumbnailUrl(size: SMALL) owner { databaseId } }
    } }`);
    expect(data.node).toEqual({
      images: [
        {
          ...{ title: 'the sea', url: expect.stringMatching(/^http.*sea\.jpg$/), width: 600, height: 1200 },
          thumbnailUrl: expect.stringMatching(/^http.*840x560\.webp$/),
        },
      ],
      attachments: [
        {
          ...{ name: 'sea.jpg', size: stored.bytes.length, mediaType: 'image/jpeg', width: 600, height: 1200 },
          ...{ isAnimated: false, url, thumbnailUrl: thumbnail.replace('840x560', '300x200') },
          owner: { databaseId: member.id },
        },
      ],
    });
  });

  test('are shown within messages, as sounds and videos are', async () => {
    const { member, guest } = await organization();
    const sea = await upload(member, PNG, { name: 'sea.png' });
    const song = await upload(member, wav({ seconds: 1 }), { name: 'song.wav' });
    const clip = await upload(member, VIDEO_START, { name: 'clip.txt' });
    const content = `Look: ![the sea](${sea}), ![](${song}), [clip](${clip})`;
    const id = await direct(member, guest, content);
    const { message } = await guest.ok('GET', `/messages/${id}`);
    const thumbnail = `${sea.replace('/user_uploads/', '/user_uploads/thumbnail/')}/840x560.webp`;
    expect(message.content).toBe(
      '<p>Look: <img alt="the sea" class="inline-image" data-original-dimensions="8x8" data-original-content-type="image/png" ' +
        `data-original-src="${sea}" src="${thumbnail}">, ` +
        `<audio controls preload="metadata" src="${song}" title="song.wav"></audio>, <a href="${clip}">clip</a></p>\n` +
        `<div class="message_inline_image message_inline_video"><a href="${clip}"><video preload="metadata" src="${clip}">` +
        '</video></a></div>',
    );
    const { data } = await guest.graphql(`{ organization { url } message(by: { url: "#narrow/id/${id}" }) {
      images { title url thumbnailUrl width height } media { type url title } links { text } attachments { name }
    } }`);
    const { url } = data.organization;
    expect(data.message).toEqual({
      images: [{ title: 'the sea', url: url + sea, thumbnailUrl: url + thumbnail, width: 8, height: 8 }],
      media: [
        { type: 'AUDIO', url: url + song, title: 'song.wav' },
        { type: 'VIDEO', url: url + clip, title: null },
      ],
      links: [{ text: 'clip' }],
      attachments: [{ name: 'sea.png' }, { name: 'song.wav' }, { name: 'clip.txt' }],
    });
    const found = (operand: string) =>
      guest.ok('GET', '/messages', {
        anchor: 'newest',
        num_before: 10,
        num_after: 0,
        narrow: [{ operator: 'has', operand }],
      });
    expect((await found('image')).messages).toMatchObject([{ id }]);
    await member.ok('PATCH', `/messages/${id}`, { content: `[clip](${clip})` });
    expect((await found('image')).messages).toEqual([]);
    expect((await found('attachment')).messages).toMatchObject([{ id }]);
  });

  test('stay animated', async () => {
    const { member, guest } = await organization();
    const url = await upload(member, await animation(['red', 'blue', 'lime']), { name: 'film.gif' });
    const id = await direct(member, guest, `[film](${url})`);
    const { message } = await guest.ok('GET', `/messages/${id}`);
    expect(message.content).toMatch(/data-animated="true" src="[^"]*840x560-anim\.webp"/);
    const [, source = ''] = / src="([^"]*)"/.exec(message.content) ?? [];
    expect(await sharp((await read(guest, source)).bytes).metadata()).toMatchObject({ format: 'webp', pages: 3 });
  });

  test('that cannot be decoded are downloaded', async () => {
    const { member, guest } = await organization();
    for (const [name, file] of [
      ['half.png', PNG.subarray(0, PNG.length / 2)],
      ['bomb.png', black(20_000)],
      ['page.gif', Buffer.from('GIF89a/*<script>alert(1)</script>*/=1;')],
    ] as const) {
      const url = await upload(member, file, { name });
      const { headers } = await read(member, url);
      expect([name, headers['content-type']]).toEqual([name, 'application/octet-stream']);
      expect(headers['content-disposition']).toMatch(/^attachment; /);
      const { message } = await guest.ok('GET', `/messages/${await direct(member, guest, `[x](${url})`)}`);
      expect(message.content).toBe(`<p><a href="${url}">x</a></p>`);
    }
  });
});

describe('attacks', () => {
  test('a type is detected from the content', async () => {
    const { member } = await organization();
    const polyglot = Buffer.concat([PNG, Buffer.from('<html><script>alert(1)</script></html>')]);
    for (const [name, file, type, disposition] of [
      ['page.html', Buffer.from('<!DOCTYPE html><script>alert(1)</script>'), 'text/plain; charset=utf-8', 'inline'],
      ['x.svg', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'text/plain; charset=utf-8', 'inline'],
      ['program.png', Buffer.from('MZ\0\0\x01\x02'), 'application/octet-stream', 'attachment'],
      ['document.pdf', Buffer.from('%PDF-1.7\n'), 'application/pdf', 'attachment'],
      ['both.html', polyglot, 'image/png', 'inline'],
      ['empty', Buffer.alloc(0), 'text/plain; charset=utf-8', 'inline'],
    ] as const) {
      const { headers, bytes } = await read(member, await upload(member, file, { name }));
      expect([name, headers['content-type']]).toEqual([name, type]);
      expect(headers['content-disposition']).toMatch(new RegExp(`^${disposition}; `));
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['content-security-policy']).toMatch(/sandbox/);
      // Data behind the image is removed with its metadata.
      expect(bytes.includes('<script') && type === 'image/png').toBe(false);
    }
  });

  test('names are cleaned', async () => {
    const { member } = await organization();
    for (const [given, filename, last] of [
      ['../../etc/passwd', 'passwd', 'passwd'],
      ['C:\\\\Windows\\\\system.ini', 'system.ini', 'system.ini'],
      ['..', 'file', 'file'],
      ['.htaccess', '.htaccess', 'htaccess'],
      ['a\u202egnp.exe', 'agnp.exe', 'agnp.exe'],
      ['<img src=x onerror=alert(1)>.png', '<img src=x onerror=alert(1)>.png', 'img-srcx-onerroralert1.png'],
      ['x](javascript:alert(1)).png', 'x](javascript:alert(1)).png', 'xjavascriptalert1.png'],
      ['файл 文件.txt', 'файл 文件.txt', 'файл-文件.txt'],
      [
        `${'a'.repeat(300)}.png`,
        `${'a'.repeat(79)}…${'a'.repeat(16)}.png`,
        `${'a'.repeat(79)}...${'a'.repeat(16)}.png`,
      ],
    ] as const) {
      const { body } = await tryUpload(member, Buffer.from('x'), { name: given });
      expect([given, body.filename]).toEqual([given, filename]);
      expect(body.url.split('/').at(-1)).toBe(last);
      const { status, headers } = await read(member, body.url);
      expect(status).toBe(200);
      expect(headers['content-disposition']).not.toMatch(/[\r\n<>]{2}|\.\.\//);
    }
  });

  test('paths lead only to files', async () => {
    const { member } = await organization();
    const url = await upload(member, Buffer.from('x'));
    const [, , realm, , token] = url.split('/');
    for (const path of [
      `/user_uploads/${realm}/zz/${token}/notes.txt`,
      `/user_uploads/${realm}/${token?.slice(0, 2)}/${token}/other.txt`,
      `/user_uploads/${Number(realm) + 1}/${token?.slice(0, 2)}/${token}/notes.txt`,
      `/user_uploads/${realm}/${token?.slice(0, 2)}/${token}`,
      `/user_uploads/../../etc/passwd`,
      `/user_uploads/${realm}/..%2f..%2f${token}/notes.txt`,
      `/user_uploads/thumbnail/${url.slice('/user_uploads/'.length)}/840x560.webp`,
      `/user_uploads/thumbnail/${url.slice('/user_uploads/'.length)}/..%2f..%2fx`,
    ]) {
      expect([path, (await download(member, path, member.headers)).status]).toEqual([path, 404]);
    }
  });

  test('bodies that are not exactly one file are refused, and leave nothing', async () => {
    const { member } = await organization();
    const files = (...names: string[]) => multipart(names.map((name) => [name, Buffer.from(name)] as const));
    const refusal = async (body: { type: string; content: Buffer }) => {
      const reply = await member.rest('POST', '/user_uploads', {}, { body });
      return [reply.status, reply.body.msg];
    };
    expect(await refusal(files())).toEqual([400, 'You must specify a file to upload']);
    expect(await refusal(multipart([['file', 'a text']]))).toEqual([400, 'You must specify a file to upload']);
    expect(await refusal(files('a', 'b'))).toEqual([400, 'You may only upload one file at a time']);
    expect(await refusal({ type: 'application/json', content: Buffer.from('{}') })).toEqual([
      415,
      'The request body must have the Content-Type multipart/form-data',
    ]);
    const cut = form(Buffer.from('half'), 'x');
    const malformed = [400, 'The multipart body is malformed'];
    expect(await refusal({ ...cut, content: cut.content.subarray(0, cut.content.length - 10) })).toEqual(malformed);
    expect(await refusal({ ...cut, type: 'multipart/form-data' })).toEqual(malformed);
    expect(await refusal({ ...cut, content: cut.content.subarray(0, 20) })).toEqual(malformed);
    const rows = await service.app.db.attachment.count({ where: { ownerId: member.id } });
    expect(rows).toBe(0);
  });

  test('a file over the limit is refused, and leaves nothing', { timeout: 120_000 }, async () => {
    const { member } = await organization();
    const refused = await tryUpload(member, Buffer.alloc(100 * 1024 * 1024 + 1));
    expect([refused.status, refused.body.msg]).toEqual([
      400,
      "File is larger than this server's configured maximum upload size (100 MiB).",
    ]);
    expect(await service.app.db.attachment.count({ where: { ownerId: member.id } })).toBe(0);
  });

  test('the quota of the organization is kept', async () => {
    const { organization: place, administrator, member, guest } = await organization();
    await service.app.db.organization.update({
      where: { id: place.id },
      data: { settings: { upload_quota_mib: 1 } },
    });
    expect((await member.register({ fetch_event_types: ['realm'] })).realm_upload_quota_mib).toBe(1);
    await upload(member, Buffer.alloc(700_000));
    const refused = await tryUpload(guest, Buffer.alloc(700_000));
    expect([refused.status, refused.body.code]).toEqual([400, 'REALM_UPLOAD_QUOTA']);
    await upload(guest, Buffer.alloc(300_000));
    expect(await service.app.db.attachment.count({ where: { organizationId: place.id } })).toBe(2);
    const used = async (by: Person) => (await by.query('{ organization { uploadSpaceUsed } }')).organization;
    expect(await used(administrator)).toEqual({ uploadSpaceUsed: 1_000_000 });
    expect(await used(member)).toEqual({ uploadSpaceUsed: null });
  });

  test('without credentials, nothing is received', async () => {
    const { anonymous } = await organization();
    const refused = await tryUpload(anonymous, Buffer.from('x'));
    expect([refused.status, refused.body.code]).toEqual([401, 'UNAUTHORIZED']);
  });
});

test('files that nothing links are deleted after two weeks', async () => {
  const { member, guest } = await organization();
  const [linked, drafted, scheduled, unclaimed, released] = await Promise.all(
    ['linked', 'drafted', 'scheduled', 'unclaimed', 'released'].map((name) => upload(member, Buffer.from(name))),
  );
  await direct(member, guest, `[x](${linked})`);
  const message = await direct(member, guest, `[x](${released})`);
  await member.ok('PATCH', `/messages/${message}`, { content: 'gone' });
  await member.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: `[x](${drafted})` }] });
  const at = Math.floor(clock.getTime() / 1000) + 90 * 86_400;
  await member.ok('POST', '/scheduled_messages', {
    ...{ type: 'direct', to: [guest.id], content: `[x](${scheduled})`, scheduled_delivery_timestamp: at },
  });
  const start = clock;
  clock = new Date(start.getTime() + UNCLAIMED_MS - 1000);
  await deleteUnclaimed(service.app.work);
  const urls = [linked, drafted, scheduled, unclaimed, released];
  const status = async () => Promise.all(urls.map((url) => statusOf(member, url ?? '')));
  expect(await status()).toEqual([200, 200, 200, 200, 200]);
  clock = new Date(start.getTime() + UNCLAIMED_MS + 1000);
  await deleteUnclaimed(service.app.work);
  expect(await status()).toEqual([200, 200, 200, 404, 404]);
  expect(await service.app.db.attachmentChunk.count({ where: { attachment: { ownerId: member.id } } })).toBe(3);
  clock = start;
});

test('files that nothing links are deleted at the next run after their owner was deactivated with profile', async () => {
  const { owner, member, guest } = await organization();
  const [linked, drafted] = [await upload(member, Buffer.from('linked')), await upload(member, Buffer.from('drafted'))];
  await direct(member, guest, `[x](${linked})`);
  await member.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: `[x](${drafted})` }] });
  await owner.ok('DELETE', `/users/${member.id}`, { actions: { delete_profile: true } });
  await deleteUnclaimed(service.app.work);
  const kept = await service.app.db.attachment.findMany({ where: { ownerId: member.id }, select: { name: true } });
  expect(kept).toHaveLength(1);
  expect(await statusOf(guest, linked)).toBe(200);
});

test('GraphQL uploads, lists and deletes files', async () => {
  const { member, guest } = await organization();
  const events = await member.events(`
    ... on AttachmentAddedEvent { attachment { name url } uploadSpaceUsed }
    ... on AttachmentUpdatedEvent { attachment { name messages { databaseId } } }
    ... on AttachmentRemovedEvent { attachmentId }`);
  const { attachment } = await member.mutate(
    'uploadFile',
    { file: PNG, name: 'a/red.png' },
    'attachment { id name markdown url size mediaType width height temporaryUrl }',
  );
  expect(attachment).toMatchObject({ name: 'red.png', mediaType: 'image/png', width: 8, height: 8 });
  expect(attachment.markdown).toBe(`[red.png](${attachment.url})`);
  expect((await download(guest, attachment.temporaryUrl)).status).toBe(200);
  expect(await events.next()).toMatchObject({ attachment: { name: 'red.png' }, uploadSpaceUsed: attachment.size });
  const id = await direct(member, guest, attachment.markdown);
  const { attachments, uploadSpaceUsed } = await member.query(
    '{ attachments(first: 5) { totalCount nodes { id messages { databaseId } } } uploadSpaceUsed }',
  );
  expect(uploadSpaceUsed).toBe(attachment.size);
  expect(attachments).toEqual({ totalCount: 1, nodes: [{ id: attachment.id, messages: [{ databaseId: id }] }] });
  const seen = await guest.query('query ($id: ID!) { node(id: $id) { ... on Attachment { name } } }', {
    id: attachment.id,
  });
  expect(seen.node).toEqual({ name: 'red.png' });
  await member.mutate('deleteAttachment', { attachmentId: attachment.id }, 'attachmentId');
  expect(await statusOf(guest, attachment.url)).toBe(404);
});

describe('resumable uploads', () => {
  const TUS = { 'tus-resumable': '1.0.0' };
  const named = (name: string) => `filename ${Buffer.from(name).toString('base64')}`;
  const ask = (by: Visitor, method: string, path: string, headers: Record<string, string> = {}, body?: Buffer) =>
    send(by.url, { method, path, headers: { ...by.headers, ...TUS, ...headers }, body });
  const begin = async (by: Person, size: number, name: string) => {
    const headers = { 'upload-length': String(size), 'upload-metadata': named(name) };
    const { status, headers: answered } = await ask(by, 'POST', '/tus', headers);
    expect(status).toBe(201);
    return String(answered.location);
  };
  const patch = (by: Visitor, path: string, offset: number, part: Buffer) =>
    ask(
      by,
      'PATCH',
      path,
      { 'upload-offset': String(offset), 'content-type': 'application/offset+octet-stream' },
      part,
    );

  test('that began first gets the last space, and a later one is refused', async () => {
    const { member, organization: where } = await organization();
    const content = randomBytes(600_000);
    const paths: string[] = [];
    for (const name of ['first.bin', 'second.bin']) paths.push(await begin(member, content.length, name));
    await service.app.db.organization.update({ where: { id: where.id }, data: { settings: { upload_quota_mib: 1 } } });
    const statuses: number[] = [];
    for (const path of paths) statuses.push((await patch(member, path, 0, content)).status);
    expect(statuses).toEqual([200, 400]);
    expect((await member.ok('GET', '/attachments')).attachments).toMatchObject([{ name: 'first.bin' }]);
  });

  test('continue after an interruption, and end with the address of the file', async () => {
    const { member, guest, anonymous } = await organization();
    const content = randomBytes(CHUNK_BYTES * 2 + 12_345);
    const path = await begin(member, content.length, 'notes.bin');
    const cuts = [0, 1000, CHUNK_BYTES + 7, CHUNK_BYTES * 2, content.length];
    for (const [i, from] of cuts.slice(0, -2).entries()) {
      const { status, headers } = await patch(member, path, from, content.subarray(from, cuts[i + 1]));
      expect([status, headers['upload-offset']]).toEqual([204, String(cuts[i + 1])]);
    }
    const { headers } = await ask(member, 'HEAD', path);
    expect([headers['upload-offset'], headers['upload-length']]).toEqual([
      String(CHUNK_BYTES * 2),
      String(content.length),
    ]);
    expect((await ask(guest, 'HEAD', path)).status).toBe(404);
    expect((await ask(anonymous, 'HEAD', path)).status).toBe(401);
    expect((await patch(member, path, 5, content.subarray(5, 9))).status).toBe(409);
    expect((await member.ok('GET', '/attachments')).attachments).toEqual([]);
    const last = await patch(member, path, CHUNK_BYTES * 2, content.subarray(CHUNK_BYTES * 2));
    expect(last.status).toBe(200);
    const { url, filename } = JSON.parse(last.text);
    expect(filename).toBe('notes.bin');
    expect((await read(member, url)).bytes.equals(content)).toBe(true);
    // The response to the last part can be lost. The part is then sent again, without content.
    expect(JSON.parse((await patch(member, path, content.length, Buffer.alloc(0))).text)).toEqual({ url, filename });
    expect((await member.ok('GET', '/attachments')).attachments).toHaveLength(1);
  });

  test('are cancelled, and refused if they are too large', async () => {
    const { member } = await organization();
    const path = await begin(member, 100, 'x');
    expect((await ask(member, 'DELETE', path)).status).toBe(204);
    expect((await ask(member, 'HEAD', path)).status).toBe(404);
    const large = { 'upload-length': String(101 * 1024 * 1024), 'upload-metadata': named('x') };
    expect((await ask(member, 'POST', '/api/v1/tus', large)).status).toBe(413);
    expect(await service.app.db.attachment.count({ where: { ownerId: member.id } })).toBe(0);
  });
});
