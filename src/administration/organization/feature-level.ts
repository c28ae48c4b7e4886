import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = join(import.meta.dirname, '../../..');

/**
 * Feature level of the API, by which clients decide which features they can use. Changes of this service that have no feature
 * level are visible only in `SERVICE_VERSION`.
 */
export const SERVICE_FEATURE_LEVEL = 496;

/** The release number. In a Git checkout, it is followed by the commit: "0.1.0+3f2a91c0de". */
export const SERVICE_VERSION = [releaseNumber(), commit()?.slice(0, 10)].filter((part) => part !== undefined).join('+');

/** The version on which local changes are based. Equal to `SERVICE_VERSION`, because there is no upstream project. */
export const SERVICE_MERGE_BASE = SERVICE_VERSION;

/** Time at which this process started, in UNIX seconds. */
export const SERVER_GENERATION = Math.floor(Date.now() / 1000 - process.uptime());

function releaseNumber(): string {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  return version;
}

/**
 * Returns the id of the checked-out commit. Undefined if it is unknown. Reads the files of Git, because Git may not be
 * installed.
 */
function commit(): string | undefined {
  const own = gitDirectory();
  const head = read(own, 'HEAD');
  if (head === undefined || !head.startsWith('ref: ')) return head;
  const name = head.slice('ref: '.length);
  // A linked working tree has its own HEAD, but its branches are stored in the directory of the main repository.
  const shared = resolve(own, read(own, 'commondir') ?? '.');
  return read(shared, name) ?? new RegExp(`^([0-9a-f]{40}) ${name}$`, 'm').exec(read(shared, 'packed-refs') ?? '')?.[1];
}

function gitDirectory(): string {
  const [, linked] = /^gitdir: (.+)$/.exec(read(ROOT, '.git') ?? '') ?? [];
  return linked === undefined ? join(ROOT, '.git') : resolve(ROOT, linked);
}

function read(directory: string, name: string): string | undefined {
  try {
    return readFileSync(join(directory, name), 'utf8').trim();
  } catch {
    return undefined;
  }
}
