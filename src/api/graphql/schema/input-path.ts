import {
  type GraphQLArgument,
  type GraphQLInputType,
  getNamedType,
  getNullableType,
  isInputObjectType,
  isListType,
} from 'graphql';
import { ChatError, type ForbiddenError, NotFoundError } from '../../../platform/errors.ts';
import { idIn } from './global-ids.ts';
import { referredType } from './refs.ts';
import { permissionFieldName, settingFieldName } from './setting-fields.ts';

/**
 * Key of the property of an error that stores the path of the invalid argument. A WeakMap with errors as keys would not work,
 * because resolvers receive proxies of errors.
 */
const PATH = Symbol('path in the arguments');

/**
 * Returns the path of the argument to which an error refers, outermost name first. Null if `noteInputPath` found no such
 * argument.
 */
export const inputPathOf = (error: ChatError & { [PATH]?: readonly string[] }): readonly string[] | null =>
  error[PATH] ?? null;

/**
 * Stores the path of the argument that caused the error of a field on the error. For an object that was not found, the path
 * leads to the object's id in the arguments. For any other error, it leads to the argument with the name of the parameter.
 *
 * @param values Values of the arguments, with row ids or global ids.
 */
export function noteInputPath(
  error: unknown,
  args: readonly GraphQLArgument[],
  values: Readonly<Record<string, unknown>>,
): void {
  if (!(error instanceof ChatError)) return;
  const object = error instanceof NotFoundError ? error.object : undefined;
  const isNamed = error instanceof NotFoundError && object?.id === undefined;
  const byId = () => object && pathOfId(args, values, object);
  const byName = () => (error.parameter === undefined ? undefined : inputPath(args, error.parameter, isNamed, values));
  // An object that was given by name has no id. Another argument can contain the id of an object of the same type.
  const path = object?.id === undefined ? (byName() ?? byId()) : (byId() ?? byName());
  if (path) Object.assign(error, { [PATH]: path });
}

/**
 * Returns the path of the argument that contains the id of an object. If several arguments contain it, returns the shortest
 * path. If `id` is undefined, returns the path of the only argument for ids of objects of this type. Returns undefined if there
 * is no such argument, or if `id` is undefined and there are several.
 */
function pathOfId(
  args: Fields,
  values: Readonly<Record<string, unknown>>,
  { type, id }: { readonly type: string; readonly id: number | undefined },
): readonly string[] | undefined {
  const found: (readonly string[])[] = [];
  const isWanted = (value: unknown) =>
    id === undefined || value === id || (typeof value === 'string' && idIn(type, value) === id);
  const visit = (fields: Fields, holder: Readonly<Record<string, unknown>>, path: readonly string[]): void => {
    for (const { name, type: declared, extensions } of fields) {
      const isReference = referredType(extensions) === type;
      const walk = (value: unknown, at: readonly string[]): void => {
        if (Array.isArray(value)) {
          for (const [i, item] of value.entries()) walk(item, [...at, String(i)]);
          return;
        }
        if (isReference && value != null && isWanted(value)) found.push(at);
        const inner = getNamedType(declared);
        if (isInputObjectType(inner) && typeof value === 'object' && value !== null) {
          visit(Object.values(inner.getFields()), value as Record<string, unknown>, at);
        }
      };
      walk(holder[name], [...path, name]);
    }
  };
  visit(args, values, []);
  return id === undefined && found.length > 1 ? undefined : found.toSorted((a, b) => a.length - b.length)[0];
}

/** The arguments of a field, or the fields of an input object. */
type Fields = readonly { readonly name: string; readonly type: GraphQLInputType; readonly extensions?: object }[];

/**
 * Returns the path of a parameter in the arguments of a mutation. The path leads to the field with the parameter's name that is
 * nearest to the root. It continues with the steps that follow the name in `parameter`, as far as the input has fields for
 * these steps. An index of a list is written as digits.
 *
 * @param parameter Name in the error of the service, with steps in brackets: `topic_name`, `drafts[0]["content"]`.
 * @param isNamed Whether the parameter contains the name of an object.
 * @param values Values of the arguments. If the path leads to an input with exactly one field, this field is appended.
 * @returns Undefined if no field has this name, or several fields at the same depth.
 */
