import { createDatabase } from './database.ts';
import { type InProcess, type InProcessOptions, startInProcess } from './in-process.ts';
import { IS_WHOLE } from './part.ts';
import { startServer } from './server.ts';

/** A service that runs: in a process of its own, or in the test's. */
export interface Served extends AsyncDisposable {
  readonly url: string;
  readonly dataDir: string;
}

/**
 * Starts a service with an environment of the test's own, for tests that ask it as clients do: `await using` it. In a process,
 * and on the database of the run, where every case is made; otherwise in the test's, which is a quarter of the work.
 */
export const startService = (options: Required<Pick<InProcessOptions, 'env'>>): Promise<Served> =>
  IS_WHOLE ? startServer(options) : startInProcess(options);

/** Starts a service in the test's own process, on a database of the kind that the run is made on: `await using` it. */
export async function startOnDatabaseOfRun({ env = {}, ...options }: InProcessOptions = {}): Promise<InProcess> {
  const { DATABASE_URL } = process.env;
  if (DATABASE_URL === undefined || DATABASE_URL === '') return startInProcess({ env, ...options });
  const database = await createDatabase(DATABASE_URL);
  const place = { DATABASE_URL: database.url, SECRET_KEY: 'in process '.repeat(4) };
  const service = await startInProcess({ env: { ...place, ...env }, ...options });
  return {
    ...service,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}
