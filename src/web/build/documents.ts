import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { preset } from '@graphql-codegen/client-preset';
import { codegen } from '@graphql-codegen/core';
import { buildASTSchema, type DocumentNode, parse } from 'graphql';
import { schemaUsedBy } from './schema-used.ts';

const WEB = join(import.meta.dirname, '..');
const SCHEMA = join(WEB, '../../schema.graphql');
/** Not written by anybody. */
const GENERATED = join(WEB, 'generated');

/** How the scalars of the schema arrive, all of them as JSON. */
const SCALARS = { DateTime: 'string', LongId: 'number', JSON: 'unknown', File: 'File' };

/**
 * Writes what the page knows of the contract: each operation and fragment of the `.graphql` files beside the features as
 * a typed document (`generated/graphql.ts`), and the part of the schema that they use (`generated/schema.json`), by
 * which the cache tells types apart.
 *
 * @throws GraphQLError for a document that does not fit the schema.
 */
export async function writeDocuments(): Promise<void> {
  const schema = parse(readFileSync(SCHEMA, 'utf8'), { noLocation: true });
  const schemaAst = buildASTSchema(schema);
  const documents = globSync('**/*.graphql', { cwd: WEB })
    .sort()
    .map((location) => ({ location, rawSDL: readFileSync(join(WEB, location), 'utf8') }))
    .map((source) => ({ ...source, document: parse(source.rawSDL) }));
  mkdirSync(GENERATED, { recursive: true });
  const sections = await preset.buildGeneratesSection({
    baseOutputDir: `${GENERATED}/`,
    schema,
    schemaAst,
    documents,
    config: { scalars: SCALARS, enumsAsTypes: true, useTypeImports: true, strictScalars: true },
    presetConfig: { fragmentMasking: false },
    plugins: [],
    pluginMap: {},
  });
  // The tag functions are for documents within code: here they stand in files of their own.
  for (const section of sections.filter(({ filename }) => filename.endsWith('/graphql.ts'))) {
    mkdirSync(dirname(section.filename), { recursive: true });
    writeFileSync(section.filename, await codegen(section));
  }
  const whole: DocumentNode = {
    kind: 'Document' as DocumentNode['kind'],
    definitions: documents.flatMap(({ document }) => document.definitions),
  };
  writeFileSync(join(GENERATED, 'schema.json'), JSON.stringify(schemaUsedBy(whole, schemaAst)));
}
