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
import { tooMuchIntrospection } from '../../documents/charges.ts';
import { tokensOf } from '../../documents/documents.ts';
import { introspect, introspects, TooMuchIntrospection } from '../../documents/introspection.ts';
import type { GraphQLContext } from '../../loading/context.ts';
import { compilePlan, type ObjectPlan, type Variables } from './compile.ts';
import { executePlan } from './execute.ts';

/** An operation of a document, with the plans that were compiled for it. */
interface Prepared {
  readonly schema: GraphQLSchema;
  /** Number of tokens in the whole document. A cached plan keeps all of them in memory. */
  readonly tokens: number;
  readonly operation: OperationDefinitionNode;
  readonly fragments: Record<string, FragmentDefinitionNode>;
  /** Names of the variables in `@skip` and `@include`. A plan depends on their values, so there is one for each combination. */
  readonly switches: readonly string[];
  /** Plans by the values of `switches`. */
  readonly plans: Map<string, ObjectPlan | undefined>;
}

/** Limit of variables in `@skip` and `@include`. With more of them, a plan is reused too rarely to be worth compiling. */
const MAX_SWITCHES = 6;

/**
 * Limit of the number of fields and tokens that the cached plans of all documents keep in memory: about 50 MB. A token takes as
 * much memory as a field.
 */
export const MAX_KEPT_FIELDS = 200_000;

interface Kept {
  /** Number of fields of the plan, plus the number of tokens of its document. */
  readonly size: number;
  readonly forget: () => void;
}

/** The most recently used plans. A document has one for each combination of the values of its `switches`. */
const kept = new LRUCache<ObjectPlan, Kept>({
  maxSize: MAX_KEPT_FIELDS,
  sizeCalculation: ({ size }) => size,
  dispose: ({ forget }) => forget(),
});

/** Returns the number of cached plans, and the total number of their fields and tokens. */
export const keptPlans = () => ({ plans: kept.size, fields: kept.calculatedSize });

const prepared = new WeakMap<OperationDefinitionNode, Prepared | null>();

/**
 * Executes an operation. A query is executed by a plan, which is compiled once per document and reused. The general executor of
 * graphql-js executes mutations, subscriptions, and queries for which no plan is possible.
 *
 * @see src/api/graphql/README.md#plans
 */
export async function executeByPlan(args: ExecutionArgs): Promise<ExecutionResult> {
  if (introspects(args.document)) return executeIntrospection(args);
  const known = preparedFor(args);
  if (known === undefined) return execute(args);
  const { schema, operation, fragments } = known;
  const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], args.variableValues ?? {});
  // The general executor reports errors in the variables.
  const plan = coerced && planFor(known, coerced);
  if (coerced === undefined || plan === undefined) return execute(args);
  const { data, errors } = await executePlan(plan, {
    context: args.contextValue as GraphQLContext,
    variables: coerced,
    root: args.rootValue,
    operation: { schema, operation, fragments },
  });
  // The order is that of graphql-js, as the GraphQL specification recommends.
  return errors.length === 0 ? { data } : { errors, data };
}

/** Executes an operation that contains introspection. The general executor runs its other fields. */
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
 * Returns the operation of a document, prepared for plans; undefined if it is not a query or has too many switches. The cache
 * key is the operation node, not the name, because a client can send an unlimited number of names.
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

/** Prepares an operation for plans; undefined if more than `MAX_SWITCHES` variables control directives. */
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
    ...{ schema, operation, tokens: tokensOf(document) },
    fragments: Object.fromEntries(fragments.map((node) => [node.name.value, node])),
    switches: [...switches],
    plans: new Map(),
  };
}

function planFor({ schema, tokens, operation, fragments, switches, plans }: Prepared, variables: Variables) {
  // Null in `@skip` or `@include` is an error, which the general executor reports with its location.
  if (switches.some((name) => variables[name] === null)) return undefined;
  const key = switches.map((name) => (variables[name] === true ? '1' : '0')).join('');
  const known = plans.get(key);
  if (known !== undefined) kept.get(known);
  if (known !== undefined || plans.has(key)) return known;
  const plan = compilePlan(schema, new Map(Object.entries(fragments)), operation, variables);
  plans.set(key, plan);
  if (plan !== undefined) kept.set(plan, { size: plan.size + tokens, forget: () => plans.delete(key) });
  return plan;
}
