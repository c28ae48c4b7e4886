import { useCallback, useMemo, useRef, useState } from 'react';
import { useClient, useQuery } from 'urql';
import { FIRST_UNREAD, NEWEST } from '../api/narrow.ts';
import { refusalIn } from '../api/use-command.ts';
import {
  type MessageAnchor,
  type MessageNarrowInput,
  type MessageRowFragment,
  TimelineDocument,
  TimelinePageDocument,
} from '../generated/graphql.ts';

/** Moments between which what is shown was sent; each may be left open. */
export interface Span {
  readonly after?: string | undefined;
  readonly before?: string | undefined;
}

/** How many messages an end is continued by. */
const PAGE = 50;

export interface Timeline {
  /** The oldest first; undefined until they are known. */
  readonly messages: readonly MessageRowFragment[] | undefined;
  readonly hasOlder: boolean;
  readonly hasNewer: boolean;
  /** Which end is being continued. */
  readonly loading: 'older' | 'newer' | undefined;
  readonly error: string | undefined;
  loadOlder(): void;
  loadNewer(): void;
  /** Shows the end of it, whatever lies between. */
  goToNewest(): void;
}

/**
 * The messages of a narrow around where its reader is: a window that goes on at both ends.
 *
 * @param start Where it begins.
 * @param span What is shown of it: its ends are those of the timeline.
 */
export function useTimeline(
  narrow: MessageNarrowInput,
  start: MessageAnchor = FIRST_UNREAD,
  span: Span = NO_SPAN,
): Timeline {
  const client = useClient();
  const [anchor, setAnchor] = useState<MessageAnchor>(start);
  const [loading, setLoading] = useState<'older' | 'newer'>();
  const isLoading = useRef(false);
  const [{ data, error }] = useQuery({
    query: TimelineDocument,
    variables: { narrow, anchor },
    // Events do not tell what a search finds.
    requestPolicy: narrow.search == null ? 'cache-first' : 'cache-and-network',
  });
  const nodes = data?.messages?.nodes;
  const { after, before } = span;
  const messages = useMemo(
    () => nodes?.filter(({ sentAt }) => isWithin(sentAt, { after, before })).toReversed(),
    [nodes, after, before],
  );

  const load = useCallback(
    async (end: 'older' | 'newer', messageId: string) => {
      if (isLoading.current) return;
      isLoading.current = true;
      setLoading(end);
      const counts = end === 'older' ? { older: PAGE, newer: 0 } : { older: 0, newer: PAGE };
      const variables = { narrow, anchor: { messageId }, ...counts };
      await client.query(TimelinePageDocument, variables, { requestPolicy: 'network-only' }).toPromise();
      isLoading.current = false;
      setLoading(undefined);
    },
    [client, narrow],
  );

  const [oldest, newest] = [messages?.[0]?.id, messages?.at(-1)?.id];
  const { hasNextPage = false, hasPreviousPage = false } = data?.messages?.pageInfo ?? {};
  return {
    messages,
    hasOlder: hasNextPage && isWithin(nodes?.at(-1)?.sentAt, { after }),
    hasNewer: hasPreviousPage && isWithin(nodes?.[0]?.sentAt, { before }),
    loading,
    error: messages === undefined && error !== undefined ? refusalIn(undefined, error) : undefined,
    loadOlder: useCallback(() => void (oldest !== undefined && load('older', oldest)), [load, oldest]),
    loadNewer: useCallback(() => void (newest !== undefined && load('newer', newest)), [load, newest]),
    goToNewest: useCallback(() => setAnchor(before === undefined ? NEWEST : { date: before }), [before]),
  };
}

const NO_SPAN: Span = {};

/** Times of the service and of the page are written alike, and may differ in how exact they are. */
const isWithin = (sentAt: string | undefined, { after, before }: Span): boolean =>
  sentAt === undefined ||
  ((after === undefined || Date.parse(sentAt) >= Date.parse(after)) &&
    (before === undefined || Date.parse(sentAt) < Date.parse(before)));
