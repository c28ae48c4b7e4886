import { topicKey } from '../../contract/topic-key.ts';
import type { MessageRowFragment as Message } from '../generated/graphql.ts';

/** A message in a list, with its relation to the message above it. */
export interface Row {
  readonly message: Message;
  /** Formatted day of the message. Undefined if the message above it is from the same day. */
  readonly day: string | undefined;
  /** Whether the message is in another topic or conversation than the message above it. True for the first message. */
  readonly place: boolean;
  /** Whether the message begins a group of messages of one sender. Only the first message of a group shows the sender. */
  readonly isFirst: boolean;
  /** Whether the line "New messages" is above the message. */
  readonly isFirstUnread: boolean;
}

/** Time in milliseconds between two consecutive messages of one sender, below which the messages are grouped. */
const TOGETHER_MS = 10 * 60_000;

const DAY = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' });

interface Kept {
  readonly row: Row;
}

/**
 * Returns a function that creates the rows of a list. For an unchanged row, it returns the object of the previous call, so that
 * React renders only the changed rows.
 */
export function rowMaker(): (messages: readonly Message[], firstUnreadId: string | undefined) => Row[] {
  let kept = new Map<string, Kept>();
  return (messages, firstUnreadId) => {
    const next = new Map<string, Kept>();
    const rows = messages.map((message, i) => {
      const row = rowOf(message, messages[i - 1], message.id === firstUnreadId);
      const before = kept.get(message.id)?.row;
      const same = before !== undefined && isSame(before, row) ? before : row;
      next.set(message.id, { row: same });
      return same;
    });
    kept = next;
    return rows;
  };
}

function rowOf(message: Message, before: Message | undefined, isFirstUnread: boolean): Row {
  const day = dayOf(message);
  const isNewDay = before === undefined || dayOf(before) !== day;
  const place = before === undefined || placeOf(before) !== placeOf(message);
  const isTogether =
    before?.sender.id === message.sender.id && Date.parse(message.sentAt) - Date.parse(before.sentAt) < TOGETHER_MS;
  const isFirst =
    isNewDay || place || isFirstUnread || !isTogether || message.isMeMessage || before?.isMeMessage === true;
  return { message, day: isNewDay ? day : undefined, place, isFirst, isFirstUnread };
}

const isSame = (a: Row, b: Row): boolean =>
  a.message === b.message &&
  a.day === b.day &&
  a.place === b.place &&
  a.isFirst === b.isFirst &&
  a.isFirstUnread === b.isFirstUnread;

const SHORT_DAY = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric', month: 'long' });

/** Returns the day of a message in a short form, in the browser's time zone. */
export const shortDayOf = ({ sentAt }: Message): string => SHORT_DAY.format(new Date(sentAt));

/** Time in milliseconds that divides the offset of every time zone from UTC, so that each day begins at a multiple of it. */
const QUARTER_HOUR_MS = 15 * 60_000;

/** Formatted days, by number of quarter hours since 1970. */
const days = new Map<number, string>();

/**
 * Returns the formatted day of a message, in the browser's time zone. Days are cached by quarter hour, because formatting takes
 * longer than all other work for a row.
 */
function dayOf({ sentAt }: Message): string {
  const quarterHour = Math.floor(Date.parse(sentAt) / QUARTER_HOUR_MS);
  const known = days.get(quarterHour);
  if (known !== undefined) return known;
  const day = DAY.format(new Date(sentAt));
  days.set(quarterHour, day);
  return day;
}

const placeOf = ({ channel, topicName, participants }: Message): string =>
  channel === null ? (participants?.map(({ id }) => id).join() ?? '') : `${channel.id} ${topicKey(topicName)}`;
