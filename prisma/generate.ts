// npm run generate: generates the Prisma client, its types for GraphQL and the columns of all tables into src/generated, from
// schema.prisma.
//
// The client and the types are those of `prisma generate`, made with the same two packages. The Prisma CLI is not needed for
// anything else here, takes 160 MB more, and downloads an engine that generating does not need.
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

// Both packages are CommonJS modules whose named exports Node cannot detect.
const require = createRequire(import.meta.url);
const { getDMMF, getGenerators, loadSchemaContext } =
  require('@prisma/internals') as typeof import('@prisma/internals');
const { PrismaClientTsGenerator } =
  require('@prisma/client-generator-ts') as typeof import('@prisma/client-generator-ts');

// Prisma checks that the engine exists but never runs it, so any existing file suffices.
process.env['PRISMA_SCHEMA_ENGINE_BINARY'] ??= process.execPath;

const { values } = parseArgs({ options: { quiet: { type: 'boolean', default: false } } });
const schemaContext = await loadSchemaContext({
  schemaPath: { configProvidedPath: join(import.meta.dirname, 'schema.prisma'), baseDir: import.meta.dirname },
  printLoadMessage: false,
});
const generators = await getGenerators({
  schemaContext,
  registry: { 'prisma-client': { type: 'in-process', generator: new PrismaClientTsGenerator() } },
  cliCommand: 'generate',
  printDownloadProgress: false,
  skipDownload: true,
});
for (const generator of generators) {
  await generator.generate();
  generator.stop();
  if (!values.quiet) console.log(`made ${generator.getPrettyName()} in ${generator.options?.generator.output?.value}`);
}

// The columns of each model by field, for SQL that reads whole rows. Relations have no columns.
const { datamodel } = await getDMMF({ datamodel: schemaContext.schemaFiles });
const columns = datamodel.models.map(({ name, fields }) => {
  const stored = fields.filter(({ kind }) => kind !== 'object');
  return [name, Object.fromEntries(stored.map(({ name, dbName }) => [name, dbName ?? name]))];
});
const text = JSON.stringify(Object.fromEntries(columns), null, 2);
writeFileSync(
  join(import.meta.dirname, '../src/generated/columns.ts'),
  `export const TABLE_COLUMNS = ${text} as const;\n`,
);
