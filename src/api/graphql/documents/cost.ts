import type { FieldNullability, InputFieldMap, InputShapeFromFields, SchemaTypes, TypeParam } from '@pothos/core';
import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLCompositeType,
  GraphQLError,
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
import { ValidationError } from '../../../platform/errors.ts';
import { pageSize } from '../schema/page-size.ts';

type Variables = Readonly<Record<string, unknown>>;
type Arguments = Readonly<Record<string, unknown>>;

/** The cost that a field declares as `complexity`, if the default rules do not apply. */
interface Weight {
  /** The cost of the field itself. */
  readonly field?: number;
  /** Number of objects that the list of the field is assumed to contain. */
  readonly multiplier?: number;
}

declare global {
  export namespace PothosSchemaTypes {
    // TypeScript merges this interface with `FieldOptions` of Pothos only if the type parameters are equal.
    interface FieldOptions<
      Types extends SchemaTypes = SchemaTypes,
      ParentShape = unknown,
      Type extends TypeParam<Types> = TypeParam<Types>,
      Nullable extends FieldNullability<Type> = FieldNullability<Type>,
      Args extends InputFieldMap = InputFieldMap,
      ResolveShape = unknown,
      ResolveReturnShape = unknown,
    > {
      /** Cost of the field. A number is the cost of the field itself. Default: the rules of `costOf`. */
      complexity?: Weight | number | ((args: InputShapeFromFields<Args>) => Weight | number);
    }
  }
}

/**
 * Number of objects that a list is assumed to contain, unless its field declares another number. Most lists that are not pages
 * are short.
 */
const LIST_SIZE = 10;

/**
 * Returns the cost of an operation: the number of objects that it can return. An object is a row, or data of a row that needs
 * an SQL statement of its own. Columns of a row add no cost.
 *
 * - An object costs 1. A list costs 1, plus the cost of all objects that it can contain. A connection contains the objects of
 *   its page. Other lists contain the number of objects in the field's `complexity`, by default 10.
 * - `__typename` and scalars are free, except scalars that declare a `complexity`, because these need an SQL statement. A
 *   scalar under an alias costs 1, because otherwise a long text could be selected many times for free.
 * - An interface or union costs as much as its most expensive type.
 * - In a connection, each item of `edges` or `nodes` costs 1. The fields `edges`, `nodes`, `node` and `pageInfo` themselves are
 *   free.
 * - If an argument is refused, its field is not read. A page size out of range therefore counts as the nearest accepted size,
 *   and a field whose arguments have the wrong type costs 1.
 *
 * @param variables Coerced values.
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

/** Returns whether a selection is omitted because of its directives `@skip` and `@include`, with these variables. */
export function isLeftOut(selection: SelectionNode, variables: Variables): boolean {
  if (getDirectiveValues(GraphQLSkipDirective, selection, variables)?.['if'] === true) return true;
  return getDirectiveValues(GraphQLIncludeDirective, selection, variables)?.['if'] === false;
}

