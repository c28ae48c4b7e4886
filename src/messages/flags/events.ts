import { z } from 'zod';
import { emptyTopicName } from '../../channels/topic-name.ts';
import { defineEvent } from '../../events/define.ts';
import { tells } from '../../events/wire.ts';
import type { Realm } from '../../generated/prisma/client.ts';
import { shownTopic } from '../wire.ts';

/** The flags a user may set. */
export const MESSAGE_FLAGS = ['read', 'starred', 'collapsed'] as const;
export type MessageFlag = (typeof MESSAGE_FLAGS)[number];

/** Our choice: an event of more messages is several, so that a page of events stays small, and what is shown of each. */
export const MAX_PER_EVENT = 500;

// All go to the user's own clients only.

/** The messages now have the flag: one event, or several for very many. */
export function flagAdded(flag: MessageFlag, messageIds: readonly number[]) {
  return inEvents(messageIds).map((ids) => flagsAdded(flag, ids, false));
}

/** The ids, ascending, as many at a time as an event holds. */
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

/** Everything there was is read now. */
export const allRead = () => flagsAdded('read', [], true);

/** What a client has to know of a message that is unread again. */
export interface UnreadDetails {
  readonly id: number;
  /** Null for a direct message. */
  readonly channelId: number | null;
  readonly topic: string;
  /** Who takes part in the conversation but the user; null for a channel message. */
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
  /** Of messages that are unread again. */
  readonly details?: Readonly<Record<string, WireUnreadDetails>>;
  readonly empty_topic_name: string;
}

/** What a removal is made of: the ids; and for the flag read, what they are. */
export interface Removed {
  readonly ids: readonly number[];
  readonly details?: readonly UnreadDetails[];
}

/** The messages do not have the flag any more: one event, or several for very many. */
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
  operation: z.string().describe('As `op`.'),
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
tells(flagsAdded, 'the user', told);
tells(flagsRemoved, 'the user', {
  ...told,
  message_details: z.record(z.string(), wireUnread).optional().describe('Of messages that are unread again, by id.'),
});
