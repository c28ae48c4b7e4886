import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
  validate,
  visit,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import type { KeyScope } from '../../../platform/key-scopes.ts';
import { shareOfHeap } from '../../../platform/memory.ts';
import type { Cost } from '../loading/context.ts';
import { chargeOf } from './charges.ts';
import { costOf } from './cost.ts';
import { introspectsBelowRoot, isIntrospectionField } from './introspection.ts';
import { scopesOfOperation } from './operation-scopes.ts';

/**
 * Maximum values for a document, several times what front ends send. Documents beyond one of them are refused with a GraphQL
 * error before execution. The introspection query of GraphiQL has 400 tokens and depth 15. The first screen of a chat has depth
 * 12 and cost 4,000. Parsing, validating and measuring even the worst document takes only milliseconds.
 */
export const DOCUMENT_LIMITS = {
  tokens: 4000,
  /**
   * Maximum nesting depth of fields, with fragments expanded. Also the maximum nesting depth of list and object values, and of
   * list types.
   */
  depth: 20,
  aliases: 50,
  /**
   * Maximum number of aliases in a document with introspection. Each alias can request the whole schema again. Tools send
   * introspection without aliases.
   */
  introspectionAliases: 5,
  directives: 50,
  fragments: 100,
  /**
   * Maximum number of fields with the same response name, or of spreads of the same fragment, in one selection. Validation
   * compares them pairwise, so the time of validation grows with the square of their number.
   */
  repetitions: 200,
  /**
   * Maximum number of objects that the operation can return. An operation with more is refused with the error code
   * DOCUMENT_LIMIT_EXCEEDED. @see cost.ts
   */
  cost: 10_000,
} as const;

type Limit = keyof typeof DOCUMENT_LIMITS;

/** A parsed and validated document, or its errors. */
export type Checked =
  | { readonly document: DocumentNode; readonly errors?: undefined }
  | { readonly errors: readonly GraphQLError[]; readonly document?: undefined };

/** Maximum number of cached documents: enough for many front ends. Beyond it, the document used least recently is dropped. */
const CACHED_DOCUMENTS = 1000;
/**
 * Maximum length of a document that is cached, in characters. Longer documents are parsed and validated for each request. They
 * are rare.
 */
const CACHED_LENGTH = 20_000;
/**
 * Maximum memory use of the cache of documents, in bytes: a thousand documents of 190 tokens. Beyond it, the document used
 * least recently is dropped. The maximum is lower for a process with a heap of less than a gigabyte.
 */
const CACHED_BYTES = shareOfHeap(1 / 16, 64 * 1024 * 1024);
/**
 * Average memory use of a token together with its syntax nodes, in bytes. Measured: 273 for lists of arguments, 340 for
 * documents of all fields of the schema, 474 for lists of plain names.
 */
const TOKEN_BYTES = 350;

/**
 * Returns the number of tokens of a document; 0 if it was parsed without tokens. The tokens are kept in memory with the syntax
 * tree.
 */
function tokensOf({ loc }: DocumentNode): number {
  let tokens = 0;
  for (let token = loc?.startToken; token != null; token = token.next ?? undefined) tokens++;
  return tokens;
}

/** Returns the approximate memory use of a document, in bytes. */
export const bytesOf = (document: DocumentNode): number =>
  TOKEN_BYTES * tokensOf(document) + (document.loc?.source.body.length ?? 0);

/** The parser, validator and cache of documents: one for each schema, shared by all transports. */
export interface Documents {
  /** Parses and validates the text of a document. A valid document is returned from the cache if possible. */
  check(source: string): Checked;
  /**
   * Returns the cost of an operation with these variables. If a variable has the wrong type, the cost is 0: execution refuses
   * the operation before it resolves any field.
   *
   * @throws GraphQLError if the cost exceeds the limit, if more than one field checks credentials, or if the introspection is
   *   too large.
   */
  cost(document: DocumentNode, operationName: string | null | undefined, variables: Variables): Cost;
  /** Returns the scopes that an API key needs for an operation, without those that its mutations check themselves. */
  scopes(document: DocumentNode, operationName: string | null | undefined): ReadonlySet<KeyScope>;
}

