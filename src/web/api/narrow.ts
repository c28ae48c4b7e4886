import { isSameTopic } from '../../contract/topic-key.ts';
import type { MessageAnchor, MessageFlag, MessageNarrowInput, MessageState } from '../generated/graphql.ts';

/** The properties of a message that decide which narrows (message filters) it matches. Those that are unknown are undefined. */
export interface Placed {
  /** Null for direct messages. */
  readonly channelId: string | null | undefined;
  readonly topicName: string | undefined;
  /** Participants of a direct message, with or without the viewer. */
  readonly participantIds: readonly string[];
  readonly flags: readonly MessageFlag[] | undefined;
}

/** Returns a string that identifies a narrow (message filter). The order of the fields of the narrow does not matter. */
export const narrowKey = (narrow: MessageNarrowInput | null | undefined): string =>
  JSON.stringify(Object.entries(narrow ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)));

const FLAGS: Partial<Record<MessageState, (flag: MessageFlag) => boolean>> = {
  MENTIONED: (flag) => flag.endsWith('MENTIONED'),
  STARRED: (flag) => flag === 'STARRED',
  ALERTED: (flag) => flag === 'HAS_ALERT_WORD',
};

/**
 * Returns whether a message matches a narrow. Undefined if only the service can decide: for searches, for states that are not in
 * the flags of a message, and for unknown properties.
 */
export function belongsTo(
  narrow: MessageNarrowInput | null | undefined,
  { channelId, topicName, participantIds, flags }: Placed,
  viewerId: string,
): boolean | undefined {
  const { channel, topicNamed, directWith, is, ...others } = narrow ?? {};
  const isDirect = channelId === undefined ? undefined : channelId === null;
  const people = (ids: readonly (string | number)[]) => [...new Set([...ids, viewerId])].sort().join();
  const isIn = (state: MessageState) => (state === 'DIRECT' ? isDirect : FLAGS[state] && flags?.some(FLAGS[state]));
  const matches = [
    channel == null || (channel.id == null || channelId === undefined ? undefined : channelId === channel.id),
    topicNamed == null ||
      (topicName === undefined ? undefined : isDirect !== true && isSameTopic(topicName, topicNamed)),
    directWith == null || (isDirect && participantIds.length > 0 && people(directWith) === people(participantIds)),
    ...(is ?? []).map(isIn),
    ...Object.values(others).map((value) => value == null || undefined),
  ];
  return matches.includes(false) ? false : matches.includes(undefined) ? undefined : true;
}

/** Positions at which a message list can start. */
export const FIRST_UNREAD: MessageAnchor = { place: 'FIRST_UNREAD' };
export const NEWEST: MessageAnchor = { place: 'NEWEST' };
