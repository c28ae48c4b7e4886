import type { InputFieldMap, ObjectFieldsShape } from '@pothos/core';
import type { Setting, Settings, SettingValue } from '../../platform/setting.ts';
import type { Types } from './builder.ts';
import { refersTo } from './refs.ts';

/** `web_font_size_px` as GraphQL names it. */
export const toFieldName = (name: string): string =>
  name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** A setting as GraphQL names it: channels are not streams there, nor organizations realms. */
const words = (name: string): string => name.replaceAll('stream', 'channel').replaceAll('realm', 'organization');
export const settingFieldName = (name: string): string => toFieldName(words(name));

const typeOf = ({ initial, names }: Setting<unknown>): 'Boolean' | 'ID' | 'Int' | 'String' =>
  names !== undefined
    ? 'ID'
    : typeof initial === 'boolean'
      ? 'Boolean'
      : typeof initial === 'string'
        ? 'String'
        : 'Int';

const isNullable = ({ type, names }: Setting<unknown>): boolean => names !== undefined || type.safeParse(null).success;

const namedBy = ({ names }: Setting<unknown>) => (names === undefined ? {} : refersTo(names));

/** How no object is stored, where a setting names one; GraphQL has null for it. */
const NOTHING = -1;

function describe({ meaning, max, unlimited }: Setting<unknown>): { description?: string } {
  const limit = unlimited === undefined ? undefined : `${unlimited} is unlimited`;
  const length = max === undefined ? undefined : `at most ${max.toLocaleString('en')} characters`;
  const said = [meaning, limit, length].filter((part) => part !== undefined).join('; ');
  return said === '' ? {} : { description: `${said[0]?.toUpperCase()}${said.slice(1)}.` };
}

type ObjectFields<S extends object> = Parameters<ObjectFieldsShape<Types, S>>[0];
type InputFields = PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>;

/** The fields of an object that holds every setting, by its name on the wire. */
export function settingFields<S extends object>(
  t: ObjectFields<S>,
  settings: Settings,
  read: (source: S, name: string) => SettingValue,
) {
  return Object.fromEntries(
    Object.entries(settings).map(([name, setting]) => [
      settingFieldName(name),
      t.field({
        type: typeOf(setting) as 'String',
        nullable: isNullable(setting),
        ...describe(setting),
        ...namedBy(setting),
        resolve: (source: S) => {
          const value = read(source, name);
          return (setting.names !== undefined && value === NOTHING ? null : value) as string;
        },
      }),
    ]),
  );
}

/** The fields of an input that changes some of the settings. */
export function settingInputs(t: InputFields, settings: Settings): InputFieldMap {
  return Object.fromEntries(
    Object.entries(settings).map(([name, setting]) => [
      settingFieldName(name),
      t.field({ type: typeOf(setting) as 'String', required: false, ...describe(setting), ...namedBy(setting) }),
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

/** The values of an enum of settings, each for its name on the wire. */
export const settingEnum = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [words(name).toUpperCase(), { value: name }]));

/** The fields that tell the new value of some setting: one for each type. */
export const settingValueFields = <S extends object>(t: ObjectFields<S>, read: (source: S) => unknown) => ({
  booleanValue: t.boolean({ nullable: true, resolve: (source: S) => only('boolean', read(source)) }),
  intValue: t.int({ nullable: true, resolve: (source: S) => only('number', read(source)) }),
  stringValue: t.string({ nullable: true, resolve: (source: S) => only('string', read(source)) }),
});

interface Kinds {
  readonly boolean: boolean;
  readonly number: number;
  readonly string: string;
}

const only = <K extends keyof Kinds>(kind: K, value: unknown): Kinds[K] | null =>
  typeof value === kind ? (value as Kinds[K]) : null;
