import type { InputFieldMap, ObjectFieldsShape } from '@pothos/core';
import {
  type ClosedSet,
  type ProjectedSetting,
  type Setting,
  type Settings,
  type SettingValue,
  withEffect,
} from '../../../platform/setting.ts';
import type { GraphQLContext } from '../loading/context.ts';
import { builder, type Types } from './builder.ts';
import { EventProjection, type ProjectedFields } from './event-projections.ts';
import { nodeOf } from './node.ts';
import { refersTo } from './refs.ts';

/** Converts a REST name to a GraphQL name: `web_font_size_px` becomes `webFontSizePx`. */
export const toFieldName = (name: string): string =>
  name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Words of the REST interface, with the words that GraphQL uses instead. */
const WORDS = [
  [/stream/g, 'channel'],
  [/realm|(?<=^|_)org(?=_)/g, 'organization'],
  [/(?<=^|_)[pd]m(?=_)/g, 'direct_message'],
  [/private(?=_typing)/g, 'direct'],
] as const;

/** Replaces words of the REST interface by those of GraphQL: `stream` by `channel`, `pm` by `direct_message`. */
const words = (name: string): string => WORDS.reduce((text, [from, to]) => text.replaceAll(from, to), name);
export const settingFieldName = (name: string): string => toFieldName(words(name));

/** Returns the GraphQL name of a permission: `canAddSubscribers` for `can_add_subscribers_group`. */
export const permissionFieldName = (name: string): string => settingFieldName(name.replace(/_group$/, ''));

const enums = new Map<ClosedSet, unknown>();

/**
 * Returns the GraphQL enum of a closed set of values. Inputs and outputs share the enum. Resolvers receive and return the
 * values of the REST interface.
 */
export function enumOf<T extends number | string>(set: ClosedSet<T>) {
  const values = Object.entries(set.values).map(([name, [value, description]]) => [name, { value, description }]);
  const known = enums.get(set) ?? builder.enumType(set.name, { ...set, values: Object.fromEntries(values) });
  enums.set(set, known);
  return known as PothosSchemaTypes.EnumRef<Types, T>;
}

function typeOf({ initial, names, choices }: Setting<unknown>) {
  if (names !== undefined) return 'ID';
  if (choices !== undefined) return enumOf(choices);
  return typeof initial === 'boolean' ? 'Boolean' : typeof initial === 'string' ? 'String' : 'Int';
}

const isNullable = ({ type, names }: Setting<unknown>): boolean => names !== undefined || type.safeParse(null).success;

const namedBy = ({ names }: Setting<unknown>) => (names === undefined ? {} : refersTo(names));

/** Stored value of a setting that can refer to an object by id but refers to none. GraphQL shows null instead. */
const NOTHING = -1;

/** Returns the description of a setting for the schema, with its limits and values. */
function describe(setting: Setting<unknown>): string {
  const { meaning, max, unlimited, least = 1, names, choices } = setting;
  const nothing = names === undefined ? undefined : 'null for none';
  const limit = unlimited === undefined ? undefined : `at least ${least}; ${unlimited} for unlimited`;
  const length = max === undefined ? undefined : `at most ${max.toLocaleString('en')} characters`;
  const taken = choices && namesTaken(setting, choices);
  return `${[meaning, nothing, limit, length, taken].filter((part) => part !== undefined).join('; ')}.`;
}

/** Returns the names of the enum values that a setting accepts. Undefined if the setting accepts all values of its enum. */
function namesTaken({ type }: Setting<unknown>, { values }: ClosedSet): string | undefined {
  const all = Object.entries(values);
  const taken = all.filter(([, [value]]) => type.safeParse(value).success);
  return taken.length === all.length ? undefined : taken.map(([name]) => name).join(' or ');
}

function describeWithDefault(setting: Setting<unknown>): string {
  const { initial, names, choices } = setting;
  const named = Object.entries(choices?.values ?? {}).find(([, [value]]) => value === initial)?.[0];
  return `${describe(setting)} Default: ${named ?? (names === undefined ? JSON.stringify(initial) : 'null')}.`;
}

/** Returns the name of the field that shows a setting: the object to which the setting refers, or its value. */
const shownName = (name: string, { names }: Setting<unknown>): string =>
  settingFieldName(names === undefined ? name : name.replace(/_id$/, ''));

type ObjectFields<S extends object> = Parameters<ObjectFieldsShape<Types, S>>[0];
type InputFields = PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>;

/** GraphQL types of the objects that settings refer to, by model name. */
type Named = Readonly<Record<string, unknown>>;

