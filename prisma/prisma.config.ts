import { join } from 'node:path';
import { defineConfig } from 'prisma/config';

// `prisma generate` needs no native engine, but fetches one unless this names a file that exists.
process.env['PRISMA_SCHEMA_ENGINE_BINARY'] ??= process.execPath;

export default defineConfig({
  schema: join(import.meta.dirname, 'schema.prisma'),
  migrations: { path: join(import.meta.dirname, 'migrations') },
});
