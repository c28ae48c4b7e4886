import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { GraphQLError } from 'graphql';
import { LRUCache } from 'lru-cache';
import { type Config, ConfigError } from '../../../platform/config.ts';
import type { Checked, Documents } from './documents.ts';

/** The parameters of a request that contain or name its document, on any transport. */
export interface DocumentParams {
  readonly query?: unknown;
  /** Id of a persisted document, as in the GraphQL over HTTP specification. */
  readonly documentId?: unknown;
  /**
   * Extensions of the request. They can contain the hash of a document, as clients of Apollo and urql send it:
   * `persistedQuery: {version: 1, sha256Hash}`.
   */
  readonly extensions?: unknown;
}

/** The documents that requests can name by their SHA-256 instead of sending the text. */
export interface PersistedDocuments {
  /** Whether only documents in the operator's file are executed. If so, other documents are refused. */
  readonly only: boolean;
  find(hash: string): string | undefined;
  /** Caches a document that a client sent together with its hash, so that clients can name it later. */
  keep(hash: string, document: string): void;
}

/**
 * Limits for the documents that clients register: their number, their total length and the length of each document, in
 * characters. Longer documents are not registered. If the number or the total length would be exceeded, the document used least
 * recently is dropped. The limits are enough for several front ends with a few hundred documents each. The longest documents of
 * code generators have a tenth of `charactersEach`.
 */
const KEPT = { documents: 1_000, characters: 8 * 1024 * 1024, charactersEach: 100_000 } as const;

/**
 * Reads the file PERSISTED_DOCUMENTS, and creates the cache for *automatic persisted queries*. With these, a client names a
 * document by its hash, and sends the text only if the hash is unknown. Each node has its own cache, which contains only valid
 * documents.
 *
 * Without the cache, the service would have to report that persisted queries are not supported. Apollo Client and urql would
 * then send full texts until the page is reloaded, even for documents in the file.
 *
 * @throws ConfigError if the file is not a JSON object of documents by SHA-256, or a document is invalid. The service then
 *   fails at startup rather than at the first request.
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

/**
 * Returns a function that validates an entry of the file PERSISTED_DOCUMENTS, and returns the hash and text of its document.
 * The returned function throws ConfigError if the entry is invalid.
 */
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

/** Returns the hash in a document id, in lower case, without the prefix "sha256:" of the GraphQL over HTTP specification. */
const hashNamed = (id: string): string => id.replace(/^sha256:/, '').toLowerCase();

/** Returns the hash of the document that a request names; undefined if the request names no document. */
function namedHash({ documentId, extensions }: DocumentParams): string | undefined {
  const id = documentId ?? registeredId(extensions);
  return typeof id === 'string' ? hashNamed(id) : undefined;
}

/**
 * Returns the hash that Apollo and urql send in `extensions`; undefined if there is none. If the request also contains the text
 * of the document, the text is registered under this hash.
 */
const registeredId = (extensions: unknown): unknown =>
  (extensions as { persistedQuery?: { sha256Hash?: unknown } } | null | undefined)?.persistedQuery?.sha256Hash;

/**
 * Returns whether a request contains the text of a document. An empty text counts as absent, because the WebSocket protocol
 * requires a `query` in every request.
 */
const hasText = (query: unknown): boolean => query !== undefined && query !== null && query !== '';

/**
 * Refuses a request that neither contains nor names a document.
 *
 * @throws GraphQLError for such a request.
 */
export function requireDocument({ only }: PersistedDocuments, params: DocumentParams): void {
  if (!hasText(params.query) && namedHash(params) === undefined) throw only ? onlyPersisted() : noDocument();
}

/**
 * Returns the text of the document that a request contains or names.
 *
 * @throws GraphQLError if the request neither contains nor names a document, if the named document is unknown, or if the text
 *   does not match the hash. Also thrown if the request contains a text, but only documents in the operator's file are
 *   executed.
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

/** The validator of documents, and the documents that requests can name by their hash. */
export interface DocumentSources {
  readonly documents: Documents;
  readonly persisted: PersistedDocuments;
}

/** Parses and validates the document of a request. A valid document is registered if the client sent its hash. */
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
 * Returns the document that a request contains or names, parsed and validated, or its validation errors.
 *
 * @throws GraphQLError if the request neither contains nor names a document, if the named document is unknown, if the text does
 *   not match the hash, or if the request contains a text, but only documents in the operator's file are executed.
 */
export const readDocument = (parts: DocumentSources, params: DocumentParams): Checked =>
  checkDocument(parts, documentText(parts.persisted, params), params);

const refusal = (message: string, code: string): GraphQLError => new GraphQLError(message, { extensions: { code } });

/**
 * The error for an unknown hash. Apollo clients recognize its code, urql its message. Both then send the text of the document.
 */
const notFound = () => refusal('PersistedQueryNotFound', 'PERSISTED_QUERY_NOT_FOUND');
/**
 * The error for an unknown hash if only the documents in the operator's file are executed. Clients do not send the text of the
 * document after this code. The text would be refused as well.
 */
const notInList = () => refusal('There is no persisted document with this id', 'PERSISTED_QUERY_NOT_IN_LIST');
const onlyPersisted = () =>
  refusal(
    'Only persisted documents can be executed: send the id of one instead of "query"',
    'PERSISTED_QUERY_REQUIRED',
  );
const noDocument = () => refusal('"query" must be a GraphQL document', 'BAD_REQUEST');
const otherHash = () => refusal('"persistedQuery.sha256Hash" must be the SHA-256 of "query"', 'BAD_REQUEST');
