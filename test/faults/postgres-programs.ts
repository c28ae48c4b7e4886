import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where packages put the programs that make and run a server; undefined where there are none. */
const FOLDER = ['18', '17', '16', '15']
  .flatMap((version) => [`/usr/lib/postgresql/${version}/bin`, `/usr/pgsql-${version}/bin`])
  .find((folder) => existsSync(join(folder, 'initdb')));

export const hasPostgresPrograms = FOLDER !== undefined;

/** The path of one of them. @throws Error where there are none. */
export function postgresProgram(name: string): string {
  if (FOLDER === undefined) throw new Error('There is no PostgreSQL to start: initdb is in none of its usual places');
  return join(FOLDER, name);
}

/** Who runs them: they refuse to be run by root, and are run by the user whom their package made then. */
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
