import { useEffect, useState } from 'react';
import { useClient } from 'urql';
import { announce } from '../ui/announcer.tsx';
import type { Option } from './options.ts';

/** How long nothing may have been written before the service is asked. */
const QUIET_MS = 60;

const NONE: readonly Option[] = [];

/**
 * What may be meant, asked for when one pauses; until the answer is there, those of the one before that still fit.
 *
 * @param key What is asked; undefined where nothing is.
 */
export function useOptions(
  key: string | undefined,
  written: string,
  ask: (client: ReturnType<typeof useClient>) => Promise<readonly Option[]>,
): readonly Option[] {
  const client = useClient();
  const [found, setFound] = useState(NONE);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says all of what is asked.
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
      // What is marked stays so where the answer is what is shown.
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
  const fitting = options.filter(({ label }) => label.toLowerCase().includes(text));
  return fitting.length === options.length ? options : fitting;
}
