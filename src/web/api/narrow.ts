import type { MessageAnchor, MessageNarrowInput, MessageState } from '../generated/graphql.ts';

/** What of a message decides where it belongs. */
export interface Placed {
  readonly channelId: string | null;
  readonly topicName: string;
  /** Of a direct message: everybody's ids, the viewer's included. */
  readonly participantIds: readonly string[];
  /** What it is to the viewer, as far as that is known: each state that it is in, or is not in. */
  readonly states?: Readonly<Partial<Record<MessageState, boolean>>>;
}

/** The same text for the same narrow, whatever the order of its parts. */
export const narrowKey = (narrow: MessageNarrowInput | null | undefined): string =>
  JSON.stringify(Object.entries(narrow ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)));

/**
 * Whether a message belongs to a narrow, as far as the page can tell; undefined where only the service can: searches,
 * and what a message is to the viewer, unless that is said with it.
 */
export function belongsTo(narrow: MessageNarrowInput | null | undefined, message: Placed): boolean | undefined {
  const { channel, ...others } = narrow ?? {};
  const terms = Object.entries(others).filter(([, value]) => value !== undefined && value !== null);
  if (channel?.id !== undefined && message.channelId !== channel.id) return false;
  let isKnown = channel?.name === undefined;
  for (const [name, value] of terms) {
    if (name === 'topic') {
      if (message.channelId === null || !isSameTopic(message.topicName, String(value))) return false;
    } else if (name === 'directWith') {
      if (message.channelId !== null || !isSamePeople(message.participantIds, value as string[])) return false;
    } else if (name === 'is') {
      const known = (value as MessageState[]).map((state) => message.states?.[state]);
      if (known.includes(false)) return false;
      if (known.includes(undefined)) isKnown = false;
    } else isKnown = false;
  }
  return isKnown ? true : undefined;
}

/** Whether what messages are in this state to the viewer decides which ones are in a narrow. */
export const asksFor = (narrow: MessageNarrowInput | null | undefined, state: MessageState): boolean =>
  narrow?.is?.includes(state) === true || narrow?.not?.is?.includes(state) === true;

/** A topic is its name in whatever case. */
export const isSameTopic = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

/** The narrow of a direct conversation names the others, or the viewer as well: both are the same people. */
function isSamePeople(participants: readonly string[], named: readonly string[]): boolean {
  return named.every((id) => participants.includes(id)) && participants.length - new Set(named).size <= 1;
}

/** Where a list begins that nobody has scrolled. */
export const FIRST_UNREAD: MessageAnchor = { place: 'FIRST_UNREAD' };
export const NEWEST: MessageAnchor = { place: 'NEWEST' };
