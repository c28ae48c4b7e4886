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
import { isLeftOut, isOf } from '../cost.ts';
import type { ForAll, Together } from '../together.ts';

export type Variables = Readonly<Record<string, unknown>>;

/** What is read of each object of one type. */
export interface ObjectPlan {
  readonly type: GraphQLObjectType;
  readonly fields: readonly FieldPlan[];
  /** What an object in the response is before anything of it has come: its fields, in their order. */
  readonly blank: Readonly<Record<string, undefined>>;
  /** Whether a resolver in it, however deep, is told where it stands. */
  readonly isPlaced: boolean;
  /** Of how many fields it is, with all below. */
  readonly size: number;
}

export interface FieldPlan {
  /** Its name in the response. */
  readonly key: string;
  readonly nodes: readonly [FieldNode, ...FieldNode[]];
  readonly parent: GraphQLObjectType;
  readonly field: GraphQLField<unknown, unknown>;
  readonly isTypename: boolean;
  /** Whether the resolver is told what is selected, and where. */
  readonly isTold: boolean;
  /** Reads it of all objects at once, where its resolver can. */
  readonly forAll: ForAll<unknown, unknown> | undefined;
  /** Undefined where they hang on variables. */
  readonly args: Record<string, unknown> | undefined;
  readonly shape: Shape;
  /** What is read of the objects that it leads to. */
  readonly below: ObjectPlan | undefined;
}

/** What a field's type makes of what its resolver returns. */
export type Shape = { readonly isNullable: boolean } & (
  | { readonly kind: 'leaf'; readonly type: GraphQLLeafType }
  | { readonly kind: 'object' }
  | { readonly kind: 'list'; readonly item: Shape }
);

/** An operation holds what no plan is made for. */
class Unplanned extends Error {}

interface Source {
  readonly schema: GraphQLSchema;
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** What `@skip` and `@include` go by. */
  readonly variables: Variables;
  /** How many fields have been planned. */
  planned: number;
}

/**
 * Our choice: several times what front ends ask for. Fragments that are spread again and again come to many more fields than
 * a document has, and a plan has those of lists, too, in which nothing is.
 */
export const MAX_PLANNED = 5_000;

/**
 * Works out once what is the same for every execution of a query: its fields by type, their resolvers, arguments and
 * shapes.
 *
 * @param variables As coerced; of those that `@skip` and `@include` name, the plan is for these values alone.
 * @returns Undefined for what stays with the general executor: interfaces, unions, the schema itself, and what comes to very many fields.
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
    isPlaced: fields.some(({ isTold, below }) => isTold || below?.isPlaced === true),
    size: fields.reduce((sum, { below }) => sum + 1 + (below?.size ?? 0), 0),
  };
}

/** The fields that are selected of a type, by their names in the response. */
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
    // One without parameters of its own may take them as a list.
    isTold: !isTypename && resolve !== undefined && (resolve.length > 3 || resolve.length === 0),
    forAll: (resolve as Partial<Together<unknown, unknown>> | undefined)?.forAll,
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
