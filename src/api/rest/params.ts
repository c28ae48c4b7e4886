import { z } from 'zod';
import { BadRequestError, RequestConfusingVarError, RequestVariableMissingError } from '../../platform/errors.ts';
import { parseJson } from '../../platform/json.ts';
import { problemOf } from '../../platform/validation.ts';

/**
 * How a parameter's value is written: `text` is taken as it is, `json` is JSON text with strict types, `file` is the one
 * file of a multipart body, and the three `path` forms stand in a slot of the path; a `path-tail` is the last and may
 * hold slashes.
 */
export type Encoding = 'text' | 'json' | 'file' | 'path-text' | 'path-tail' | 'path-integer';

type Presence = 'required' | 'optional' | 'defaulted';

interface Details {
  /** An older name, still accepted. */
  readonly alias?: string;
  /** One sentence for the documentation. */
  readonly description: string;
  /** A value for the documentation's examples, as it is sent. */
  readonly example?: string;
}

/** One declared parameter: where it is read from, how it is written, and its type. */
export interface Param<T = unknown, P extends Presence = Presence> extends Details {
  readonly encoding: Encoding;
  readonly type: z.ZodType<T>;
  readonly presence: P;
  /** Stands in for an absent value when `presence` is `defaulted`. */
  readonly fallback: T | undefined;
  /** The same parameter, absent from the values when it was not sent. */
  optional(): Param<T, 'optional'>;
  /** The same parameter, with a value for when it was not sent. */
  default(value: T): Param<T, 'defaulted'>;
}

/** What an endpoint declares: name to parameter, read in this order. */
// biome-ignore lint/suspicious/noExplicitAny: of any value type; `Values` recovers it.
export type Params = Readonly<Record<string, Param<any>>>;

type ValueOf<P> = P extends Param<infer T> ? T : never;
type OptionalNames<P extends Params> = {
  [K in keyof P]: P[K]['presence'] extends 'optional' ? K : never;
}[keyof P];

/** What `handle` is given: optional parameters that were not sent are absent. */
export type Values<P extends Params> = {
  [K in Exclude<keyof P, OptionalNames<P>>]: ValueOf<P[K]>;
} & { [K in OptionalNames<P>]?: ValueOf<P[K]> };

/** A parameter taken as the raw text sent. */
export function text<S extends z.ZodType>(type: S, details: Details): Param<z.output<S>, 'required'> {
  return param('text', type, details);
}

/** A parameter sent as JSON text, strictly typed: `"5"` and `7.0` are no integers, `1` is no boolean. */
export function json<S extends z.ZodType>(type: S, details: Details): Param<z.output<S>, 'required'> {
  return param('json', type, details);
}

/**
 * A slot of the path: `z.int()` takes digits only, so that anything else is another path; `z.string()` takes any one
 * segment.
 */
export function inPath<S extends z.ZodType<number> | z.ZodType<string>>(
  type: S,
  details: Details,
): Param<z.output<S>, 'required'> {
  return param(type.def.type === 'number' ? 'path-integer' : 'path-text', type, details);
}

/** The rest of the path, slashes included, percent-encoded or not. */
export function inPathTail<S extends z.ZodType<string>>(type: S, details: Details): Param<z.output<S>, 'required'> {
  return param('path-tail', type, details);
}

/** The bytes of the one file sent, in a field of any name: the parameter's own is for the documentation. */
export function file(details: Details): Param<Uint8Array, 'required'> {
  return param('file', z.instanceof(Uint8Array), details);
}

function param<S extends z.ZodType>(encoding: Encoding, type: S, details: Details): Param<z.output<S>, 'required'> {
  const base = { ...details, encoding, type: type as z.ZodType<z.output<S>> };
  const withPresence = <P extends Presence>(presence: P, fallback?: z.output<S>): Param<z.output<S>, P> => ({
    ...base,
    presence,
    fallback,
    optional: () => withPresence('optional'),
    default: (value) => withPresence('defaulted', value),
  });
  return withPresence('required');
}

export function isInPath({ encoding }: Param): boolean {
  return encoding.startsWith('path-');
}

export const isFile = ({ encoding }: Param): boolean => encoding === 'file';

/** Read by the router on every endpoint. */
const ALWAYS_KNOWN = new Set(['client']);

/** What one request holds for an endpoint. */
export interface ReadParams {
  readonly values: Record<string, unknown>;
  /** Names sent that the endpoint does not know, sorted. */
  readonly ignored: readonly string[];
}

/** Reads one request: the path's slots in their order, and the fields and files sent. */
export type ParamsReader = (
  slots: readonly string[],
  sent: ReadonlyMap<string, string>,
  files?: readonly Uint8Array[],
) => ReadParams;

