import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  execute,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  visit,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { shareOfHeap } from '../../../../platform/memory.ts';
import { tooMuchIntrospection } from '../../documents/charges.ts';
import { bytesOf } from '../../documents/documents.ts';
import { introspect, introspects, TooMuchIntrospection } from '../../documents/introspection.ts';
import type { GraphQLContext } from '../../loading/context.ts';
import { compilePlan, type ObjectPlan, type Variables } from './compile.ts';
import { executePlan } from './execute.ts';

/** An operation of a document, with the plans that were compiled for it. */
interface Prepared {
  readonly schema: GraphQLSchema;
  /**
   * Approximate memory use of the whole document, in bytes. The document stays in memory as long as a plan for it is cached.
   */
  readonly bytes: number;
  readonly operation: OperationDefinitionNode;
  readonly fragments: Record<string, FragmentDefinitionNode>;
  /** Names of the variables in `@skip` and `@include`. There is one plan for each combination of their values. */
  readonly switches: readonly string[];
  /** Compiled plans, by the values of `switches`. Undefined for values with which plans do not support the operation. */
  readonly plans: Map<string, ObjectPlan | undefined>;
}

/**
 * Maximum number of variables in `@skip` and `@include`. graphql-js executes queries with more of them: a plan would be reused
 * too rarely to be worth compiling.
 */
const MAX_SWITCHES = 6;

/**
 * Maximum memory use of the cached plans of all documents, with their documents, in bytes. Beyond it, the plan used least
 * recently is dropped. The maximum is lower for a process with a heap of less than a gigabyte.
 */
export const MAX_KEPT_BYTES = shareOfHeap(1 / 16, 64 * 1024 * 1024);
/** Average memory use of a field of a plan, in bytes. Measured: 376 to 392. */
const FIELD_BYTES = 400;

interface Kept {
  /** Approximate memory use of the plan and its document, in bytes. */
  readonly size: number;
  readonly forget: () => void;
}

/** The most recently used plans. A document has one plan for each combination of the values of its `switches`. */
const kept = new LRUCache<ObjectPlan, Kept>({
  maxSize: MAX_KEPT_BYTES,
  sizeCalculation: ({ size }) => size,
  dispose: ({ forget }) => forget(),
});

/** Returns the number of cached plans, and their approximate memory use in bytes. */
export const keptPlans = () => ({ plans: kept.size, bytes: kept.calculatedSize });

const prepared = new WeakMap<OperationDefinitionNode, Prepared | null>();

/**
 * Executes an operation. A query is executed by a plan, which is compiled once per document and reused. graphql-js executes
 * mutations, subscriptions, and queries for which no plan is possible.
 *
 * @see src/api/graphql/README.md#plans
 */
export async function executeByPlan(args: ExecutionArgs): Promise<ExecutionResult> {
  if (introspects(args.document)) return executeIntrospection(args);
  const known = preparedFor(args);
  if (known === undefined) return execute(args);
  const { schema, operation, fragments } = known;
  const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], args.variableValues ?? {});
  // If the variables are invalid, graphql-js reports their errors.
  const plan = coerced && planFor(known, coerced);
  if (coerced === undefined || plan === undefined) return execute(args);
  const { data, errors } = await executePlan(plan, {
    context: args.contextValue as GraphQLContext,
    variables: coerced,
    root: args.rootValue,
    operation: { schema, operation, fragments },
  });
  // `errors` precedes `data`, as in graphql-js and as the GraphQL specification recommends.
  return errors.length === 0 ? { data } : { errors, data };
}

/** Executes an operation that contains introspection. graphql-js executes the other fields of the operation. */
async function executeIntrospection(args: ExecutionArgs): Promise<ExecutionResult> {
  const { schema, document, operationName } = args;
  const operation = getOperationAST(document, operationName);
  if (operation?.operation !== OperationTypeNode.QUERY) return execute(args);
  const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], args.variableValues ?? {});
  try {
    const parts = coerced && (await introspect(schema, document, operation, coerced));
    if (parts === undefined) return execute(args);
    const { names, values, rest } = parts;
    const others: ExecutionResult = rest === undefined ? { data: {} } : await execute({ ...args, document: rest });
    if (others.data == null) return others;
    const data = names.map((name) => [name, values.has(name) ? values.get(name) : others.data?.[name]] as const);
    return { ...others, data: Object.fromEntries(data) };
  } catch (error) {
    if (error instanceof TooMuchIntrospection) return { errors: [tooMuchIntrospection()] };
    throw error;
  }
}

/**
 * Returns the operation of a document, prepared for plans. Undefined if the operation is not a query, or if more than
 * `MAX_SWITCHES` variables control directives. The cache key is the operation node, not the operation name, because a client
 * can send an unlimited number of names.
 */
function preparedFor({ schema, document, operationName }: ExecutionArgs): Prepared | undefined {
  const operation = getOperationAST(document, operationName);
  if (operation?.operation !== OperationTypeNode.QUERY) return undefined;
  const known = prepared.get(operation);
  if (known === null || known?.schema === schema) return known ?? undefined;
  const made = prepare(schema, document, operation);
  prepared.set(operation, made ?? null);
  return made;
}

/** Prepares an operation for plans. Returns undefined if more than `MAX_SWITCHES` variables control directives. */
function prepare(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): Prepared | undefined {
  const fragments = document.definitions.filter((node) => node.kind === Kind.FRAGMENT_DEFINITION);
  const switches = new Set<string>();
  visit(document, {
    Directive({ arguments: given = [] }) {
      for (const { value } of given) if (value.kind === Kind.VARIABLE) switches.add(value.name.value);
    },
  });
  if (switches.size > MAX_SWITCHES) return undefined;
  return {
    ...{ schema, operation, bytes: bytesOf(document) },
    fragments: Object.fromEntries(fragments.map((node) => [node.name.value, node])),
    switches: [...switches],
    plans: new Map(),
  };
}

function planFor({ schema, bytes, operation, fragments, switches, plans }: Prepared, variables: Variables) {
  // Null in `@skip` or `@include` is an error, which graphql-js reports with its location.
  if (switches.some((name) => variables[name] === null)) return undefined;
  const key = switches.map((name) => (variables[name] === true ? '1' : '0')).join('');
  const known = plans.get(key);
  if (known !== undefined) kept.get(known);
  if (known !== undefined || plans.has(key)) return known;
  const plan = compilePlan(schema, new Map(Object.entries(fragments)), operation, variables);
  plans.set(key, plan);
  if (plan !== undefined) kept.set(plan, { size: FIELD_BYTES * plan.size + bytes, forget: () => plans.delete(key) });
  return plan;
}
