import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { gunzipSync, gzip, gzipSync } from 'node:zlib';
import { ConflictError } from '../errors.ts';
import type { RunSql } from './client.ts';

/** Thrown if a file is not a backup, is damaged or incomplete, or if a backup would overwrite something. */
export class BackupError extends ConflictError {
  override name = 'BackupError';
}

/** Size and checksum of a backup. */
export interface BackupSummary {
  readonly files: number;
  /** Size of the files in the backup, uncompressed. */
  readonly bytes: number;
  /** SHA-256 over the paths and contents of all files. */
  readonly checksum: string;
}

/** Size of the parts in which files are read, compressed and stored, in bytes. */
const PART_BYTES = 2 ** 20;
/** Number of parts that are compressed at the same time. */
const AT_ONCE = 8;
/**
 * Number of times that a backup starts again because the database reused a part of its write-ahead log. After the last attempt,
 * the backup fails with `BackupError`.
 */
const MAX_ATTEMPTS = 5;

/** A backup is an SQLite database. `part` contains the files in compressed parts; folders have no parts. */
const TABLES = `
  CREATE TABLE backup (format INTEGER NOT NULL, created_at TEXT NOT NULL, files INTEGER, bytes INTEGER, checksum TEXT);
  CREATE TABLE file (path TEXT PRIMARY KEY, is_folder INTEGER NOT NULL, sha256 TEXT);
  CREATE TABLE part (path TEXT NOT NULL, nth INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (path, nth))`;
const FORMAT = 1;

const WRITE_AHEAD_LOG = 'pg_wal';
/** Matches files and folders that backups leave out, because PostgreSQL creates their contents again at its start. */
const LEFT_OUT = /^(postmaster\.(pid|opts)|pg_stat_tmp\/.|pg_replslot\/.|.*pgsql_tmp)/;

const compress = promisify(gzip);

/**
 * Writes a backup of an embedded database that is in use. The backup contains all changes that were committed before the call,
 * and a part of those that are committed meanwhile.
 *
 * PostgreSQL's own functions for base backups make it consistent: the files are read while they change, and the write-ahead log
 * of that time, which the backup contains, repairs them at the first start.
 *
 * @param folder Folder of the database.
 * @param others Other files to back up, by the path that they have in the backup.
 * @throws BackupError if `file` exists, or its folder does not.
 */
export async function writeBackup(
  run: RunSql,
  { folder, others, file, now }: { folder: string; others: Readonly<Record<string, string>>; file: string; now: Date },
): Promise<BackupSummary> {
  if (isWriting) throw new BackupError('Another backup is being written.');
  if (existsSync(file)) throw new BackupError(`${file} exists already.`);
  if (!relative(folder, file).startsWith('..')) throw new BackupError(`${file} is in the folder of the database.`);
  if (!existsSync(dirname(file))) throw new BackupError(`There is no folder ${dirname(file)}.`);
  const unfinished = `${file}.${randomBytes(6).toString('hex')}.unfinished`;
  isWriting = true;
  try {
    for (let attempt = 1; ; attempt++) {
      rmSync(unfinished, { force: true });
      const summary = await tryBackup(run, { folder, others, file: unfinished, now });
      if (summary === undefined && attempt < MAX_ATTEMPTS) continue;
      if (summary === undefined)
        throw new BackupError('The database changes faster than it can be backed up. Try later.');
      nameFile(unfinished, file);
      return summary;
    }
  } catch (error) {
    throw isOfFile(error) ? new BackupError(`${file} cannot be written: ${(error as Error).message}`) : error;
  } finally {
    isWriting = false;
    rmSync(unfinished, { force: true });
  }
}

/** Gives a finished backup its name. @throws Error with code EEXIST if a file of this name was made meanwhile. */
function nameFile(unfinished: string, file: string): void {
  try {
    // Unlike a renaming, this fails if the file exists.
    linkSync(unfinished, file);
  } catch (error) {
    // Some file systems have no links, for example those of USB disks.
    if (!['EPERM', 'ENOTSUP', 'ENOSYS'].includes(String((error as NodeJS.ErrnoException).code)) || existsSync(file))
      throw error;
    renameSync(unfinished, file);
  }
}

/** Whether this process is writing a backup. The database permits one at a time. */
let isWriting = false;

/** Returns whether an error concerns the file of the backup: its folder cannot be written, or its disk is full. */
const isOfFile = (error: unknown): boolean =>
  isSqliteError(error) ||
  ['EACCES', 'EPERM', 'ENOSPC', 'EROFS', 'EEXIST'].includes(String((error as { code?: unknown }).code));

