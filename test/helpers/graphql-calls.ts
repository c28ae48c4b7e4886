import {
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  isLeafType,
  isObjectType,
  isRequiredArgument,
  isUnionType,
} from 'graphql';
import { FEATURES, gather } from './features.ts';
import { globalId } from './global-ids.ts';
import type { Parameters } from './person.ts';
import type { Names } from './scene.ts';

const QUERIES = gather<(names: Names) => readonly Parameters[]>([
  { node: (names) => nodeIds(names).map((id) => ({ id })), nodes: (names) => [{ ids: nodeIds(names) }] },
  ...FEATURES.map(({ queries }) => queries),
]);
const MUTATIONS = gather(FEATURES.map(({ mutations }) => mutations));
const CALLERS = gather(FEATURES.map(({ callers }) => callers));

/** Returns the global ids of one object of each type that `Query.node` can return. */
export const nodeIds = (names: Names): string[] =>
  Object.entries(gather(FEATURES.map(({ nodes }) => nodes?.(names)))).map(([type, id]) => globalId(type, id));

/** A root field and its arguments. */
export interface GraphQLCall {
  readonly operation: 'query' | 'mutation';
  readonly field: string;
  readonly args: Parameters;
  /** The caller, if the owner cannot make the call. */
  readonly as?: 'guest';
}

/** Expected errors of calls that need an external service that is not configured. Other tests cover their success. */
export const REFUSALS = gather(FEATURES.map(({ refusals }) => refusals));

/**
 * Calls of every field of `Query` and `Mutation`, in an order in which the organization's owner can make them. Together they
 * set each argument and each input field that is not deprecated. With names of nonexistent objects, they must be refused or
 * have no effect.
 */
export const GRAPHQL_CALLS: Readonly<Record<string, (names: Names) => readonly GraphQLCall[]>> = {
  ...Object.fromEntries(
    Object.entries(QUERIES).map(([field, make]) => [
      `Query.${field}`,
      (names: Names) => make(names).map((args) => ({ operation: 'query', field, args }) as const),
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(MUTATIONS).map(([field, make]) => [
      `Mutation.${field}`,
      (names: Names) =>
        make(names).map(
          (input) =>
            ({ operation: 'mutation', field, args: { input }, ...(CALLERS[field] && { as: CALLERS[field] }) }) as const,
        ),
    ]),
  ),
};

export function fieldOf(schema: GraphQLSchema, { operation, field }: GraphQLCall): GraphQLField<unknown, unknown> {
  const root = operation === 'query' ? schema.getQueryType() : schema.getMutationType();
  const definition = root?.getFields()[field];
  if (definition === undefined) throw new Error(`There is no ${operation} ${field}`);
  return definition;
}

/**
 * Returns the document of a call: its arguments as variables, and a selection of all result fields without arguments.
 *
 * @param options.payload Whether to select the payload of a mutation. By default only its type is selected.
 */
export function documentOf(schema: GraphQLSchema, call: GraphQLCall, { payload = false } = {}): string {
  const field = fieldOf(schema, call);
  const given = field.args.filter(({ name }) => name in call.args);
  const definitions = given.map(({ name, type }) => `$${name}: ${type}`).join(', ');
  const values = given.map(({ name }) => `${name}: $${name}`).join(', ');
  const [outer, inner] = given.length === 0 ? ['', ''] : [`(${definitions})`, `(${values})`];
  return `${call.operation} ${outer} { ${call.field}${inner} ${selectionOf(field.type, { depth: payload ? 2 : 3, payload })} }`;
}

function selectionOf(type: GraphQLOutputType, { depth, payload }: { depth: number; payload: boolean }): string {
  const named = getNamedType(type);
  if (isLeafType(named)) return '';
  if (isUnionType(named)) {
    const payloads = named.getTypes().filter(({ name }) => name.endsWith('Payload'));
    // A union without payload types is a union of entities, not the result of a mutation.
    if (payloads.length === 0) return '{ __typename ... on Node { id } }';
    const [result] = payload ? payloads : [];
    const whole = result === undefined ? '' : `... on ${result.name} ${selectionOf(result, { depth, payload })}`;
    return `{ __typename ... on ServiceError { code message } ${whole} }`;
  }
  if (!isObjectType(named)) return '{ __typename }';
  const fields = Object.values(named.getFields())
    // `nodes` repeats the content of `edges`.
    .filter(({ name }) => name !== 'nodes')
    .filter(({ args, type: inner }) => !args.some(isRequiredArgument) && (depth > 0 || isLeafType(getNamedType(inner))))
    .map(({ name, type: inner }) => `${name} ${selectionOf(inner, { depth: depth - 1, payload })}`);
  return `{ ${fields.length === 0 ? '__typename' : fields.join(' ')} }`;
}

/** Returns the fields of an input type and of its nested input types, except deprecated ones: "DraftInput.content", … */
export function inputFieldsOf(type: GraphQLInputType, seen = new Set<string>()): Set<string> {
  const named = getNamedType(type);
  if (!isInputObjectType(named)) return seen;
  for (const field of Object.values(named.getFields())) {
    if (field.deprecationReason != null) continue;
    const name = `${named.name}.${field.name}`;
    if (!seen.has(name)) inputFieldsOf(field.type, seen.add(name));
  }
  return seen;
}

/** Returns the input fields that `value` sets. */
export function inputFieldsGiven(type: GraphQLInputType, value: unknown): string[] {
  const named = getNamedType(type);
  if (Array.isArray(value)) return value.flatMap((element) => inputFieldsGiven(named, element));
  if (!isInputObjectType(named) || typeof value !== 'object' || value === null) return [];
  const fields = named.getFields();
  return Object.entries(value).flatMap(([name, inner]) => {
    const field = fields[name];
    return field === undefined ? [] : [`${named.name}.${name}`, ...inputFieldsGiven(field.type, inner)];
  });
}
