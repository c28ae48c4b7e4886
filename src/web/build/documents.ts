import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { preset } from '@graphql-codegen/client-preset';
import { codegen } from '@graphql-codegen/core';
import { buildASTSchema, type DocumentNode, parse } from 'graphql';
import { writeEmojiGroups } from './emoji-groups.ts';
import { schemaUsedBy } from './schema-used.ts';

const WEB = join(import.meta.dirname, '..');
const SCHEMA = join(WEB, '../../schema.graphql');
/** Folder of the generated files. */
const GENERATED = join(WEB, 'generated');

/** TypeScript types of the schema's scalars, as JSON responses contain them. */
const SCALARS = { DateTime: 'string', LongId: 'number', JSON: 'unknown', File: 'File' };

/**
 * Generates the groups of emoji, and two files from the GraphQL contract. `generated/graphql.ts` contains a typed document for each operation and
 * fragment of the `.graphql` files. `generated/schema.json` contains the schema types that the documents select, for the
 * cache.
 *
 * @throws GraphQLError if a document does not match the schema.
 */
export async function writeDocuments(): Promise<void> {
  const schema = parse(readFileSync(SCHEMA, 'utf8'), { noLocation: true });
  const schemaAst = buildASTSchema(schema);
  const documents = globSync('**/*.graphql', { cwd: WEB })
    .sort()
    .map((location) => ({ location, rawSDL: readFileSync(join(WEB, location), 'utf8') }))
    .map((source) => ({ ...source, document: parse(source.rawSDL) }));
  mkdirSync(GENERATED, { recursive: true });
  writeEmojiGroups();
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
  // The other generated files contain tag functions for documents within code. The page has no such documents.
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