type Variables = Readonly<Record<string, unknown>> | null | undefined;

/**
 * Creates the parser, validator and cache of documents for a schema.
 *
 * @param options.hideSuggestions Whether error messages omit suggestions ("Did you mean …"), which reveal names of the schema.
 */
export function createDocuments(schema: GraphQLSchema, { hideSuggestions = false } = {}): Documents {
  const known = new LRUCache<string, Extract<Checked, { readonly document: DocumentNode }>>({
    max: CACHED_DOCUMENTS,
    maxSize: CACHED_BYTES,
    sizeCalculation: ({ document }) => bytesOf(document),
  });
  return {
    check(source) {
      const kept = known.get(source);
      if (kept !== undefined) return kept;
      const checked = checkDocument(schema, source, hideSuggestions);
      if (checked.document !== undefined && source.length <= CACHED_LENGTH) known.set(source, checked);
      return checked;
    },
    cost(document, operationName, variables) {
      const requested = measureCost(schema, document, operationName, variables ?? {});
      if (requested > DOCUMENT_LIMITS.cost) throw overLimit('cost', requested);
      const operation = getOperationAST(document, operationName);
      const charged = operation == null ? 1 : chargeOf(schema, document, operation, variables ?? {});
      return { requested, limit: DOCUMENT_LIMITS.cost, charged };
    },
    scopes: (document, operationName) => scopesOfOperation(schema, document, operationName),
  };
}

/**
 * Returns the error for a document that exceeds a limit. @param actual Measured value. Undefined if parsing stopped at the
 * limit.
 */
function overLimit(limit: Limit, actual?: number): GraphQLError {
  const max = DOCUMENT_LIMITS[limit];
  const found = actual === undefined ? `${limit} over ${max}` : `${limit} ${actual}`;
  return new GraphQLError(`The document is too large: ${found}, and at most ${max} is allowed`, {
    extensions: { code: 'DOCUMENT_LIMIT_EXCEEDED', limit, max, ...(actual !== undefined && { actual }) },
  });
}

function checkDocument(schema: GraphQLSchema, source: string, hideSuggestions: boolean): Checked {
  try {
    const document = parse(source, { maxTokens: DOCUMENT_LIMITS.tokens });
    // The limits are checked before validation, because some documents are written to make validation slow.
    const over = sizeError(document);
    if (over !== undefined) return { errors: [over] };
    const errors = validate(schema, document, undefined, { hideSuggestions });
    if (errors.length === 0 && introspectsBelowRoot(document)) return { errors: [introspectionBelowRoot()] };
    if (errors.length === 0) return { document };
    return { errors: errors.map((error) => coded(error, 'GRAPHQL_VALIDATION_FAILED')) };
  } catch (error) {
    // The parser exceeded the call stack, because the document has too many nested braces or brackets.
    if (error instanceof RangeError) return { errors: [overLimit('depth')] };
    if (!(error instanceof GraphQLError)) throw error;
    // The parser's error shows only by its message that there are too many tokens.
    const tooMany = /Document contains more tha[nt] \d+ tokens/.test(error.message);
    return { errors: [tooMany ? overLimit('tokens') : coded(error, 'GRAPHQL_PARSE_FAILED')] };
  }
}

const introspectionBelowRoot = () =>
  coded(
    new GraphQLError('"__schema" and "__type" can be selected only at the root of a query'),
    'GRAPHQL_VALIDATION_FAILED',
  );

function coded(error: GraphQLError, code: string): GraphQLError {
  error.extensions['code'] = code;
  return error;
}

