import {
  assertName,
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLCompositeType,
  GraphQLIncludeDirective,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  GraphQLSkipDirective,
  getDirectiveValues,
  getOperationAST,
  isAbstractType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type SelectionSetNode,
  typeFromAST,
} from 'graphql';

interface Asked {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operationName?: string | undefined;
  readonly variables: Readonly<Record<string, unknown>>;
}

/**
 * Compares the data of a GraphQL response with its document and the schema. Finds missing and unselected fields, values of the
 * wrong type, and nulls in non-null fields.
 *
 * @returns A description of the first problem. Undefined if there is none.
 */
export function problemOfData(asked: Asked, data: unknown): string | undefined {
  const { schema, document, operationName } = asked;
  const operation = getOperationAST(document, operationName);
  const root = operation && schema.getRootType(operation.operation);
  if (operation == null || root == null) return 'data of no operation';
  try {
    checkObject({ ...asked, fragments: fragmentsOf(document) }, [operation.selectionSet], root, data, '');
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return `the reply is not as the schema says: ${error.message}`;
    throw error;
  }
}

class Problem extends Error {}

interface Checked extends Asked {
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
}

const fragmentsOf = ({ definitions }: DocumentNode) =>
  new Map(definitions.flatMap((node) => (node.kind === Kind.FRAGMENT_DEFINITION ? [[node.name.value, node]] : [])));

interface Field {
  readonly name: string;
  readonly selections: SelectionSetNode[];
}

function checkObject(
  asked: Checked,
  sets: readonly SelectionSetNode[],
  type: GraphQLObjectType,
  value: unknown,
  place: string,
): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Problem(`${place} is no object`);
  const fields = new Map<string, Field>();
  for (const set of sets) collect(asked, set, type, fields);
  for (const key of Object.keys(value)) if (!fields.has(key)) throw new Problem(`${place}.${key} was not asked for`);
  for (const [key, { name, selections }] of fields) {
    if (!Object.hasOwn(value, key)) throw new Problem(`${place}.${key} is missing`);
    const inner: unknown = Reflect.get(value, key);
    const at = `${place}.${name}`;
    if (name === '__typename') {
      if (inner !== type.name) throw new Problem(`${at} is not ${type.name}`);
      continue;
    }
    // Introspection fields are not checked, because graphql-js implements them and not the service.
    if (name.startsWith('__')) continue;
    const field = type.getFields()[name];
    if (field === undefined) throw new Problem(`${at} is no field of ${type.name}`);
    checkValue(asked, selections, field.type, inner, at);
  }
}

function collect(asked: Checked, set: SelectionSetNode, type: GraphQLObjectType, fields: Map<string, Field>): void {
  for (const selection of set.selections) {
    const variables = { ...asked.variables };
    if (getDirectiveValues(GraphQLSkipDirective, selection, variables)?.['if'] === true) continue;
    if (getDirectiveValues(GraphQLIncludeDirective, selection, variables)?.['if'] === false) continue;
    if (selection.kind === Kind.FIELD) {
      const key = (selection.alias ?? selection.name).value;
      const known = fields.get(key) ?? { name: selection.name.value, selections: [] };
      if (selection.selectionSet !== undefined) known.selections.push(selection.selectionSet);
      fields.set(key, known);
      continue;
    }
    const fragment = selection.kind === Kind.INLINE_FRAGMENT ? selection : asked.fragments.get(selection.name.value);
    const condition = fragment?.typeCondition && typeFromAST(asked.schema, fragment.typeCondition);
    if (fragment !== undefined && applies(asked.schema, condition as GraphQLCompositeType | undefined, type)) {
      collect(asked, fragment.selectionSet, type, fields);
    }
  }
}

function applies(schema: GraphQLSchema, condition: GraphQLCompositeType | undefined, type: GraphQLObjectType): boolean {
  if (condition === undefined || condition === type) return true;
  return isAbstractType(condition) && schema.isSubType(condition, type);
}

function checkValue(
  asked: Checked,
  selections: readonly SelectionSetNode[],
  type: GraphQLOutputType,
  value: unknown,
  place: string,
): void {
  if (isNonNullType(type)) {
    if (value === null) throw new Problem(`${place} is null`);
    checkValue(asked, selections, type.ofType, value, place);
    return;
  }
  if (value === null) return;
  if (isListType(type)) {
    if (!Array.isArray(value)) throw new Problem(`${place} is no list`);
    for (const element of value) checkValue(asked, selections, type.ofType, element, `${place}[]`);
    return;
  }
  if (isLeafType(type)) {
    try {
      type.parseValue(value);
    } catch (error) {
      throw new Problem(`${place}: ${(error as Error).message}`);
    }
    return;
  }
  // A change of a document can remove `__typename`. The type of the object is then unknown.
  if (isAbstractType(type) && !selections.some(selectsTypename)) return;
  const concrete = isObjectType(type) ? type : concreteOf(asked, value, place);
  if (concrete !== type && isAbstractType(type) && !asked.schema.isSubType(type, concrete)) {
    throw new Problem(`${place} is a ${concrete.name}, which is no ${type.name}`);
  }
  checkObject(asked, selections, concrete, value, place);
}

const selectsTypename = ({ selections }: SelectionSetNode): boolean =>
  selections.some((one) => one.kind === Kind.FIELD && one.name.value === '__typename' && one.alias === undefined);

/** Returns the type of an object in a response by its `__typename`. */
function concreteOf({ schema }: Checked, value: unknown, place: string): GraphQLObjectType {
  const name: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, '__typename') : undefined;
  const type = typeof name === 'string' ? schema.getType(assertName(name)) : undefined;
  if (!isObjectType(type)) throw new Problem(`${place} is of no known type`);
  return type;
}
