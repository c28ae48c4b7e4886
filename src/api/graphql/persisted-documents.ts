import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { GraphQLError } from 'graphql';
import { LRUCache } from 'lru-cache';
import { type Config, ConfigError } from '../../platform/config.ts';
import type { Checked, Documents } from './documents.ts';

/** The parameters of an operation that concern its document, on any transport. */
export interface DocumentParams {
  readonly query?: unknown;
  /** Identifier of a document, as in the GraphQL over HTTP specification. */
  readonly documentId?: unknown;
  /** The hash of a document, as clients of Apollo and urql send it: `persistedQuery: {version: 1, sha256Hash}`. */
  readonly extensions?: unknown;
}

/** The documents that operations can name by their SHA-256. */
export interface PersistedDocuments {
  /** Whether only the documents in the operator's file are executed. */
  readonly only: boolean;
  find(hash: string): string | undefined;
  /** Caches a document that a client sent together with its hash. */
  keep(hash: string, document: string): void;
}

/**
 * Limits of the documents that clients register: enough for several front ends of some hundred documents. The longest
 * documents of code generators are a tenth of the limit for each.
 */
const KEPT = { documents: 1_000, characters: 8 * 1024 * 1024, charactersEach: 100_000 } as const;

/**
 * Reads PERSISTED_DOCUMENTS, and creates the cache for *automatic persisted queries*. A client names a document by its hash.
 * If the hash is unknown, the client sends the document along once. Each node has its own cache, of valid documents only.
 *
 * The alternative was an error that persisted queries are not supported. Apollo Client and urql would then stop using
 * hashes, also for documents in the file, after one request for each page that is opened.
 *
 * @throws ConfigError if the file is not a JSON object of documents by SHA-256, or a document is invalid. The service then
 *   fails at startup rather than at the first visit.
 */
export function readPersistedDocuments(
  { persistedDocuments: path, persistedDocumentsOnly: only }: Config,
  documents: Documents,
): PersistedDocuments {
  const known = new Map(path === undefined ? [] : Object.entries(readJson(path)).map(checkEntry(documents)));
  const kept = new LRUCache<string, string>({
    max: KEPT.documents,
    maxSize: KEPT.characters,
    maxEntrySize: KEPT.charactersEach,
    sizeCalculation: ({ length }) => length,
  });
  return {
    only,
    find: (hash) => known.get(hash) ?? kept.get(hash),
    keep(hash, document) {
      if (!only && !known.has(hash)) kept.set(hash, document);
    },
  };
}

function readJson(path: string): object {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new ConfigError(`PERSISTED_DOCUMENTS: ${path}: ${(error as Error).message}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ConfigError(`PERSISTED_DOCUMENTS: ${path}: must contain a JSON object of documents by SHA-256`);
  }
  return value;
}

const ACCEPTED_KEYS =
  'a key must be the SHA-256 of its document in hexadecimal, with or without the prefix "sha256:". For such keys, set ' +
  '"persistedDocuments: { hashAlgorithm: \'sha256\' }" in graphql-codegen (default: SHA-1), or ' +
  '"persistConfig: { algorithm: \'SHA256\' }" in relay-compiler (default: MD5)';

/** Returns a function that validates an entry of the file, and returns its hash and document. */
function checkEntry(documents: Documents) {
  return ([key, document]: [string, unknown]): [string, string] => {
    const fail = (why: string): never => {
      throw new ConfigError(`PERSISTED_DOCUMENTS: ${key}: ${why}`);
    };
    const hash = hashNamed(key);
    if (!/^[0-9a-f]{64}$/.test(hash)) return fail(ACCEPTED_KEYS);
    if (typeof document !== 'string') return fail('must be the text of a document');
    const actual = hashOf(document);
    if (actual !== hash) fail(`the key is not the SHA-256 of its document, which is ${actual}`);
    const { errors } = documents.check(document);
    if (errors !== undefined) fail(errors.map(({ message }) => message).join('; '));
    return [hash, document];
  };
}

const hashOf = (document: string): string => createHash('sha256').update(document).digest('hex');

/** Returns the hash in an id, which has a prefix in the specification's form. */
const hashNamed = (id: string): string => id.replace(/^sha256:/, '').toLowerCase();

/** Returns the hash that an operation names its document by; undefined if there is none. */
function namedHash({ documentId, extensions }: DocumentParams): string | undefined {
  const id = documentId ?? registeredId(extensions);
  return typeof id === 'string' ? hashNamed(id) : undefined;
}

/** Returns the hash under which a client also registers the document that it sends. */
const registeredId = (extensions: unknown): unknown =>
  (extensions as { persistedQuery?: { sha256Hash?: unknown } } | null | undefined)?.persistedQuery?.sha256Hash;

/** Whether there is a document. An empty one counts as absent, because the WebSocket protocol requires a `query`. */
const hasText = (query: unknown): boolean => query !== undefined && query !== null && query !== '';

/**
 * Refuses requests that are not GraphQL requests at all.
 *
 * @throws GraphQLError if an operation neither contains nor names a document.
 */
export function requireDocument({ only }: PersistedDocuments, params: DocumentParams): void {
  if (!hasText(params.query) && namedHash(params) === undefined) throw only ? onlyPersisted() : noDocument();
}

/**
 * Returns the text of an operation's document.
 *
 * @throws GraphQLError if the operation has no document, or if the document must not be executed here or does not match its hash.
 */
export function documentText(persisted: PersistedDocuments, params: DocumentParams): string {
  requireDocument(persisted, params);
  const { query, extensions } = params;
  if (!hasText(query)) {
    const document = persisted.find(namedHash(params) as string);
    if (document === undefined) throw persisted.only ? notInList() : notFound();
    return document;
  }
  if (persisted.only) throw onlyPersisted();
  if (typeof query !== 'string') throw noDocument();
  const id = registeredId(extensions);
  if (typeof id === 'string' && hashNamed(id) !== hashOf(query)) throw otherHash();
  return query;
}

/** The sources and the validator of documents. */
export interface DocumentSources {
  readonly documents: Documents;
  readonly persisted: PersistedDocuments;
}

/** Validates an operation's document, and caches it if its client registers it. */
export function checkDocument(
  { documents, persisted }: DocumentSources,
  text: string,
  { extensions }: DocumentParams,
): Checked {
  const checked = documents.check(text);
  const id = registeredId(extensions);
  if (checked.errors === undefined && typeof id === 'string') persisted.keep(hashNamed(id), text);
  return checked;
}

/**
 * Calls `documentText` and `checkDocument`.
 *
 * @throws GraphQLError as `documentText`.
 */
export const readDocument = (parts: DocumentSources, params: DocumentParams): Checked =>
  checkDocument(parts, documentText(parts.persisted, params), params);

const refusal = (message: string, code: string): GraphQLError => new GraphQLError(message, { extensions: { code } });

/** Apollo's clients check the code, urql the message. Both then send the document as well. */
const notFound = () => refusal('PersistedQueryNotFound', 'PERSISTED_QUERY_NOT_FOUND');
/** A code after which no client sends the document, because it would be refused as well. */
const notInList = () => refusal('There is no persisted document with this id', 'PERSISTED_QUERY_NOT_IN_LIST');
const onlyPersisted = () =>
  refusal(
    'Only persisted documents can be executed: send the id of one instead of "query"',
    'PERSISTED_QUERY_REQUIRED',
  );
const noDocument = () => refusal('"query" must be a GraphQL document', 'BAD_REQUEST');
const otherHash = () => refusal('"persistedQuery.sha256Hash" must be the SHA-256 of "query"', 'BAD_REQUEST');
