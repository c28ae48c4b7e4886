import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Folder of the server programs, by the conventions of packages. Undefined if there is none. */
const FOLDER = ['18', '17', '16', '15']
  .flatMap((version) => [`/usr/lib/postgresql/${version}/bin`, `/usr/pgsql-${version}/bin`])
  .find((folder) => existsSync(join(folder, 'initdb')));

export const hasPostgresPrograms = FOLDER !== undefined;

/** Returns the path of a program. @throws Error if no server programs are installed. */
export function postgresProgram(name: string): string {
  if (FOLDER === undefined) throw new Error('PostgreSQL is not installed: initdb is in none of its usual folders');
  return join(FOLDER, name);
}

/** The user who runs the programs. They refuse to run as root: then the user that their package created runs them. */
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
