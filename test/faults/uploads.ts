import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Reply, send } from '../helpers/http.ts';
import { makeOrganization, type Person, startDemo } from './demo.ts';
import { eventually } from './listeners.ts';
import type { Outcome } from './outcome.ts';
import { between, seeded } from './random.ts';
import { Client, hostHeader } from './requests.ts';

const MIB = 1024 * 1024;
const PIECE_BYTES = 25 * MIB;
const PIECES_PER_FILE = 4;
/** Longest time in which a piece is received, or a file is acknowledged, in milliseconds. */
const PATIENCE_MS = 120_000;
/**
 * Largest accepted growth of the resident memory while ten users upload, in MiB. Ten pieces at a time are 250 MiB, and parts that
 * were not collected yet take as much again.
 */
const MEMORY_GROWTH_MIB = 400;

const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const residentMib = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

/** A user who uploads files in pieces, and continues after each lost connection at the position that the service names. */
class Uploader {
  readonly person: Person;
  /** Hashes of the acknowledged files, by their paths. */
  readonly acknowledged = new Map<string, string>();
  readonly violations: string[] = [];
  pieces = 0;
  resumed = 0;
  readonly #url: string;

  constructor(url: string, person: Person) {
    this.#url = url;
    this.person = person;
  }

  /** Uploads a file of random content. Resolves when it is acknowledged. */
  async upload(): Promise<void> {
    const content = randomBytes(PIECES_PER_FILE * PIECE_BYTES);
    const begun = await this.#insist('POST', '/tus', {
      'upload-length': String(content.length),
      'upload-metadata': `filename ${Buffer.from('recording.bin').toString('base64')}`,
    });
    const path = String(begun.headers.location);
    for (let offset = 0; ; ) {
      const piece = content.subarray(offset, offset + PIECE_BYTES);
      const headers = { 'upload-offset': String(offset), 'content-type': 'application/offset+octet-stream' };
      const reply = await this.#tus('PATCH', path, headers, piece).catch(() => undefined);
      if (reply?.status === 200) return void this.acknowledged.set(JSON.parse(reply.text).url, hashOf(content));
      if (reply?.status === 204) {
        offset += piece.length;
        this.pieces++;
        continue;
      }
      // The connection was lost, or the service has not noticed yet that the previous connection was.
      const found = await this.#insist('HEAD', path);
      const stored = Number(found.headers['upload-offset']);
      if (stored < offset) this.violations.push(`${offset - stored} acknowledged bytes of an upload are missing`);
      if (stored === content.length) {
        // The whole file is stored, and its acknowledgement was lost.
        const last = await this.#insist(
          'PATCH',
          path,
          { ...headers, 'upload-offset': String(stored) },
          Buffer.alloc(0),
        );
        if (last.status === 200) this.acknowledged.set(JSON.parse(last.text).url, hashOf(content));
        return;
      }
      offset = stored;
      this.resumed++;
      await sleep(100);
    }
  }

  /** Repeats a request until it is answered. */
  async #insist(
    method: string,
    path: string,
    headers?: Readonly<Record<string, string>>,
    body?: Buffer,
  ): Promise<Reply> {
    for (const end = Date.now() + PATIENCE_MS; ; await sleep(200)) {
      const reply = await this.#tus(method, path, headers, body).catch(() => undefined);
      if (reply !== undefined && reply.status < 400) return reply;
      if (Date.now() > end) throw new Error(`${method} ${path}: ${reply?.status} ${reply?.text}`);
    }
  }

  #tus(method: string, path: string, headers: Readonly<Record<string, string>> = {}, body?: Buffer): Promise<Reply> {
    const { basic } = this.person;
    const own = { ...hostHeader(this.#url, this.person), authorization: basic, 'tus-resumable': '1.0.0' };
    return send(this.#url, { method, path, body, headers: { ...own, ...headers } });
  }
}

/**
 * Several users upload files in pieces of 25 MB while the service is killed again and again. No acknowledged piece or file may be
 * missing, no partial file may be served, and the memory of the service must stay within its bound.
 *
 * @param databaseServer PostgreSQL server. Undefined: the embedded database.
 * @param users Number of users who upload at the same time.
 * @param files Number of files of 100 MiB of each user.
 */
export async function uploadTrial({
  databaseServer,
  users,
  files,
  seed,
}: {
  databaseServer: string | undefined;
  users: number;
  files: number;
  seed: number;
}): Promise<Outcome> {
  const random = seeded(seed);
  await using service = await startDemo(databaseServer);
  const { server } = service;
  const { members } = await makeOrganization(server, users);
  const uploaders = members.map((person) => new Uploader(server.url, person));
  const before = residentMib(server.pid ?? 0);
  let [peak, kills, isOver] = [before, 0, false];
  const watching = setInterval(() => {
    // A process that has just been killed has no resident memory in its status, which is NaN here.
    const resident = server.pid === undefined ? 0 : residentMib(server.pid);
    if (resident > peak) peak = resident;
  }, 100);
  const pieces = () => uploaders.reduce((sum, uploader) => sum + uploader.pieces, 0);
  const killing = (async () => {
    while (!isOver) {
      const reached = pieces() + users;
      await eventually(() => isOver || pieces() >= reached, PATIENCE_MS);
      await sleep(between(random, 0, 1_000));
      if (isOver) return;
      await server.kill9();
      await server.restart();
      kills++;
    }
  })();
  const startedAt = performance.now();
  await Promise.all(
    uploaders.map(async (uploader) => {
      for (let i = 0; i < files; i++) await uploader.upload();
    }),
  );
  isOver = true;
  await killing;
  clearInterval(watching);
  const seconds = (performance.now() - startedAt) / 1000;
  const violations = uploaders.flatMap((uploader) => uploader.violations);
  for (const uploader of uploaders) violations.push(...(await differences(server.url, uploader)));
  const growth = peak - before;
  if (growth > MEMORY_GROWTH_MIB) violations.push(`memory grew by ${Math.round(growth)} MiB`);
  return {
    trial: `uploads in pieces on ${databaseServer === undefined ? 'the embedded database' : 'PostgreSQL'}`,
    facts: {
      files: uploaders.reduce((sum, { acknowledged }) => sum + acknowledged.size, 0),
      'MiB acknowledged': users * files * PIECES_PER_FILE * (PIECE_BYTES / MIB),
      kills,
      resumed: uploaders.reduce((sum, { resumed }) => sum + resumed, 0),
      'resident memory before and at most': `${Math.round(before)} and ${Math.round(peak)} MiB`,
      duration: `${Math.round(seconds)} s`,
    },
    violations,
  };
}

/** Compares the files of a user with those that were acknowledged. */
async function differences(url: string, { person, acknowledged }: Uploader): Promise<string[]> {
  const violations: string[] = [];
  const client = new Client(url, person);
  const { body } = await client.send({ method: 'GET', path: '/api/v1/attachments' });
  const missing = new Map(acknowledged);
  for (const { path_id, size } of body.attachments) {
    const path = `/user_uploads/${path_id}`;
    const { status, bytes } = await client.send({ method: 'GET', path, patienceMs: PATIENCE_MS });
    if (status !== 200 || bytes.length !== size || size !== PIECES_PER_FILE * PIECE_BYTES)
      violations.push(`a file of ${size} bytes is served as ${bytes.length} with ${status}`);
    const hash = missing.get(path);
    if (hash !== undefined && hash !== hashOf(bytes))
      violations.push('the content of an acknowledged file has changed');
    missing.delete(path);
  }
  client.close();
  if (missing.size > 0) violations.push(`${missing.size} acknowledged files are missing`);
  return violations;
}
