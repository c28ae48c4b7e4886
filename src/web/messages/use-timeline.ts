import { useCallback, useMemo, useRef, useState } from 'react';
import { useClient } from 'urql';
import { FIRST_UNREAD, NEWEST } from '../api/narrow.ts';
import { type Data, useData } from '../api/use-data.ts';
import {
  type MessageAnchor,
  type MessageNarrowInput,
  type MessageRowFragment,
  TimelineDocument,
  TimelinePageDocument,
} from '../generated/graphql.ts';

/** Time range of messages: sent at or after `after`, and before `before`. Either may be absent. */
export interface Span {
  readonly after?: string | undefined;
  readonly before?: string | undefined;
}

/** Number of messages that one request adds at an end of the list. */
const PAGE = 50;

/** Pause after a request for more messages has failed. Without it, each render of the list would repeat the request. */
const REST_MS = 5_000;

export interface Timeline {
  /** Oldest first; undefined until they are loaded. */
  readonly messages: readonly MessageRowFragment[] | undefined;
  readonly hasOlder: boolean;
  readonly hasNewer: boolean;
  /** The end of the list at which messages are being loaded. Undefined if none are. */
  readonly loading: 'older' | 'newer' | undefined;
  /** State of the request, with the reason of a failure. */
  readonly read: Data<unknown>;
  loadOlder(): void;
  loadNewer(): void;
  /** Shows the newest messages, without loading those in between. */
  goToNewest(): void;
}

/**
 * Returns the messages of a narrow around a position: a window that can grow at both ends.
 *
 * @param start Initial position.
 * @param span Time range; messages outside of it are left out.
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
  const refused = useRef<{ readonly messageId: string; readonly until: number }>(undefined);
  const read = useData(
    TimelineDocument,
    { narrow, anchor },
    { requestPolicy: narrow.search == null ? 'cache-first' : 'cache-and-network' },
  );
  const { data } = read;
  const nodes = data?.messages?.nodes;
  const { after, before } = span;
  const messages = useMemo(
    () => nodes?.filter(({ sentAt }) => isWithin(sentAt, { after, before })).toReversed(),
    [nodes, after, before],
  );

  const load = useCallback(
    async (end: 'older' | 'newer', messageId: string) => {
      const isRefused = refused.current?.messageId === messageId && performance.now() < refused.current.until;
      if (isLoading.current || isRefused) return;
      isLoading.current = true;
      setLoading(end);
      const counts = end === 'older' ? { older: PAGE, newer: 0 } : { older: 0, newer: PAGE };
      const variables = { narrow, anchor: { messageId }, ...counts };
      const context = { requestPolicy: 'network-only' } as const;
      const { error } = await client.query(TimelinePageDocument, variables, context).toPromise();
      if (error !== undefined) refused.current = { messageId, until: performance.now() + REST_MS };
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
    read,
    loadOlder: useCallback(() => void (oldest !== undefined && load('older', oldest)), [load, oldest]),
    loadNewer: useCallback(() => void (newest !== undefined && load('newer', newest)), [load, newest]),
    goToNewest: useCallback(() => setAnchor(before === undefined ? NEWEST : { date: before }), [before]),
  };
}

const NO_SPAN: Span = {};

/**
 * Returns whether a time is within a span. Times are parsed and not compared as text, because the service and the page write
 * them with different precisions.
 */
const isWithin = (sentAt: string | undefined, { after, before }: Span): boolean =>
  sentAt === undefined ||
  ((after === undefined || Date.parse(sentAt) >= Date.parse(after)) &&
    (before === undefined || Date.parse(sentAt) < Date.parse(before)));