function inputPath(
  args: Fields,
  parameter: string,
  isNamed: boolean,
  values: Readonly<Record<string, unknown>>,
): readonly string[] | undefined {
  const [name = '', ...steps] = parameter.replace(/[\]"]/g, '').split('[');
  const start = fieldNamed(args, namesOf(name), values);
  if (start === undefined) return undefined;
  const path = [...start.path];
  let type: GraphQLInputType = start.type;
  for (const step of steps) {
    const inner = fieldNamed(fieldsOf(type), namesOf(step), valueAt(values, path) as object | undefined);
    if (inner === undefined && !(isListType(getNullableType(type)) && /^\d+$/.test(step))) break;
    path.push(...(inner?.path ?? [step]));
    type = inner?.type ?? getNamedType(type);
  }
  // Some inputs have an object with a name where REST has the name itself.
  if ((isNamed || path.at(-1) === 'topic') && fieldsOf(type).some((field) => field.name === 'name')) path.push('name');
  else if (isOneOf(type)) {
    path.push(...Object.keys((valueAt(values, path) as object | undefined) ?? {}));
    if (path.at(-1) === 'named') path.push('name');
  }
  return path;
}

/**
 * Returns the names that the parameter of a service can have as an input field: `topic` for "topic_name", `channelId` for
 * "stream".
 */
function namesOf(parameter: string): readonly string[] {
  const names = [parameter, parameter.replace(/_(group|name)$/, ''), `${parameter}_id`].map(settingFieldName);
  return [...names, ...(OTHER_NAMES[parameter] ?? [])];
}

/** Fields for parameters whose names differ between the APIs in another way. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  add: ['addMemberIds'],
  add_subgroups: ['addSubgroupIds'],
  delete: ['removeMemberIds'],
  delete_subgroups: ['removeSubgroupIds'],
  bot_owner_id: ['ownerId'],
  deactivation_notification_comment: ['notificationComment'],
  default_events_register_stream: ['defaultEventsChannelId'],
  subgroups: ['subgroupIds'],
  alert_words: ['words'],
  data: ['values', 'fieldIds'],
  field_data: ['data'],
  history_public_to_subscribers: ['privacy'],
  invite_as: ['role'],
  invite_expires_in_minutes: ['expiresInMinutes'],
  invite_id: ['invitationId'],
  invitee_emails: ['emails'],
  is_default_stream: ['isDefault'],
  is_private: ['privacy'],
  is_web_public: ['privacy'],
  principals: ['userIds'],
  status_text: ['text'],
  stream_ids: ['channelIds'],
  subscribers: ['subscriberIds'],
  subscription_data: ['subscriptions'],
  welcome_message_custom_text: ['welcomeText'],
  subscriptions: ['channels'],
  value: ['content'],
  group_ids: ['userGroupIds'],
  idle_queue_timeout: ['idleTimeoutSeconds'],
  last_event_id: ['after', 'upTo'],
  dm: ['directWith'],
  'dm-including': ['directIncluding'],
  mentions: ['mentionsUserId'],
  messages: ['messageIds'],
  num_after: ['countAfter'],
  num_before: ['countBefore'],
  op: ['operation'],
  order: ['channelFolderIds', 'customProfileFieldIds'],
  scheduled_delivery_timestamp: ['scheduledAt'],
  timestamp: ['lastEditedAt'],
  topic: ['topicNamed', 'to'],
};

/**
 * Returns the fields of an input object. Returns no fields for a list of objects, because the index of the item would be
 * unknown.
 */
const fieldsOf = (type: GraphQLInputType): Fields => {
  const nullable = getNullableType(type);
  return isInputObjectType(nullable) ? Object.values(nullable.getFields()) : [];
};

/** Returns whether a value of the type is an object with exactly one field. */
const isOneOf = (type: GraphQLInputType): boolean => {
  const nullable = getNullableType(type);
  return isInputObjectType(nullable) && nullable.isOneOf;
};

/** Returns the value at a path in the values of fields. Undefined if there is none. */
const valueAt = (values: object, path: readonly string[]): unknown =>
  path.reduce<unknown>((holder, step) => (holder as Record<string, unknown> | null | undefined)?.[step], values);

/**
 * Maximum number of levels that `fieldNamed` searches, more than any input has. Deeper fields are not found. The limit ends the
 * search in input types that contain themselves.
 */
const MAX_DEPTH = 5;

/** A field in an input, with its path. */
interface InputField {
  readonly path: readonly string[];
  readonly type: GraphQLInputType;
}

/**
 * Returns the field of an input that has one of the names, in any order of nesting. Fields that the client gave take
 * precedence. Returns undefined if no field has any of the names, or if several fields at the same depth have the name.
 *
 * @param values The values of the fields. Undefined if the client gave none.
 */
const fieldNamed = (fields: Fields, names: readonly string[], values: object = {}): InputField | undefined =>
  fieldNamedAmong(fields, names, ({ path }) => valueAt(values, path) != null) ??
  fieldNamedAmong(fields, names, () => true);

/**
 * Returns the field that has one of the names, among the candidates. The names are tried in order. Each name is searched for
 * from the outermost level to the innermost, and the first level with a field of this name decides. Returns undefined if that
 * level has several such fields, or if no field has any of the names.
 */
function fieldNamedAmong(
  fields: Fields,
  names: readonly string[],
  isCandidate: (field: InputField) => boolean,
): InputField | undefined {
  const levels = levelsOf(fields).map((level) => level.filter(isCandidate));
  for (const name of names) {
    for (const level of levels) {
      const [found, another] = level.filter(({ path }) => path.at(-1) === name);
      if (found !== undefined) return another === undefined ? found : undefined;
    }
  }
  return undefined;
}

/**
 * Returns fields, and the fields of the input objects in them, each with its path. Each item of the result is one level of
 * nesting: `fields` first, at most `MAX_DEPTH` levels.
 */
function levelsOf(fields: Fields): readonly (readonly InputField[])[] {
  const levels: (readonly InputField[])[] = [fields.map(({ name, type }) => ({ path: [name], type }))];
  for (let depth = 1; depth < MAX_DEPTH; depth++) {
    const inner = (levels.at(-1) ?? []).flatMap(({ path, type }) =>
      fieldsOf(type).map((field) => ({ path: [...path, field.name], type: field.type })),
    );
    levels.push(inner);
  }
  return levels;
}

/** Returns a path in the form that error messages show, without `input`: `drafts[0].content`. */
const shownPath = (path: readonly string[]): string =>
  (path[0] === 'input' && path.length > 1 ? path.slice(1) : path)
    .map((step, i) => (/^\d+$/.test(step) ? `[${step}]` : i === 0 ? step : `.${step}`))
    .join('');

/**
 * Returns the message of an error with names of the schema. If the message over REST begins with the parameter, the name of
 * the argument replaces it.
 */
export function schemaMessageOf(error: ChatError): string {
  if (error.schemaMessage !== undefined) return error.schemaMessage;
  // The classes are not compared: resolvers receive proxies of errors, for which `instanceof` is false.
  const { object, permission } = error as Partial<Pick<NotFoundError, 'object'> & Pick<ForbiddenError, 'permission'>>;
  if (object !== undefined) return `The ${wordsOf(object.type)} does not exist, or you cannot see it.`;
  if (permission !== undefined) return `This requires the permission "${permissionFieldName(permission)}".`;
  const { message, parameter } = error;
  if (parameter === undefined || !message.startsWith(parameter)) return message;
  const path = inputPathOf(error);
  return `${path === null ? settingFieldName(parameter) : shownPath(path)}${message.slice(parameter.length)}`;
}

/** Returns the words of a type name: "channel folder" for `ChannelFolder`. */
const wordsOf = (typename: string): string => typename.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
