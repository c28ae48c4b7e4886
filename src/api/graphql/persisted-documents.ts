import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { GraphQLError } from 'graphql';
import { LRUCache } from 'lru-cache';
import { type Config, ConfigError } from '../../platform/config.ts';
import type { Checked, Documents } from './documents.ts';

/** What an operation says of its document, over whatever transport. */
export interface DocumentParams {
  readonly query?: unknown;
  /** As in the GraphQL over HTTP specification. */
  readonly documentId?: unknown;
  /** As Apollo's and urql's clients send it: `persistedQuery: {version: 1, sha256Hash}`. */
  readonly extensions?: unknown;
}

/** The documents that operations may name by their SHA-256. */
export interface PersistedDocuments {
  /** Whether no others are executed than those an operator has put down beforehand. */
  readonly only: boolean;
  find(hash: string): string | undefined;
  /** Keeps a document that a client named by its hash and sent with it, for a while. */
  keep(hash: string, document: string): void;
}

/**
 * What clients may have kept: our choice, several front ends of some hundred documents. The longest of a code generator
 * are a tenth of what one may take.
 */
const KEPT = { documents: 1_000, characters: 8 * 1024 * 1024, charactersEach: 100_000 } as const;

/**
 * Reads PERSISTED_DOCUMENTS, and begins to keep what clients register by *automatic persisted queries*: a client names a
 * document by its hash, is told that nobody knows it, and sends it along once. Kept on each node, and only what is valid.
 *
 * The alternative was to say that they are not supported. Apollo Client and urql then stop asking, at the price of one
 * request for each page that is opened, and of never naming a document again, also of those in the file.
 *
 * @throws ConfigError when the file is no JSON object of documents by their SHA-256, or a document is not one that would
 *   be executed: better at the start than at the first visit.
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
    throw new ConfigError(`PERSISTED_DOCUMENTS: ${path}: must hold a JSON object of documents by their SHA-256`);
  }
  return value;
}

const ACCEPTED_KEYS =
  'a key must be the SHA-256 of its document in hexadecimal, with "sha256:" before it or without; graphql-codegen writes ' +
  'such keys with "persistedDocuments: { hashAlgorithm: \'sha256\' }" (by default it takes SHA-1), relay-compiler with ' +
  '"persistConfig: { algorithm: \'SHA256\' }" (by default MD5)';

/** Of an entry of the file: its hash and document. */
function checkEntry(documents: Documents) {
  return ([key, document]: [string, unknown]): [string, string] => {
    const fail = (why: string): never => {
      throw new ConfigError(`PERSISTED_DOCUMENTS: ${key}: ${why}`);
    };
    const hash = hashNamed(key);
    if (!/^[0-9a-f]{64}$/.test(hash)) return fail(ACCEPTED_KEYS);
    if (typeof document !== 'string') return fail('must be the text of a document');
    const actual = hashOf(document);
    if (actual !== hash) fail(`the SHA-256 of its document is ${actual}`);
    const { errors } = documents.check(document);
    if (errors !== undefined) fail(errors.map(({ message }) => message).join('; '));
    return [hash, document];
  };
}

const hashOf = (document: string): string => createHash('sha256').update(document).digest('hex');

/** The specification's form of an id names the hash. */
const hashNamed = (id: string): string => id.replace(/^sha256:/, '').toLowerCase();

/** The hash an operation names its document by; undefined when it names none. */
function namedHash({ documentId, extensions }: DocumentParams): string | undefined {
  const id = documentId ?? registeredId(extensions);
  return typeof id === 'string' ? hashNamed(id) : undefined;
}

/** The id under which clients have documents kept, too. */
const registeredId = (extensions: unknown): unknown =>
  (extensions as { persistedQuery?: { sha256Hash?: unknown } } | null | undefined)?.persistedQuery?.sha256Hash;

/** The protocol of WebSocket asks for a `query`: an empty one says nothing. */
const hasText = (query: unknown): boolean => query !== undefined && query !== null && query !== '';

/**
 * For where it matters that something is no GraphQL request at all.
 *
 * @throws GraphQLError when an operation neither has a document nor names one.
 */
export function requireDocument({ only }: PersistedDocuments, params: DocumentParams): void {
  if (!hasText(params.query) && namedHash(params) === undefined) throw only ? onlyPersisted() : noDocument();
}

/**
 * The text of an operation's document.
 *
 * @throws GraphQLError when there is none, or none that is executed here, or it has another hash than it is named by.
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

/** Where documents come from, and what they are checked by. */
export interface DocumentSources {
  readonly documents: Documents;
  readonly persisted: PersistedDocuments;
}

/** Checks an operation's document, and keeps it where its client asks for that. */
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
 * Both in one, where nothing stands between them.
 *
 * @throws GraphQLError as `documentText`.
 */
export const readDocument = (parts: DocumentSources, params: DocumentParams): Checked =>
  checkDocument(parts, documentText(parts.persisted, params), params);

const refusal = (message: string, code: string): GraphQLError => new GraphQLError(message, { extensions: { code } });

/** Apollo's clients know the code, urql the message: both send the document along then. */
const notFound = () => refusal('PersistedQueryNotFound', 'PERSISTED_QUERY_NOT_FOUND');
/** Which no client takes for an invitation to send the document: it would be refused as well. */
const notInList = () => refusal('There is no persisted document with this id', 'PERSISTED_QUERY_NOT_IN_LIST');
const onlyPersisted = () =>
  refusal('Only persisted documents are executed here: send the id of one, and no "query"', 'PERSISTED_QUERY_REQUIRED');
const noDocument = () => refusal('"query" must be a GraphQL document', 'BAD_REQUEST');
const otherHash = () => refusal('"persistedQuery.sha256Hash" must be the SHA-256 of "query"', 'BAD_REQUEST');
