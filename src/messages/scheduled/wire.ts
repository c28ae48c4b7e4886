import { z } from 'zod';
import type { ScheduledMessage } from '../../generated/prisma/client.ts';
import type { Wire } from '../../platform/wire.ts';
import { shownTopic } from '../wire.ts';

export const wireScheduledMessage = z
  .object({
    scheduled_message_id: z.int(),
    type: z.enum(['stream', 'private']),
    to: z.union([z.int(), z.array(z.int())]).describe("A channel's id, or the ids of the recipients."),
    topic: z.string().optional().describe('Of a channel message only.'),
    content: z.string(),
    rendered_content: z.string(),
    scheduled_delivery_timestamp: z.int().describe('UNIX seconds.'),
    failed: z.boolean(),
  })
  .meta({ id: 'ScheduledMessage' });
export type WireScheduledMessage = Wire<typeof wireScheduledMessage>;

/** A scheduled message as its events keep it. All is absent in events logged before they told it. */
export interface ScheduledFacts extends WireScheduledMessage {
  /** ISO 8601, to the millisecond. */
  readonly scheduledAt?: string;
  readonly readBySender?: boolean;
  /** Null unless it failed. */
  readonly failureReason?: string | null;
}

export const toFacts = (row: ScheduledMessage): ScheduledFacts => ({
  ...toWire(row),
  scheduledAt: row.scheduledAt.toISOString(),
  readBySender: row.readBySender,
  failureReason: row.failureMessage,
});

/** What the wire has of a scheduled message. */
export const wireOf = ({
  scheduledAt: _,
  readBySender: _read,
  failureReason: _reason,
  ...message
}: ScheduledFacts): WireScheduledMessage => message;

export function toWire(row: ScheduledMessage): WireScheduledMessage {
  const { channelId } = row;
  return {
    scheduled_message_id: row.id,
    ...(channelId === null
      ? { type: 'private', to: row.recipientIds }
      : { type: 'stream', to: channelId, topic: row.topic }),
    content: row.content,
    rendered_content: row.renderedContent,
    scheduled_delivery_timestamp: Math.floor(row.scheduledAt.getTime() / 1000),
    failed: row.state === 'failed',
  };
}

/** The message for a client that may not know the empty topic. */
export function withShownTopic(
  message: WireScheduledMessage,
  emptyTopicName: string,
  knowsEmptyTopic: boolean,
): WireScheduledMessage {
  return message.topic === undefined
    ? message
    : { ...message, topic: shownTopic(message.topic, emptyTopicName, knowsEmptyTopic) };
}
