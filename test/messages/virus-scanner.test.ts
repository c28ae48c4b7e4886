import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { pingScanner, scan } from '../../src/platform/virus-scanner.ts';
import { startBucket } from '../helpers/bucket.ts';
import { EICAR, startClamd, type TestClamd } from '../helpers/clamd.ts';
import { runCommand } from '../helpers/control.ts';
import { newEmptyDir } from '../helpers/data-dir.ts';
import { send } from '../helpers/http.ts';
import { type InProcessOptions, startInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { PNG } from '../helpers/pictures.ts';
import { createOrganization } from '../helpers/server.ts';

const PART_BYTES = 256 * 1024;
const FOUND = 'The virus scanner found "Win.Test.EICAR_HDB-1" in the file.';
/** A PNG with the test file behind the image. */
const INFECTED_PNG = Buffer.concat([PNG, Buffer.from(EICAR)]);

async function startWith({ env }: Pick<TestClamd, 'env'>, options: InProcessOptions = {}) {
  const service = await startInProcess({ ...options, env: { ...env, ...options.env } });
  return { service, ...(await createOrganization({}, { on: service })) };
}

const upload = (by: Person, file: Uint8Array) => by.rest('POST', '/user_uploads', { file });
const filesOf = async (by: Person) => (await by.ok('GET', '/attachments')).attachments.length;

const TUS = { 'tus-resumable': '1.0.0' };
/** Uploads a file in one part with the protocol tus. */
async function resumable(by: Person, file: Buffer) {
  const headers = { ...by.headers, ...TUS };
  const begun = await send(by.url, {
    ...{ method: 'POST', path: '/tus' },
    headers: { ...headers, 'upload-length': String(file.length), 'upload-metadata': 'filename YQ==' },
  });
  const path = String(begun.headers.location);
  const ended = await send(by.url, {
    ...{ method: 'PATCH', path, body: file },
    headers: { ...headers, 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' },
  });
  const asked = await send(by.url, { method: 'HEAD', path, headers });
  return { status: ended.status, body: JSON.parse(ended.text), headers: ended.headers, later: asked.status };
}

const UPLOAD = `mutation ($input: UploadFileInput!) {
  uploadFile(input: $input) { __typename ... on ValidationError { code message } }
}`;

test('infected files are refused by every API, and nothing is stored', async () => {
  await using clamd = await startClamd();
  await using bucket = await startBucket();
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  const { service, owner, member } = await startWith(clamd, { env: bucket.env, log });
  await using _ = service;
  const rest = await upload(member, Buffer.from(EICAR));
  expect([rest.status, rest.body.code, rest.body.msg]).toEqual([400, 'BAD_REQUEST', FOUND]);
  const tus = await resumable(member, Buffer.from(EICAR));
  expect([tus.status, tus.body.code, tus.body.msg, tus.later]).toEqual([400, 'BAD_REQUEST', FOUND, 404]);
  const input = { file: Buffer.from(EICAR), name: 'a.txt' };
  const refused = await member.graphql(UPLOAD, { input });
  expect(refused.errors).toBeUndefined();
  expect(refused.data?.uploadFile).toEqual({ __typename: 'ValidationError', code: 'BAD_REQUEST', message: FOUND });
  for (const [by, method, path] of [
    [member, 'POST', '/users/me/avatar'],
    [owner, 'POST', '/realm/icon'],
    [owner, 'POST', '/realm/emoji/eicar'],
  ] as const) {
    const { status, body } = await by.rest(method, path, { file: INFECTED_PNG });
    expect([path, status, body.code, body.msg]).toEqual([path, 400, 'BAD_REQUEST', FOUND]);
    expect([path, (await by.rest(method, path, { file: PNG })).status]).toEqual([path, 200]);
  }
  expect(await filesOf(member)).toBe(0);
  expect(bucket.keys()).toEqual([]);
  expect(await service.app.db.attachment.count()).toBe(0);
  const warned = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'infected upload refused');
  expect(warned).toHaveLength(6);
  expect(warned[0]).toMatchObject({ user_id: member.id, signature: 'Win.Test.EICAR_HDB-1' });
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  expect(Number(/virus_scans_total{result="infected"} (\d+)/.exec(metrics)?.[1])).toBeGreaterThanOrEqual(6);
});

test('a signature across parts is found, and clean files of any length are stored', async () => {
  await using clamd = await startClamd(join(newEmptyDir(), 'clamd.ctl'));
  const { service, member } = await startWith(clamd);
  await using _ = service;
  for (const before of [PART_BYTES - 10, 2 * PART_BYTES - 1]) {
    const file = Buffer.concat([Buffer.alloc(before, 'a'), Buffer.from(EICAR), Buffer.alloc(1_000, 'b')]);
    expect((await upload(member, file)).body.msg).toBe(FOUND);
  }
  const lengths = [0, 1, PART_BYTES, PART_BYTES + 1, 25 * 1024 * 1024];
  for (const length of lengths) expect((await upload(member, Buffer.alloc(length, 'c'))).status).toBe(200);
  expect(clamd.scanned.slice(2)).toEqual(lengths);
});

test.each(['silent', 'garbage', 'disconnects', 'gone'] as const)(
  'without a verdict of the scanner (%s), uploads are answered 503, and messages are sent',
  async (state) => {
    const clamd = await startClamd();
    const { service, member, guest } = await startWith(clamd);
    await using _ = service;
    if (state === 'gone') await clamd[Symbol.asyncDispose]();
    else clamd.state = state;
    const outcomes = Promise.all([
      upload(member, Buffer.from('text')),
      resumable(member, Buffer.from('text')),
      member.rest('POST', '/users/me/avatar', { file: PNG }),
    ]);
    await member.ok('POST', '/messages', { type: 'direct', to: [guest.id], content: 'meanwhile' });
    const ready = await (await fetch(`${service.url}/readyz`)).text();
    expect(ready).toBe('ready\nimpaired: virus scanner\n');
    const found = (await runCommand(service.dataDir, 'doctor', {})) as { findings: { check: string; ok: boolean }[] };
    expect(found.findings.find(({ check }) => check === 'virus scanner')?.ok).toBe(false);
    if (state === 'silent') await clamd[Symbol.asyncDispose]();
    for (const { status, body, headers } of await outcomes) {
      expect([status, body.code, headers['retry-after']]).toEqual([503, 'REQUEST_TIMEOUT', '5']);
    }
    expect(await filesOf(member)).toBe(0);
    if (state !== 'garbage' && state !== 'disconnects') return;
    clamd.state = 'works';
    expect((await upload(member, Buffer.from('text'))).status).toBe(200);
    await clamd[Symbol.asyncDispose]();
  },
  60_000,
);

test('files above the limit of the scanner are refused', async () => {
  await using clamd = await startClamd();
  clamd.maxLength = 1024 * 1024;
  const { service, member } = await startWith(clamd);
  await using _ = service;
  for (let i = 0; i < 8; i++) {
    const { status, body } = await upload(member, Buffer.alloc(8 * 1024 * 1024, 'a'));
    expect([status, body.msg]).toEqual([400, 'The file is too large for the virus scanner.']);
  }
  clamd.losesReply = true;
  const { status, body } = await upload(member, Buffer.alloc(8 * 1024 * 1024, 'a'));
  expect([status, body.msg]).toEqual([400, 'The file is too large for the virus scanner.']);
  expect((await upload(member, Buffer.alloc(1024 * 1024, 'a'))).status).toBe(200);
});

test('concurrent requests that finish one resumable upload scan and store it once', async () => {
  await using clamd = await startClamd();
  await using bucket = await startBucket();
  const { service, member } = await startWith(clamd, { env: bucket.env });
  await using _ = service;
  const headers = { ...member.headers, ...TUS };
  const file = Buffer.from('finished once');
  const begun = await send(member.url, {
    ...{ method: 'POST', path: '/tus' },
    headers: { ...headers, 'upload-length': String(file.length), 'upload-metadata': 'filename YQ==' },
  });
  const path = String(begun.headers.location);
  const append = (body: Buffer, offset: number) =>
    send(member.url, {
      ...{ method: 'PATCH', path, body },
      headers: { ...headers, 'upload-offset': String(offset), 'content-type': 'application/offset+octet-stream' },
    });
  bucket.delayMs = 1_000;
  const first = append(file, 0);
  await expect.poll(() => clamd.scanned, { timeout: 10_000 }).toEqual([file.length]);
  const others = Array.from({ length: 10 }, () => append(Buffer.alloc(0), file.length));
  for (const { status } of await Promise.all([first, ...others])) expect(status).toBe(200);
  expect(clamd.scanned).toEqual([file.length]);
  expect(bucket.keys()).toHaveLength(1);
  expect(await filesOf(member)).toBe(1);
}, 60_000);

test('an account with many uploads does not occupy the scanner', async () => {
  await using clamd = await startClamd();
  const { service, member, owner } = await startWith(clamd);
  await using _ = service;
  clamd.state = 'held';
  const uploads = Array.from({ length: 7 }, () => resumable(member, Buffer.from('of the member')));
  await expect.poll(() => clamd.connections(), { timeout: 10_000 }).toBe(4);
  const other = resumable(owner, Buffer.from('of the owner'));
  await expect.poll(() => clamd.connections(), { timeout: 10_000 }).toBe(5);
  expect(await service.app.db.attachment.count({ where: { size: { gt: 0 } } })).toBe(8);
  clamd.release();
  for (const { status } of await Promise.all([other, ...uploads])) expect(status).toBe(200);
  expect(clamd.scanned).toHaveLength(8);
}, 60_000);

const hasClamd = spawnSync('clamd', ['--version']).status === 0;

test.runIf(hasClamd)(
  'clamd itself finds the test file, and refuses files above its limit',
  async () => {
    const folder = newEmptyDir();
    mkdirSync(join(folder, 'signatures'));
    const path = join(folder, 'clamd.ctl');
    writeFileSync(join(folder, 'signatures/local.ndb'), `Local.Test:0:*:${Buffer.from(EICAR).toString('hex')}\n`);
    writeFileSync(
      join(folder, 'clamd.conf'),
      [
        ...[`LocalSocket ${path}`, `DatabaseDirectory ${join(folder, 'signatures')}`, 'Foreground yes'],
        ...['StreamMaxLength 1M', 'User root', 'ConcurrentDatabaseReload no', ''],
      ].join('\n'),
    );
    const clamd = spawn('clamd', ['-c', join(folder, 'clamd.conf')], { stdio: 'ignore' });
    try {
      await expect.poll(() => existsSync(path), { timeout: 30_000 }).toBe(true);
      await expect
        .poll(
          () =>
            pingScanner({ path }).then(
              () => true,
              () => false,
            ),
          { timeout: 10_000 },
        )
        .toBe(true);
      const { service, member } = await startWith({ env: { CLAMD_URL: `unix:${path}` } });
      await using _ = service;
      const file = Buffer.concat([Buffer.alloc(PART_BYTES - 10, 'a'), Buffer.from(EICAR)]);
      expect((await upload(member, file)).body.msg).toBe(
        'The virus scanner found "Local.Test.UNOFFICIAL" in the file.',
      );
      expect((await upload(member, Buffer.alloc(PART_BYTES * 2, 'a'))).status).toBe(200);
      expect((await upload(member, new Uint8Array())).status).toBe(200);
      for (let i = 0; i < 8; i++) {
        const { body } = await upload(member, Buffer.alloc(8 * 1024 * 1024, 'a'));
        expect(body.msg).toBe('The file is too large for the virus scanner.');
      }
    } finally {
      clamd.kill();
      if (clamd.exitCode === null) await once(clamd, 'exit');
      rmSync(folder, { recursive: true, force: true });
    }
  },
  120_000,
);

test('a scan sends parts as clamd expects them', async () => {
  await using clamd = await startClamd();
  const [host, port] = [
    clamd.env['CLAMD_URL']?.slice(6).split(':')[0] ?? '',
    Number(clamd.env['CLAMD_URL']?.split(':').at(-1)),
  ];
  async function* parts() {
    for (const part of ['X', '', EICAR.slice(0, 30), EICAR.slice(30)]) {
      await sleep(5);
      yield Buffer.from(part);
    }
  }
  expect(await scan({ host, port }, parts)).toEqual({ signature: 'Win.Test.EICAR_HDB-1' });
});