/**
 * Returns whether the type condition of a fragment applies to an object type. A condition applies if it names the type, or an
 * interface or union that includes the type. An absent condition always applies.
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
   * Costs of selections that were computed before, by selection, then by type and page size. The cost of a fragment is computed
   * once, however often it is spread, so documents with exponentially many spreads take little time.
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
   * @param page Page size if the type is a connection. Ignored for other types.
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
      // An abstract type costs as much as its most expensive object type. Each object has one type, and selections on other
      // types do not apply to it.
      cost = isAbstractType(type)
        ? Math.max(...this.#schema.getPossibleTypes(type).map((one) => this.selections(set, one, page)))
        : set.selections.reduce((sum, selection) => sum + this.#selection(selection, type, page), 0);
      known.set(key, cost);
    }
    return cost;
  }

  #selection(selection: SelectionNode, type: GraphQLObjectType, page: number): number {
    if (this.#isLeftOut(selection)) return 0;
    if (selection.kind === Kind.FIELD) return this.#field(selection, type, page);
    const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? this.#fragments.get(selection.name.value) : selection;
    if (fragment === undefined) return 0;
    return isOf(this.#schema, fragment.typeCondition?.name.value, type)
      ? this.selections(fragment.selectionSet, type, page)
      : 0;
  }

  /**
   * Returns whether a selection has no cost, because `@skip` or `@include` omits it. Also true if the condition of the
   * directive is invalid, such as null: execution then refuses the selection.
   */
  #isLeftOut(selection: SelectionNode): boolean {
    try {
      return isLeftOut(selection, this.#variables);
    } catch (error) {
      if (error instanceof GraphQLError) return true;
      throw error;
    }
  }

  #field(node: FieldNode, type: GraphQLObjectType, page: number): number {
    const name = node.name.value;
    if (name === '__typename') return 0;
    const field = type.getFields()[name];
    // A field that is not in the type is an introspection field. Introspection has separate limits.
    if (field === undefined) return 1;
    const args = this.#argumentsOf(field, node);
    if (args === undefined) return 1;
    const weight = weightOf(field, args);
    const fieldType = getNamedType(field.type);
    if (isLeafType(fieldType)) return weight.field ?? (node.alias === undefined ? 0 : 1);
    const inner = (rows: number) =>
      node.selectionSet === undefined ? 0 : this.selections(node.selectionSet, fieldType as GraphQLCompositeType, rows);
    if (isConnection(type)) return isList(field.type) ? page * (1 + inner(1)) : inner(1);
    if (isEdge(type) && name === 'node') return inner(1);
    if (isConnection(fieldType)) return (weight.field ?? 1) + inner(weight.multiplier ?? withinRange(pageSize, args));
    if (isList(field.type)) return (weight.field ?? 1) + (weight.multiplier ?? LIST_SIZE) * (1 + inner(1));
    return (weight.field ?? 1) + inner(1);
  }

  /** Returns the coerced arguments of a field. Undefined if execution refuses them, such as a null for a required argument. */
  #argumentsOf(field: GraphQLField<unknown, unknown>, node: FieldNode): Arguments | undefined {
    try {
      return getArgumentValues(field, node, this.#variables);
    } catch (error) {
      if (error instanceof GraphQLError) return undefined;
      throw error;
    }
  }
}

/** Returns the cost that a field itself declares; an empty object if it declares none. */
function weightOf(field: GraphQLField<unknown, unknown>, args: Arguments): Weight {
  const { complexity } = (field.extensions['pothosOptions'] ?? {}) as {
    complexity?: Weight | number | ((args: Arguments) => Weight | number);
  };
  const weight = typeof complexity === 'function' ? withinRange(complexity, args) : complexity;
  return typeof weight === 'number' ? { field: weight } : (weight ?? {});
}

/**
 * Returns the result of `measure` for the arguments of a field. If `measure` refuses a number that is out of range, the nearest
 * accepted number replaces it.
 *
 * @param measure Throws a ValidationError with the name and the bounds of an argument, as `pageSize` does.
 */
function withinRange<T>(measure: (args: Arguments) => T, args: Arguments): T {
  try {
    return measure(args);
  } catch (error) {
    if (!(error instanceof ValidationError) || error.parameter === undefined) throw error;
    const { parameter, minimum = -Infinity, maximum = Infinity } = error;
    const given = Number(args[parameter]);
    const nearest = Math.min(Math.max(given, minimum), maximum);
    // Each step replaces one argument by an accepted value, so the recursion ends.
    if (Number.isNaN(given) || nearest === given) throw error;
    return withinRange(measure, { ...args, [parameter]: nearest });
  }
}

const isList = (type: GraphQLOutputType): boolean => isListType(getNullableType(type));

/**
 * Returns whether a type is a connection. The Relay specification reserves type names that end in "Connection" for
 * connections.
 */
const isConnection = (type: unknown): boolean => isObjectType(type) && type.name.endsWith('Connection');
const isEdge = (type: unknown): boolean => isObjectType(type) && type.name.endsWith('Edge');
