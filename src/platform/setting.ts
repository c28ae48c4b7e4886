import { z } from 'zod';
import type { Prisma } from '../generated/prisma/client.ts';
import { ValidationError } from './errors.ts';
import { requireText } from './text.ts';
import { problemOf, shortValue } from './validation.ts';

/** Value of a setting of an organization or a user. */
export type SettingValue = boolean | number | string | null;

/** Data of an event about a changed setting, from which GraphQL fields are answered without a database read. */
export interface ProjectedSetting {
  /** Id of the object that has the setting. */
  readonly id: number;
  readonly property: string;
  readonly value: SettingValue;
}

/** A closed set of values: an enum in GraphQL. */
export interface ClosedSet<T extends number | string = number | string> {
  /** Name of the enum in GraphQL. */
  readonly name: string;
  readonly description: string;
  /** Values by their names in the enum: the value over REST and a sentence that describes it. */
  readonly values: Readonly<Record<string, readonly [value: T, description: string]>>;
}

export const closedSet = <const T extends number | string>(
  name: string,
  description: string,
  values: ClosedSet<T>['values'],
): ClosedSet<T> => ({ name, description, values });

/** Returns the values of a closed set as they are sent over REST, in the order of their declaration. */
export const valuesOf = <T extends number | string>({ values }: ClosedSet<T>): readonly T[] =>
  Object.values(values).map(([value]) => value);

/** A flag, number or text that an organization or user can set. */
export interface Setting<T> {
  readonly type: z.ZodType<T>;
  /** Initial value of the setting: a flag, a number or a text. Null for a number that is initially not set. */
  readonly initial: T;
  /** For settings whose value is a text: maximum length in code points. Longer texts are refused with `ValidationError`. */
  readonly max?: number;
  /** For texts: returns whether the text is one of the valid values. */
  readonly isKnown?: (value: string) => boolean;
  /** For limits: the stored value of "unlimited". All other values are positive integers. */
  readonly unlimited?: null | -1;
  /** For limits: the lowest value. Default: 1. */
  readonly least?: number;
  /** For settings that contain the id of a row: the type of the row. The value -1 means no row. */
  readonly names?: 'Channel';
  /** Closed set to which the values belong. The setting can exclude some values of the set. */
  readonly choices?: ClosedSet;
  /**
   * Reason why nothing reads the setting: "the service has no …". It is stored for clients that send it over REST, and is not in
   * GraphQL. Absent if the setting has an effect.
   */
  readonly hasNoEffect?: string;
  /** Description for the documentation, with unit and bounds, without a full stop. */
  readonly meaning: string;
}

interface Details {
  readonly isKnown?: (value: string) => boolean;
  readonly names?: 'Channel';
  readonly choices?: ClosedSet;
}

export const setting = <T>(
  type: z.ZodType<T>,
  initial: NoInfer<T>,
  meaning: string,
  details: Details = {},
): Setting<T> => ({ type, initial, meaning, ...details });

/** Declares a setting that is true or false. @param meaning Meaning of true: "whether …". */
export const flag = (initial: boolean, meaning: string): Setting<boolean> => setting(z.boolean(), initial, meaning);

/** Declares a setting that is a text of at most `max` code points. Longer texts are refused with `ValidationError`. */
export const text = (initial: string, max: number, meaning: string, details: Details = {}): Setting<string> => ({
  ...setting(z.string(), initial, meaning, details),
  max,
});

/** Declares a setting with values of a closed set. @param only Accepted values. Default: all. */
export const oneOf = <T extends number | string, const A extends T = T>(
  choices: ClosedSet<T>,
  initial: NoInfer<A>,
  meaning: string,
  only: readonly A[] = valuesOf(choices) as readonly A[],
): Setting<A> => setting(z.literal(only) as unknown as z.ZodType<A>, initial, meaning, { choices });

/** Largest value of the type `Int` in GraphQL. */
const MAX_INT4 = 2_147_483_647;

const limit = z.int().min(1).max(MAX_INT4);

/** Declares a limit in seconds. Null means no limit. */
export const seconds = (initial: number, meaning: string): Setting<number | null> & { readonly unlimited: null } => ({
  ...setting<number | null>(limit.nullable(), initial, meaning),
  unlimited: null,
});

