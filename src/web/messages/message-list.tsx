import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { follow } from '../api/followed.ts';
import { NEWEST, narrowKey } from '../api/narrow.ts';
import { useStore } from '../api/store.ts';
import type { MessageAnchor, MessageNarrowInput, MessageRowFragment } from '../generated/graphql.ts';
import { announce } from '../ui/announcer.tsx';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icons.tsx';
import { activeMessageHandlers, shownMessages } from './active-message.ts';
import './message-list.css';
import { spoken } from './markup.ts';
import { MessageRow } from './message-row.tsx';
import { PendingMessages } from './pending-messages.tsx';
import { rowMaker } from './rows.ts';
import { unreadFrom } from './unread-from.ts';
import { useFoundWords } from './use-found-words.ts';
import { placeLeft, useKeptPlace } from './use-kept-place.ts';
import { useReadMarks } from './use-read-marks.ts';
import { useRovingFocus } from './use-roving-focus.ts';
import { type Span, type Timeline, useTimeline } from './use-timeline.ts';

/** So far from an end, in pixels, it is continued. */
const AHEAD = 800;

interface Props {
  readonly narrow: MessageNarrowInput;
  /** What the list is of, for the ear. */
  readonly label: string;
  /** What is said where there is none. */
  readonly empty?: string | undefined;
  readonly showsPlaces: boolean;
  readonly viewerId: string;
  /** A message to begin at, which gets the focus. */
  readonly near?: string | undefined;
  /** Where it begins otherwise, unless it was left somewhere: at the first unread message. */
  readonly start?: MessageAnchor;
  /** What the messages were looked for by. What is found so is not read thereby. */
  readonly search?: Looked | undefined;
}

interface Looked extends Span {
  readonly words: readonly string[];
}

/** The messages of a place. It begins at the first unread one or where it was left, and goes on both ways. */
export function MessageList({ narrow, label, empty, showsPlaces, viewerId, near, start, search }: Props) {
  const key = narrowKey(narrow);
  const isSearch = search !== undefined;
  const list = useRef<HTMLDivElement>(null);
  const begin = isSearch ? endOf(search) : start;
  const timeline = useTimeline(narrow, near === undefined ? begin : { messageId: near }, search);
  const { messages, hasOlder, hasNewer, loading, error } = timeline;
  const firstUnreadId = useFirstUnread(isSearch ? undefined : messages);
  const makeRows = useMemo(rowMaker, []);
  const rows = useMemo(() => makeRows(messages ?? [], firstUnreadId), [makeRows, messages, firstUnreadId]);
  const { go, isAtEnd } = useKeptPlace(list, isSearch ? `found ${label}` : key, rows);
  const { stop, onKeyDown, onFocus } = useRovingFocus(list);
  const [isFar, setFar] = useState(false);
  useReadMarks(list, rows, isSearch);
  useFoundWords(list, search?.words, rows);
  useNewsSpoken(timeline, viewerId);
  useEffect(() => shownMessages.set(messages ?? []), [messages]);

  const isBegun = useRef(false);
  const isKnown = messages !== undefined;
  useLayoutEffect(() => {
    if (!isKnown || isBegun.current) return;
    isBegun.current = true;
    const before = isSearch ? undefined : placeLeft(key);
    const named = near === undefined ? null : rowIn(list.current, near);
    if (named !== null) {
      go({ id: near ?? '', top: (list.current?.clientHeight ?? 0) / 3 });
      named.focus({ preventScroll: true });
    } else if (before !== undefined && (before === 'end') === (firstUnreadId === undefined)) go(before);
    else if (firstUnreadId !== undefined) go({ id: firstUnreadId, top: (list.current?.clientHeight ?? 0) / 4 });
    else go('end');
  }, [isKnown, firstUnreadId, go, key, near, isSearch]);

  const look = () => {
    const element = list.current;
    if (element === null || !isBegun.current) return;
    const below = element.scrollHeight - element.scrollTop - element.clientHeight;
    if (hasOlder && element.scrollTop < AHEAD) timeline.loadOlder();
    else if (hasNewer && below < AHEAD) timeline.loadNewer();
    follow(key, below < AHEAD && !hasNewer);
    setFar(below > element.clientHeight || hasNewer);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: what came may not fill the screen.
  useEffect(look, [rows, loading, hasOlder, hasNewer]);
  useEffect(() => () => follow(key, false), [key]);

  const toNewest = () => {
    timeline.goToNewest();
    go('end');
  };
  const tabStop = rows.some(({ message }) => message.id === stop) ? stop : rows.at(-1)?.message.id;
  return (
    <div className="message-area">
      {error !== undefined && (
        <p className="message-note message-refusal" role="alert">
          {error}
        </p>
      )}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: it has a role, a feed where there are articles. */}
      {/* biome-ignore lint/a11y/useAriaPropsSupportedByRole: both roles have a name. */}
      <div
        className="message-list"
        role={isKnown && rows.length === 0 ? 'region' : 'feed'}
        aria-label={label}
        data-found={isSearch}
        aria-busy={(!isKnown && error === undefined) || loading !== undefined}
        ref={list}
        onScroll={look}
        onKeyDown={onKeyDown}
        {...activeMessageHandlers}
        onFocus={(event) => {
          onFocus(event);
          activeMessageHandlers.onFocus(event);
        }}
        data-section
      >
        <div className="message-rows">
          {isKnown && !hasOlder && <Beginning isSearch={isSearch} isEmpty={messages.length === 0} empty={empty} />}
          {rows.map((row, i) => (
            <MessageRow
              key={row.message.id}
              row={row}
              showsPlaces={showsPlaces}
              viewerId={viewerId}
              isStop={row.message.id === tabStop}
              position={i + 1}
            />
          ))}
          {!hasNewer && <PendingMessages narrow={narrow} onMore={() => go('end')} />}
        </div>
      </div>
      {isFar && !isAtEnd() && (
        <Button className="to-newest" onClick={toNewest}>
          <Icon name="down" size={16} /> To the newest
        </Button>
      )}
    </div>
  );
}

