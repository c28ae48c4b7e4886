import { type ReactNode, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { NEWEST, narrowKey } from '../api/narrow.ts';
import { useStore } from '../base/store.ts';
import type { MessageAnchor, MessageNarrowInput, MessageRowFragment } from '../generated/graphql.ts';
import { announce } from '../ui/announcer.tsx';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icons.tsx';
import { activeMessageHandlers, shownMessages } from './active-message.ts';
import './message-list.css';
import { spoken } from '../markdown/markup.ts';
import { unreadFrom } from '../message-actions/unread-from.ts';
import { NotReady } from '../ui/not-ready.tsx';
import { MessageRow, type PlaceLines } from './message-row.tsx';
import { PendingMessages } from './pending-messages.tsx';
import { rowMaker } from './rows.ts';
import { StickyDay } from './sticky-day.tsx';
import { useFoundWords } from './use-found-words.ts';
import { positionLeft, useKeptPosition } from './use-kept-position.ts';
import { useReadMarks } from './use-read-marks.ts';
import { useRovingFocus } from './use-roving-focus.ts';
import { type Span, type Timeline, useTimeline } from './use-timeline.ts';

/** Distance from either end of the list, in pixels, at which more messages are loaded. */
const AHEAD = 800;

interface Props {
  readonly narrow: MessageNarrowInput;
  /** Accessible name of the list. */
  readonly label: string;
  /** Text that is shown if there are no messages. */
  readonly empty?: string | undefined;
  /** Content above the oldest message. */
  readonly beginning?: ReactNode;
  readonly places: PlaceLines;
  readonly viewerId: string;
  /** ID of the message that the list scrolls to and focuses when it opens. */
  readonly near?: string | undefined;
  /** Position around which the list loads messages if `near` is undefined. By default the first unread message. */
  readonly start?: MessageAnchor;
  /** The search that found the messages. Messages in search results are not marked as read when they are shown. */
  readonly search?: Span | undefined;
}

/**
 * List of the messages of a narrow (message filter). Opens at the first unread message, or where the viewer last left the list.
 * Loads more messages at both ends when the viewer scrolls near them.
 */
export function MessageList({ narrow, label, empty, beginning, places, viewerId, near, start, search }: Props) {
  const key = narrowKey(narrow);
  const isSearch = search !== undefined;
  const list = useRef<HTMLDivElement>(null);
  const begin = isSearch ? endOf(search) : start;
  const timeline = useTimeline(narrow, near === undefined ? begin : { messageId: near }, search);
  const { messages, hasOlder, hasNewer, loading, read } = timeline;
  const firstUnreadId = useFirstUnread(isSearch ? undefined : messages);
  const makeRows = useMemo(rowMaker, []);
  const rows = useMemo(() => makeRows(messages ?? [], firstUnreadId), [makeRows, messages, firstUnreadId]);
  const { go, isAtEnd } = useKeptPosition(list, isSearch ? `found ${label}` : key, rows);
  const { stop, onKeyDown, onKeyDownCapture, onFocus } = useRovingFocus(list);
  const [isFar, setFar] = useState(false);
  useReadMarks(list, rows, isSearch);
  useFoundWords(list, timeline.matches, rows);
  useNewsSpoken(timeline, viewerId);
  useEffect(() => shownMessages.set(messages ?? []), [messages]);

  const isBegun = useRef(false);
  const isKnown = messages !== undefined;
  useLayoutEffect(() => {
    if (!isKnown || isBegun.current) return;
    isBegun.current = true;
    const before = isSearch ? undefined : positionLeft(key);
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
    setFar(below > element.clientHeight || hasNewer);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: new rows may not fill the screen.
  useEffect(look, [rows, loading, hasOlder, hasNewer]);

  const toNewest = () => {
    timeline.goToNewest();
    go('end');
  };
  const tabStop = rows.some(({ message }) => message.id === stop) ? stop : rows.at(-1)?.message.id;
  return (
    <div className="message-area">
      {!isKnown && (
        <div className="message-waiting">
          <NotReady of={read} shape="messages" />
        </div>
      )}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the element always has a role, `feed` or `region`. */}
      {/* biome-ignore lint/a11y/useAriaPropsSupportedByRole: both roles support `aria-label`. */}
      <div
        className="message-list"
        role={isKnown && rows.length === 0 ? 'region' : 'feed'}
        aria-label={label}
        data-found={isSearch}
        aria-busy={read.state === 'loading' || loading !== undefined}
        ref={list}
        onScroll={look}
        onKeyDown={onKeyDown}
        onKeyDownCapture={onKeyDownCapture}
        {...activeMessageHandlers}
        onFocus={(event) => {
          onFocus(event);
          activeMessageHandlers.onFocus(event);
        }}
        data-section
      >
        <div className="message-rows">
          {isKnown && !hasOlder && (
            <Beginning
              isSearch={isSearch}
              text={(messages.length === 0 ? empty : undefined) ?? beginning}
              isEmpty={messages.length === 0}
            />
          )}
          {rows.map((row, i) => (
            <MessageRow
              key={row.message.id}
              row={row}
              places={places}
              viewerId={viewerId}
              isStop={row.message.id === tabStop}
              position={i + 1}
            />
          ))}
          {!hasNewer && <PendingMessages narrow={narrow} onMore={() => go('end')} />}
        </div>
      </div>
      {!isSearch && <StickyDay list={list} rows={rows} />}
      {isFar && !isAtEnd() && (
        <Button className="to-newest" onClick={toNewest}>
          <Icon name="down" size={16} /> Jump to latest
        </Button>
      )}
    </div>
  );
}

/** Returns the anchor of the newest message in a time range. */
const endOf = ({ before }: Span): MessageAnchor => (before === undefined ? NEWEST : { sentAt: before });

interface BeginningProps {
  readonly isSearch: boolean;
  readonly isEmpty: boolean;
  readonly text: ReactNode;
}

function Beginning({ isSearch, isEmpty, text = 'Start of the message history' }: BeginningProps) {
  const found = isEmpty ? 'No messages found.' : 'No more messages found.';
  useEffect(() => {
    if (isSearch) announce(found);
  }, [isSearch, found]);
  const shown = isSearch ? found : text;
  return typeof shown === 'string' ? <p className="message-note">{shown}</p> : shown;
}

const rowIn = (list: HTMLElement | null, id: string): HTMLElement | null =>
  list?.querySelector<HTMLElement>(`article[data-id="${CSS.escape(id)}"]`) ?? null;

/**
 * Returns the ID of the message below the line "New messages": the first message that was unread when the list was opened.
 * Undefined if there is none. The line stays there while the viewer reads. If the viewer marks messages as unread, the line
 * moves to the first of these.
 */
function useFirstUnread(messages: readonly MessageRowFragment[] | undefined): string | undefined {
  const found = useRef<{ readonly id: string | undefined }>(undefined);
  if (messages !== undefined) found.current ??= { id: messages.find(({ viewerHasRead }) => !viewerHasRead)?.id };
  const marked = useStore(unreadFrom);
  return marked !== undefined && messages?.some(({ id }) => id === marked) ? marked : found.current?.id;
}

/**
 * Announces each new message of other users once to screen readers, at most five per update. Older messages that the list loads
 * before it reaches the newest message are not announced.
 */
function useNewsSpoken({ messages, hasNewer }: Timeline, viewerId: string): void {
  const announcedThrough = useRef<number>(undefined);
  const wasAtNewest = useRef(false);
  useEffect(() => {
    const last = messages?.at(-1);
    if (messages === undefined) return;
    const since = announcedThrough.current;
    announcedThrough.current = Math.max(since ?? 0, last?.databaseId ?? 0);
    const isNews = since !== undefined && wasAtNewest.current;
    wasAtNewest.current = !hasNewer;
    if (!isNews) return;
    for (const { databaseId, sender, renderedContent } of messages.slice(-5)) {
      if (databaseId > since && sender.id !== viewerId) announce(`${sender.fullName}: ${spoken(renderedContent)}`);
    }
  }, [messages, hasNewer, viewerId]);
}
