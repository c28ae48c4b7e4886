import {
  type GraphQLArgument,
  type GraphQLInputType,
  getNamedType,
  getNullableType,
  isInputObjectType,
  isListType,
} from 'graphql';
import { ChatError } from '../../platform/errors.ts';
import { settingFieldName } from './setting-fields.ts';

/**
 * Property of mutation errors that contains the path in the arguments. It is stored on the error itself, because resolvers
 * receive proxies.
 */
const PATH = Symbol('path in the arguments');

/** Returns the path in a mutation's arguments that an error is about; null if it is unknown. */
export const inputPathOf = (error: ChatError & { [PATH]?: readonly string[] }): readonly string[] | null =>
  error[PATH] ?? null;

/** Stores the path in a mutation's arguments on an error that names a parameter. */
export function noteInputPath(error: unknown, args: readonly GraphQLArgument[]): void {
  if (!(error instanceof ChatError) || error.parameter === undefined) return;
  const path = inputPath(args, error.parameter);
  if (path !== undefined) Object.assign(error, { [PATH]: path });
}

/** The arguments or input fields in which a name is looked up. */
type Fields = readonly { readonly name: string; readonly type: GraphQLInputType }[];

/**
 * Returns the path of a parameter in arguments: its shallowest field, then the nested fields as far as they exist. An index
 * is written as digits.
 *
 * @param parameter As the service names it: `topic_name`, `drafts[0]["content"]`.
 * @returns Undefined if no field has this name.
 */
function inputPath(args: Fields, parameter: string): readonly string[] | undefined {
  const [name = '', ...steps] = parameter.replace(/[\]"]/g, '').split('[');
  const start = find(args, namesOf(name));
  if (start === undefined) return undefined;
  const path = [...start.path];
  let type: GraphQLInputType = start.type;
  for (const step of steps) {
    const inner = fieldsOf(type).find((field) => namesOf(step).includes(field.name));
    if (inner === undefined && !(isListType(getNullableType(type)) && /^\d+$/.test(step))) break;
    path.push(inner?.name ?? step);
    type = inner?.type ?? getNamedType(type);
  }
  return path;
}

/** Returns the possible field names of a parameter: `topic` for "topic_name", `channelId` for "stream". */
function namesOf(parameter: string): readonly string[] {
  return [parameter, parameter.replace(/_(group|name)$/, ''), `${parameter}_id`].map(settingFieldName);
}

/** Returns the fields of an input object. A list has none, because the index is unknown. */
const fieldsOf = (type: GraphQLInputType): Fields => {
  const nullable = getNullableType(type);
  return isInputObjectType(nullable) ? Object.values(nullable.getFields()) : [];
};

/** Deeper than any input. Ends the search in inputs that contain themselves. */
const MAX_DEPTH = 5;

/** Searches the input level by level for a field with one of the names. Returns undefined if a level has several such fields. */
function find(args: Fields, names: readonly string[]): { path: readonly string[]; type: GraphQLInputType } | undefined {
  let level = args.map(({ name, type }) => ({ path: [name], type }));
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    for (const name of names) {
      const found = level.filter(({ path }) => path.at(-1) === name);
      if (found.length > 0) return found.length === 1 ? found[0] : undefined;
    }
    level = level.flatMap(({ path, type }) =>
      fieldsOf(type).map((field) => ({ path: [...path, field.name], type: field.type })),
    );
  }
  return undefined;
}
