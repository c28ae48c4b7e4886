import { z } from 'zod';
import {
  BadRequestError,
  RequestConfusingVarError,
  RequestVariableMissingError,
  ValidationError,
} from '../../platform/errors.ts';
import { parseJson } from '../../platform/json.ts';
import { problemOf } from '../../platform/validation.ts';
import { FileUpload } from './upload.ts';

/**
 * The encoding of a parameter's value:
 * - `text`: the value is used unchanged.
 * - `json`: the value is JSON text with strict types.
 * - `file`: the value is the only file of a multipart body.
 * - `upload`: the value receives the only file of a multipart body as a stream, after the request was authenticated.
 * - `path-text` and `path-integer`: the value is one segment of the path.
 * - `path-tail`: the value is the rest of the path, which can contain slashes.
 */
export type Encoding = 'text' | 'json' | 'file' | 'upload' | 'path-text' | 'path-tail' | 'path-integer';

type Presence = 'required' | 'optional' | 'defaulted';

interface Details {
  /** An old name of the parameter that is still accepted. */
  readonly alias?: string;
  /** Description of the parameter for the documentation, in one sentence. */
  readonly description: string;
  /** An encoded value for the examples in the documentation. */
  readonly example?: string;
}

/** A declared parameter: its source, encoding and type. */
export interface Param<T = unknown, P extends Presence = Presence> extends Details {
  readonly encoding: Encoding;
  readonly type: z.ZodType<T>;
  readonly presence: P;
  /** Value that an absent parameter gets if `presence` is `defaulted`. */
  readonly fallback: T | undefined;
  /** Returns this parameter as optional: if it is not sent, it is absent from the values. */
  optional(): Param<T, 'optional'>;
  /** Returns this parameter with a default value. */
  default(value: T): Param<T, 'defaulted'>;
}

/** The parameters of an endpoint by name. They are read and checked in this order. */
// biome-ignore lint/suspicious/noExplicitAny: parameters have any value type, and `Values` recovers it.
export type Params = Readonly<Record<string, Param<any>>>;

type ValueOf<P> = P extends Param<infer T> ? T : never;
type OptionalNames<P extends Params> = {
  [K in keyof P]: P[K]['presence'] extends 'optional' ? K : never;
}[keyof P];

/** The parameter values that `handle` of an endpoint receives. Optional parameters that were not sent are absent. */
export type Values<P extends Params> = {
  [K in Exclude<keyof P, OptionalNames<P>>]: ValueOf<P[K]>;
} & { [K in OptionalNames<P>]?: ValueOf<P[K]> };

/** Declares a parameter whose value is used unchanged as text. */
export function text<S extends z.ZodType>(type: S, details: Details): Param<z.output<S>, 'required'> {
  return param('text', type, details);
}

/**
 * Declares a parameter that is sent as JSON text with strict types: `"5"` and `7.0` are not integers, `1` is not a boolean.
 */
export function json<S extends z.ZodType>(type: S, details: Details): Param<z.output<S>, 'required'> {
  return param('json', type, details);
}

/**
 * Declares a path parameter. `z.int()` matches only digits: a path with another segment in this position does not match the
 * endpoint. `z.string()` matches any single segment.
 */
export function inPath<S extends z.ZodType<number> | z.ZodType<string>>(
  type: S,
  details: Details,
): Param<z.output<S>, 'required'> {
  return param(type.def.type === 'number' ? 'path-integer' : 'path-text', type, details);
}

/** Declares a parameter that contains the rest of the path, including slashes. Slashes can be percent-encoded. */
export function inPathTail<S extends z.ZodType<string>>(type: S, details: Details): Param<z.output<S>, 'required'> {
  return param('path-tail', type, details);
}

/**
 * Declares a parameter that contains the bytes of the only file in a multipart body. The field can have any name; the declared
 * name is only for the documentation.
 */
export function file(details: Details): Param<Uint8Array, 'required'> {
  return param('file', z.instanceof(Uint8Array), details);
}

