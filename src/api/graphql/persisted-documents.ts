import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { usePersistedOperations } from '@graphql-yoga/plugin-persisted-operations';
import { GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { type Config, ConfigError } from '../../platform/config.ts';
import type { Documents } from './documents.ts';

/** What an operation says of its document, over whatever transport. */
export interface DocumentParams {
  readonly query?: unknown;
  /** As in the GraphQL over HTTP specification. */
  readonly documentId?: unknown;
  /** As older clients send it: `persistedQuery: {version: 1, sha256Hash}`. */
  readonly extensions?: unknown;
}

/** The documents an operator has put down beforehand, by their SHA-256. Nothing a client sends is ever added. */
export interface PersistedDocuments {
  /** Whether no others are executed. */
  readonly only: boolean;
  find(id: string): string | undefined;
}

/**
 * Reads PERSISTED_DOCUMENTS.
 *
 * @throws ConfigError when the file is no JSON object of documents by their SHA-256, or a document is not one that would
 *   be executed: better at the start than at the first visit.
 */
export function readPersistedDocuments(
  { persistedDocuments: path, persistedDocumentsOnly: only }: Config,
  documents: Documents,
): PersistedDocuments {
  const known = new Map(path === undefined ? [] : Object.entries(readJson(path)));
  for (const [id, document] of known) {
    const fail = (why: string): never => {
      throw new ConfigError(`PERSISTED_DOCUMENTS: ${id}: ${why}`);
    };
    if (typeof document !== 'string') fail('must be the text of a document');
    const hash = createHash('sha256').update(String(document)).digest('hex');
    if (hash !== id) fail(`the SHA-256 of its document is ${hash}`);
    const { errors } = documents.check(String(document));
    if (errors !== undefined) fail(errors.map(({ message }) => message).join('; '));
  }
  return { only, find: (id) => known.get(id) as string | undefined };
}

function readJson(path: string): object {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new ConfigError(`PERSISTED_DOCUMENTS: ${path}: ${(error as Error).message}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ConfigError(`PERSISTED_DOCUMENTS: ${path}: must hold a JSON object of documents by their SHA-256`);
  }
  return value;
}

/** The protocol of WebSocket asks for a `query`: an empty one says nothing. */
const hasText = (query: unknown): boolean => query !== undefined && query !== null && query !== '';

/** The id an operation names its document by; undefined when it names none. */
function documentIdOf({ documentId, extensions }: DocumentParams): string | undefined {
  const inExtensions = (extensions as { persistedQuery?: { sha256Hash?: unknown } } | null | undefined)?.persistedQuery;
  const id = documentId ?? inExtensions?.sha256Hash;
  // The specification's form names the hash.
  return typeof id === 'string' ? id.replace(/^sha256:/, '').toLowerCase() : undefined;
}

/** Where Yoga reads requests: HTTP but for event streams. */
export function usePersistedDocuments({ only, find }: PersistedDocuments): Plugin {
  return usePersistedOperations({
    allowArbitraryOperations: !only,
    extractPersistedOperationId: (params) => documentIdOf(params) ?? null,
    getPersistedOperation: (id) => find(id) ?? null,
    customErrors: {
      notFound: () => asRefusal(notFound()),
      persistedQueryOnly: () => asRefusal(onlyPersisted()),
      keyNotFound: () => asRefusal(only ? onlyPersisted() : noDocument()),
    },
  });
}

/**
 * For where it matters that something is no GraphQL request at all.
 *
 * @throws GraphQLError when an operation neither has a document nor names one.
 */
export function requireDocument({ only }: PersistedDocuments, params: DocumentParams): void {
  if (!hasText(params.query) && documentIdOf(params) === undefined) throw only ? onlyPersisted() : noDocument();
}

/**
 * The text of an operation's document, where Yoga does not read it.
 *
 * @throws GraphQLError as `usePersistedDocuments`: when there is none, or none that is executed here.
 */
export function documentText({ only, find }: PersistedDocuments, params: DocumentParams): string {
  const { query } = params;
  if (hasText(query)) {
    if (only) throw onlyPersisted();
    if (typeof query !== 'string') throw noDocument();
    return query;
  }
  const id = documentIdOf(params);
  if (id === undefined) throw only ? onlyPersisted() : noDocument();
  const document = find(id);
  if (document === undefined) throw notFound();
  return document;
}

const refusal = (message: string, code: string): GraphQLError => new GraphQLError(message, { extensions: { code } });

/** For Yoga, which makes it the status of the reply. */
function asRefusal(error: GraphQLError): GraphQLError {
  error.extensions['http'] = { status: 400 };
  return error;
}

/** Clients know this code: they send the document itself then. */
const notFound = () => refusal('There is no persisted document with this id', 'PERSISTED_QUERY_NOT_FOUND');
const onlyPersisted = () =>
  refusal('Only persisted documents are executed here: send the id of one, and no "query"', 'PERSISTED_QUERY_REQUIRED');
const noDocument = () => refusal('"query" must be a GraphQL document', 'BAD_REQUEST');
