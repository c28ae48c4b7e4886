import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import { tells } from '../../events/wire.ts';
import { shownTopic } from '../wire.ts';

export const TYPING_OPS = ['start', 'stop'] as const;
export type TypingOp = (typeof TYPING_OPS)[number];

/** Somebody in a typing event, as on the wire. */
export interface Typist {
  readonly user_id: number;
  /** The address the API knows them by. */
  readonly email: string;
}

/** Somebody writes, or has stopped: to these people, or to a topic. */
interface TypingPayload {
  readonly sender: Typist;
  /** Everyone in the conversation, the sender too; null for a channel. */
  readonly recipients: readonly Typist[] | null;
  readonly stream_id: number | null;
  readonly topic: string;
  readonly empty_topic_name: string;
}

/** The topic that is written to, under its true name; null for a direct message. */
export interface KnownTopic {
  readonly topic: string | null;
}

// Ephemeral: who was writing a minute ago is of no use to anybody.
const typing = (op: TypingOp) =>
  defineEvent('typing', op, (payload: TypingPayload) => payload, {
    ephemeral: true,
    facts: ({ recipients, topic }): KnownTopic => ({ topic: recipients === null ? topic : null }),
    render: ({ sender, recipients, stream_id, topic, empty_topic_name }, { options: { capabilities } }) => {
      if (recipients !== null) return { type: 'typing', op, message_type: 'direct', sender, recipients };
      if (!capabilities.stream_typing_notifications) return null;
      const shown = shownTopic(topic, empty_topic_name, capabilities.empty_topic_name);
      return { type: 'typing', op, message_type: 'stream', sender, stream_id, topic: shown };
    },
  });

/** To those who are written to and want to know. */
export const typingEvents = { start: typing('start'), stop: typing('stop') } as const;

/** Somebody edits a message, or has stopped. */
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
    facts: ({ recipient }): KnownTopic => ({ topic: recipient.type === 'channel' ? recipient.topic : null }),
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

/** To those who see the message and want to know. */
export const typingEditEvents = { start: typingEdit('start'), stop: typingEdit('stop') } as const;

const wireTypist = z.strictObject({ user_id: z.int(), email: z.string() });
const channelPlace = z.strictObject({ type: z.literal('channel'), channel_id: z.int(), topic: z.string() });
const directPlace = z.strictObject({ type: z.literal('direct'), user_ids: z.array(z.int()) });
for (const op of TYPING_OPS) {
  tells(typingEvents[op], 'those who are written to, and want to know', {
    message_type: z.literal(['direct', 'stream']),
    sender: wireTypist,
    recipients: z.array(wireTypist).optional().describe('Of a direct message: everyone in the conversation.'),
    stream_id: z.int().optional(),
    topic: z.string().optional(),
  });
  tells(typingEditEvents[op], 'those who see the message, and want to know', {
    sender_id: z.int(),
    message_id: z.int(),
    recipient: z.union([channelPlace, directPlace]),
  });
}
