import { type Reply, type Sent, send } from '../helpers/http.ts';

/** Longer than any answer may take: then there is none. */
const PATIENCE_MS = 20_000;

/** An answer, and how long it took; undefined when none came. */
export interface Timed {
  readonly reply: Reply | undefined;
  readonly milliseconds: number;
  /** Why there is none. */
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

/** Words of the inside: of the machine, the database or the code. */
export const INSIDE = /node_modules|\.ts:\d|\bat \w+ \(|prisma|pglite|relation "|\[object Object\]/i;

/** A value as a report shows it. */
export const shown = (value: unknown, length = 160): string => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined');
  return text.length > length ? `${text.slice(0, length)}… (${text.length})` : text;
};
