import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLCompositeType,
  type GraphQLField,
  GraphQLIncludeDirective,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  GraphQLSkipDirective,
  getArgumentValues,
  getDirectiveValues,
  getNamedType,
  getNullableType,
  isAbstractType,
  isLeafType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';
import { pageSize } from './page-size.ts';

type Variables = Readonly<Record<string, unknown>>;
type Arguments = Readonly<Record<string, unknown>>;

/** What a field says of itself, as `complexity`, where it is not as the rules have it. */
interface Weight {
  /** Of the field itself. */
  readonly field?: number;
  /** How many objects its list comes to. */
  readonly multiplier?: number;
}

/** Our choice: lists that are not pages are short, and say their own number where they are not. */
const LIST_SIZE = 10;

/**
 * What it costs to answer an operation: the objects it comes to, since each is a row, or a part of one that is read by a
 * statement. What a row holds comes with it.
 *
 * - An object costs 1, and a list as many as it may hold, one more for the list itself. A connection holds its page; other
 *   lists what their field says as its `complexity`, or 10.
 * - `__typename` and scalars are free, but for those that say a `complexity`, because they take a statement. Under an alias
 *   a scalar costs 1: the same long text could be asked for fifty times.
 * - Of an interface or a union it is the type for which most is asked.
 * - `edges`, `node`, `nodes` and `pageInfo` are the connection's own parts.
 *
 * @param variables As coerced.
 * @throws BadRequestError for a page that is larger than any may be.
 */
export function costOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Variables,
): number {
  const root = schema.getRootType(operation.operation);
  if (root == null) return 0;
  const fragments = new Map(
    document.definitions.flatMap((node) => (node.kind === Kind.FRAGMENT_DEFINITION ? [[node.name.value, node]] : [])),
  );
  return new Measure(schema, fragments, variables).selections(operation.selectionSet, root, 1);
}

/** Whether a selection is left out of an operation with these variables. */
export function isLeftOut(selection: SelectionNode, variables: Variables): boolean {
  if (getDirectiveValues(GraphQLSkipDirective, selection, variables)?.['if'] === true) return true;
  return getDirectiveValues(GraphQLIncludeDirective, selection, variables)?.['if'] === false;
}

/** Whether what is asked of a type is asked of an object: of its own, or of one it is among; of all where none is named. */
export function isOf(schema: GraphQLSchema, condition: string | undefined, type: GraphQLObjectType): boolean {
  if (condition === undefined || condition === type.name) return true;
  const named = schema.getType(condition);
  return isAbstractType(named) && schema.isSubType(named, type);
}

class Measure {
  readonly #schema: GraphQLSchema;
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #variables: Variables;
  /** A fragment is measured once, however often it is spread: fragments that double each other end soon. */
  readonly #known = new Map<SelectionSetNode, Map<string, number>>();

  constructor(schema: GraphQLSchema, fragments: ReadonlyMap<string, FragmentDefinitionNode>, variables: Variables) {
    this.#schema = schema;
    this.#fragments = fragments;
    this.#variables = variables;
  }

  /** @param page How many rows the lists of a connection hold; of no meaning for other types. */
  selections(set: SelectionSetNode, type: GraphQLCompositeType, page: number): number {
    const key = `${type.name} ${page}`;
    let known = this.#known.get(set);
    if (known === undefined) {
      known = new Map();
      this.#known.set(set, known);
    }
    let cost = known.get(key);
    if (cost === undefined) {
      // Whatever it comes to be, it is of one type: what is asked of the others is not.
      cost = isAbstractType(type)
        ? Math.max(...this.#schema.getPossibleTypes(type).map((one) => this.selections(set, one, page)))
        : set.selections.reduce((sum, selection) => sum + this.#selection(selection, type, page), 0);
      known.set(key, cost);
    }
    return cost;
  }

  #selection(selection: SelectionNode, type: GraphQLObjectType, page: number): number {
    if (isLeftOut(selection, this.#variables)) return 0;
    if (selection.kind === Kind.FIELD) return this.#field(selection, type, page);
    const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? this.#fragments.get(selection.name.value) : selection;
    if (fragment === undefined) return 0;
    return isOf(this.#schema, fragment.typeCondition?.name.value, type)
      ? this.selections(fragment.selectionSet, type, page)
      : 0;
  }

  #field(node: FieldNode, type: GraphQLObjectType, page: number): number {
    const name = node.name.value;
    if (name === '__typename') return 0;
    const field = type.getFields()[name];
    // The schema itself, which has limits of its own.
    if (field === undefined) return 1;
    const args = getArgumentValues(field, node, this.#variables);
    const weight = weightOf(field, args);
    const fieldType = getNamedType(field.type);
    if (isLeafType(fieldType)) return weight.field ?? (node.alias === undefined ? 0 : 1);
    const inner = (rows: number) =>
      node.selectionSet === undefined ? 0 : this.selections(node.selectionSet, fieldType as GraphQLCompositeType, rows);
    if (isConnection(type)) return isList(field.type) ? page * (1 + inner(1)) : inner(1);
    if (isEdge(type) && name === 'node') return inner(1);
    if (isConnection(fieldType)) return (weight.field ?? 1) + inner(weight.multiplier ?? pageSize(args));
    if (isList(field.type)) return (weight.field ?? 1) + (weight.multiplier ?? LIST_SIZE) * (1 + inner(1));
    return (weight.field ?? 1) + inner(1);
  }
}

/** What the field itself says: to those that say nothing the plug-in gives a weight of its own. */
function weightOf(field: GraphQLField<unknown, unknown>, args: Arguments): Weight {
  const { complexity } = (field.extensions['pothosOptions'] ?? {}) as {
    complexity?: Weight | number | ((args: Arguments) => Weight | number);
  };
  const weight = typeof complexity === 'function' ? complexity(args) : complexity;
  return typeof weight === 'number' ? { field: weight } : (weight ?? {});
}

const isList = (type: GraphQLOutputType): boolean => isListType(getNullableType(type));

/** By the names that the Relay specification keeps for them. */
const isConnection = (type: unknown): boolean => isObjectType(type) && type.name.endsWith('Connection');
const isEdge = (type: unknown): boolean => isObjectType(type) && type.name.endsWith('Edge');
