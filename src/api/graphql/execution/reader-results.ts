import { randomUUID } from 'node:crypto';
import { inOwnMemory, type KeptResult } from '../../../events/rendering.ts';
import { ReaderSlot, type ReaderSource } from '../schema/reader-values.ts';

/**
 * Placeholder text for a slot (the place of a reader's value) while a result is serialized. It is random, so no value in a
 * result contains it.
 */
const MARK = randomUUID();

/**
 * Maximum length, in characters, of a text between two slots that is joined with their values. Longer texts stay separate
 * buffers. For a short text, one write takes less time than three.
 */
const SHORT = 512;

/** Values of reader fields (fields that differ between recipients), with the texts of ASCII characters between them. */
class Values {
  /** The texts before each value. If there is one text more than values, it follows the last value. */
  readonly #texts: string[] = [];
  readonly #slots: ReaderSlot[] = [];

  addText(text: string): void {
    this.#texts.push(text);
  }

  addSlot(slot: ReaderSlot): void {
    this.#slots.push(slot);
  }

  /** Returns the texts with the values of one reader between them. `state` is the reader's state. */
  fill(state: unknown): string {
    const [texts, slots] = [this.#texts, this.#slots];
    let text = '';
    for (let i = 0; i < slots.length; i++) {
      const value = (slots[i] as ReaderSlot).valueFor(state);
      text += (texts[i] as string) + (typeof value === 'string' ? `"${value}"` : value);
    }
    return texts.length > slots.length ? text + texts[slots.length] : text;
  }
}

/**
 * A serialized execution result without the values of reader fields. All readers for whom the result has the same shape (such
 * as equal list lengths) share it.
 */
export class ResultTemplate {
  /** The parts of the result in order: bytes that are the same for all readers, and values that differ. */
  readonly #segments: readonly (Buffer | Values)[];
  /** Approximate size of the template in memory, in bytes. */
  readonly length: number;

  /** @param result Execution result with a `ReaderSlot` in place of each value of a reader field. */
  constructor(result: object) {
    const slots: ReaderSlot[] = [];
    const text = JSON.stringify(result, (_key, value: unknown) => {
      if (!(value instanceof ReaderSlot)) return value;
      slots.push(value);
      return MARK;
    });
    this.#segments = segmentsOf(text.split(`"${MARK}"`), slots);
    this.length = text.length;
  }

  /** Returns the result with the values of one reader. `state` is the reader's state. */
  fill(state: unknown): FilledResult {
    return new FilledResult(
      this.#segments.map((segment) => (segment instanceof Values ? segment.fill(state) : segment)),
    );
  }
}

/** The execution result for one reader, as JSON in UTF-8. It is written without a copy of the parts that readers share. */
export class FilledResult {
  /** The parts of the JSON in order. Strings contain only ASCII characters, so their length equals their number of bytes. */
  readonly #parts: readonly (Buffer | string)[];
  /** Length of the JSON, in bytes. */
  readonly length: number;

  constructor(parts: readonly (Buffer | string)[]) {
    this.#parts = parts;
    let length = 0;
    for (const part of parts) length += part.length;
    this.length = length;
  }

  /** Writes the result into a buffer, from an offset on. */
  writeTo(buffer: Buffer, offset: number): void {
    let at = offset;
    for (const part of this.#parts) {
      if (typeof part === 'string') buffer.write(part, at, 'latin1');
      else buffer.set(part, at);
      at += part.length;
    }
  }

  toString(): string {
    return this.#parts.map(String).join('');
  }
}

/**
 * Returns the segments of a template. Texts that are short and ASCII are joined with the values next to them.
 *
 * @param texts The texts before, between and after the slots.
 */
function segmentsOf(texts: readonly string[], slots: readonly ReaderSlot[]): (Buffer | Values)[] {
  const segments: (Buffer | Values)[] = [];
  let values: Values | undefined;
  for (const [i, text] of texts.entries()) {
    const slot = slots[i];
    if (values !== undefined && text.length <= SHORT && isAscii(text)) values.addText(text);
    else {
      segments.push(inOwnMemory(Buffer.from(text)));
      if (slot === undefined) break;
      values = new Values();
      values.addText('');
      segments.push(values);
    }
    if (slot !== undefined) values.addSlot(slot);
  }
  return segments;
}

const isAscii = (text: string): boolean => Buffer.byteLength(text) === text.length;

/**
 * The cached results of one operation for one event, if they contain values that differ between recipients, such as unread
 * counts. Contains a template for each shape of the result, such as each length of a list.
 */
export class ReaderResults implements KeptResult {
  readonly source: ReaderSource<unknown>;
  readonly length: number;
  readonly #templates: ReadonlyMap<string, ResultTemplate>;

  constructor(source: ReaderSource<unknown>, templates: ReadonlyMap<string, ResultTemplate> = new Map()) {
    this.source = source;
    this.#templates = templates;
    this.length = [...templates.values()].reduce((sum, { length }) => sum + length, 0);
  }

  template(shape: string): ResultTemplate | undefined {
    return this.#templates.get(shape);
  }

  /** Returns a copy of these results that also contains the template of another shape. */
  with(shape: string, template: ResultTemplate): ReaderResults {
    return new ReaderResults(this.source, new Map(this.#templates).set(shape, template));
  }
}
