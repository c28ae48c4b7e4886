import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { eraseDueOrganizations } from '../../src/administration/organization-lifecycle/service.ts';
import { deleteUnused } from '../../src/messages/attachments/objects.ts';
import { requireSameBucket } from '../../src/messages/attachments/place.ts';
import { deleteUnclaimed } from '../../src/messages/attachments/service.ts';
import { type StoreState, startBucket, type TestBucket } from '../helpers/bucket.ts';
import { runCommand } from '../helpers/control.ts';
import { send } from '../helpers/http.ts';
import { type InProcess, type InProcessOptions, startInProcess } from '../helpers/in-process.ts';
import type { Person, Visitor } from '../helpers/person.ts';
import { download, plain } from '../helpers/pictures.ts';
import { createOrganization } from '../helpers/server.ts';

const MIB = 1024 * 1024;
const DAY_MS = 86_400_000;
const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** Starts a service that stores files in the bucket, and an organization on it. */
async function startOn(bucket: TestBucket, { env = {}, ...options }: InProcessOptions = {}) {
  const service = await startInProcess({ ...options, env: { ...bucket.env, ...env } });
  return { service, ...(await createOrganization({}, { on: service })) };
}

const tryUpload = (by: Visitor, file: Uint8Array) => by.rest('POST', '/user_uploads', { file });
const upload = async (by: Person, file: Uint8Array): Promise<string> =>
  (await by.ok('POST', '/user_uploads', { file })).url;
const read = (by: Visitor, path: string, headers: Record<string, string> = {}) =>
  download(by, encodeURI(path), { ...by.headers, ...headers });
const rowsIn = ({ app }: InProcess) => app.db.attachmentChunk.count();

test('files are stored in the bucket, and served by the service with ranges', async () => {
  await using bucket = await startBucket();
  const { service, member, guest, organization } = await startOn(bucket);
  await using _ = service;
  const content = randomBytes(25 * MIB + 77);
  const url = await upload(member, content);
  expect(bucket.keys()).toEqual([expect.stringMatching(new RegExp(`^${organization.id}/[0-9a-f-]{36}$`))]);
  expect(await rowsIn(service)).toBe(0);

  const whole = await read(member, url);
  expect([whole.status, whole.headers['content-length']]).toEqual([200, String(content.length)]);
  expect(hashOf(whole.bytes)).toBe(hashOf(content));
  expect(whole.headers['content-security-policy']).toMatch(/sandbox/);
  for (const [range, start, end] of [
    ['bytes=0-9', 0, 9],
    [`bytes=${10 * MIB - 5}-${15 * MIB}`, 10 * MIB - 5, 15 * MIB],
    ['bytes=-7', content.length - 7, content.length - 1],
  ] as const) {
    const part = await read(member, url, { range });
    expect([part.status, part.headers['content-range']]).toEqual([206, `bytes ${start}-${end}/${content.length}`]);
    expect(part.bytes.equals(content.subarray(start, end + 1))).toBe(true);
  }
  const beyond = await read(member, url, { range: `bytes=${content.length}-` });
  expect(beyond.status).toBe(416);
  const known = await read(member, url, { 'if-none-match': String(whole.headers.etag) });
  expect(known.status).toBe(304);
  expect((await read(guest, url)).status).toBe(404);
  const { attachments, upload_space_used } = await member.ok('GET', '/attachments');
  expect([attachments[0].size, upload_space_used]).toEqual([content.length, content.length]);
});

test('images and their thumbnails are objects; empty files need none', async () => {
  await using bucket = await startBucket();
  const { service, member } = await startOn(bucket);
  await using _ = service;
  const image = await plain('red', { width: 1000, height: 700 }).png().toBuffer();
  const url = await upload(member, image);
  expect(bucket.keys()).toHaveLength(3);
  const thumbnail = await read(member, `/user_uploads/thumbnail/${url.slice('/user_uploads/'.length)}/840x560.webp`);
  expect([thumbnail.status, thumbnail.headers['content-type']]).toEqual([200, 'image/webp']);
  expect(thumbnail.bytes.subarray(8, 12).toString()).toBe('WEBP');
  expect((await read(member, url)).bytes.subarray(1, 4).toString()).toBe('PNG');
  const empty = await upload(member, new Uint8Array());
  const served = await read(member, empty);
  expect([served.status, served.bytes.length]).toEqual([200, 0]);
  expect(bucket.keys()).toHaveLength(3);
  expect(await rowsIn(service)).toBe(0);
});