/** The newest that may be shown. */
const endOf = ({ before }: Span): MessageAnchor => (before === undefined ? NEWEST : { date: before });

interface BeginningProps extends Pick<Props, 'empty'> {
  readonly isSearch: boolean;
  readonly isEmpty: boolean;
}

function Beginning({ isSearch, isEmpty, empty }: BeginningProps) {
  const begins = (isEmpty ? empty : undefined) ?? 'This is where it begins.';
  const found = isEmpty ? 'Nothing is found.' : 'No more is found.';
  useEffect(() => {
    if (isSearch) announce(found);
  }, [isSearch, found]);
  return <p className="message-note">{isSearch ? found : begins}</p>;
}

const rowIn = (list: HTMLElement | null, id: string): HTMLElement | null =>
  list?.querySelector<HTMLElement>(`article[data-id="${CSS.escape(id)}"]`) ?? null;

/**
 * What was the first unread message when the list was opened: the line before it stays while one reads on. Where somebody
 * marks as unread, it goes there.
 */
function useFirstUnread(messages: readonly MessageRowFragment[] | undefined): string | undefined {
  const found = useRef<{ readonly id: string | undefined }>(undefined);
  if (messages !== undefined) found.current ??= { id: messages.find(({ viewerHasRead }) => !viewerHasRead)?.id };
  const marked = useStore(unreadFrom);
  return marked !== undefined && messages?.some(({ id }) => id === marked) ? marked : found.current?.id;
}

/** Has each new message of others said once. What is new in a list that went on to its newest is only read later. */
function useNewsSpoken({ messages, hasNewer }: Timeline, viewerId: string): void {
  const heard = useRef<number>(undefined);
  const wasAtNewest = useRef(false);
  useEffect(() => {
    const last = messages?.at(-1);
    if (messages === undefined) return;
    const since = heard.current;
    heard.current = Math.max(since ?? 0, last?.databaseId ?? 0);
    const isNews = since !== undefined && wasAtNewest.current;
    wasAtNewest.current = !hasNewer;
    if (!isNews) return;
    for (const { databaseId, sender, renderedContent } of messages.slice(-5)) {
      if (databaseId > since && sender.id !== viewerId) announce(`${sender.fullName}: ${spoken(renderedContent)}`);
    }
  }, [messages, hasNewer, viewerId]);
}
