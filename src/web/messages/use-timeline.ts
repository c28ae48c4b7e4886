import { useCallback, useMemo, useRef, useState } from 'react';
import { useClient } from 'urql';
import { FIRST_UNREAD, NEWEST } from '../api/narrow.ts';
import { type Data, useData } from '../api/use-data.ts';
import {
  type MatchesFragment,
  type MessageAnchor,
  type MessageNarrowInput,
  type MessageRowFragment,
  TimelineDocument,
  TimelinePageDocument,
} from '../generated/graphql.ts';

/**
 * Time range of messages: sent at or after `after`, and before `before`, both in ISO 8601. If one is absent, the range is open
 * at that end.
 */
export interface Span {
  readonly after?: string | undefined;
  readonly before?: string | undefined;
}

/** Number of messages that one request adds at an end of the list. */
const PAGE = 50;

/**
 * Pause in milliseconds after a request for more messages has failed. Without the pause, each render of the list would repeat
 * the request.
 */
const REST_MS = 5_000;

export type Matches = NonNullable<MatchesFragment['edges']>;

export interface Timeline {
  /** The loaded messages, oldest first. Undefined until the first messages are loaded. */
  readonly messages: readonly MessageRowFragment[] | undefined;
  readonly hasOlder: boolean;
  readonly hasNewer: boolean;
  /** The end of the list at which messages are being loaded. Undefined if none are. */
  readonly loading: 'older' | 'newer' | undefined;
  /** Texts of the messages with the matches of the search marked. Empty without a search. */
  readonly matches: Matches;
  /** State of the request for the first messages, with the reason if it failed. */
  readonly read: Data<unknown>;
  loadOlder(): void;
  loadNewer(): void;
  /** Shows the newest messages, without loading the messages before them. */
  goToNewest(): void;
}

/**
 * Returns the messages of a narrow (message filter) around a position. More messages can be loaded at both ends.
 *
 * @param start Initial position.
 * @param search Time range of the search. Messages outside of this range are left out. Undefined if the list is not a search
 *   result.
 */
export function useTimeline(narrow: MessageNarrowInput, start: MessageAnchor = FIRST_UNREAD, search?: Span): Timeline {
  const client = useClient();
  const isSearch = search !== undefined;
  const [anchor, setAnchor] = useState<MessageAnchor>(start);
  const [loading, setLoading] = useState<'older' | 'newer'>();
  const [later, setLater] = useState<Matches>([]);
  const isLoading = useRef(false);
  const refused = useRef<{ readonly messageId: string; readonly until: number }>(undefined);
  const read = useData(
    TimelineDocument,
    { narrow, anchor, isSearch },
    { requestPolicy: narrow.search == null ? 'cache-first' : 'cache-and-network' },
  );
  const { data } = read;
  const nodes = data?.messages?.nodes;
  const { after, before } = search ?? NO_SPAN;
  const messages = useMemo(
    () => nodes?.filter(({ sentAt }) => isWithin(sentAt, { after, before })),
    [nodes, after, before],
  );

  const load = useCallback(
    async (end: 'older' | 'newer', messageId: string) => {
      const isRefused = refused.current?.messageId === messageId && performance.now() < refused.current.until;
      if (isLoading.current || isRefused) return;
      isLoading.current = true;
      setLoading(end);
      const counts = end === 'older' ? { countBefore: PAGE, countAfter: 0 } : { countBefore: 0, countAfter: PAGE };
      const variables = { narrow, anchor: { messageId }, ...counts, isSearch };
      const context = { requestPolicy: 'network-only' } as const;
      const { data: page, error } = await client.query(TimelinePageDocument, variables, context).toPromise();
      if (error !== undefined) refused.current = { messageId, until: performance.now() + REST_MS };
      isLoading.current = false;
      setLoading(undefined);
      setLater((known) => [...known, ...matchesOf(page)]);
    },
    [client, narrow, isSearch],
  );

  const [oldest, newest] = [messages?.[0]?.id, messages?.at(-1)?.id];
  const { hasNextPage = false, hasPreviousPage = false } = data?.messages?.pageInfo ?? {};
  return {
    messages,
    hasOlder: hasPreviousPage && isWithin(nodes?.[0]?.sentAt, { after }),
    hasNewer: hasNextPage && isWithin(nodes?.at(-1)?.sentAt, { before }),
    loading,
    matches: useMemo(() => [...matchesOf(data), ...later], [data, later]),
    read,
    loadOlder: useCallback(() => void (oldest !== undefined && load('older', oldest)), [load, oldest]),
    loadNewer: useCallback(() => void (newest !== undefined && load('newer', newest)), [load, newest]),
    goToNewest: useCallback(() => setAnchor(before === undefined ? NEWEST : { sentAt: before }), [before]),
  };
}

const NO_SPAN: Span = {};

const matchesOf = (data: { messages?: { edges?: Matches } | null } | undefined): Matches => data?.messages?.edges ?? [];

/**
 * Returns whether a time is within a span. Times are parsed and not compared as text, because the service and the page write
 * them with different precisions.
 */
const isWithin = (sentAt: string | undefined, { after, before }: Span): boolean =>
  sentAt === undefined ||
  ((after === undefined || Date.parse(sentAt) >= Date.parse(after)) &&
    (before === undefined || Date.parse(sentAt) < Date.parse(before)));