test('every API stores in the bucket', async () => {
  await using bucket = await startBucket();
  const { service, member } = await startOn(bucket);
  await using _ = service;
  const { attachment } = await member.mutate(
    'uploadFile',
    { file: Buffer.from('by GraphQL'), name: 'a.txt' },
    'attachment { url }',
  );
  expect((await read(member, attachment.url)).bytes.toString()).toBe('by GraphQL');
  const keyed = await member.rest('POST', '/user_uploads', { file: Buffer.from('keyed') });
  expect(keyed.status).toBe(200);
  const location = await beginResumable(member, 300_000);
  const content = randomBytes(300_000);
  expect((await patch(member, location, 0, content.subarray(0, 270_000))).status).toBe(204);
  expect(bucket.keys()).toHaveLength(2);
  const { status, text } = await patch(member, location, 270_000, content.subarray(270_000));
  expect(status).toBe(200);
  expect(hashOf((await read(member, JSON.parse(text).url)).bytes)).toBe(hashOf(content));
  expect(bucket.keys()).toHaveLength(3);
  expect(await rowsIn(service)).toBe(0);
});

const TUS = { 'tus-resumable': '1.0.0' };
async function beginResumable(by: Person, size: number): Promise<string> {
  const headers = { ...by.headers, ...TUS, 'upload-length': String(size), 'upload-metadata': 'filename YQ==' };
  const { status, headers: answered } = await send(by.url, { method: 'POST', path: '/tus', headers });
  expect(status).toBe(201);
  return String(answered.location);
}
const patch = (by: Visitor, path: string, offset: number, body: Buffer) =>
  send(by.url, {
    ...{ method: 'PATCH', path, body },
    headers: {
      ...{ ...by.headers, ...TUS, 'upload-offset': String(offset) },
      'content-type': 'application/offset+octet-stream',
    },
  });

test.each<StoreState>(['fails', 'disconnects', 'silent'])(
  'while the store %s, uploads and downloads are answered 503, and messages are sent',
  async (state) => {
    await using bucket = await startBucket();
    const { service, member, guest } = await startOn(bucket);
    await using _ = service;
    const url = await upload(member, Buffer.from('before'));
    const location = await beginResumable(member, 5);
    bucket.state = state;
    const requests = [
      tryUpload(member, Buffer.from('during')).then(({ status, body, headers }) => [status, body.code, headers]),
      patch(member, location, 0, Buffer.from('abcde')).then(({ status, text, headers }) => [
        ...[status, JSON.parse(text).code, headers],
      ]),
      read(member, url).then(({ status, headers }) => [status, 'REQUEST_TIMEOUT', headers]),
    ];
    const before = performance.now();
    await member.ok('POST', '/messages', { type: 'direct', to: [guest.id], content: `[file](${url})` });
    expect(performance.now() - before).toBeLessThan(5_000);
    for (const outcome of await Promise.all(requests)) {
      expect(outcome).toEqual([503, 'REQUEST_TIMEOUT', expect.objectContaining({ 'retry-after': '5' })]);
    }
    const ready = await fetch(`${service.url}/readyz`);
    expect([ready.status, await ready.text()]).toEqual([200, expect.stringMatching(/^ready\nimpaired: file store/)]);

    bucket.state = 'works';
    expect((await read(guest, url)).bytes.toString()).toBe('before');
    expect((await member.ok('GET', '/attachments')).attachments).toHaveLength(1);
    // The client of a resumable upload asks how much was received, and gets the answer when the file is stored.
    const asked = await send(member.url, { method: 'HEAD', path: location, headers: { ...member.headers, ...TUS } });
    expect([asked.status, asked.headers['upload-offset']]).toEqual([200, '5']);
    expect((await member.ok('GET', '/attachments')).attachments).toHaveLength(2);
    expect((await tryUpload(member, Buffer.from('after'))).status).toBe(200);
    expect(await (await fetch(`${service.url}/readyz`)).text()).toBe('ready\n');
  },
  120_000,
);

