import { z } from 'zod';
import { apiEmailOf } from '../access/address.ts';
import { isResolved, namesEmptyTopic } from '../channels/topic-name.ts';
import { isSameTopic } from '../contract/topic-key.ts';
import { defineEvent } from '../events/define.ts';
import type { EventView } from '../events/view.ts';
import { documentEvent } from '../events/wire.ts';
import { mayMatch } from './logged-messages.ts';
import { type MessageEventSnapshot, toWireFlags, toWireMessage, type UserFlags, wireMessage } from './wire.ts';

/** Payload of the event of a new message: all data that is needed to render the message for any recipient. */
export interface SentPayload extends MessageEventSnapshot {
  readonly readBySender: boolean;
  /** Users other than the sender for whom the message is marked as read. */
  readonly readBy?: readonly number[] | undefined;
  /** Whether the message mentions all members of the channel or conversation. */
  readonly channelWildcard: boolean;
  /** Users mentioned by name or through a group. */
  readonly mentioned: readonly number[];
  /** Users mentioned through @topic. */
  readonly topicMentioned: readonly number[];
  /** Users who have an alert word that the message contains. */
  readonly alerted: readonly number[];
  /** Id of the event queue that receives `localId`. The client of this queue recognizes its own message by `localId`. */
  readonly queueId?: string | undefined;
  readonly localId?: string | undefined;
}

/** A new message before the database assigns its id and its recipient id, which identifies its channel or conversation. */
export type Unsent = Omit<SentPayload, 'id' | 'recipientId'>;

const isReadBy = ({ readBySender, sender, readBy }: SentPayload, userId: number): boolean =>
  (readBySender && sender.id === userId) || readBy?.includes(userId) === true;

/** Returns the flags of the message for one user at the time of sending. */
function flagsFor(payload: SentPayload, userId: number, isRecipient: boolean): UserFlags {
  return {
    read: isReadBy(payload, userId),
    mentioned: payload.mentioned.includes(userId),
    channelWildcard: payload.channelWildcard && isRecipient,
    topicWildcard: payload.topicMentioned.includes(userId),
    hasAlertWord: payload.alerted.includes(userId),
  };
}

/**
 * Returns the flags of the message for one user, as the data of the event for GraphQL contains them. If the user did not
 * receive the message, the flags include `read` and `historical`.
 */
const knownFlags = (payload: SentPayload, { userId, isRecipient }: EventView): UserFlags =>
  isRecipient ? flagsFor(payload, userId, true) : { ...flagsFor(payload, userId, false), read: true, historical: true };

const isLocalTo = ({ queueId, localId }: SentPayload, view: EventView) =>
  localId !== undefined && queueId === view.queueId;

/**
 * Returns a number that decides which viewers share a rendering of the event: those with the same number and the same role. The
 * function runs for every delivery, so it packs the viewer's flags into the bits of one number.
 */
function viewerClassOf(payload: SentPayload, view: EventView): number {
  const flags = knownFlags(payload, view);
  const differences = [
    flags.read,
    flags.mentioned,
    flags.channelWildcard,
    flags.topicWildcard,
    flags.hasAlertWord,
    flags.historical,
    isLocalTo(payload, view),
  ];
  let bits = 0;
  for (const is of differences) bits = bits * 2 + (is === true ? 1 : 0);
  return bits;
}

/**
 * Event for all recipients of a new message. Users with the same flags, such as `read` or mentions, share one rendering. The
 * queue that sent the message receives a separate one. This definition is used for rendering only, because the SQL function
 * `write_messages` writes the events.
 */
export const messageSent = defineEvent('message', undefined, (payload: SentPayload): SentPayload => payload, {
  perUser: viewerClassOf,
  render: (payload, view) => ({
    type: 'message',
    message: toWireMessage(payload, { requester: { id: view.userId, role: view.role }, options: view.options }),
    flags: toWireFlags(flagsFor(payload, view.userId, view.isRecipient)),
    ...(isLocalTo(payload, view) && { local_message_id: payload.localId }),
  }),
  facts: (payload, view) => ({
    message: payload,
    flags: knownFlags(payload, view),
  }),
  matches: (payload, narrow, userId) =>
    narrow.every(([operator, operand]) => matches(payload, operator, operand, userId)),
  mayMatch: (narrow, userId) => narrow.flatMap(([operator, operand]) => mayMatch(operator, operand, userId) ?? []),
});

/**
 * Returns whether a message matches one term of a queue's narrow (message filter). If you change this function, also change
 * `mayMatch` in logged-messages.ts. `mayMatch` can match more messages than this function, but never fewer.
 */
function matches(payload: SentPayload, operator: string, operand: string, userId: number): boolean {
  const isText = (text: string | undefined) => text?.toLowerCase() === operand.toLowerCase();
  switch (operator) {
    case 'channel':
    case 'stream':
      return isText(payload.channel?.name);
    case 'channel-id':
      return String(payload.channel?.id) === operand;
    case 'topic':
      if (payload.channel === null) return false;
      return payload.topic === ''
        ? namesEmptyTopic(operand, payload.emptyTopicName)
        : isSameTopic(payload.topic, operand);
    case 'sender':
      return isText(apiEmailOf(payload.sender));
    case 'sender-id':
      return String(payload.sender.id) === operand;
    default:
      return isMatched(payload, operand, userId);
  }
}

/** Returns whether a message matches the term `is:` with the given operand. */
function isMatched(payload: SentPayload, operand: string, userId: number): boolean {
  switch (operand) {
    case 'dm':
    case 'private':
      return payload.channel === null;
    case 'starred':
      // A message cannot be starred when it is sent.
      return false;
    case 'unread':
      return !isReadBy(payload, userId);
    case 'mentioned':
    case 'alerted':
      return payload.mentioned.includes(userId);
    case 'resolved':
      return payload.channel !== null && isResolved(payload.topic);
    default:
      return true;
  }
}

const { flags: _flags, ...sent } = wireMessage.shape;
documentEvent(
  messageSent,
  'members of the conversation or subscribers of the channel, and queues that receive all public channels',
  {
    message: z.object(sent),
    flags: z.array(z.string()),
    local_message_id: z.string().optional().describe('Only in the queue that the sender named.'),
  },
);
