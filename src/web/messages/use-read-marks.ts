import { type RefObject, useEffect, useRef } from 'react';
import { useClient } from 'urql';
import { MarkReadDocument } from '../generated/graphql.ts';
import { unreadFrom } from '../message-actions/unread-from.ts';

/**
 * Delay in milliseconds before seen messages are marked as read, so that one mutation marks all that the user scrolls through.
 */
const WAIT_MS = 300;
/** Pause in milliseconds after which a mutation that got no response is retried. */
const RETRY_MS = 3_000;
/** Maximum number of messages that one mutation marks as read. Further messages are marked by further mutations. */
const AT_ONCE = 200;

/**
 * Marks the messages that were on the screen as read, once the page is visible and focused. While `unreadFrom` is set, marks no
 * messages.
 *
 * @param version A value that changes whenever the rows of the list change.
 * @param isOff If true, showing messages does not mark them as read.
 */
export function useReadMarks(list: RefObject<HTMLElement | null>, version: unknown, isOff = false): void {
  const client = useClient();
  useEffect(() => () => unreadFrom.set(undefined), []);
  // The IDs are kept when the rows change, because the list of a busy conversation changes again before the delay ends.
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
  // biome-ignore lint/correctness/useExhaustiveDependencies: new rows must be observed.
  useEffect(() => {
    const element = list.current;
    if (element === null || isOff) return undefined;
    const sendMarks = () => {
      timer.current = undefined;
      if (document.visibilityState !== 'visible' || !document.hasFocus()) return;
      if (unreadFrom.get() !== undefined) return;
      const messageIds = [...seen].slice(0, AT_ONCE);
      for (const id of messageIds) seen.delete(id);
      // The user may have seen more messages than one mutation marks. Another mutation then marks the remaining ones.
      plan();
      const input = { messageIds, flag: 'READ', operation: 'ADD' } as const;
      void client
        .mutation(MarkReadDocument, { input })
        .toPromise()
        .then(({ error }) => {
          if (error?.networkError === undefined || isGone.current) return;
          for (const id of messageIds) seen.add(id);
          timer.current ??= setTimeout(sendMarks, RETRY_MS);
        });
    };
    const plan = () => {
      if (seen.size > 0) timer.current ??= setTimeout(sendMarks, WAIT_MS);
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