/**
 * Prepares the reading of an endpoint's parameters. They are examined in the order declared; the first failure wins.
 *
 * @param slots The names of the path's slots, in their order.
 * @returns A reader, which throws RequestVariableMissingError, RequestConfusingVarError or BadRequestError.
 */
export function readerOf(params: Params, slots: readonly string[]): ParamsReader {
  const reads = Object.entries(params).map(
    ([name, param]) => [name, readOne(name, param, slots.indexOf(name))] as const,
  );
  const known = new Set([...ALWAYS_KNOWN, ...Object.entries(params).flatMap(namesSent)]);
  return (slots, sent, files = []) => {
    const values: Record<string, unknown> = {};
    for (const [name, read] of reads) {
      const value = read(slots, sent, files);
      if (value !== undefined) values[name] = value;
    }
    return { values, ignored: sent.size === 0 ? [] : [...sent.keys()].filter((name) => !known.has(name)).sort() };
  };
}

function namesSent([name, param]: [string, Param]): string[] {
  if (isInPath(param) || isFile(param)) return [];
  return param.alias === undefined ? [name] : [name, param.alias];
}

type ReadOne = (slots: readonly string[], sent: ReadonlyMap<string, string>, files: readonly Uint8Array[]) => unknown;

function readOne(name: string, param: Param, slot: number): ReadOne {
  if (param.encoding === 'path-integer') return (slots) => pathInteger(slots[slot] ?? '');
  if (isFile(param)) return (_slots, _sent, files) => oneFile(files, param.presence);
  if (isInPath(param)) return (slots) => checked(name, param.type, slots[slot] ?? '');
  const check =
    param.encoding === 'text' ? (raw: string) => checked(name, param.type, raw) : jsonReader(name, param.type);
  const { alias, presence, fallback } = param;
  return (_slots, sent) => {
    const raw = alias === undefined ? sent.get(name) : eitherName(name, alias, sent);
    if (raw !== undefined) return check(raw);
    if (presence === 'required') throw new RequestVariableMissingError(name);
    return fallback;
  };
}

function oneFile(files: readonly Uint8Array[], presence: Presence): Uint8Array | undefined {
  if (files.length > 1 || (files.length === 0 && presence === 'required')) {
    throw new BadRequestError('You must upload exactly one file.');
  }
  return files[0];
}

function eitherName(name: string, alias: string, sent: ReadonlyMap<string, string>): string | undefined {
  const [raw, old] = [sent.get(name), sent.get(alias)];
  if (raw !== undefined && old !== undefined) throw new RequestConfusingVarError(name, alias);
  return raw ?? old;
}

/** Beyond what a row's id can be, any number will do: services treat it as the id of nothing. */
function pathInteger(digits: string): number {
  return Math.min(Number(digits), Number.MAX_SAFE_INTEGER);
}

function jsonReader(name: string, type: z.ZodType): (raw: string) => unknown {
  const revive = takesFractions(type) ? wellFormed : wellFormedIntegers;
  return (raw) => {
    let value: unknown;
    try {
      value = parseJson(raw, name, NEEDS_REVIVAL.test(raw) ? revive : undefined);
    } catch (error) {
      throw error instanceof BadRequestError ? error : new BadRequestError(`${name} is not valid JSON`);
    }
    return checked(name, type, value);
  };
}

function checked(name: string, type: z.ZodType, value: unknown): unknown {
  const parsed = type.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw new BadRequestError(problemOf(name, parsed.error.issues));
}

/** JSON that may hold a number with a fraction or exponent, or half of a surrogate pair: parsed the slow way. */
const NEEDS_REVIVAL = /\d[.eE]|\\u[dD]/;

/** Half a surrogate pair is no character, and a jsonb column refuses it: replaced, as in text that is not UTF-8. */
function wellFormed(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value;
}

/** `7.0` and `1e2` are no integers, but `JSON.parse` does not tell them from 7 and 100: NaN fails every type. */
function wellFormedIntegers(key: string, value: unknown, context?: { source?: string }): unknown {
  if (!Number.isInteger(value)) return wellFormed(key, value);
  return /^-?\d+$/.test(context?.source ?? '') ? value : Number.NaN;
}

/** Whether some number in it may be other than an integer. */
function takesFractions(type: z.ZodType): boolean {
  return mentionsNumber(z.toJSONSchema(type, { unrepresentable: 'any' }));
}

function mentionsNumber(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  const type: unknown = Reflect.get(schema, 'type');
  return (
    type === 'number' || (Array.isArray(type) && type.includes('number')) || Object.values(schema).some(mentionsNumber)
  );
}
