import { type Reply, type Sent, send } from '../helpers/http.ts';

/** Timeout of a request, in milliseconds. Longer than the duration that the trial accepts. */
const PATIENCE_MS = 20_000;

/** The answer to a request, and its duration. */
export interface Timed {
  readonly reply: Reply | undefined;
  readonly milliseconds: number;
  /** Reason why there is no answer. */
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

/** Matches texts that reveal internals of the machine, the database or the code. Error messages must not contain such texts. */
export const INSIDE = /node_modules|\.ts:\d|\bat \w+ \(|prisma|pglite|relation "|\[object Object\]/i;

/** Formats a value for a report, cut to `length` characters. If the value is longer, appends its total length. */
export const shown = (value: unknown, length = 160): string => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined');
  return text.length > length ? `${text.slice(0, length)}… (${text.length})` : text;
};