/** Declares a limit in days. -1 means no limit. @param least Lowest value. */
export const days = (initial: number, meaning: string, least = 1): Setting<number> & { readonly unlimited: -1 } => ({
  ...setting(z.union([limit.min(least), z.literal(-1)]), initial, meaning),
  unlimited: -1,
  least,
});

/** Returns a copy of a setting, marked as one that is stored but that no code reads. @param reason "the service has no …". */
export const withoutEffect = <S extends Setting<unknown>>(
  stored: S,
  reason: string,
): S & { readonly hasNoEffect: string } => ({ ...stored, hasNoEffect: reason });

/** Returns the note in the documentation of a setting or permission without effect. */
export const noEffect = (reason: string): string => `stored, but has no effect: ${reason}`;

/** All settings of users, or all settings of organizations, by their names over REST. */
export type Settings = Readonly<Record<string, Setting<unknown>>>;

/** Returns the settings or permissions that are not marked with `hasNoEffect`. */
export const withEffect = <T extends Readonly<Record<string, object>>>(all: T): T =>
  Object.fromEntries(
    Object.entries(all).filter(([, one]) => !('hasNoEffect' in one && one.hasNoEffect !== undefined)),
  ) as unknown as T;

/** Returns the settings with these REST names. */
export const settingsNamed = <N extends string>(settings: Readonly<Record<N, Setting<unknown>>>, names: readonly N[]) =>
  Object.fromEntries(names.map((name) => [name, settings[name]])) as Settings;

/**
 * Validates new values of settings and returns them as they are stored.
 *
 * @param given Values from a client, by name. "unlimited" removes a limit.
 * @throws ValidationError if a setting does not accept its value, or is not one of `settings`.
 */
export function requireSettings(
  settings: Settings,
  given: Readonly<Record<string, unknown>>,
): Record<string, SettingValue> {
  const values = Object.entries(given).map(([name, value]) => {
    const setting = settings[name];
    if (setting === undefined) throw new ValidationError(`${name} cannot be changed here`, { parameter: name });
    return [name, requireSetting(name, setting, value)] as const;
  });
  return Object.fromEntries(values);
}

function requireSetting(name: string, setting: Setting<unknown>, value: unknown): SettingValue {
  if (setting.unlimited !== undefined) return requireLimit(name, setting, setting.unlimited, value);
  if (typeof value === 'number' && value > MAX_INT4)
    throw new ValidationError(`${name} is too large`, { parameter: name, maximum: MAX_INT4, value });
  const given = typeof value === 'string' ? requireText(name, value, toRules(setting)) : value;
  const parsed = setting.type.safeParse(given, { reportInput: true });
  if (!parsed.success) throw problemOf(name, parsed.error.issues);
  if (typeof given === 'string' && setting.isKnown?.(given) === false) {
    const schemaMessage = 'The value is not one of the accepted values';
    throw new ValidationError(`Invalid ${name}`, { parameter: name, value: shortValue(given), schemaMessage });
  }
  return parsed.data as SettingValue;
}

const toRules = ({ max }: Setting<unknown>) => (max === undefined ? {} : { max });

/** Validates a limit. The stored value of "unlimited" is refused, because clients send the word. */
function requireLimit(
  name: string,
  { type, least = 1 }: Setting<unknown>,
  unlimited: null | -1,
  value: unknown,
): SettingValue {
  if (value === 'unlimited') return unlimited;
  const isLimit = value !== unlimited && type.safeParse(value).success;
  if (!isLimit) {
    throw new ValidationError(`Bad value for '${name}': ${value}`, {
      ...{ parameter: name, minimum: least, maximum: MAX_INT4, value: shortValue(value) },
      schemaMessage: `The limit must be an integer of at least ${least}`,
    });
  }
  return value as number;
}

/**
 * Returns the new value of a settings column, without the settings that have their initial value.
 *
 * @param stored The previous value.
 * @param changes Values from `requireSettings`.
 */
export function storedAfter(
  settings: Settings,
  stored: Prisma.JsonValue,
  changes: Readonly<Record<string, SettingValue>>,
): Prisma.JsonObject {
  const after: Prisma.JsonObject = { ...(stored as Prisma.JsonObject), ...changes };
  const entries = Object.entries(after);
  return Object.fromEntries(
    entries.filter(([name, value]) => !(name in settings) || value !== settings[name]?.initial),
  );
}
