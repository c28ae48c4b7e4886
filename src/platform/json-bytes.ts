import { LongWork } from './let-others-in.ts';

/** A value that is JSON already, and as it goes out: what is long and kept is not to be written anew each time. */
export class JsonBytes {
  /** UTF-8, in the order in which they stand. */
  readonly pieces: readonly Uint8Array[];

  constructor(...pieces: readonly Uint8Array[]) {
    this.pieces = pieces;
  }
}

/** Our choice: about what goes out at a time, and takes less than a millisecond to. */
const PIECE_LENGTH = 64 * 1024;

/** Text that is written bit by bit, as UTF-8. */
class Pieces {
  readonly pieces: Uint8Array[] = [];
  #text = '';

  add(text: string): void {
    this.#text += text;
    if (this.#text.length >= PIECE_LENGTH) this.#cut();
  }

  /** What is UTF-8 already. */
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
 * The JSON of an object, some of whose fields may be JSON already. Others are let in while it is written, so that nothing of
 * it may change meanwhile.
 *
 * @returns In pieces that are not long.
 */
export async function writeJson(fields: Fields): Promise<JsonBytes> {
  const written = new Pieces();
  const work = new LongWork();
  for (const part of partsOf(fields, DEPTH)) {
    if (typeof part === 'string') written.add(part);
    else for (const piece of part.pieces) written.addBytes(piece);
    if (work.isLong) await work.rest();
  }
  return new JsonBytes(...written.end());
}

type Fields = Readonly<Record<string, unknown>>;

/** Our choice: the fields, and the items of those that are lists or objects, are short enough to be written whole. */
const DEPTH = 2;
/** Our choice: to write one by one takes longer. */
const ITEMS_AT_ONCE = 16;

function* partsOf(value: unknown, depth: number): Generator<string | JsonBytes> {
  if (value instanceof JsonBytes) yield value;
  else if (depth > 0 && Array.isArray(value)) {
    yield '[';
    for (let at = 0; at < value.length; at += ITEMS_AT_ONCE) {
      const items = JSON.stringify(value.slice(at, at + ITEMS_AT_ONCE)).slice(1, -1);
      yield at === 0 ? items : `,${items}`;
    }
    yield ']';
  } else if (depth > 0 && isPlain(value)) {
    let before = '{';
    for (const [name, item] of Object.entries(value)) {
      // As JSON does with what is undefined.
      if (item === undefined) continue;
      yield `${before}${JSON.stringify(name)}:`;
      yield* partsOf(item, depth - 1);
      before = ',';
    }
    yield before === '{' ? '{}' : '}';
  } else yield JSON.stringify(value);
}

/** Whether its fields are all that is to be written of it. */
const isPlain = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
