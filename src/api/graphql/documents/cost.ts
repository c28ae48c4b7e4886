import type { FieldNullability, InputFieldMap, InputShapeFromFields, SchemaTypes, TypeParam } from '@pothos/core';
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
import { pageSize } from '../schema/page-size.ts';

type Variables = Readonly<Record<string, unknown>>;
type Arguments = Readonly<Record<string, unknown>>;

/** The cost that a field declares as `complexity`, if the default rules do not apply. */
interface Weight {
  /** The cost of the field itself. */
  readonly field?: number;
  /** Number of objects in the field's list. */
  readonly multiplier?: number;
}

declare global {
  export namespace PothosSchemaTypes {
    // The type parameters must be those of Pothos.
    interface FieldOptions<
      Types extends SchemaTypes = SchemaTypes,
      ParentShape = unknown,
      Type extends TypeParam<Types> = TypeParam<Types>,
      Nullable extends FieldNullability<Type> = FieldNullability<Type>,
      Args extends InputFieldMap = InputFieldMap,
      ResolveShape = unknown,
      ResolveReturnShape = unknown,
    > {
      /** Cost of the field. A number is the cost of the field itself. */
      complexity?: Weight | number | ((args: InputShapeFromFields<Args>) => Weight | number);
    }
  }
}

/** Number of objects that a list counts as, unless its field declares a number. Most lists that are not pages are short. */
const LIST_SIZE = 10;

/**
 * Returns the cost of an operation: the number of objects that it can return. Each object is a row, or a part of a row that
 * takes a statement. The columns of a row are included.
 *
 * - An object costs 1. A list costs 1, plus the cost of all objects that it can contain. A connection has the objects of its
 *   page; other lists have the number in the field's `complexity`, or 10.
 * - `__typename` and scalars are free, except scalars that declare a `complexity`, because they take a statement. A scalar
 *   under an alias costs 1, because otherwise a long text could be selected many times for free.
 * - An interface or union costs as much as its most expensive type.
 * - `edges`, `node`, `nodes` and `pageInfo` are parts of the connection.
 *
 * @param variables Coerced values.
 * @throws BadRequestError if a page is too large.
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

/** Whether `@skip` or `@include` omits a selection with these variables. */
export function isLeftOut(selection: SelectionNode, variables: Variables): boolean {
  if (getDirectiveValues(GraphQLSkipDirective, selection, variables)?.['if'] === true) return true;
  return getDirectiveValues(GraphQLIncludeDirective, selection, variables)?.['if'] === false;
}

/**
 * Whether a type condition of a fragment applies to an object type. It does if it names the type or an abstract type that
 * contains it, or if there is no condition.
 */
export function isOf(schema: GraphQLSchema, condition: string | undefined, type: GraphQLObjectType): boolean {
  if (condition === undefined || condition === type.name) return true;
  const named = schema.getType(condition);
  return isAbstractType(named) && schema.isSubType(named, type);
}

class Measure {
  readonly #schema: GraphQLSchema;
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #variables: Variables;
  /**
   * Costs of selections that were measured before, by type and page size. A fragment is measured once, however often it is
   * spread, so documents with exponentially many spreads take little time.
   */
  readonly #known = new Map<SelectionSetNode, Map<string, number>>();

  constructor(schema: GraphQLSchema, fragments: ReadonlyMap<string, FragmentDefinitionNode>, variables: Variables) {
    this.#schema = schema;
    this.#fragments = fragments;
    this.#variables = variables;
  }

  /**
   * Returns the cost of a selection on a type.
   *
   * @param page Number of rows in the lists of a connection. Ignored for other types.
   */
  selections(set: SelectionSetNode, type: GraphQLCompositeType, page: number): number {
    const key = `${type.name} ${page}`;
    let known = this.#known.get(set);
    if (known === undefined) {
      known = new Map();
      this.#known.set(set, known);
    }
    let cost = known.get(key);
    if (cost === undefined) {
      // The cost of an abstract type is that of its most expensive object type. Each object has one type, and selections on
      // other types do not apply to it.
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
    // A field that is not in the type is an introspection field. Introspection has separate limits.
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

/** Returns the cost that a field itself declares; an empty object if it declares none. */
function weightOf(field: GraphQLField<unknown, unknown>, args: Arguments): Weight {
  const { complexity } = (field.extensions['pothosOptions'] ?? {}) as {
    complexity?: Weight | number | ((args: Arguments) => Weight | number);
  };
  const weight = typeof complexity === 'function' ? complexity(args) : complexity;
  return typeof weight === 'number' ? { field: weight } : (weight ?? {});
}

const isList = (type: GraphQLOutputType): boolean => isListType(getNullableType(type));

/** Whether a type is a connection. The Relay specification reserves type names with this ending for connections. */
const isConnection = (type: unknown): boolean => isObjectType(type) && type.name.endsWith('Connection');
const isEdge = (type: unknown): boolean => isObjectType(type) && type.name.endsWith('Edge');
