import { z } from 'zod';
import type { Prisma } from '../generated/prisma/client.ts';
import { BadRequestError } from './errors.ts';
import { requireText } from './text.ts';
import { problemOf } from './validation.ts';

/** What a setting of an organisation or of a user can be. */
export type SettingValue = boolean | number | string | null;

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
  /** What its values mean, for the documentation: without a full stop. */
  readonly meaning?: string;
}

interface Details {
  readonly isKnown?: (value: string) => boolean;
  readonly meaning?: string;
  readonly names?: 'Channel';
}

export const setting = <T>(type: z.ZodType<T>, initial: NoInfer<T>, details: Details = {}): Setting<T> => ({
  type,
  initial,
  ...details,
});

export const flag = (initial: boolean): Setting<boolean> => setting(z.boolean(), initial);

/** A text of at most so many code points. */
export const text = (initial: string, max: number, details: Details = {}): Setting<string> => ({
  ...setting(z.string(), initial, details),
  max,
});

/** One of a few values. @param meaning What each is, when the values do not say it. */
export const oneOf = <const T extends readonly (string | number)[]>(
  allowed: T,
  initial: T[number],
  meaning = typeof allowed[0] === 'string' ? allowed.join(', ') : undefined,
): Setting<T[number]> =>
  setting(z.literal(allowed) as z.ZodType<T[number]>, initial, meaning === undefined ? {} : { meaning });

/** Seconds, or null for no limit. */
export const seconds = (initial: number): Setting<number | null> & { readonly unlimited: null } => ({
  ...setting<number | null>(z.int().positive().nullable(), initial),
  unlimited: null,
});

/** Days, or -1 for no limit. */
export const days = (initial: number): Setting<number> & { readonly unlimited: -1 } => ({
  ...setting(z.int().min(-1), initial),
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
