import { createMigratedDatabase } from './database.ts';
import { type InProcess, type InProcessOptions, startInProcess } from './in-process.ts';
import { startServer } from './server.ts';

/** A running service, in its own process or in that of the test. */
export interface Served extends AsyncDisposable {
  readonly url: string;
  readonly dataDir: string;
}

/**
 * Starts a service with its own environment, for tests that act as clients: `await using` it. On PostgreSQL the service is a
 * separate process. With the embedded database it runs in the test's process, which takes a quarter of the processor time.
 */
export const startService = (options: Required<Pick<InProcessOptions, 'env'>>): Promise<Served> =>
  hasServer() ? startServer(options) : startInProcess(options);

/** Whether the run uses PostgreSQL. */
const hasServer = () => (process.env['DATABASE_URL'] ?? '') !== '';

/**
 * Starts a service in the test's process, on PostgreSQL if the run uses it, otherwise on the embedded database: `await using`
 * it.
 */
export async function startOnDatabaseOfRun({ env = {}, ...options }: InProcessOptions = {}): Promise<InProcess> {
  const { DATABASE_URL } = process.env;
  if (DATABASE_URL === undefined || DATABASE_URL === '') return startInProcess({ env, ...options });
  const database = await createMigratedDatabase(DATABASE_URL);
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
