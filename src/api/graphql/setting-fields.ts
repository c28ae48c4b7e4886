import type { InputFieldMap, ObjectFieldsShape } from '@pothos/core';
import type { ClosedSet, KnownSetting, Setting, Settings, SettingValue } from '../../platform/setting.ts';
import { builder, type Types } from './builder.ts';
import type { GraphQLContext } from './context.ts';
import { EntityFacts, type KnownFields } from './entity-facts.ts';
import { nodeOf } from './node.ts';
import { refersTo } from './refs.ts';

/** `web_font_size_px` as GraphQL names it. */
export const toFieldName = (name: string): string =>
  name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** A setting as GraphQL names it: channels are not streams there, nor organizations realms. */
const words = (name: string): string => name.replaceAll('stream', 'channel').replaceAll('realm', 'organization');
export const settingFieldName = (name: string): string => toFieldName(words(name));

const enums = new Map<ClosedSet, unknown>();

/** The enum of a closed set: one, wherever its values are told or taken. Resolvers give and get what is on the wire. */
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

/** How no object is stored, where a setting names one; GraphQL has null for it. */
const NOTHING = -1;

/** What the setting is, in a sentence. */
function describe(setting: Setting<unknown>): string {
  const { meaning, max, unlimited, names, choices } = setting;
  const nothing = names === undefined ? undefined : 'null is none';
  const limit = unlimited === undefined ? undefined : `at least 1; ${unlimited} is unlimited`;
  const length = max === undefined ? undefined : `at most ${max.toLocaleString('en')} characters`;
  const taken = choices && namesTaken(setting, choices);
  return `${[meaning, nothing, limit, length, taken].filter((part) => part !== undefined).join('; ')}.`;
}

/** Which values of its set a setting takes, where it is not all. */
function namesTaken({ type }: Setting<unknown>, { values }: ClosedSet): string | undefined {
  const all = Object.entries(values);
  const taken = all.filter(([, [value]]) => type.safeParse(value).success);
  return taken.length === all.length ? undefined : taken.map(([name]) => name).join(' or ');
}

function describeWithDefault(setting: Setting<unknown>): string {
  const { initial, names, choices } = setting;
  const named = Object.entries(choices?.values ?? {}).find(([, [value]]) => value === initial)?.[0];
  return `${describe(setting)} By default ${named ?? (names === undefined ? JSON.stringify(initial) : 'null')}.`;
}

type ObjectFields<S extends object> = Parameters<ObjectFieldsShape<Types, S>>[0];
type InputFields = PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>;

/** The types of the objects that settings name, by the names of their models. */
type Named = Readonly<Record<string, unknown>>;

/**
 * The fields of an object that holds every setting, by its name on the wire. A setting that names an object shows it, as
 * far as the viewer sees it: `announcementsChannel` for `announcements_channel_id`.
 */
export function settingFields<S extends object>(
  t: ObjectFields<S>,
  settings: Settings,
  read: (source: S, name: string) => SettingValue,
  named: Named = {},
) {
  return Object.fromEntries(
    Object.entries(settings).map(([name, setting]) =>
      setting.names === undefined
        ? [settingFieldName(name), valueField(t, setting, (source) => read(source, name))]
        : [settingFieldName(name).replace(/Id$/, ''), objectField(t, setting, named, (source) => read(source, name))],
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
    description: `${describe(setting)} Null as well when the viewer does not see it.`,
    resolve: async (source: S, _args: object, ctx: GraphQLContext) => {
      const id = read(source);
      return (await nodeOf(ctx, model, id === NOTHING ? null : (id as number))) as never;
    },
  });
}

/** The fields of an input that changes some of the settings. */
export function settingInputs(t: InputFields, settings: Settings): InputFieldMap {
  return Object.fromEntries(
    Object.entries(settings).map(([name, setting]) => [
      settingFieldName(name),
      t.field({
        type: typeOf(setting) as 'String',
        required: false,
        description: describe(setting),
        ...namedBy(setting),
      }),
    ]),
  );
}

/** The settings that an input gives, by their names on the wire. Null is a value where the setting has it. */
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

/** What each of the settings is, in a sentence, by its name on the wire. */
export const meaningsOf = (settings: Settings): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(settings).map(([name, { meaning }]) => [name, `${meaning}.`]));

/** The values of an enum of settings. @param meanings What each is, by its name on the wire. */
export const settingEnum = (meanings: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(meanings).map(([name, description]) => [words(name).toUpperCase(), { value: name, description }]),
  );

/**
 * What events know of an object that holds settings, and has the id of whose they are: the one that changed.
 *
 * @returns By its name on the wire.
 */
export function settingFacts(typename: string, names: readonly string[]): (name: string) => EntityFacts<KnownSetting> {
  const knowing = (known: KnownFields<KnownSetting>) => new EntityFacts<KnownSetting>(typename, { idOf }, known);
  const byName = new Map(names.map((name) => [name, knowing({ [settingFieldName(name)]: ({ value }) => value })]));
  const nothing = knowing({});
  return (name) => byName.get(name) ?? nothing;
}

const idOf = ({ id }: KnownSetting) => id;
