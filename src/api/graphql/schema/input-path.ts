import {
  type GraphQLArgument,
  type GraphQLInputType,
  getNamedType,
  getNullableType,
  isInputObjectType,
  isListType,
} from 'graphql';
import { ChatError } from '../../../platform/errors.ts';
import { settingFieldName } from './setting-fields.ts';

/**
 * Property that stores, on the error of a mutation, the path of the argument that caused it. A WeakMap by error would not work,
 * because resolvers receive proxies of errors.
 */
const PATH = Symbol('path in the arguments');

/** Returns the path of the argument that caused an error, outermost name first; null if it is unknown. */
export const inputPathOf = (error: ChatError & { [PATH]?: readonly string[] }): readonly string[] | null =>
  error[PATH] ?? null;

/** Stores the path of the argument on the error of a mutation, if the error names a parameter that is one of `args`. */
export function noteInputPath(error: unknown, args: readonly GraphQLArgument[]): void {
  if (!(error instanceof ChatError) || error.parameter === undefined) return;
  const path = inputPath(args, error.parameter);
  if (path !== undefined) Object.assign(error, { [PATH]: path });
}

/** The arguments of a field, or the fields of an input object. */
type Fields = readonly { readonly name: string; readonly type: GraphQLInputType }[];

/**
 * Returns the path of a parameter in the arguments of a mutation. It leads to the field with the parameter's name that is
 * nearest to the root, and from there on into the field, as far as the parameter's steps exist. An index of a list is written
 * as digits.
 *
 * @param parameter Name in the error of the service: `topic_name`, `drafts[0]["content"]`.
 * @returns Undefined if no field, or more than one at the same depth, has this name.
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

/** Returns the fields of an input object. A list of objects has none here, because the index of the item would be unknown. */
const fieldsOf = (type: GraphQLInputType): Fields => {
  const nullable = getNullableType(type);
  return isInputObjectType(nullable) ? Object.values(nullable.getFields()) : [];
};

/** Limit of the search, deeper than any input. It ends the search in inputs that contain themselves. */
const MAX_DEPTH = 5;

/**
 * Searches the arguments level by level for a field with one of the names. Undefined if there is none, or if the first level
 * that has such a field has several with the same name.
 */
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
