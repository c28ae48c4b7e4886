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

/** On errors of mutations: which part of the arguments they are about. On them, because resolvers are given proxies. */
const PATH = Symbol('path in the arguments');

/** Which part of a mutation's arguments an error is about; null when that is not known. */
export const inputPathOf = (error: ChatError & { [PATH]?: readonly string[] }): readonly string[] | null =>
  error[PATH] ?? null;

/** Notes which part of a mutation's arguments an error is about, where the service told the parameter. */
export function noteInputPath(error: unknown, args: readonly GraphQLArgument[]): void {
  if (!(error instanceof ChatError) || error.parameter === undefined) return;
  const path = inputPath(args, error.parameter);
  if (path !== undefined) Object.assign(error, { [PATH]: path });
}

/** What can be named in an argument. */
type Fields = readonly { readonly name: string; readonly type: GraphQLInputType }[];

/**
 * Where a parameter stands in arguments: its field, wherever it is, the shallowest first, and within it as far as there
 * are fields of these names. An index is its digits.
 *
 * @param parameter As the service names it: `topic_name`, `drafts[0]["content"]`.
 * @returns undefined when no field is called so.
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

/** The names of fields that stand for a parameter: `topic` for "topic_name", `channelId` for "stream". */
function namesOf(parameter: string): readonly string[] {
  return [parameter, parameter.replace(/_(group|name)$/, ''), `${parameter}_id`].map(settingFieldName);
}

/** The fields of an input object; none of a list, since which of its items is meant is not known. */
const fieldsOf = (type: GraphQLInputType): Fields => {
  const nullable = getNullableType(type);
  return isInputObjectType(nullable) ? Object.values(nullable.getFields()) : [];
};

/** Our choice: deeper than any input, and an end for those that hold themselves. */
const MAX_DEPTH = 5;

/** The field with one of the names on the first level that has any; undefined where several there do. */
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