test('single failures of the store are repeated', async () => {
  await using bucket = await startBucket();
  const { service, member } = await startOn(bucket);
  await using _ = service;
  const failed = new Set<string>();
  bucket.failing = ({ method = '' }) => failed.size < failed.add(method).size;
  const content = randomBytes(MIB);
  const url = await upload(member, content);
  expect(hashOf((await read(member, url)).bytes)).toBe(hashOf(content));
  expect([...failed].sort()).toEqual(['GET', 'HEAD', 'PUT']);
});

test('a slow store delays only its own requests', async () => {
  await using bucket = await startBucket();
  const { service, member, guest } = await startOn(bucket);
  await using _ = service;
  bucket.delayMs = 4_000;
  const uploading = tryUpload(member, randomBytes(3 * MIB));
  let messages = 0;
  const start = performance.now();
  while (performance.now() - start < 1_000) {
    await member.ok('POST', '/messages', { type: 'direct', to: [guest.id], content: 'meanwhile' });
    messages++;
  }
  // On a busy machine, one message takes up to a second.
  expect(messages).toBeGreaterThan(0);
  expect(bucket.keys()).toEqual([]);
  expect((await uploading).status).toBe(200);
  expect(bucket.keys()).toHaveLength(1);
}, 60_000);

test('an upload that the store does not confirm leaves nothing, and is not listed', async () => {
  await using bucket = await startBucket();
  let clock = new Date();
  const { service, member } = await startOn(bucket, { now: () => clock });
  await using _ = service;
  // The object arrives, but its size is never confirmed.
  bucket.failing = ({ method }) => method === 'HEAD';
  expect((await tryUpload(member, Buffer.from('unconfirmed'))).status).toBe(503);
  expect((await member.ok('GET', '/attachments')).attachments).toEqual([]);
  expect(bucket.keys()).toHaveLength(1);
  bucket.failing = () => false;
  // The store can still be storing the object.
  expect(await deleteUnused(service.app)).toBe(0);
  expect(await service.app.db.storedObject.count()).toBe(1);
  clock = new Date(clock.getTime() + 3_600_001);
  expect(await deleteUnused(service.app)).toBe(1);
  expect(bucket.keys()).toEqual([]);
  expect(await service.app.db.storedObject.count()).toBe(0);
  expect(await rowsIn(service)).toBe(0);
});

test('objects of uploads that were killed are deleted after a day, and not before', async () => {
  await using bucket = await startBucket();
  let clock = new Date();
  const { service, organization } = await startOn(bucket, { now: () => clock });
  await using _ = service;
  const id = 'c2a1e0de-0000-4000-8000-000000000000';
  const expiresAt = new Date(clock.getTime() + DAY_MS);
  await service.app.db.storedObject.create({
    data: { organizationId: organization.id, id, variant: '', size: 1, expiresAt },
  });
  expect(await deleteUnused(service.app)).toBe(0);
  clock = new Date(clock.getTime() + DAY_MS + 1000);
  expect(await deleteUnused(service.app)).toBe(1);
  expect(await service.app.db.storedObject.count()).toBe(0);
});

test('objects are deleted after their files, also if the store fails at first', async () => {
  await using bucket = await startBucket();
  let clock = new Date();
  const { service, member, owner } = await startOn(bucket, { now: () => clock });
  await using _ = service;
  await upload(member, Buffer.from('deleted by its owner'));
  await upload(owner, Buffer.from('linked by nothing'));
  const [{ id }] = (await member.ok('GET', '/attachments')).attachments;
  await member.ok('DELETE', `/attachments/${id}`);
  clock = new Date(clock.getTime() + 15 * DAY_MS);
  expect(await deleteUnclaimed(service.app.work)).toBe(1);
  expect(bucket.keys()).toHaveLength(2);
  bucket.state = 'fails';
  await expect(deleteUnused(service.app)).rejects.toThrow('The file store is unavailable');
  expect(await service.app.db.storedObject.count()).toBe(2);
  bucket.state = 'works';
  clock = new Date(clock.getTime() + 1000);
  expect(await deleteUnused(service.app)).toBe(2);
  expect(bucket.keys()).toEqual([]);
  expect(await service.app.db.storedObject.count()).toBe(0);
});

