import { BadRequestError } from './errors.ts';

/**
 * Our choice: several times as deep as anything the interface takes, and far from where code that goes into a value by
 * calling itself (comparing, hashing, writing it as JSON) would run out of stack.
 */
const MAX_DEPTH = 64;

/** The text nests deeper than anything the service takes. */
export class TooDeepError extends BadRequestError {
  /** @param name What the text is, as the client knows it. */
  constructor(name: string) {
    super(`${name} is nested too deep (limit: ${MAX_DEPTH})`);
  }
}

/**
 * Reads JSON text that a client sent, wherever it stands: every body, parameter and message goes through here, so that
 * nothing behind it meets a value nested deeper than it can follow.
 *
 * @param name What the text is, as the client knows it, for the refusal.
 * @param revive As of `JSON.parse`.
 * @throws TooDeepError when it nests deeper than 64 arrays or objects.
 * @throws SyntaxError when it is no JSON.
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

/** Looks at the text alone, once from its beginning to its end. Of what is no JSON the answer may be either. */
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
