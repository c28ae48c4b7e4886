import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Folder of PostgreSQL's server programs, among the locations that packages usually use. Undefined if none is installed. */
const FOLDER = ['18', '17', '16', '15']
  .flatMap((version) => [`/usr/lib/postgresql/${version}/bin`, `/usr/pgsql-${version}/bin`])
  .find((folder) => existsSync(join(folder, 'initdb')));

export const hasPostgresPrograms = FOLDER !== undefined;

/** Returns the path of one of PostgreSQL's programs. @throws {Error} If no server programs are installed. */
export function postgresProgram(name: string): string {
  if (FOLDER === undefined) throw new Error('PostgreSQL is not installed: initdb is in none of its usual folders');
  return join(FOLDER, name);
}

/**
 * Options of a child process that set its user. If this process runs as root, the child runs as "postgres", because
 * PostgreSQL's programs refuse to run as root.
 */
export interface Owner {
  readonly uid?: number;
  readonly gid?: number;
  readonly cwd: string;
}

export function asOwner(): Owner {
  const cwd = tmpdir();
  if (process.getuid?.() !== 0) return { cwd };
  const [, , uid, gid] = /^postgres:.*/m.exec(readFileSync('/etc/passwd', 'utf8'))?.[0].split(':') ?? [];
  return { uid: Number(uid), gid: Number(gid), cwd };
}
