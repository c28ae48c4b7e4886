import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLLeafType,
  type GraphQLNamedOutputType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getArgumentValues,
  getNamedType,
  isAbstractType,
  isLeafType,
  isListType,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  TypeNameMetaFieldDef,
  type ValueNode,
} from 'graphql';
import { isLeftOut, isOf } from '../../documents/cost.ts';
import type { BatchResolver, ForAll } from '../../loading/batch-resolvers.ts';

export type Variables = Readonly<Record<string, unknown>>;

/** The part of a query plan for objects of one type: the fields to resolve for each of these objects. */
export interface ObjectPlan {
  readonly type: GraphQLObjectType;
  readonly fields: readonly FieldPlan[];
  /** Template of the objects in the response, before their fields are complete: all keys in order, with undefined values. */
  readonly blank: Readonly<Record<string, undefined>>;
  /** Whether the resolver of a field in this plan or below it takes `info`. If false, the paths of objects are not computed. */
  readonly isPlaced: boolean;
  /** Number of fields in this plan, counting nested fields. */
  readonly size: number;
}

export interface FieldPlan {
  /** Response name of the field. */
  readonly key: string;
  readonly nodes: readonly [FieldNode, ...FieldNode[]];
  readonly parent: GraphQLObjectType;
  readonly field: GraphQLField<unknown, unknown>;
  readonly isTypename: boolean;
  /** Whether the resolver takes `info`, which contains the selection and the path. */
  readonly takesInfo: boolean;
  /** Resolves the field for all objects in one batch. Undefined if the resolver takes one object at a time. */
  readonly forAll: ForAll<unknown, unknown> | undefined;
  /** The coerced arguments. Undefined if they contain variables, because the arguments then differ between executions. */
  readonly args: Record<string, unknown> | undefined;
  readonly shape: Shape;
  /** The plan for the objects that the field returns. Undefined for a leaf type. */
  readonly below: ObjectPlan | undefined;
}

/** The structure of a field's type. It determines how the resolver's result is completed. */
export type Shape = { readonly isNullable: boolean } & (
  | { readonly kind: 'leaf'; readonly type: GraphQLLeafType }
  | { readonly kind: 'object' }
  | { readonly kind: 'list'; readonly item: Shape }
);

/** The error for an operation that plans do not support. graphql-js then executes the operation. */
class Unplanned extends Error {}

interface Source {
  readonly schema: GraphQLSchema;
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** Values of the variables in `@skip` and `@include`. */
  readonly variables: Variables;
  /** Number of fields that have been added to the plan so far. */
  planned: number;
}

/**
 * Maximum number of fields in a plan: several times the number that front ends select. graphql-js executes queries with more
 * fields. A short document can exceed the maximum by spreading a fragment repeatedly.
 */
export const MAX_PLANNED = 5_000;

/**
 * Compiles the parts of a query that are the same in all executions: its fields by type, with their resolvers, arguments and
 * shapes.
 *
 * @param variables Coerced values. The plan can be reused with other values, unless variables in `@skip` or `@include` differ.
 * @returns Undefined if the query has interfaces, unions, introspection or more than `MAX_PLANNED` fields. graphql-js must then
 *   execute the operation.
 */
export function compilePlan(
  schema: GraphQLSchema,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
  operation: OperationDefinitionNode,
  variables: Variables,
): ObjectPlan | undefined {
  const root = schema.getRootType(operation.operation);
  if (root == null) return undefined;
  try {
    return planObject({ schema, fragments, variables, planned: 0 }, root, [operation.selectionSet]);
  } catch (error) {
    if (error instanceof Unplanned) return undefined;
    throw error;
  }
}

function planObject(source: Source, type: GraphQLObjectType, sets: readonly SelectionSetNode[]): ObjectPlan {
  const selected = new Map<string, FieldNode[]>();
  const seen = new Set<string>();
  for (const set of sets) collect(source, type, set, seen, selected);
  const fields = [...selected].map(([key, nodes]) => planField(source, type, key, nodes as [FieldNode]));
  return {
    ...{ type, fields },
    blank: Object.fromEntries(fields.map(({ key }) => [key, undefined])),
    isPlaced: fields.some(({ takesInfo, below }) => takesInfo || below?.isPlaced === true),
    size: fields.reduce((sum, { below }) => sum + 1 + (below?.size ?? 0), 0),
  };
}

/** Collects the fields that are selected on a type, by response name. */
function collect(
  source: Source,
  type: GraphQLObjectType,
  { selections }: SelectionSetNode,
  seen: Set<string>,
  selected: Map<string, FieldNode[]>,
): void {
  for (const selection of selections) {
    if (isLeftOut(selection, source.variables)) continue;
    if (selection.kind === Kind.FIELD) {
      const key = (selection.alias ?? selection.name).value;
      const nodes = selected.get(key);
      if (nodes === undefined) selected.set(key, [selection]);
      else nodes.push(selection);
      continue;
    }
    if (selection.kind === Kind.FRAGMENT_SPREAD) {
      if (seen.has(selection.name.value)) continue;
      seen.add(selection.name.value);
    }
    const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? source.fragments.get(selection.name.value) : selection;
    if (fragment === undefined || !isOf(source.schema, fragment.typeCondition?.name.value, type)) continue;
    collect(source, type, fragment.selectionSet, seen, selected);
  }
}

function planField(
  source: Source,
  parent: GraphQLObjectType,
  key: string,
  nodes: readonly [FieldNode, ...FieldNode[]],
): FieldPlan {
  if (++source.planned > MAX_PLANNED) throw new Unplanned();
  const [node] = nodes;
  const isTypename = node.name.value === TypeNameMetaFieldDef.name;
  const field = isTypename ? TypeNameMetaFieldDef : parent.getFields()[node.name.value];
  if (field === undefined) throw new Unplanned();
  const { resolve } = field;
  const isVariable = node.arguments?.some(({ value }) => hasVariable(value)) === true;
  return {
    ...{ key, nodes, parent, field, isTypename },
    // A function with rest parameters has length 0, so a resolver of length 0 may take `info`.
    takesInfo: !isTypename && resolve !== undefined && (resolve.length > 3 || resolve.length === 0),
    forAll: (resolve as Partial<BatchResolver<unknown, unknown>> | undefined)?.forAll,
    args: isVariable ? undefined : getArgumentValues(field, node),
    shape: shapeOf(field.type),
    below: planBelow(source, getNamedType(field.type as GraphQLOutputType), nodes),
  };
}

function planBelow(source: Source, type: GraphQLNamedOutputType, nodes: readonly FieldNode[]): ObjectPlan | undefined {
  if (isLeafType(type)) return undefined;
  if (isAbstractType(type) || type.isTypeOf != null) throw new Unplanned();
  return planObject(
    source,
    type,
    nodes.flatMap(({ selectionSet }) => selectionSet ?? []),
  );
}

function shapeOf(type: GraphQLOutputType, isNullable = true): Shape {
  if (isNonNullType(type)) return shapeOf(type.ofType, false);
  if (isListType(type)) return { kind: 'list', isNullable, item: shapeOf(type.ofType) };
  return isLeafType(type) ? { kind: 'leaf', isNullable, type } : { kind: 'object', isNullable };
}

function hasVariable(value: ValueNode): boolean {
  if (value.kind === Kind.VARIABLE) return true;
  if (value.kind === Kind.LIST) return value.values.some(hasVariable);
  return value.kind === Kind.OBJECT && value.fields.some((field) => hasVariable(field.value));
}
