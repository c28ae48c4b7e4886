import { z } from 'zod';
import type { Prisma } from '../generated/prisma/client.ts';
import { BadRequestError } from './errors.ts';
import { requireText } from './text.ts';
import { problemOf } from './validation.ts';

/** What a setting of an organisation or of a user can be. */
export type SettingValue = boolean | number | string | null;

/** A setting that changed, as events know it. */
export interface KnownSetting {
  /** Of what holds the settings. */
  readonly id: number;
  readonly property: string;
  readonly value: SettingValue;
}

/** A closed set of values: an enum in GraphQL. */
export interface ClosedSet<T extends number | string = number | string> {
  /** Of the enum. */
  readonly name: string;
  readonly description: string;
  /** By its name in the enum: the value on the wire, and what it means, in a sentence. */
  readonly values: Readonly<Record<string, readonly [value: T, description: string]>>;
}

export const closedSet = <const T extends number | string>(
  name: string,
  description: string,
  values: ClosedSet<T>['values'],
): ClosedSet<T> => ({ name, description, values });

/** What stands for the values of the set on the wire, in their order. */
export const valuesOf = <T extends number | string>({ values }: ClosedSet<T>): readonly T[] =>
  Object.values(values).map(([value]) => value);

/** One setting: a flag, a number or a text. */
export interface Setting<T> {
  readonly type: z.ZodType<T>;
  /** The value to begin with. Tells which of the three it is; null is a number that is not there. */
  readonly initial: T;
  /** Of a text: the most code points. */
  readonly max?: number;
  /** Of a text: whether it is one of those there are. */
  readonly isKnown?: (value: string) => boolean;
  /** Of a limit: how none is stored. Any other value is a positive integer. */
  readonly unlimited?: null | -1;
  /** Of a row's id: of what; -1 is none. */
  readonly names?: 'Channel';
  /** What its values are of. It may take fewer. */
  readonly choices?: ClosedSet;
  /** What it is, with unit and bounds, for the documentation: without a full stop. */
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

/** @param meaning What is so when it is true: "whether …". */
export const flag = (initial: boolean, meaning: string): Setting<boolean> => setting(z.boolean(), initial, meaning);

/** A text of at most so many code points. */
export const text = (initial: string, max: number, meaning: string, details: Details = {}): Setting<string> => ({
  ...setting(z.string(), initial, meaning, details),
  max,
});

/** One of a closed set. @param only Those that the setting takes, where it is not all. */
export const oneOf = <T extends number | string, const A extends T = T>(
  choices: ClosedSet<T>,
  initial: NoInfer<A>,
  meaning: string,
  only: readonly A[] = valuesOf(choices) as readonly A[],
): Setting<A> => setting(z.literal(only) as unknown as z.ZodType<A>, initial, meaning, { choices });

/** Seconds, or null for no limit. */
export const seconds = (initial: number, meaning: string): Setting<number | null> & { readonly unlimited: null } => ({
  ...setting<number | null>(z.int().positive().nullable(), initial, meaning),
  unlimited: null,
});

/** Days, or -1 for no limit. */
export const days = (initial: number, meaning: string): Setting<number> & { readonly unlimited: -1 } => ({
  ...setting(z.int().min(-1), initial, meaning),
  unlimited: -1,
});

/** All there are of one kind, by their names on the wire. */
export type Settings = Readonly<Record<string, Setting<unknown>>>;

/**
 * New values of settings, as they are stored.
 *
 * @param given As a client sent them, by name; "unlimited" takes away a limit.
 * @throws BadRequestError when a setting does not take its value.
 */
export function requireSettings(
  settings: Settings,
  given: Readonly<Record<string, unknown>>,
): Record<string, SettingValue> {
  const values = Object.entries(given).map(([name, value]) => {
    const setting = settings[name];
    if (setting === undefined) throw new Error(`There is no setting ${name}`);
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

/** GraphQL has no larger integers. */
const MAX_INT4 = 2_147_483_647;

const toRules = ({ max }: Setting<unknown>) => (max === undefined ? {} : { max });

function requireLimit(name: string, unlimited: null | -1, value: unknown): SettingValue {
  if (value === 'unlimited') return unlimited;
  const isLimit = typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_INT4;
  if (!isLimit) throw new BadRequestError(`Bad value for '${name}': ${value}`);
  return value;
}

/**
 * What a column of settings holds after a change: only what differs from the defaults.
 *
 * @param stored What it holds before. @param changes Values from `requireSettings`.
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
