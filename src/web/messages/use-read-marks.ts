import { type RefObject, useEffect, useRef } from 'react';
import { useClient } from 'urql';
import { MarkReadDocument } from '../generated/graphql.ts';
import { unreadFrom } from './unread-from.ts';

/** What is read is told in one go: people scroll. */
const WAIT_MS = 300;
/** How long after the service did not answer it is told again. */
const RETRY_MS = 3_000;
/** As many as one mutation is for. */
const AT_ONCE = 200;

/**
 * Marks as read what was on the screen while the page was looked at, unless somebody has just marked it as unread.
 *
 * @param version Changes with the list.
 * @param isOff Whether looking at the list does not mean to read it.
 */
export function useReadMarks(list: RefObject<HTMLElement | null>, version: unknown, isOff = false): void {
  const client = useClient();
  useEffect(() => () => unreadFrom.set(undefined), []);
  // Kept from one version to the next: in a lively place another one comes before it is time to tell.
  const seen = useRef(new Set<string>()).current;
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const isGone = useRef(false);
  useEffect(() => {
    isGone.current = false;
    return () => {
      isGone.current = true;
      clearTimeout(timer.current);
    };
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each change of the list brings other rows to look at.
  useEffect(() => {
    const element = list.current;
    if (element === null || isOff) return undefined;
    const tell = () => {
      timer.current = undefined;
      if (document.visibilityState !== 'visible' || !document.hasFocus()) return;
      if (unreadFrom.get() !== undefined) return;
      const messageIds = [...seen].slice(0, AT_ONCE);
      for (const id of messageIds) seen.delete(id);
      // While nobody looked, more may have gone by than are told of at once.
      plan();
      const input = { messageIds, flag: 'READ', operation: 'ADD' } as const;
      void client
        .mutation(MarkReadDocument, { input })
        .toPromise()
        .then(({ error }) => {
          if (error?.networkError === undefined || isGone.current) return;
          for (const id of messageIds) seen.add(id);
          timer.current ??= setTimeout(tell, RETRY_MS);
        });
    };
    const plan = () => {
      if (seen.size > 0) timer.current ??= setTimeout(tell, WAIT_MS);
    };
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { isIntersecting, target } of entries) {
          const { id } = (target as HTMLElement).dataset;
          if (isIntersecting && id !== undefined) seen.add(id);
        }
        plan();
      },
      { root: element, threshold: 0.5 },
    );
    for (const row of element.querySelectorAll('article[data-unread="true"]')) observer.observe(row);
    addEventListener('focus', plan);
    return () => {
      observer.disconnect();
      removeEventListener('focus', plan);
    };
  }, [list, client, version, isOff, seen]);
}