/** Writes a backup to a new file. Undefined if the database reused a part of its write-ahead log meanwhile. */
async function tryBackup(
  run: RunSql,
  { folder, others, file, now }: { folder: string; others: Readonly<Record<string, string>>; file: string; now: Date },
): Promise<BackupSummary | undefined> {
  const store = new DatabaseSync(file);
  try {
    store.exec(`PRAGMA journal_mode = OFF; PRAGMA synchronous = FULL; ${TABLES}; BEGIN`);
    const writer = new BackupWriter(store);
    const [started] = await run<{ first: string }>(`SELECT pg_walfile_name(pg_backup_start('backup', true)) AS first`);
    let stopped: { label: string; last: string } | undefined;
    try {
      await writer.addFolder(folder, (path) => path !== WRITE_AHEAD_LOG && !LEFT_OUT.test(path));
    } finally {
      [stopped] = await run<{ label: string; last: string }>(
        'SELECT labelfile AS label, pg_walfile_name(lsn) AS last FROM pg_backup_stop(false)',
      );
    }
    if (started === undefined || stopped === undefined) throw new Error('The database returned no label of the backup');
    writer.addMade(WRITE_AHEAD_LOG, undefined);
    const log = join(folder, WRITE_AHEAD_LOG);
    const segments = (await readdir(log)).filter((name) => /^[0-9A-F]{24}$/.test(name)).sort();
    if (!segments.includes(started.first)) return undefined;
    for (const name of segments) {
      if (name < started.first || name > stopped.last) continue;
      if (!(await writer.addFile(join(log, name), `${WRITE_AHEAD_LOG}/${name}`))) return undefined;
    }
    // A segment that the database has reused meanwhile may have been read with other content.
    if (!(await readdir(log)).includes(started.first)) return undefined;
    writer.addMade('backup_label', Buffer.from(stopped.label));
    for (const [path, source] of Object.entries(others)) await writer.addFile(source, `../${path}`);
    return await writer.finish(now);
  } finally {
    store.close();
  }
}

