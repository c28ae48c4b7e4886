import { isSameTopic } from '../../contract/topic-key.ts';
import type { ChannelRef, MessageAnchor, MessageFlag, MessageNarrowInput, MessageState } from '../generated/graphql.ts';

/** The fields of a message that decide which narrows (message filters) it matches. */
export interface Placed {
  readonly channel: { readonly id: string } | null;
  readonly topicName: string;
  /** All participants of a direct message, including the viewer. Null or absent for channel messages. */
  readonly participants?: readonly { readonly id: string }[] | null;
  /** Absent if the flags are unknown. */
  readonly flags?: readonly MessageFlag[];
}

/** Returns a string that identifies a narrow (message filter). The order of the fields of the narrow does not matter. */
export const narrowKey = (narrow: MessageNarrowInput | null | undefined): string =>
  JSON.stringify(Object.entries(narrow ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)));

/** Whether a message matches a part of a narrow. Undefined if only the service can decide. */
type Match = boolean | undefined;

const all = (matches: readonly Match[]): Match =>
  matches.includes(false) ? false : matches.includes(undefined) ? undefined : true;

export const isMention = (flag: MessageFlag): boolean => flag === 'MENTIONED' || flag.endsWith('WILDCARD_MENTIONED');

const STATES: Partial<Record<MessageState, (flag: MessageFlag) => boolean>> = {
  MENTIONED: isMention,
  STARRED: (flag) => flag === 'STARRED',
  ALERTED: (flag) => flag === 'HAS_ALERT_WORD',
};

const isInState = ({ channel, flags }: Placed, state: MessageState): Match => {
  if (state === 'DIRECT') return channel === null;
  const isOne = STATES[state];
  return isOne && flags?.some(isOne);
};

/**
 * Returns whether a message matches a narrow. Undefined if only the service can decide: for searches, and for states that
 * are not in its flags. A narrow can name the participants of a conversation with or without the viewer.
 */
export function belongsTo(narrow: MessageNarrowInput | null | undefined, message: Placed, viewerId: string): Match {
  const { channel, topicNamed, directWith, is, ...others } = narrow ?? {};
  return all([
    channel == null || isChannel(channel, message),
    topicNamed == null || (message.channel !== null && isSameTopic(message.topicName, topicNamed)),
    directWith == null || isBetween(directWith, message, viewerId),
    ...(is ?? []).map((state) => isInState(message, state)),
    ...Object.values(others).map((value) => (value == null ? true : undefined)),
  ]);
}

const isChannel = ({ id }: ChannelRef, { channel }: Placed): Match => (id == null ? undefined : channel?.id === id);

/** Returns whether a direct message is between these users and the viewer. */
function isBetween(ids: readonly (string | number)[], { channel, participants }: Placed, viewerId: string): boolean {
  const people = new Set([...(participants ?? []).map(({ id }) => id), viewerId]);
  const isSize = new Set([...ids, viewerId]).size === people.size;
  return channel === null && !!participants?.length && isSize && ids.every((id) => people.has(String(id)));
}

/** Returns whether a narrow requires or excludes a state of messages. */
export const asksFor = (narrow: MessageNarrowInput | null | undefined, state: MessageState): boolean =>
  narrow?.is?.includes(state) === true || narrow?.not?.is?.includes(state) === true;

/** Positions at which a message list can start. */
export const FIRST_UNREAD: MessageAnchor = { place: 'FIRST_UNREAD' };
export const NEWEST: MessageAnchor = { place: 'NEWEST' };
