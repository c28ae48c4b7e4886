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
import type { GraphQLContext } from '../context.ts';
import { tokensOf } from '../documents.ts';
import { compilePlan, type ObjectPlan, type Variables } from './compile.ts';
import { executePlan } from './execute.ts';

/** One operation of a document, with the plans that were made for it. */
interface Prepared {
  readonly schema: GraphQLSchema;
  /** Of the whole document, which its plans hold. */
  readonly tokens: number;
  readonly operation: OperationDefinitionNode;
  readonly fragments: Record<string, FragmentDefinitionNode>;
  /** The variables that `@skip` and `@include` go by. */
  readonly switches: readonly string[];
  /** By their values. */
  readonly plans: Map<string, ObjectPlan | undefined>;
}

/** Our choice: with more of them that differ from one request to the next, a plan is not worth its making. */
const MAX_SWITCHES = 6;

/** Our choice, of the plans of all documents together: some 50 MB. A token of their documents takes as much as a field. */
export const MAX_KEPT_FIELDS = 200_000;

interface Kept {
  /** In fields. */
  readonly size: number;
  readonly forget: () => void;
}

/** Plans that were used last: a document has one for each state of its switches. */
const kept = new LRUCache<ObjectPlan, Kept>({
  maxSize: MAX_KEPT_FIELDS,
  sizeCalculation: ({ size }) => size,
  dispose: ({ forget }) => forget(),
});

/** How many plans are kept, and of how many fields, tokens among them. */
export const keptPlans = () => ({ plans: kept.size, fields: kept.calculatedSize });

const prepared = new WeakMap<OperationDefinitionNode, Prepared | null>();

/**
 * Executes an operation: a query by a plan that is made once for its document, everything else and what no plan is made for
 * by the general executor.
 *
 * @see src/api/graphql/README.md#plans
 */
export async function executeDocument(args: ExecutionArgs): Promise<ExecutionResult> {
  const known = preparedFor(args);
  if (known === undefined) return execute(args);
  const { schema, operation, fragments } = known;
  const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], args.variableValues ?? {});
  // The general executor tells what is wrong with them.
  const plan = coerced && planFor(known, coerced);
  if (coerced === undefined || plan === undefined) return execute(args);
  const { data, errors } = await executePlan(plan, {
    context: args.contextValue as GraphQLContext,
    variables: coerced,
    root: args.rootValue,
    operation: { schema, operation, fragments },
  });
  return errors.length === 0 ? { data } : { data, errors };
}

/** Undefined for what is no query. Kept by the operation itself: whoever asks may name any, and there is no end to names. */
function preparedFor({ schema, document, operationName }: ExecutionArgs): Prepared | undefined {
  const operation = getOperationAST(document, operationName);
  if (operation?.operation !== OperationTypeNode.QUERY) return undefined;
  const known = prepared.get(operation);
  if (known === null || known?.schema === schema) return known ?? undefined;
  const made = prepare(schema, document, operation);
  prepared.set(operation, made ?? null);
  return made;
}

/** Undefined for what has too many switches. */
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
  // That is an error, in the place where it is met.
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
