import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startBucket } from '../helpers/bucket.ts';
import type { Person } from '../helpers/person.ts';
import { download } from '../helpers/pictures.ts';
import { createOrganization, startServer } from '../helpers/server.ts';

const KILLS = 2;
const MIB = 1024 * 1024;
const residentMib = (pid: number | undefined): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

test.each(['the database', 'a bucket'])(
  'no acknowledged file is lost, and no partial file is served, while the process is killed: in %s',
  async (place) => {
    await using bucket = place === 'a bucket' ? await startBucket() : undefined;
    await using server = await startServer({ env: { RATE_LIMIT_PER_USER: 'off', ...bucket?.env } });
    const { owner, member, guest } = await createOrganization({}, { on: server });
    const acknowledged = new Map<string, string>();
    let isOver = false;
    const uploads = async (by: Person) => {
      while (!isOver) {
        const file = randomBytes(Math.ceil((0.2 + Math.random() * 3) * MIB));
        try {
          const { status, body } = await by.rest('POST', '/user_uploads', { file });
          if (status === 200) acknowledged.set(body.url, hashOf(file));
        } catch {
          // The process was killed.
          await sleep(100);
        }
      }
    };
    const running = [owner, member, guest].map(uploads);
    for (let kill = 0; kill < KILLS; kill++) {
      const before = acknowledged.size;
      await expect.poll(() => acknowledged.size, { timeout: 60_000 }).toBeGreaterThan(before + 2);
      await sleep(Math.random() * 300);
      await server.kill9();
      await server.restart();
    }
    isOver = true;
    await Promise.all(running);
    expect(acknowledged.size).toBeGreaterThan(KILLS * 2);
    const listed = new Set<string>();
    for (const person of [owner, member, guest]) {
      for (const { path_id, size } of (await person.ok('GET', '/attachments')).attachments) {
        const url = `/user_uploads/${path_id}`;
        listed.add(url);
        const { status, bytes } = await download(person, encodeURI(url), person.headers);
        // A file whose acknowledgement was lost is complete too.
        expect([status, bytes.length]).toEqual([200, size]);
        const hash = acknowledged.get(url);
        if (hash !== undefined) expect(hashOf(bytes)).toBe(hash);
      }
    }
    expect([...acknowledged.keys()].filter((url) => !listed.has(url))).toEqual([]);
    if (bucket !== undefined) expect(bucket.keys().length).toBeGreaterThanOrEqual(listed.size);
  },
  300_000,
);

test('three files of 95 MB are received at the same time with bounded memory', async () => {
  await using server = await startServer({ env: { RATE_LIMIT_PER_USER: 'off' } });
  const { member } = await createOrganization({}, { on: server });
  const file = randomBytes(95 * MIB);
  const upload = () => member.ok('POST', '/user_uploads', { file });
  // The embedded database keeps pages of its tables in buffers of up to 128 MiB, which the first files fill.
  for (let i = 0; i < 2; i++) await upload();
  const before = residentMib(server.pid);
  let peak = before;
  const watching = setInterval(() => {
    peak = Math.max(peak, residentMib(server.pid));
  }, 50);
  const [{ url }] = await Promise.all([upload(), upload(), upload()]);
  const { bytes } = await download(member, encodeURI(url), member.headers);
  clearInterval(watching);
  expect(hashOf(bytes)).toBe(hashOf(file));
  // Parts that were not collected yet take 70 to 160 MiB, whatever the size of the file. The three files are 285 MiB.
  expect(peak - before).toBeLessThan(230);
}, 300_000);