/** Adds files to a backup. */
class BackupWriter {
  readonly #database: DatabaseSync;
  readonly #insert: { readonly file: StatementSync; readonly part: StatementSync };
  readonly #compressing: Promise<void>[] = [];
  #files = 0;
  #bytes = 0;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#insert = {
      file: database.prepare('INSERT INTO file VALUES (?, ?, ?)'),
      part: database.prepare('INSERT INTO part VALUES (?, ?, ?)'),
    };
  }

  /** Adds everything in a folder whose relative path is accepted by `isWanted`. */
  async addFolder(folder: string, isWanted: (path: string) => boolean): Promise<void> {
    for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
      const path = join(entry.parentPath, entry.name);
      const name = relative(folder, path).replaceAll('\\', '/');
      if (name.split('/').some((_, i, all) => !isWanted(all.slice(0, i + 1).join('/')))) continue;
      if (entry.isDirectory()) this.addMade(name, undefined);
      else if (entry.isFile()) await this.addFile(path, name);
    }
  }

  /** Adds a file. @returns False if the database removed it after the folder was listed. */
  async addFile(source: string, path: string): Promise<boolean> {
    const file = openIfExists(source);
    if (file === undefined) return false;
    try {
      const hash = createHash('sha256');
      for (let nth = 0; ; nth++) {
        const left = fstatSync(file).size - nth * PART_BYTES;
        const part = Buffer.allocUnsafe(Math.min(PART_BYTES, Math.max(0, left)));
        // Reads synchronously: each of the thousands of asynchronous reads would wait for a turn of the event loop.
        const bytes = part.subarray(0, readSync(file, part, 0, part.length, nth * PART_BYTES));
        if (bytes.length === 0) break;
        hash.update(bytes);
        this.#bytes += bytes.length;
        await this.#store(path, nth, bytes);
        if (bytes.length < PART_BYTES) break;
      }
      this.#insert.file.run(path, 0, hash.digest('hex'));
      this.#files++;
      return true;
    } finally {
      closeSync(file);
    }
  }

  /** Adds a file with this content, or a folder if the content is undefined. */
  addMade(path: string, content: Buffer | undefined): void {
    if (content !== undefined) {
      this.#insert.part.run(path, 0, gzipSync(content));
      this.#files++;
      this.#bytes += content.length;
    }
    const sha256 = content === undefined ? null : createHash('sha256').update(content).digest('hex');
    this.#insert.file.run(path, content === undefined ? 1 : 0, sha256);
  }

  /** Compresses a part in another thread, in parallel with a few other parts, and stores it. */
  async #store(path: string, nth: number, bytes: Buffer): Promise<void> {
    this.#compressing.push(
      compress(bytes, { level: 1 }).then((compressed) => void this.#insert.part.run(path, nth, compressed)),
    );
    if (this.#compressing.length >= AT_ONCE) await Promise.all(this.#compressing.splice(0));
  }

  async finish(now: Date): Promise<BackupSummary> {
    await Promise.all(this.#compressing.splice(0));
    const summary = { files: this.#files, bytes: this.#bytes, checksum: checksumOf(this.#database) };
    this.#database
      .prepare('INSERT INTO backup VALUES (?, ?, ?, ?, ?)')
      .run(FORMAT, now.toISOString(), summary.files, summary.bytes, summary.checksum);
    this.#database.exec('COMMIT');
    return summary;
  }
}

function openIfExists(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Returns the SHA-256 over the paths of all files and the hashes of their contents. */
function checksumOf(store: DatabaseSync): string {
  const hash = createHash('sha256');
  for (const { path, sha256 } of store.prepare('SELECT path, sha256 FROM file ORDER BY path').iterate()) {
    hash.update(`${JSON.stringify([path, sha256])}\n`);
  }
  return hash.digest('hex');
}

/**
 * Restores a backup: makes the folder of an embedded database, and the other files beside it. If the backup is damaged, nothing
 * is made.
 *
 * @param folder Folder of the database, which must not exist.
 * @throws BackupError if the backup is damaged or of another format, or if it would overwrite something.
 */
export function restoreBackup(file: string, folder: string): BackupSummary {
  if (!existsSync(file)) throw new BackupError(`There is no file ${file}.`);
  const store = new DatabaseSync(file, { readOnly: true });
  const unfinished = `${folder}.unfinished`;
  try {
    const summary = summaryOf(store, file);
    const files = store
      .prepare('SELECT path, is_folder, sha256 FROM file ORDER BY path')
      .all() as unknown as StoredFile[];
    const besideOf = (path: string) => join(dirname(folder), path.slice('../'.length));
    const beside = files.filter(({ path }) => path.startsWith('../'));
    for (const { path, sha256 } of [{ path: `../${basename(folder)}`, sha256: null }, ...beside]) {
      // A restore that was killed leaves such a file with the same content.
      if (!existsSync(besideOf(path)) || (sha256 !== null && hashOf(besideOf(path)) === sha256)) continue;
      throw new BackupError(`${besideOf(path)} exists already. Set DATA_DIR to an empty or new directory.`);
    }
    rmSync(unfinished, { recursive: true, force: true });
    mkdirSync(unfinished, { recursive: true, mode: 0o700 });
    const besides = join(unfinished, '.beside');
    mkdirSync(besides, { mode: 0o700 });
    for (const stored of files) {
      const isBeside = stored.path.startsWith('../');
      extract(store, stored, isBeside ? join(besides, stored.path.slice('../'.length)) : join(unfinished, stored.path));
    }
    for (const { path } of beside) renameSync(join(besides, path.slice('../'.length)), besideOf(path));
    rmSync(besides, { recursive: true });
    renameSync(unfinished, folder);
    return summary;
  } catch (error) {
    if (isSqliteError(error)) throw new BackupError(`${file} is not a complete backup: ${(error as Error).message}.`);
    throw isOfFile(error) ? new BackupError(`${folder} cannot be written: ${(error as Error).message}`) : error;
  } finally {
    store.close();
    rmSync(unfinished, { recursive: true, force: true });
  }
}

const hashOf = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

interface StoredFile {
  readonly path: string;
  readonly is_folder: number;
  readonly sha256: string | null;
}

/** Matches the allowed paths in a backup: below the folder of the database, or a single file beside it. */
const PATH = /^(\.\.\/)?(?!\.\.?(\/|$))[^/]+(\/(?!\.\.?(\/|$))[^/]+)*$/;

function summaryOf(store: DatabaseSync, file: string): BackupSummary {
  const row = store.prepare('SELECT format, files, bytes, checksum FROM backup').get();
  if (row === undefined) throw new BackupError(`${file} is not a complete backup.`);
  if (row['format'] !== FORMAT) throw new BackupError(`${file} has the format of another version: ${row['format']}.`);
  if (checksumOf(store) !== row['checksum']) throw new BackupError(`${file} is damaged: its checksum differs.`);
  return { files: Number(row['files']), bytes: Number(row['bytes']), checksum: String(row['checksum']) };
}

/** Writes a file or folder of a backup to `target`. @throws BackupError if its content is damaged. */
function extract(store: DatabaseSync, { path, is_folder, sha256 }: StoredFile, target: string): void {
  const isInside = PATH.test(path) && (!path.startsWith('../') || path.split('/').length === 2);
  if (!isInside) throw new BackupError(`The backup contains a file outside of its folder: ${JSON.stringify(path)}.`);
  mkdirSync(is_folder === 1 ? target : dirname(target), { recursive: true, mode: 0o700 });
  if (is_folder === 1) return;
  const hash = createHash('sha256');
  const made = openSync(target, 'wx', 0o600);
  try {
    for (const { bytes } of store.prepare('SELECT bytes FROM part WHERE path = ? ORDER BY nth').iterate(path)) {
      const content = unzipped(bytes as Uint8Array, path);
      hash.update(content);
      writeFileSync(made, content);
    }
    fsyncSync(made);
  } finally {
    closeSync(made);
  }
  if (hash.digest('hex') !== sha256) throw damaged(path);
}

const damaged = (path: string) => new BackupError(`The backup is damaged: the content of ${path} differs.`);

function unzipped(bytes: Uint8Array, path: string): Buffer {
  try {
    return gunzipSync(bytes);
  } catch {
    throw damaged(path);
  }
}

const isSqliteError = (error: unknown): boolean => (error as { code?: unknown }).code === 'ERR_SQLITE_ERROR';
