import { z } from 'zod';
import { emptyTopicName } from '../../channels/topic-name.ts';
import { topicKey } from '../../contract/topic-key.ts';
import { defineEvent } from '../../events/define.ts';
import { documentEvent } from '../../events/wire.ts';
import type { Organization } from '../../generated/prisma/client.ts';
import { shownTopic } from '../wire.ts';

/** Flags that users can set and remove. */
export const MESSAGE_FLAGS = ['read', 'starred', 'collapsed'] as const;
export type MessageFlag = (typeof MESSAGE_FLAGS)[number];

/**
 * Maximum number of messages in one event. If more messages change, several events are emitted. This limits the size of a page
 * of events, and the number of messages that are loaded for each event. It equals the maximum size of a page of messages, so
 * that the same fields of the messages have the same cost in a subscription as in a query of such a page. Events that were
 * logged before 2026-11-28 can contain 500.
 */
export const MAX_PER_EVENT = 100;

// The events below are sent only to the user's own clients.

/** Location of a message: its topic or its direct conversation. */
export interface FlaggedPlace {
  /** Id of the channel. Null for a direct message. */
  readonly channelId: number | null;
  readonly topic: string;
  /** Id of the conversation. Null for a channel message. */
  readonly conversationId: number | null;
}

/** The locations of messages whose read state has changed, each once. At most `MAX_PER_EVENT` of each kind. */
export interface ChangedPlaces {
  readonly topics: readonly { readonly channelId: number; readonly topic: string }[];
  /** Channels whose topics are not listed. Absent: none. */
  readonly channelIds?: readonly number[];
  readonly conversationIds: readonly number[];
}

/** Returns the location of a message. */
export type PlaceOf = (messageId: number) => FlaggedPlace;

function changedPlaces(messageIds: readonly number[], placeOf: PlaceOf): ChangedPlaces {
  const topics = new Map<string, ChangedPlaces['topics'][number]>();
  const conversationIds = new Set<number>();
  for (const id of messageIds) {
    const { channelId, topic, conversationId } = placeOf(id);
    if (conversationId !== null) conversationIds.add(conversationId);
    if (channelId !== null) topics.set(`${channelId} ${topicKey(topic)}`, { channelId, topic });
  }
  return { topics: [...topics.values()], conversationIds: [...conversationIds] };
}

/** Payload of the event of a flag that was added to messages or removed from them. */
export interface FlagsPayload {
  readonly flag: MessageFlag;
  readonly messages: readonly number[];
  /** Whether the event is about all messages. Absent in events of removed flags. */
  readonly all?: boolean;
  /**
   * Locations of the messages whose read state has changed. Absent for other flags, and in events logged by previous versions.
   */
  readonly places?: ChangedPlaces;
}

/**
 * Data from which the GraphQL field `unreadChange` is answered: the locations of the messages whose read state has changed, if
 * the event contains them.
 */
export type ProjectedFlags = Pick<FlagsPayload, 'places'>;

/** Returns the part of a payload from which the GraphQL field `unreadChange` is answered. */
const unreadChangeData = ({ places }: ProjectedFlags): ProjectedFlags => ({ ...(places !== undefined && { places }) });

/**
 * Returns the events for messages that now have the flag, with at most `MAX_PER_EVENT` messages per event.
 *
 * @param placeOf Required for the flag `read`.
 */
export function flagAdded(flag: MessageFlag, messageIds: readonly number[], placeOf?: PlaceOf) {
  return inEvents(messageIds).map((ids) =>
    flagsAdded(flag, ids, false, placeOf === undefined ? undefined : changedPlaces(ids, placeOf)),
  );
}

/** Sorts the ids in ascending order and splits them into lists of at most `MAX_PER_EVENT`. */
function inEvents(messageIds: readonly number[]): readonly (readonly number[])[] {
  const ascending = messageIds.toSorted((a, b) => a - b);
  const count = Math.ceil(ascending.length / MAX_PER_EVENT);
  return Array.from({ length: count }, (_, i) => ascending.slice(i * MAX_PER_EVENT, (i + 1) * MAX_PER_EVENT));
}

const flagsAdded = defineEvent(
  'update_message_flags',
  'add',
  (flag: MessageFlag, messages: readonly number[], all: boolean, places?: ChangedPlaces) => ({
    operation: 'add',
    ...{ flag, messages, all },
    ...(places !== undefined && { places }),
  }),
  {
    facts: unreadChangeData,
    render: ({ operation, flag, messages, all }) => ({
      type: 'update_message_flags',
      op: 'add',
      ...{ operation, flag, messages, all },
    }),
  },
);

