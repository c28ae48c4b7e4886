import { isSameTopic } from '../../contract/topic-key.ts';
import type { MessageAnchor, MessageNarrowInput, MessageState } from '../generated/graphql.ts';

/** The fields of a message that decide which narrows (message filters) it matches. */
export interface Placed {
  readonly channelId: string | null;
  readonly topicName: string;
  /** IDs of all participants of a direct message, including the viewer. Empty for channel messages. */
  readonly participantIds: readonly string[];
  /** For each state, whether the message is in it for the viewer. Absent states are unknown. */
  readonly states?: Readonly<Partial<Record<MessageState, boolean>>>;
}

/** Returns a string that identifies a narrow. The order of its terms does not matter. */
export const narrowKey = (narrow: MessageNarrowInput | null | undefined): string =>
  JSON.stringify(Object.entries(narrow ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)));

/**
 * Returns whether a message matches a narrow. Undefined if only the service can decide: for searches, and for states that
 * are not in `states`. A narrow can name the participants of a conversation with or without the viewer.
 */
export function belongsTo(
  narrow: MessageNarrowInput | null | undefined,
  message: Placed,
  viewerId: string,
): boolean | undefined {
  const { channel, ...others } = narrow ?? {};
  const terms = Object.entries(others).filter(([, value]) => value !== undefined && value !== null);
  if (channel?.id !== undefined && message.channelId !== channel.id) return false;
  let isKnown = channel?.name === undefined;
  for (const [name, value] of terms) {
    if (name === 'topic') {
      if (message.channelId === null || !isSameTopic(message.topicName, String(value))) return false;
    } else if (name === 'directWith') {
      const isSame = isSamePeople(message.participantIds, value as string[], viewerId);
      if (message.channelId !== null || message.participantIds.length === 0 || !isSame) return false;
    } else if (name === 'is') {
      const known = (value as MessageState[]).map((state) => message.states?.[state]);
      if (known.includes(false)) return false;
      if (known.includes(undefined)) isKnown = false;
    } else isKnown = false;
  }
  return isKnown ? true : undefined;
}

/** Returns whether a narrow requires or excludes a state of messages. */
export const asksFor = (narrow: MessageNarrowInput | null | undefined, state: MessageState): boolean =>
  narrow?.is?.includes(state) === true || narrow?.not?.is?.includes(state) === true;

/** Returns whether a narrow names the participants of a conversation, with or without the viewer. */
function isSamePeople(participantIds: readonly string[], namedIds: readonly string[], viewerId: string): boolean {
  const [participants, named] = [new Set([...participantIds, viewerId]), new Set([...namedIds, viewerId])];
  return participants.size === named.size && namedIds.every((id) => participants.has(id));
}

/** Positions at which a message list can start. */
export const FIRST_UNREAD: MessageAnchor = { place: 'FIRST_UNREAD' };
export const NEWEST: MessageAnchor = { place: 'NEWEST' };

/**
 * Returns the message to the user about a narrow that the service refused. The service's own message begins with a term of the
 * API.
 *
 * @param desc Field of the error BAD_NARROW: `unknown channel general`.
 */
export function narrowProblem(desc: string): string {
  const channel = /^unknown channel (.*)$/s.exec(desc)?.[1];
  if (channel !== undefined) return `There is no channel “${channel}”.`;
  if (desc.startsWith('unknown user ')) return NO_SUCH_USER;
  return `${desc.charAt(0).toUpperCase()}${desc.slice(1).replace(/\.$/, '')}.`;
}

export const NO_SUCH_USER = 'There is no such user.';