/** Declares a parameter that receives the only file of a multipart body as a stream. The field can have any name. */
export function upload(details: Details): Param<FileUpload, 'required'> {
  return param('upload', z.instanceof(FileUpload), details);
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

/** Returns whether the value of a parameter is a file, received as a whole or as a stream. */
export const isFile = ({ encoding }: Param): boolean => encoding === 'file' || encoding === 'upload';

export const isUpload = ({ encoding }: Param): boolean => encoding === 'upload';

/** Names of the parameters that every endpoint accepts, because the router itself reads them. */
const ALWAYS_KNOWN = new Set(['client']);

/** The parameters of one request. */
export interface ReadParams {
  readonly values: Record<string, unknown>;
  /** Names of parameters that were sent but that the endpoint does not declare, sorted. */
  readonly ignored: readonly string[];
}

/**
 * A function that reads the parameters of a request. `slots` contains the values of the path parameters in order, `sent` the
 * fields of query string and body by name.
 */
export type ParamsReader = (
  slots: readonly string[],
  sent: ReadonlyMap<string, string>,
  files?: readonly Uint8Array[],
  upload?: FileUpload,
) => ReadParams;

/**
 * Returns a function that reads the parameters of an endpoint. It checks them in the order in which they are declared, and
 * throws the first error: RequestVariableMissingError, RequestConfusingVarError or ValidationError. It throws BadRequestError
 * if the request has a file that the endpoint does not accept, or not exactly one file where one is required.
 *
 * @param slots Names of the path parameters, in the order of the path.
 */
export function readerOf(params: Params, slots: readonly string[]): ParamsReader {
  const reads = Object.entries(params).map(
    ([name, param]) => [name, readOne(name, param, slots.indexOf(name))] as const,
  );
  const known = new Set([...ALWAYS_KNOWN, ...Object.entries(params).flatMap(namesSent)]);
  const takesFile = Object.values(params).some(isFile);
  return (slots, sent, files = [], upload) => {
    if (!takesFile && files.length > 0) throw new BadRequestError('This endpoint does not accept files.');
    const values: Record<string, unknown> = {};
    for (const [name, read] of reads) {
      const value = read(slots, sent, files, upload);
      if (value !== undefined) values[name] = value;
    }
    const ignored: string[] = [];
    for (const name of sent.keys()) if (!known.has(name)) ignored.push(name);
    return { values, ignored: ignored.sort() };
  };
}

function namesSent([name, param]: [string, Param]): string[] {
  if (isInPath(param) || isFile(param)) return [];
  return param.alias === undefined ? [name] : [name, param.alias];
}

type ReadOne = (
  slots: readonly string[],
  sent: ReadonlyMap<string, string>,
  files: readonly Uint8Array[],
  upload: FileUpload | undefined,
) => unknown;

function readOne(name: string, param: Param, slot: number): ReadOne {
  if (param.encoding === 'path-integer') return (slots) => pathInteger(slots[slot] ?? '');
  if (isUpload(param)) return (_slots, _sent, _files, upload) => upload;
  if (isFile(param)) return (_slots, _sent, files) => oneFile(files, param.presence);
  if (isInPath(param)) return (slots) => checked(name, param.type, slots[slot] ?? '');
  const parse = param.encoding === 'json' ? jsonReader(name, param.type) : undefined;
  const { alias, presence, fallback, type } = param;
  return (_slots, sent) => {
    const named = sent.get(name);
    const old = alias === undefined ? undefined : sent.get(alias);
    if (named !== undefined && old !== undefined) throw new RequestConfusingVarError(name, alias ?? '');
    const raw = named ?? old;
    if (raw !== undefined) return checked(name, type, parse === undefined ? raw : parse(raw));
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

/**
 * Parses an id in the path. If the number is larger than any row id, the largest safe integer is returned. Services report that
 * no object has this id.
 */
function pathInteger(digits: string): number {
  return Math.min(Number(digits), Number.MAX_SAFE_INTEGER);
}

/** Returns a function that parses JSON text. The function does not check whether the value has the type. */
function jsonReader(name: string, type: z.ZodType): (raw: string) => unknown {
  const revive = takesFractions(type) ? wellFormed : wellFormedIntegers;
  return (raw) => {
    try {
      return parseJson(raw, name, NEEDS_REVIVAL.test(raw) ? revive : undefined);
    } catch (error) {
      if (error instanceof BadRequestError) throw error;
      throw new ValidationError(`${name} is not valid JSON`, { parameter: name });
    }
  };
}

function checked(name: string, type: z.ZodType, value: unknown): unknown {
  const parsed = type.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw problemOf(name, parsed.error.issues);
}

/**
 * Matches JSON that may contain a number with a fraction or exponent, or a lone surrogate. Only such JSON is parsed with a
 * reviver, because a reviver makes parsing slower.
 */
const NEEDS_REVIVAL = /\d[.eE]|\\u[dD]/;

/** Replaces lone surrogates by U+FFFD. They are not characters, and a jsonb column rejects them. */
function wellFormed(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value;
}

/**
 * Reviver for the JSON of a parameter without fractions. Replaces lone surrogates by U+FFFD. Also replaces `7.0` and `1e2` by
 * NaN, which fails every type: they are not integers, but `JSON.parse` returns 7 and 100.
 */
function wellFormedIntegers(key: string, value: unknown, context?: { source?: string }): unknown {
  if (!Number.isInteger(value)) return wellFormed(key, value);
  return /^-?\d+$/.test(context?.source ?? '') ? value : Number.NaN;
}

/** Returns whether a type contains a number that is not restricted to integers. */
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