test('objects that the store retains do not stop the deletion of others, also of other organizations', async () => {
  await using bucket = await startBucket();
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  let clock = new Date();
  const { service, owner, organization } = await startOn(bucket, { now: () => clock, log });
  await using _ = service;
  const other = await createOrganization({}, { on: service });
  const [{ db }, data] = [service.app, { attachmentId: null, expiresAt: new Date(0) }];
  for (const by of [owner, owner, other.owner]) await upload(by, Buffer.from('to be deleted'));
  await db.storedObject.updateMany({ data });
  const [retained = '', ...rest] = bucket.keys();
  expect(retained).toMatch(new RegExp(`^${Math.min(organization.id, other.organization.id)}/`));
  expect(rest).toHaveLength(2);
  bucket.refusing = ({ method, url = '' }) => method === 'DELETE' && url.includes(retained);
  expect(await deleteUnused(service.app)).toBe(2);
  expect(bucket.keys()).toEqual([retained]);
  const warned = () => lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg.startsWith('object store re'));
  expect(warned()).toEqual([expect.objectContaining({ deleted: 2, refused: 1 })]);
  clock = new Date(clock.getTime() + 1000);
  bucket.refusing = () => false;
  expect(await deleteUnused(service.app)).toBe(1);
  expect(await db.storedObject.count()).toBe(0);
});

test('a store that does not answer ends a run before all objects were tried', async () => {
  await using bucket = await startBucket();
  const { service, owner } = await startOn(bucket);
  await using _ = service;
  for (let i = 0; i < 5; i++) await upload(owner, Buffer.from('to be deleted'));
  await service.app.db.storedObject.updateMany({ data: { attachmentId: null, expiresAt: new Date(0) } });
  bucket.state = 'fails';
  await expect(deleteUnused(service.app)).rejects.toThrow('The file store is unavailable');
  const tried = bucket.requests.filter((request) => request.startsWith('DELETE'));
  expect(new Set(tried).size).toBe(3);
  bucket.state = 'works';
  expect(await deleteUnused(service.app)).toBe(5);
  expect(bucket.keys()).toEqual([]);
});

test('an organization is erased although the store retains an object, but not without the right to delete', async () => {
  await using bucket = await startBucket();
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  const { service, member, organization } = await startOn(bucket, { log });
  await using _ = service;
  for (const text of ['retained', 'not retained']) await upload(member, Buffer.from(text));
  const [retained = ''] = bucket.keys();
  await runCommand(service.dataDir, 'org delete', { org: organization.subdomain, days: 0 });
  bucket.refusing = ({ method }) => method === 'DELETE';
  await expect(eraseDueOrganizations(service.app)).rejects.toThrow('The file store is unavailable');
  expect(bucket.keys()).toHaveLength(2);
  bucket.refusing = ({ method, url = '' }) => method === 'DELETE' && url.includes(retained);
  // The next attempt follows when the claim of the failed one has ended.
  await service.app.db.organization.updateMany({ where: { id: organization.id }, data: { deleteAt: new Date(0) } });
  await eraseDueOrganizations(service.app);
  expect(bucket.keys()).toEqual([retained]);
  expect(await service.app.db.storedObject.count()).toBe(0);
  const warned = lines.map((line) => JSON.parse(line)).filter(({ refused }) => refused !== undefined);
  expect(warned).toEqual([expect.objectContaining({ prefix: `${organization.id}/`, deleted: 1, refused: 1 })]);
});

test('the files of a private channel are read only by its subscribers', async () => {
  await using bucket = await startBucket();
  const { service, member, moderator, guest, owner, anonymous } = await startOn(bucket);
  await using _ = service;
  await member.ok('POST', '/users/me/subscriptions', {
    ...{ subscriptions: [{ name: 'secret' }], invite_only: true, principals: [member.id, moderator.id] },
  });
  const url = await upload(member, Buffer.from('a secret'));
  const message = { type: 'stream', to: 'secret', topic: 'files', content: `[file](${url})` };
  await member.ok('POST', '/messages', message);
  expect((await read(moderator, url)).bytes.toString()).toBe('a secret');
  for (const other of [guest, owner, anonymous]) expect((await read(other, url)).status).toBe(404);
});

