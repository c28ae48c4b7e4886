import { z } from 'zod';
import { emptyTopicName } from '../../channels/topic-name.ts';
import { defineEvent } from '../../events/define.ts';
import { documentEvent } from '../../events/wire.ts';
import type { Realm } from '../../generated/prisma/client.ts';
import { shownTopic } from '../wire.ts';

/** Flags that users can set and remove. */
export const MESSAGE_FLAGS = ['read', 'starred', 'collapsed'] as const;
export type MessageFlag = (typeof MESSAGE_FLAGS)[number];

/**
 * Maximum number of messages in one event. If more messages change, there are several events. This bounds the size of pages of
 * events, and the number of messages that are loaded for each event.
 */
export const MAX_PER_EVENT = 500;

// The events below are sent only to the user's own clients.

/** Returns the events for messages that now have the flag: one event for every `MAX_PER_EVENT` messages. */
export function flagAdded(flag: MessageFlag, messageIds: readonly number[]) {
  return inEvents(messageIds).map((ids) => flagsAdded(flag, ids, false));
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
  (flag: MessageFlag, messages: readonly number[], all: boolean) => ({ operation: 'add', flag, messages, all }),
);

/** Returns the event for a user who has read all messages. */
export const allRead = () => flagsAdded('read', [], true);

/** Data of a message that became unread again. Clients that do not have the message need it. */
export interface UnreadDetails {
  readonly id: number;
  /** Id of the channel. Null for a direct message. */
  readonly channelId: number | null;
  readonly topic: string;
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

interface RemovedPayload {
  readonly flag: MessageFlag;
  readonly messages: readonly number[];
  /** Details of the messages that became unread, by message id. Absent for other flags than `read`. */
  readonly details?: Readonly<Record<string, WireUnreadDetails>>;
  readonly empty_topic_name: string;
}

/** Messages that lost a flag. `details` is given only if the flag is `read`. */
export interface Removed {
  readonly ids: readonly number[];
  readonly details?: readonly UnreadDetails[];
}

/** Returns the events for messages that lost the flag: one event for every `MAX_PER_EVENT` messages. */
export function flagRemoved(flag: MessageFlag, { ids, details }: Removed, realm: Realm) {
  const detailsOf = new Map(details?.map((message) => [message.id, message]));
  const of = (id: number) => detailsOf.get(id) ?? [];
  return inEvents(ids).map((part) =>
    flagsRemoved(flag, { ids: part, ...(details !== undefined && { details: part.flatMap(of) }) }, realm),
  );
}

const flagsRemoved = defineEvent(
  'update_message_flags',
  'remove',
  (flag: MessageFlag, { ids, details }: Removed, realm: Realm): RemovedPayload => ({
    flag,
    messages: ids,
    ...(details !== undefined && {
      details: Object.fromEntries(details.map((message) => [message.id, toWireDetails(message)])),
    }),
    empty_topic_name: emptyTopicName(realm),
  }),
  {
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

const told = {
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
documentEvent(flagsAdded, 'the user', told);
documentEvent(flagsRemoved, 'the user', {
  ...told,
  message_details: z
    .record(z.string(), wireUnread)
    .optional()
    .describe('Locations of messages that became unread, by message id.'),
});
