import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import { documentEvent } from '../../events/wire.ts';
import { shownTopic } from '../wire.ts';

export const TYPING_OPS = ['start', 'stop'] as const;
export type TypingOp = (typeof TYPING_OPS)[number];

/** A user in a typing event, as in the REST API. */
export interface Typist {
  readonly user_id: number;
  /** Email address of the user, as shown in the API. */
  readonly email: string;
}

/** Payload of the event that a user has started or stopped typing a message to a conversation or topic. */
interface TypingPayload {
  readonly sender: Typist;
  /** All members of the conversation, including the sender. Null for a channel message. */
  readonly recipients: readonly Typist[] | null;
  readonly stream_id: number | null;
  readonly topic: string;
  readonly empty_topic_name: string;
}

/** Stored name of the topic of the message that a user types or edits. Null for a direct message. */
export interface TypingTopic {
  readonly topic: string | null;
}

// Typing events are ephemeral: after a minute they are outdated, and no longer delivered.
const typing = (op: TypingOp) =>
  defineEvent('typing', op, (payload: TypingPayload) => payload, {
    ephemeral: true,
    facts: ({ recipients, topic }): TypingTopic => ({ topic: recipients === null ? topic : null }),
    render: ({ sender, recipients, stream_id, topic, empty_topic_name }, { options: { capabilities } }) => {
      if (recipients !== null) return { type: 'typing', op, message_type: 'direct', sender, recipients };
      if (!capabilities.stream_typing_notifications) return null;
      const shown = shownTopic(topic, empty_topic_name, capabilities.empty_topic_name);
      return { type: 'typing', op, message_type: 'stream', sender, stream_id, topic: shown };
    },
  });

/**
 * Events that a user has started or stopped typing. Their recipients are recipients of the message who have enabled typing
 * notifications.
 */
export const typingEvents = { start: typing('start'), stop: typing('stop') } as const;

/** Payload of the event that a user has started or stopped editing a message. */
interface TypingEditPayload {
  readonly sender_id: number;
  readonly message_id: number;
  readonly recipient:
    | { readonly type: 'channel'; readonly channel_id: number; readonly topic: string }
    | { readonly type: 'direct'; readonly user_ids: readonly number[] };
  readonly empty_topic_name: string;
}

const typingEdit = (op: TypingOp) =>
  defineEvent('typing_edit_message', op, (payload: TypingEditPayload) => payload, {
    ephemeral: true,
    facts: ({ recipient }): TypingTopic => ({ topic: recipient.type === 'channel' ? recipient.topic : null }),
    render: ({ recipient, empty_topic_name, ...fields }, { options: { capabilities } }) => ({
      type: 'typing_edit_message',
      op,
      ...fields,
      recipient:
        recipient.type === 'direct'
          ? recipient
          : { ...recipient, topic: shownTopic(recipient.topic, empty_topic_name, capabilities.empty_topic_name) },
    }),
  });

/**
 * Events that a user has started or stopped editing a message. Their recipients are users who can read the message and have
 * enabled typing notifications.
 */
export const typingEditEvents = { start: typingEdit('start'), stop: typingEdit('stop') } as const;

const wireTypist = z.strictObject({ user_id: z.int(), email: z.string() });
const channelPlace = z.strictObject({ type: z.literal('channel'), channel_id: z.int(), topic: z.string() });
const directPlace = z.strictObject({ type: z.literal('direct'), user_ids: z.array(z.int()) });
for (const op of TYPING_OPS) {
  documentEvent(typingEvents[op], 'recipients of the message who have enabled typing notifications', {
    message_type: z.literal(['direct', 'stream']),
    sender: wireTypist,
    recipients: z.array(wireTypist).optional().describe('Members of the conversation. Only for a direct message.'),
    stream_id: z.int().optional(),
    topic: z.string().optional(),
  });
  documentEvent(typingEditEvents[op], 'users who can read the message and have enabled typing notifications', {
    sender_id: z.int(),
    message_id: z.int(),
    recipient: z.union([channelPlace, directPlace]),
  });
}