function sizeError(document: DocumentNode): GraphQLError | undefined {
  const found = { aliases: 0, introspectionAliases: 0, directives: 0, fragments: 0, repetitions: 0, depth: 0 };
  let introspects = false;
  let within = 0;
  const nested = {
    enter() {
      within++;
      found.depth = Math.max(found.depth, within);
    },
    leave() {
      within--;
    },
  };
  visit(document, {
    ListValue: nested,
    ObjectValue: nested,
    ListType: nested,
    Field({ name, alias, selectionSet }) {
      if (alias !== undefined) found.aliases++;
      if (isIntrospectionField(name.value)) introspects = true;
      if (selectionSet !== undefined) found.repetitions = Math.max(found.repetitions, mostRepeated(selectionSet));
    },
    Directive() {
      found.directives++;
    },
    FragmentDefinition({ selectionSet }) {
      found.fragments++;
      found.repetitions = Math.max(found.repetitions, mostRepeated(selectionSet));
    },
    OperationDefinition({ selectionSet }) {
      found.repetitions = Math.max(found.repetitions, mostRepeated(selectionSet));
    },
  });
  if (introspects) found.introspectionAliases = found.aliases;
  found.depth = Math.max(found.depth, depthOf(document));
  const over = (Object.keys(found) as (keyof typeof found)[]).find((limit) => found[limit] > DOCUMENT_LIMITS[limit]);
  return over && overLimit(over, found[over]);
}

/**
 * Returns the number of occurrences of the most frequent response name or fragment spread in a selection. The selections of
 * inline fragments are included.
 */
function mostRepeated(set: SelectionSetNode): number {
  const counts = new Map<string, number>();
  const count = ({ selections }: SelectionSetNode): void => {
    for (const selection of selections) {
      if (selection.kind === Kind.INLINE_FRAGMENT) {
        count(selection.selectionSet);
        continue;
      }
      const name =
        selection.kind === Kind.FIELD ? (selection.alias ?? selection.name).value : `...${selection.name.value}`;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  };
  count(set);
  return Math.max(0, ...counts.values());
}

/** Returns the maximum depth of fields over all definitions of a document, with fragments expanded. */
function depthOf(document: DocumentNode): number {
  const fragments = new Map(
    document.definitions.flatMap((node) => (node.kind === Kind.FRAGMENT_DEFINITION ? [[node.name.value, node]] : [])),
  );
  const measured = new Map<SelectionSetNode, number>();
  const measure = (set: SelectionSetNode): number => {
    const known = measured.get(set);
    if (known !== undefined) return known;
    // If a fragment contains itself, the inner occurrence has depth 0, so that the recursion ends. Validation refuses the
    // document later.
    measured.set(set, 0);
    let deepest = 0;
    for (const selection of set.selections) {
      const inner =
        selection.kind === Kind.FRAGMENT_SPREAD
          ? fragments.get(selection.name.value)?.selectionSet
          : selection.selectionSet;
      const below = inner === undefined ? 0 : measure(inner);
      deepest = Math.max(deepest, selection.kind === Kind.FIELD ? below + 1 : below);
    }
    measured.set(set, deepest);
    return deepest;
  };
  return Math.max(
    0,
    ...document.definitions.map((node) =>
      'selectionSet' in node && node.selectionSet ? measure(node.selectionSet) : 0,
    ),
  );
}

/** Cached costs of operations that declare no variables. */
const fixedCosts = new WeakMap<OperationDefinitionNode, number>();

function measureCost(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
  inputs: Readonly<Record<string, unknown>>,
): number {
  const operation = getOperationAST(document, operationName);
  // If the operation is missing, or variables are invalid, execution refuses the operation before it resolves any field.
  if (operation == null) return 0;
  const fixed = fixedCosts.get(operation);
  if (fixed !== undefined) return fixed;
  const definitions = operation.variableDefinitions ?? [];
  const { coerced, errors } = getVariableValues(schema, definitions, { ...inputs });
  if (errors !== undefined) return 0;
  const cost = costOf(schema, document, operation, coerced);
  if (definitions.length === 0) fixedCosts.set(operation, cost);
  return cost;
}
