import { z } from 'zod';
import type { Prisma } from '../generated/prisma/client.ts';
import { BadRequestError } from './errors.ts';
import { requireText } from './text.ts';
import { problemOf } from './validation.ts';

/** Value of a setting of an organization or a user. */
export type SettingValue = boolean | number | string | null;

/** Event projection of a changed setting. */
export interface ProjectedSetting {
  /** Id of the object that has the setting. */
  readonly id: number;
  readonly property: string;
  readonly value: SettingValue;
}

/** A closed set of values: an enum in GraphQL. */
export interface ClosedSet<T extends number | string = number | string> {
  /** Name of the enum. */
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

/** Returns the values of the set on the wire, in their order. */
export const valuesOf = <T extends number | string>({ values }: ClosedSet<T>): readonly T[] =>
  Object.values(values).map(([value]) => value);

/** A flag, number or text that an organization or user can set. */
export interface Setting<T> {
  readonly type: z.ZodType<T>;
  /** Initial value, of the setting's type: flag, number or text. Null: a number that is not set. */
  readonly initial: T;
  /** For texts: maximum length in code points. */
  readonly max?: number;
  /** For texts: returns whether the text is one of the valid values. */
  readonly isKnown?: (value: string) => boolean;
  /** For limits: the stored value of "unlimited". All other values are positive integers. */
  readonly unlimited?: null | -1;
  /** For settings that contain the id of a row: the type of the row. The value -1 means no row. */
  readonly names?: 'Channel';
  /** Set of the possible values. The setting can exclude some of them. */
  readonly choices?: ClosedSet;
  /** True if nothing reads the setting yet: it is stored for clients that send it over REST, and is not in GraphQL. */
  readonly hasNoEffect?: true;
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

/** Declares a setting that is a text of at most `max` code points. */
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

/** Declares a number of seconds, or null for no limit. */
export const seconds = (initial: number, meaning: string): Setting<number | null> & { readonly unlimited: null } => ({
  ...setting<number | null>(z.int().positive().nullable(), initial, meaning),
  unlimited: null,
});

/** Declares a number of days, or -1 for no limit. */
export const days = (initial: number, meaning: string): Setting<number> & { readonly unlimited: -1 } => ({
  ...setting(z.int().min(-1), initial, meaning),
  unlimited: -1,
});

/** Returns a copy of a setting that is marked as stored, but not read yet. */
export const withoutEffect = <S extends Setting<unknown>>(stored: S): S & { readonly hasNoEffect: true } => ({
  ...stored,
  hasNoEffect: true,
});

/** Note in the documentation of a setting or permission that nothing reads yet. */
export const NO_EFFECT = 'stored, but has no effect yet';

/** All settings of one kind, by their names on the wire. */
export type Settings = Readonly<Record<string, Setting<unknown>>>;

/** Returns the settings or permissions that are not marked with `hasNoEffect`. */
export const withEffect = <T extends Readonly<Record<string, object>>>(all: T): T =>
  Object.fromEntries(
    Object.entries(all).filter(([, one]) => !('hasNoEffect' in one && one.hasNoEffect === true)),
  ) as unknown as T;

/**
 * Validates new values of settings and returns them as they are stored.
 *
 * @param given Values from a client, by name. "unlimited" removes a limit.
 * @throws BadRequestError if a setting does not accept its value.
 */
export function requireSettings(
  settings: Settings,
  given: Readonly<Record<string, unknown>>,
): Record<string, SettingValue> {
  const values = Object.entries(given).map(([name, value]) => {
    const setting = settings[name];
    if (setting === undefined) throw new Error(`Unknown setting ${name}`);
    return [name, requireSetting(name, setting, value)] as const;
  });
  return Object.fromEntries(values);
}

function requireSetting(name: string, setting: Setting<unknown>, value: unknown): SettingValue {
  if (setting.unlimited !== undefined) return requireLimit(name, setting.unlimited, value);
  if (typeof value === 'number' && value > MAX_INT4) throw new BadRequestError(`${name} is too large`, name);
  const given = typeof value === 'string' ? requireText(name, value, toRules(setting)) : value;
  const parsed = setting.type.safeParse(given, { reportInput: true });
  if (!parsed.success) throw new BadRequestError(problemOf(name, parsed.error.issues));
  if (typeof given === 'string' && setting.isKnown?.(given) === false) throw new BadRequestError(`Invalid ${name}`);
  return parsed.data as SettingValue;
}

/** Largest integer in GraphQL. */
const MAX_INT4 = 2_147_483_647;

const toRules = ({ max }: Setting<unknown>) => (max === undefined ? {} : { max });

function requireLimit(name: string, unlimited: null | -1, value: unknown): SettingValue {
  if (value === 'unlimited') return unlimited;
  const isLimit = typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_INT4;
  if (!isLimit) throw new BadRequestError(`Bad value for '${name}': ${value}`);
  return value;
}

/**
 * Returns the new value of a settings column: only settings that differ from the defaults.
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
