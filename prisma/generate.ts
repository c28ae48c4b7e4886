// npm run generate: makes the database client and GraphQL's types of it in src/generated, out of schema.prisma.
//
// As `prisma generate` does it, by the same two packages: the command line itself, which is never used for anything else
// here, is 160 MB more, and fetches an engine that this does not need.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

// Both are CommonJS, which Node cannot name the exports of.
const require = createRequire(import.meta.url);
const { getGenerators, loadSchemaContext } = require('@prisma/internals') as typeof import('@prisma/internals');
const { PrismaClientTsGenerator } =
  require('@prisma/client-generator-ts') as typeof import('@prisma/client-generator-ts');

// Looked for, never run: any file that exists will do.
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