/**
 * Returns an object field for each setting that has an effect. If a setting refers to an object by id, the field shows the
 * object: `announcementsChannel` for `announcements_channel_id`. The field is null if the viewer cannot see the object.
 */
export function settingFields<S extends object>(
  t: ObjectFields<S>,
  settings: Settings,
  read: (source: S, name: string) => SettingValue,
  named: Named = {},
) {
  return Object.fromEntries(
    Object.entries(withEffect(settings)).map(([name, setting]) =>
      setting.names === undefined
        ? [shownName(name, setting), valueField(t, setting, (source) => read(source, name))]
        : [shownName(name, setting), objectField(t, setting, named, (source) => read(source, name))],
    ),
  );
}

const valueField = <S extends object>(
  t: ObjectFields<S>,
  setting: Setting<unknown>,
  read: (source: S) => SettingValue,
) =>
  t.field({
    type: typeOf(setting) as 'String',
    nullable: isNullable(setting),
    description: describeWithDefault(setting),
    resolve: (source: S) => read(source) as string,
  });

function objectField<S extends object>(
  t: ObjectFields<S>,
  setting: Setting<unknown>,
  named: Named,
  read: (source: S) => SettingValue,
) {
  const model = setting.names as 'Channel';
  return t.field({
    type: named[model] as 'String',
    nullable: true,
    description: `${describe(setting)} Also null if the viewer cannot see it.`,
    resolve: async (source: S, _args: object, ctx: GraphQLContext) => {
      const id = read(source);
      return (await nodeOf(ctx, model, id === NOTHING ? null : (id as number))) as never;
    },
  });
}

/** Returns the fields of an input object that changes settings, all optional. Settings without an effect are left out. */
export function settingInputs(t: InputFields, settings: Settings, deprecationReason?: string): InputFieldMap {
  return Object.fromEntries(
    Object.entries(withEffect(settings)).map(([name, setting]) => [
      settingFieldName(name),
      t.field({
        type: typeOf(setting) as 'String',
        required: false,
        description: describe(setting),
        ...namedBy(setting),
        ...(deprecationReason !== undefined && { deprecationReason }),
      }),
    ]),
  );
}

/**
 * Returns the settings that an input contains, as REST values by REST name. A null is treated as absent, unless the setting can
 * be null.
 */
export function settingsGiven<N extends string>(
  settings: Readonly<Record<N, Setting<unknown>>>,
  input: object,
): Partial<Record<N, unknown>> {
  const values = input as Readonly<Record<string, unknown>>;
  const given = Object.entries<Setting<unknown>>(settings).flatMap(([name, setting]) => {
    const value = values[settingFieldName(name)];
    if (value === undefined || (value === null && !isNullable(setting))) return [];
    if (setting.names !== undefined && value === null) return [[name, NOTHING]];
    return [[name, value === setting.unlimited ? 'unlimited' : value]];
  });
  return Object.fromEntries(given) as Partial<Record<N, unknown>>;
}

/**
 * Returns the values of an enum of setting names, for events: one for each setting that has an effect. Each is the name of the
 * field that shows the setting.
 */
export const settingEnum = (settings: Settings) =>
  Object.fromEntries(
    Object.entries(withEffect(settings)).map(([name, setting]) => [
      toEnumValue(shownName(name, setting)),
      { value: name, description: `${setting.meaning}.` },
    ]),
  );

/** Returns the enum value for a field name: `WEB_FONT_SIZE_PX` for `webFontSizePx`. */
const toEnumValue = (field: string): string => field.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();

/** Returns the REST name of a changed setting if GraphQL has the setting, otherwise null. */
export const shownSetting = (settings: Settings, name: string): string | null =>
  name in withEffect(settings) ? name : null;

/**
 * Returns the event projections (the fields that an event alone provides) of an object that holds settings, such as the
 * settings of a user. The object has the id of its owner. Each projection contains one setting: the setting that an event
 * changed.
 *
 * @param idOf Returns the part of the object's global id that follows the type name.
 * @returns A function that returns the projection for a setting's REST name. For an unknown name, the projection contains only
 *   the id.
 */
export function settingProjections(
  typename: string,
  names: readonly string[],
  idOf: (setting: ProjectedSetting) => number | string = ({ id }) => id,
): (name: string) => EventProjection<ProjectedSetting> {
  const knowing = (known: ProjectedFields<ProjectedSetting>) =>
    new EventProjection<ProjectedSetting>(typename, { idOf }, known);
  const byName = new Map(names.map((name) => [name, knowing({ [settingFieldName(name)]: ({ value }) => value })]));
  const nothing = knowing({});
  return (name) => byName.get(name) ?? nothing;
}
