import { z } from 'zod';
import { apiEmailOf } from '../access/address.ts';
import { isResolved, namesEmptyTopic } from '../channels/topic-name.ts';
import { defineEvent } from '../events/define.ts';
import type { EventView } from '../events/view.ts';
import { tells } from '../events/wire.ts';
import { mayMatch } from './narrow/logged-messages.ts';
import { type MessageFacts, toWireFlags, toWireMessage, type UserFlags, wireMessage } from './wire.ts';

/** A new message, with what it is to those it names: all that any recipient's view of it needs. */
export interface SentPayload extends MessageFacts {
  readonly readBySender: boolean;
  /** Who else need not read it. */
  readonly readBy?: readonly number[] | undefined;
  /** Whether it mentions everybody in the channel or conversation. */
  readonly channelWildcard: boolean;
  /** Who is mentioned by name or through a group. */
  readonly mentioned: readonly number[];
  /** Who is mentioned through @topic. */
  readonly topicMentioned: readonly number[];
  /** Who has an alert word in it. */
  readonly alerted: readonly number[];
  /** The queue that is told `localId`, so that its client knows the message it sent. */
  readonly queueId?: string | undefined;
  readonly localId?: string | undefined;
}

/** A new message, before the database has given it its id and that of its recipient. */
export type Unsent = Omit<SentPayload, 'id' | 'recipientId'>;

const isReadBy = ({ readBySender, sender, readBy }: SentPayload, userId: number): boolean =>
  (readBySender && sender.id === userId) || readBy?.includes(userId) === true;

/** What the message is to one user, at the moment it is sent. */
function flagsFor(payload: SentPayload, userId: number, isRecipient: boolean): UserFlags {
  return {
    read: isReadBy(payload, userId),
    mentioned: payload.mentioned.includes(userId),
    channelWildcard: payload.channelWildcard && isRecipient,
    topicWildcard: payload.topicMentioned.includes(userId),
    hasAlertWord: payload.alerted.includes(userId),
  };
}

/** The same as entities have it: what somebody never received waits for nobody to read it. */
const knownFlags = (payload: SentPayload, { userId, isRecipient }: EventView): UserFlags =>
  isRecipient ? flagsFor(payload, userId, true) : { ...flagsFor(payload, userId, false), read: true, historical: true };

const isLocalTo = ({ queueId, localId }: SentPayload, view: EventView) =>
  localId !== undefined && queueId === view.queueId;

/** What tells viewers of one role apart, as bits: worked out for every delivery. */
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
    // The sender knows their own address, hidden or not: their avatar may be shown in another way.
    view.userId === payload.sender.id,
  ];
  let bits = 0;
  for (const is of differences) bits = bits * 2 + (is === true ? 1 : 0);
  return bits;
}

/**
 * To everyone who receives the message. Those whom it names or who sent it have a rendering of their own; all others
 * share one. Written by `send_message`, so that this is never called to make one.
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

/** What changes here, `mayMatch` is to follow: it may let more through, and never less. */
function matches(payload: SentPayload, operator: string, operand: string, userId: number): boolean {
  const isText = (text: string | undefined) => text?.toLowerCase() === operand.toLowerCase();
  switch (operator) {
    case 'channel':
    case 'stream':
      return isText(payload.channel?.name);
    case 'topic':
      if (payload.channel === null) return false;
      return payload.topic === '' ? namesEmptyTopic(operand, payload.emptyTopicName) : isText(payload.topic);
    case 'sender':
      return isText(apiEmailOf(payload.sender));
    default:
      return isMatched(payload, operand, userId);
  }
}

/** The operands of `is`. */
function isMatched(payload: SentPayload, operand: string, userId: number): boolean {
  switch (operand) {
    case 'dm':
    case 'private':
      return payload.channel === null;
    case 'starred':
      // Never true when the message is sent.
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
tells(messageSent, 'whom it is for: those in the conversation, or the channel; and queues for all public channels', {
  message: z.object(sent),
  flags: z.array(z.string()),
  local_message_id: z.string().optional().describe('In the queue that it was sent with.'),
});