test('two organizations share a bucket, and the erasure of one deletes its objects only', async () => {
  await using bucket = await startBucket();
  const { service, member, organization } = await startOn(bucket);
  await using _ = service;
  const other = await createOrganization({}, { on: service });
  const url = await upload(member, Buffer.from('of the first'));
  const erased = await upload(other.member, Buffer.from('of the second'));
  expect((await read(member, erased)).status).toBe(404);
  expect(bucket.keys().map((key) => Number(key.split('/')[0]))).toEqual(
    [organization.id, other.organization.id].sort(),
  );
  await runCommand(service.dataDir, 'org delete', { org: other.organization.subdomain, days: 0 });
  bucket.state = 'fails';
  await expect(eraseDueOrganizations(service.app)).rejects.toThrow('The file store is unavailable');
  bucket.state = 'works';
  // The next attempt follows when the claim of the failed one has ended.
  await service.app.db.organization.updateMany({
    where: { id: other.organization.id },
    data: { deleteAt: new Date(0) },
  });
  await eraseDueOrganizations(service.app);
  expect(bucket.keys()).toEqual([expect.stringMatching(`^${organization.id}/`)]);
  expect((await read(member, url)).bytes.toString()).toBe('of the first');
});

test('files move to the bucket and back while they are read, and a missing object is reported', async () => {
  await using bucket = await startBucket();
  const { service, member } = await startOn(bucket, { env: { RATE_LIMIT_PER_USER: 'off' } });
  await using _ = service;
  const image = await plain('blue', { width: 900, height: 600 }).png().toBuffer();
  const files = [Buffer.from('text'), randomBytes(2 * MIB), image, Buffer.alloc(0)];
  const urls: string[] = [];
  for (const file of files) urls.push(await upload(member, file));
  const before = await Promise.all(urls.map(async (url) => hashOf((await read(member, url)).bytes)));
  let isOver = false;
  let reads = 0;
  const reading = async () => {
    while (!isOver) {
      for (const [i, url] of urls.entries()) {
        const { status, bytes } = await read(member, url);
        expect([status, hashOf(bytes)]).toEqual([200, before[i]]);
        reads++;
      }
    }
  };
  const readers = reading();
  const move = (to: string) => runCommand(service.dataDir, 'files move', { to });
  const thumbnail = `/user_uploads/thumbnail/${String(urls[2]).slice('/user_uploads/'.length)}/300x200.webp`;
  for (let round = 0; round < 2; round++) {
    expect(await move('database')).toEqual({ to: 'database', files: 3, missing: 0 });
    expect(bucket.keys()).toEqual([]);
    expect((await read(member, thumbnail)).status).toBe(200);
    // Two commands at the same time move each file once.
    const [one, other] = await Promise.all([move('s3'), move('s3')]);
    expect((one as { files: number }).files + (other as { files: number }).files).toBe(3);
    expect(await rowsIn(service)).toBe(0);
    expect(bucket.keys()).toHaveLength(5);
    expect((await read(member, thumbnail)).status).toBe(200);
  }
  isOver = true;
  await readers;
  expect(reads).toBeGreaterThan(files.length);

  // A move that the store interrupts is continued by the next one.
  let gets = 0;
  bucket.failing = ({ method }) => method === 'GET' && ++gets > 1;
  await expect(move('database')).rejects.toThrow('The file store is unavailable');
  bucket.failing = () => false;
  const left = await service.app.db.storedObject.findFirstOrThrow({
    where: { attachmentId: { not: null }, variant: '' },
  });
  bucket.remove(`${left.organizationId}/${left.id}`);
  const moved = (await move('database')) as { files: number; missing: number };
  expect(moved.missing).toBe(1);
  expect(moved.files).toBeGreaterThan(0);
}, 120_000);

test('a service without the bucket reads files of the database, and refuses those of the bucket until it is set', async () => {
  await using bucket = await startBucket();
  const { service, member } = await startOn(bucket);
  const dataDir = service.dataDir;
  await using _ = service;
  const url = await upload(member, Buffer.from('in the bucket'));
  const { bucket: configured } = service.app.config;
  Object.assign(service.app.config, { bucket: undefined });
  const inDatabase = await upload(member, Buffer.from('in the database'));
  expect((await read(member, inDatabase)).bytes.toString()).toBe('in the database');
  expect((await read(member, url)).status).toBe(503);
  await expect(runCommand(dataDir, 'files move', { to: 'database' })).rejects.toThrow('No bucket is configured');
  const found = (await runCommand(dataDir, 'doctor', {})) as Findings;
  expect(filesIn(found)).toEqual({ ok: false, detail: expect.stringContaining('S3_BUCKET is not set') });
  Object.assign(service.app.config, { bucket: configured });
  for (const [path, text] of [
    [url, 'in the bucket'],
    [inDatabase, 'in the database'],
  ] as const) {
    expect((await read(member, path)).bytes.toString()).toBe(text);
  }
});

