import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import * as wasm from '@prisma/schema-engine-wasm/schema_engine_bg';
import { PrismaPGlite } from 'pglite-prisma-adapter';
import { readMigrations } from '../src/platform/db/migrate.ts';

const PRISMA_DIR = join(import.meta.dirname, '../prisma');
const SCHEMA = { path: 'schema.prisma', content: readFileSync(join(PRISMA_DIR, 'schema.prisma'), 'utf8') };

/**
 * Applies the migrations to an empty embedded database, and compares that database with the Prisma schema.
 *
 * @returns The SQL that the migrations lack, or '' if the schema and the migrations agree.
 */
export async function schemaDrift(): Promise<string> {
  const pglite = await PGlite.create();
  const engine = await openEngine(new PrismaPGlite(pglite));
  try {
    const result = await engine.diff({
      from: { tag: 'migrations', ...migrationsList() },
      to: { tag: 'schemaDatamodel', files: [SCHEMA] },
      script: true,
      exitCode: true,
      shadowDatabaseUrl: null,
      filters: { externalTables: [], externalEnums: [] },
    } as Parameters<typeof engine.diff>[0]);
    return result.exitCode === 2 ? (result.stdout ?? '') : '';
  } finally {
    engine.free();
    await pglite.close();
  }
}

function migrationsList() {
  return {
    baseDir: join(PRISMA_DIR, 'migrations'),
    lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
    shadowDbInitScript: '',
    migrationDirectories: readMigrations().map(({ name, sql }) => ({
      path: name,
      migrationFile: { path: 'migration.sql', content: { tag: 'ok' as const, value: sql } },
    })),
  };
}

/** A global of Node, whose type declarations are only in those of the browser. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: Record<string, unknown> };
};

/** Opens Prisma's own schema engine, in WebAssembly: the native one is a download, which a closed network refuses. */
async function openEngine(factory: PrismaPGlite): Promise<wasm.SchemaEngine> {
  // Node does not import .wasm as a module, so it is instantiated manually.
  const path = createRequire(import.meta.url)
    .resolve('@prisma/schema-engine-wasm')
    .replace('schema_engine.js', 'schema_engine_bg.wasm');
  const instance = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(path)), {
    './schema_engine_bg.js': wasm,
  });
  wasm.__wbg_set_wasm(instance.exports);
  (instance.exports['__wbindgen_start'] as () => void)();
  return wasm.SchemaEngine.new(
    { datamodels: [[SCHEMA.path, SCHEMA.content]] },
    () => {},
    bindMigrationAwareSqlAdapterFactory(
      factory as unknown as Parameters<typeof bindMigrationAwareSqlAdapterFactory>[0],
    ),
  );
}
