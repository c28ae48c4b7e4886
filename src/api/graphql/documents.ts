import {
  BREAK,
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
import { shareOfHeap } from '../../platform/memory.ts';
import { chargeOf } from './charges.ts';
import type { Cost } from './context.ts';
import { costOf } from './cost.ts';

/**
 * The most a document may hold. All are our choice: several times what front ends send (GraphiQL's introspection query
 * has 400 tokens and depth 15; the first screen of a chat depth 12 and cost 4,000), and little enough that the worst
 * document is refused or answered in some milliseconds before anything is read from the database.
 */
export const DOCUMENT_LIMITS = {
  tokens: 4000,
  /** Fields one inside another, fragments included. */
  depth: 20,
  aliases: 50,
  /** With the schema itself in the selection: each alias may ask for all of it once more, and no tool needs one. */
  introspectionAliases: 5,
  directives: 50,
  fragments: 100,
  /** Fields of one name or alias in one selection: comparing them takes the square of their number. */
  repetitions: 200,
  /** Objects that connections and lists may come to: @see cost.ts */
  cost: 10_000,
} as const;

type Limit = keyof typeof DOCUMENT_LIMITS;

/** A document that was read and checked, or what is wrong with it. */
export type Checked =
  | { readonly document: DocumentNode; readonly errors?: undefined }
  | { readonly errors: readonly GraphQLError[]; readonly document?: undefined };

/** Our choice: enough for every document of many front ends. */
const CACHED_DOCUMENTS = 1000;
/** Our choice: longer documents are rare. */
const CACHED_LENGTH = 20_000;
/** Our choice: a thousand documents of 250 tokens. A process with a heap of less than a gigabyte keeps less. */
const CACHED_BYTES = shareOfHeap(1 / 16, 64 * 1024 * 1024);
/** What a token takes with its part of the nodes: 254 bytes were measured. */
const TOKEN_BYTES = 256;

/** How many tokens a document holds in memory; 0 for one that was read without them. */
export function tokensOf({ loc }: DocumentNode): number {
  let tokens = 0;
  for (let token = loc?.startToken; token != null; token = token.next ?? undefined) tokens++;
  return tokens;
}

/** About what a document takes in memory, in bytes. */
export const bytesOf = (document: DocumentNode): number =>
  TOKEN_BYTES * tokensOf(document) + (document.loc?.source.body.length ?? 0);

/** Reads, checks and keeps documents: one for each schema, shared by all transports. */
export interface Documents {
  /** Reads and validates `source`, at once when it was seen before. */
  check(source: string): Checked;
  /**
   * What an operation costs with these variables.
   *
   * @throws GraphQLError when that is more than the limit, or the operation tries credentials twice. Variables of the wrong type cost nothing: execution refuses
   *   them before it resolves any field.
   */
  cost(document: DocumentNode, operationName: string | null | undefined, variables: Variables): Cost;
}

type Variables = Readonly<Record<string, unknown>> | null | undefined;

/** @param hideSuggestions Whether what is wrong is told without what may have been meant: names of the schema. */
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
  };
}

const introspecting = new WeakMap<DocumentNode, boolean>();

/** Whether a document asks for the schema itself; no field of ours may have such a name. */
export function introspects(document: DocumentNode): boolean {
  const known = introspecting.get(document);
  if (known !== undefined) return known;
  let found = false;
  visit(document, {
    Field({ name: { value } }) {
      if (value !== '__schema' && value !== '__type') return undefined;
      found = true;
      return BREAK;
    },
  });
  introspecting.set(document, found);
  return found;
}

/** @param actual Unknown when reading stopped at the limit. */
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
    // Limits come first: validation itself is what a hostile document aims at.
    const over = sizeError(document);
    if (over !== undefined) return { errors: [over] };
    const errors = validate(schema, document, undefined, { hideSuggestions });
    if (errors.length === 0) return { document };
    return { errors: errors.map((error) => coded(error, 'GRAPHQL_VALIDATION_FAILED')) };
  } catch (error) {
    // Braces or brackets so deep that reading them takes more stack than there is.
    if (error instanceof RangeError) return { errors: [overLimit('depth')] };
    if (!(error instanceof GraphQLError)) throw error;
    // What the parser says of too many tokens is all there is to tell it by.
    const tooMany = /Document contains more tha[nt] \d+ tokens/.test(error.message);
    return { errors: [tooMany ? overLimit('tokens') : coded(error, 'GRAPHQL_PARSE_FAILED')] };
  }
}

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
      if (name.value === '__schema' || name.value === '__type') introspects = true;
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

/** How often the most frequent name stands in a selection, what stands in inline fragments counted with it. */
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

/** The deepest field of any definition. Names mean nothing here, so that no field, fragment or operation is exempt. */
function depthOf(document: DocumentNode): number {
  const fragments = new Map(
    document.definitions.flatMap((node) => (node.kind === Kind.FRAGMENT_DEFINITION ? [[node.name.value, node]] : [])),
  );
  const measured = new Map<SelectionSetNode, number>();
  const measure = (set: SelectionSetNode): number => {
    const known = measured.get(set);
    if (known !== undefined) return known;
    // A fragment inside itself ends here; validation refuses it by its own rule.
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

/** Costs that do not hang on variables, by operation. */
const fixedCosts = new WeakMap<OperationDefinitionNode, number>();

function measureCost(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
  inputs: Readonly<Record<string, unknown>>,
): number {
  const operation = getOperationAST(document, operationName);
  // Execution refuses a document without the operation before it resolves anything; the same for wrong variables.
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