/**
 * Returns the event for a user who has read all messages.
 *
 * @param unread Channels and conversations that had unread messages.
 */
export const allRead = ({ channelIds = [], conversationIds }: Omit<ChangedPlaces, 'topics'>) =>
  flagsAdded('read', [], true, {
    topics: [],
    channelIds: channelIds.slice(0, MAX_PER_EVENT),
    conversationIds: conversationIds.slice(0, MAX_PER_EVENT),
  });

/** Data of a message that became unread again, for clients that have not loaded the message. */
export interface UnreadDetails extends FlaggedPlace {
  readonly id: number;
  /** Ids of the members of the conversation except the user. Null for a channel message. */
  readonly otherIds: readonly number[] | null;
  readonly isMentioned: boolean;
  readonly isMuted: boolean;
}

export interface WireUnreadDetails {
  readonly type: 'stream' | 'private';
  readonly mentioned?: true;
  readonly user_ids?: readonly number[];
  readonly stream_id?: number;
  readonly topic?: string;
  readonly unmuted_stream_msg?: boolean;
}

const toWireDetails = (details: UnreadDetails): WireUnreadDetails => ({
  ...(details.channelId === null
    ? { type: 'private', user_ids: details.otherIds ?? [] }
    : { type: 'stream', stream_id: details.channelId, topic: details.topic, unmuted_stream_msg: !details.isMuted }),
  ...(details.isMentioned && { mentioned: true }),
});

interface RemovedPayload extends FlagsPayload {
  /** Details of the messages that became unread, by message id. Absent for other flags than `read`. */
  readonly details?: Readonly<Record<string, WireUnreadDetails>>;
  readonly empty_topic_name: string;
}

/** Messages that lost a flag. `details` is given only if the flag is `read`. */
export interface Removed {
  readonly ids: readonly number[];
  readonly details?: readonly UnreadDetails[];
}

/** Returns the events for messages that lost the flag, with at most `MAX_PER_EVENT` messages per event. */
export function flagRemoved(flag: MessageFlag, { ids, details }: Removed, organization: Organization) {
  const detailsOf = new Map(details?.map((message) => [message.id, message]));
  const of = (id: number) => detailsOf.get(id) ?? [];
  return inEvents(ids).map((part) =>
    flagsRemoved(flag, { ids: part, ...(details !== undefined && { details: part.flatMap(of) }) }, organization),
  );
}

function placesOfDetails(details: readonly UnreadDetails[]): ChangedPlaces {
  const byId = new Map(details.map((message) => [message.id, message]));
  return changedPlaces([...byId.keys()], (id) => byId.get(id) as UnreadDetails);
}

const flagsRemoved = defineEvent(
  'update_message_flags',
  'remove',
  (flag: MessageFlag, { ids, details }: Removed, organization: Organization): RemovedPayload => ({
    flag,
    messages: ids,
    ...(details !== undefined && {
      details: Object.fromEntries(details.map((message) => [message.id, toWireDetails(message)])),
      places: placesOfDetails(details),
    }),
    empty_topic_name: emptyTopicName(organization),
  }),
  {
    facts: unreadChangeData,
    render: ({ flag, messages, details, empty_topic_name }, { options }) => ({
      type: 'update_message_flags',
      op: 'remove',
      operation: 'remove',
      flag,
      messages,
      all: false,
      ...(details !== undefined && {
        message_details: Object.fromEntries(
          Object.entries(details).map(([id, { topic, ...rest }]) => [
            id,
            {
              ...rest,
              ...(topic !== undefined && {
                topic: shownTopic(topic, empty_topic_name, options.capabilities.empty_topic_name),
              }),
            },
          ]),
        ),
      }),
    }),
  },
);

const commonFields = {
  operation: z.string().describe('Same as `op`.'),
  flag: z.string(),
  messages: z.array(z.int()),
  all: z.boolean(),
};
const wireUnread = z.strictObject({
  type: z.literal(['stream', 'private']),
  mentioned: z.literal(true).optional(),
  user_ids: z.array(z.int()).optional(),
  stream_id: z.int().optional(),
  topic: z.string().optional(),
  unmuted_stream_msg: z.boolean().optional(),
});
documentEvent(flagsAdded, 'the user', commonFields);
documentEvent(flagsRemoved, 'the user', {
  ...commonFields,
  message_details: z
    .record(z.string(), wireUnread)
    .optional()
    .describe('Locations of messages that became unread, by message id.'),
});