interface Findings {
  readonly findings: readonly { readonly check: string; readonly ok: boolean; readonly detail: string }[];
}
const filesIn = ({ findings }: Findings) => {
  const found = findings.find(({ check }) => check === 'files');
  return found && { ok: found.ok, detail: found.detail };
};

test('doctor writes to the bucket, and says what is wrong', async () => {
  await using bucket = await startBucket();
  const { service, member } = await startOn(bucket);
  await using _ = service;
  const doctor = async () => filesIn((await runCommand(service.dataDir, 'doctor', {})) as Findings);
  expect(await doctor()).toEqual({ ok: true, detail: expect.stringContaining(`${bucket.url}/files can be written`) });
  expect(bucket.keys()).toEqual([]);
  await upload(member, Buffer.from('x'));
  bucket.remove(bucket.keys()[0] ?? '');
  expect(await doctor()).toEqual({
    ok: false,
    detail: expect.stringMatching(/the object of attachment \d+ does not exist/),
  });
  bucket.state = 'fails';
  expect(await doctor()).toEqual({ ok: false, detail: expect.stringContaining('no answer: 503 SlowDown') });
  await using wrong = (await startOn(bucket, { env: { S3_SECRET_ACCESS_KEY: 'wrong' } })).service;
  await using absent = (await startOn(bucket, { env: { S3_BUCKET: 'nowhere' } })).service;
  bucket.state = 'works';
  for (const [{ dataDir, url }, reason] of [
    [wrong, '403 SignatureDoesNotMatch'],
    [absent, '404 NoSuchBucket'],
  ] as const) {
    const found = filesIn((await runCommand(dataDir, 'doctor', {})) as Findings);
    expect(found).toEqual({ ok: false, detail: expect.stringContaining(reason) });
    expect(await (await fetch(`${url}/readyz`)).text()).toBe(`ready\nimpaired: file store (${reason})\n`);
  }
}, 60_000);

test('a download that the store interrupts goes on where it ended', async () => {
  await using bucket = await startBucket();
  const { service, member } = await startOn(bucket);
  await using _ = service;
  const content = randomBytes(6 * MIB);
  const url = await upload(member, content);
  const before = bucket.requests.length;
  let cuts = 0;
  bucket.failing = ({ method, socket }) => {
    if (method === 'GET' && cuts++ < 2) void sleep(20).then(() => socket.destroy());
    return false;
  };
  expect(hashOf((await read(member, url)).bytes)).toBe(hashOf(content));
  expect(bucket.requests.length - before).toBe(cuts);
}, 60_000);

test('a download is repeated if the store does not answer its first request', async () => {
  await using bucket = await startBucket();
  const { service, member, organization } = await startOn(bucket);
  await using _ = service;
  const url = await upload(member, Buffer.from('repeated'));
  const gets = () => bucket.requests.filter((request) => request.startsWith(`GET /files/${organization.id}/`));
  bucket.state = 'silent';
  const reading = read(member, url);
  await expect.poll(gets, { timeout: 10_000 }).toHaveLength(1);
  bucket.state = 'works';
  expect((await reading).bytes.toString()).toBe('repeated');
  expect(gets()).toHaveLength(2);
}, 60_000);

test('an organization with files in a bucket moves only to a cell that uses the same bucket', async () => {
  await using bucket = await startBucket();
  const { service, member, organization } = await startOn(bucket);
  await using _ = service;
  await using same = await startInProcess({ env: bucket.env });
  await using other = await startInProcess();
  const move = (target: InProcess) =>
    service.app.database.session((from) =>
      target.app.database.session((to) => requireSameBucket(from, to, organization.id)),
    );
  await move(other);
  await upload(member, Buffer.from('in the bucket'));
  await expect(move(other)).rejects.toThrow(/in .*\/files, those of the target in the database: start the nodes/);
  await move(same);
});
