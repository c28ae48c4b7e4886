import { LongWork } from './time-slices.ts';

/** A value as serialized JSON. Cached long values can be sent repeatedly without being serialized again. */
export class JsonBytes {
  /** Chunks of the serialized JSON in UTF-8, in order. */
  readonly pieces: readonly Uint8Array[];

  constructor(...pieces: readonly Uint8Array[]) {
    this.pieces = pieces;
  }
}

/** Returns the length of serialized JSON in bytes. */
export const lengthOf = ({ pieces }: JsonBytes): number => pieces.reduce((sum, piece) => sum + piece.length, 0);

/** Iterates over the chunks of serialized JSON. Yields to the event loop between them. */
export async function* chunksOf({ pieces }: JsonBytes): AsyncGenerator<Uint8Array> {
  const work = new LongWork();
  for (const piece of pieces) {
    await work.pause();
    yield piece;
  }
}

/**
 * Maximum length of a chunk of JSON, in bytes: about as much as one write to a socket sends. Text is encoded as soon as this
 * many UTF-16 code units are collected. Encoding a chunk takes less than a millisecond.
 */
const PIECE_LENGTH = 64 * 1024;

/** Collects text and bytes, and builds chunks of UTF-8 from them. */
class Pieces {
  readonly pieces: Uint8Array[] = [];
  #text = '';

  add(text: string): void {
    this.#text += text;
    if (this.#text.length >= PIECE_LENGTH) this.#cut();
  }

  /** Appends bytes that are already encoded in UTF-8. */
  addBytes(bytes: Uint8Array): void {
    this.#cut();
    this.#push(bytes);
  }

  end(): readonly Uint8Array[] {
    this.#cut();
    return this.pieces;
  }

  #cut(): void {
    this.#push(Buffer.from(this.#text));
    this.#text = '';
  }

  #push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += PIECE_LENGTH) this.pieces.push(bytes.subarray(at, at + PIECE_LENGTH));
  }
}

/**
 * Serializes an object to JSON. Values that are `JsonBytes` are copied. Yields to the event loop between parts, so the object
 * must not change until the promise resolves.
 *
 * @param isSplit Returns whether a nested value, or a group of list items, is serialized in parts. By default none is, which is
 *   faster if all items are short. `isLong` selects values with long strings.
 * @returns JSON in chunks of bounded length.
 */
export async function writeJson(fields: Fields, isSplit: IsSplit = () => false): Promise<JsonBytes> {
  const written = new Pieces();
  const work = new LongWork();
  for (const part of partsOf(fields, DEPTH, isSplit)) {
    if (typeof part === 'string') written.add(part);
    else for (const piece of part.pieces) written.addBytes(piece);
    if (work.isLong) await work.rest();
  }
  return new JsonBytes(...written.end());
}

type Fields = Readonly<Record<string, unknown>>;
type IsSplit = (value: unknown) => boolean;

/**
 * Total length of a value's strings, in UTF-16 units, above which the value is serialized in parts. `JSON.stringify` takes
 * about 3 ms for a value of this length.
 */
const LONG = 256 * 1024;

/** Returns whether the strings of a value are longer than `LONG` in total. Such a value should be serialized in parts. */
export const isLong = (value: unknown): boolean => spaceAfter(value, LONG) < 0;

/**
 * Returns `space` minus the length of all strings in a value, in UTF-16 units. Stops counting as soon as the difference is
 * negative.
 */
function spaceAfter(value: unknown, space: number): number {
  if (typeof value === 'string') return space - value.length;
  if (typeof value !== 'object' || value === null || value instanceof JsonBytes) return space;
  // Lists of ids can be very long and contain no strings, so their items are not visited.
  if (Array.isArray(value) && typeof value[0] === 'number') return space;
  let left = space;
  for (const name in value) {
    left = spaceAfter((value as Fields)[name], left);
    if (left < 0) break;
  }
  return left;
}

/** Maximum number of list items that are serialized in one call of `JSON.stringify`. One call for each item would be slower. */
const MAX_ITEMS_AT_ONCE = 16;

/**
 * Number of nesting levels whose entries are always serialized one by one: the fields of the object, and the entries of each
 * field's value.
 */
const DEPTH = 2;

function* partsOf(value: unknown, depth: number, isSplit: IsSplit): Generator<string | JsonBytes> {
  if (value instanceof JsonBytes) yield value;
  else if (typeof value === 'string' && value.length > PIECE_LENGTH) yield* partsOfText(value);
  else if (Array.isArray(value) && (depth > 0 || isSplit(value))) yield* partsOfList(value, depth, isSplit);
  else if (isPlain(value) && (depth > 0 || isSplit(value))) {
    let before = '{';
    for (const [name, item] of Object.entries(value)) {
      // `JSON.stringify` omits undefined fields as well.
      if (item === undefined) continue;
      yield `${before}${JSON.stringify(name)}:`;
      yield* partsOf(item, depth - 1, isSplit);
      before = ',';
    }
    yield before === '{' ? '{}' : '}';
  } else yield JSON.stringify(value);
}

function* partsOfList(list: readonly unknown[], depth: number, isSplit: IsSplit): Generator<string | JsonBytes> {
  let before = '[';
  for (let at = 0; at < list.length; at += MAX_ITEMS_AT_ONCE) {
    const items = list.slice(at, at + MAX_ITEMS_AT_ONCE);
    if (!isSplit(items)) {
      yield before + JSON.stringify(items).slice(1, -1);
      before = ',';
      continue;
    }
    for (const item of items) {
      yield before;
      yield* partsOf(item ?? null, depth - 1, isSplit);
      before = ',';
    }
  }
  yield before === '[' ? '[]' : ']';
}

function* partsOfText(text: string): Generator<string> {
  yield '"';
  for (let at = 0; at < text.length; ) {
    let end = at + PIECE_LENGTH;
    // Keeps both halves of a surrogate pair in one part.
    if (isHighSurrogate(text.charCodeAt(end - 1))) end--;
    yield JSON.stringify(text.slice(at, end)).slice(1, -1);
    at = end;
  }
  yield '"';
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

/** Returns whether a value is a plain object, not an instance of a class such as Date. */
function isPlain(value: unknown): value is Fields {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
