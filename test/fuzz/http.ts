import { type Reply, type Sent, send } from '../helpers/http.ts';

/** Timeout of a request, in milliseconds. Every accepted answer is faster. */
const PATIENCE_MS = 20_000;

/** An answer and its duration. */
export interface Timed {
  readonly reply: Reply | undefined;
  readonly milliseconds: number;
  /** Reason if there is no answer. */
  readonly error?: string;
}

export async function timed(url: string, sent: Sent): Promise<Timed> {
  const startedAt = performance.now();
  try {
    const reply = await send(url, { ...sent, signal: AbortSignal.timeout(PATIENCE_MS) });
    return { reply, milliseconds: performance.now() - startedAt };
  } catch (error) {
    return { reply: undefined, milliseconds: performance.now() - startedAt, error: String(error) };
  }
}

/** Matches texts about internals of the machine, the database or the code. Error messages must not contain them. */
export const INSIDE = /node_modules|\.ts:\d|\bat \w+ \(|prisma|pglite|relation "|\[object Object\]/i;

/** Formats a value for a report, with at most `length` characters and, if it is longer, its total length. */
export const shown = (value: unknown, length = 160): string => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined');
  return text.length > length ? `${text.slice(0, length)}… (${text.length})` : text;
};
