import { BadRequestError } from './errors.ts';

/**
 * Maximum nesting depth of JSON input. Deeper input is refused with `TooDeepError`. The limit is several times the depth of any
 * valid input. It is far below the depth at which recursive code (comparing, hashing, serializing) overflows the stack.
 */
const MAX_DEPTH = 64;

/** Thrown if a text is nested deeper than any input that the service accepts. */
export class TooDeepError extends BadRequestError {
  /** @param name Name of the JSON text in the API, such as the name of a parameter. */
  constructor(name: string) {
    super(`${name} is nested too deep (limit: ${MAX_DEPTH})`);
  }
}

/**
 * Parses JSON text from a client. Every body, parameter and message passes through here, so no other code receives a value that
 * is nested too deep.
 *
 * @param name Name of the text in the API, for the error message.
 * @param revive Reviver that is passed to `JSON.parse`.
 * @throws TooDeepError if the text has more than 64 levels of arrays and objects.
 * @throws SyntaxError if the text is not JSON.
 */
export function parseJson(
  text: string,
  name: string,
  revive?: (key: string, value: unknown, context?: { source?: string }) => unknown,
): unknown {
  if (isDeeperThan(text, MAX_DEPTH)) throw new TooDeepError(name);
  return revive === undefined ? JSON.parse(text) : JSON.parse(text, revive);
}

const [QUOTE, BACKSLASH, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Returns whether a JSON text has more than `max` levels. Scans the text once. If it is not JSON, the result is
 * unspecified.
 */
function isDeeperThan(text: string, max: number): boolean {
  let depth = 0;
  let isInString = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (isInString) {
      if (code === BACKSLASH) i++;
      else if (code === QUOTE) isInString = false;
    } else if (code === QUOTE) isInString = true;
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      if (++depth > max) return true;
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) depth--;
  }
  return false;
}
