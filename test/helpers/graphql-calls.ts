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
import { ALL_CALLS, gather } from './calls/all.ts';
import { globalId } from './global-ids.ts';
import type { Parameters } from './person.ts';
import type { Names } from './scene.ts';

const QUERIES = gather<(names: Names) => readonly Parameters[]>([
  { node: (names) => nodeIds(names).map((id) => ({ id })), nodes: (names) => [{ ids: nodeIds(names) }] },
  ...ALL_CALLS.map(({ queries }) => queries),
]);
const MUTATIONS = gather(ALL_CALLS.map(({ mutations }) => mutations));
const CALLERS = gather(ALL_CALLS.map(({ callers }) => callers));

/** Of everything there is a `node` of. */
export const nodeIds = (names: Names): string[] =>
  Object.entries(gather(ALL_CALLS.map(({ nodes }) => nodes?.(names)))).map(([type, id]) => globalId(type, id));

/** A field of the root, and what to give it. */
export interface GraphQLCall {
  readonly operation: 'query' | 'mutation';
  readonly field: string;
  readonly args: Parameters;
  /** Who makes it, where that cannot be the owner. */
  readonly as?: 'guest';
}

/** What calls are told where nothing outside the service is set up that they need: they are made in earnest elsewhere. */
export const REFUSALS = gather(ALL_CALLS.map(({ refusals }) => refusals));

/**
 * Calls of every field of `Query` and `Mutation` that the organisation's owner may make one after the other: together they
 * give each argument and each field of an input. With the names of things that are not there they are calls that have
 * to be refused, or come to nothing.
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
 * The document of a call: its arguments as variables of their names, and of its result what has no arguments.
 *
 * @param options.payload Whether that goes for the payload of a mutation, too: else only its type is asked for.
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
    // Of entities, no result of a mutation.
    if (payloads.length === 0) return '{ __typename ... on Node { id } }';
    const [result] = payload ? payloads : [];
    const whole = result === undefined ? '' : `... on ${result.name} ${selectionOf(result, { depth, payload })}`;
    return `{ __typename ... on ServiceError { code message } ${whole} }`;
  }
  if (!isObjectType(named)) return '{ __typename }';
  const fields = Object.values(named.getFields())
    // The same as the edges have.
    .filter(({ name }) => name !== 'nodes')
    .filter(({ args, type: inner }) => !args.some(isRequiredArgument) && (depth > 0 || isLeafType(getNamedType(inner))))
    .map(({ name, type: inner }) => `${name} ${selectionOf(inner, { depth: depth - 1, payload })}`);
  return `{ ${fields.length === 0 ? '__typename' : fields.join(' ')} }`;
}

/** Every field of the input types that a type leads to: "DraftInput.content", … */
export function inputFieldsOf(type: GraphQLInputType, seen = new Set<string>()): Set<string> {
  const named = getNamedType(type);
  if (!isInputObjectType(named)) return seen;
  for (const field of Object.values(named.getFields())) {
    const name = `${named.name}.${field.name}`;
    if (!seen.has(name)) inputFieldsOf(field.type, seen.add(name));
  }
  return seen;
}

/** Those that `value` gives. */
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
