import { useEffect, useState } from 'react';
import { useClient } from 'urql';
import { announce } from '../ui/announcer.tsx';
import { fitOf } from '../ui/name-words.ts';
import type { Option } from './options.ts';

/** Time in milliseconds without a keystroke after which suggestions are requested. */
const QUIET_MS = 60;

const NONE: readonly Option[] = [];

/**
 * Requests suggestions when the user pauses typing, and returns them. Until the response arrives, returns those of the previous
 * suggestions that match `written`.
 *
 * @param key Identifies the request. If undefined, nothing is requested, and the result is empty.
 * @param written The text that the suggestions must match.
 */
export function useOptions(
  key: string | undefined,
  written: string,
  ask: (client: ReturnType<typeof useClient>) => Promise<readonly Option[]>,
): readonly Option[] {
  const client = useClient();
  const [found, setFound] = useState(NONE);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` identifies the whole request.
  useEffect(() => {
    if (key === undefined) {
      setFound(NONE);
      return undefined;
    }
    setFound((before) => stillFitting(before, written));
    let isWanted = true;
    const timer = setTimeout(async () => {
      const options = await ask(client);
      if (!isWanted) return;
      // If the new suggestions equal the current ones, the current array is kept, so that the marked suggestion stays marked.
      setFound((before) => (isSame(before, options) ? before : options));
      if (options.length > 0) announce(`${options.length} ${options.length === 1 ? 'suggestion' : 'suggestions'}`);
    }, QUIET_MS);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [key, client]);
  return key === undefined ? NONE : found;
}

const isSame = (some: readonly Option[], others: readonly Option[]): boolean =>
  some.length === others.length && some.every(({ insert }, i) => insert === others[i]?.insert);

function stillFitting(options: readonly Option[], written: string): readonly Option[] {
  const text = written.toLowerCase();
  const fitting = options.filter(
    ({ label }) => label.toLowerCase().includes(text) || fitOf(label, written) !== undefined,
  );
  return fitting.length === options.length ? options : fitting;
}
