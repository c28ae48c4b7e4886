import { z } from 'zod';
import type { ScheduledMessage } from '../../generated/prisma/client.ts';
import type { Wire } from '../../platform/wire.ts';
import { shownTopic } from '../wire.ts';

export const wireScheduledMessage = z
  .object({
    scheduled_message_id: z.int(),
    type: z.enum(['stream', 'private']),
    to: z.union([z.int(), z.array(z.int())]).describe('A channel id, or the ids of the recipients.'),
    topic: z.string().optional().describe('Only for a channel message.'),
    content: z.string(),
    rendered_content: z.string(),
    scheduled_delivery_timestamp: z.int().describe('Delivery time, in UNIX seconds.'),
    failed: z.boolean(),
  })
  .meta({ id: 'ScheduledMessage' });
export type WireScheduledMessage = Wire<typeof wireScheduledMessage>;

/**
 * Snapshot of a scheduled message in an event. Events logged by earlier versions lack the fields that `WireScheduledMessage`
 * does not have.
 */
export interface ScheduledSnapshot extends WireScheduledMessage {
  /** Time of the delivery, in ISO 8601 with milliseconds. */
  readonly scheduledAt?: string;
  readonly readBySender?: boolean;
  /** Reason why the message failed. Null if it did not fail. */
  readonly failureReason?: string | null;
}

export const toSnapshot = (row: ScheduledMessage): ScheduledSnapshot => ({
  ...toWire(row),
  scheduledAt: row.scheduledAt.toISOString(),
  readBySender: row.readBySender,
  failureReason: row.failureMessage,
});

/** Returns a scheduled message as the REST API shows it, without the fields that only event snapshots contain. */
export const wireOf = ({
  scheduledAt: _,
  readBySender: _read,
  failureReason: _reason,
  ...message
}: ScheduledSnapshot): WireScheduledMessage => message;

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

/** Returns the message with `emptyTopicName` instead of an empty topic, if the client does not accept "" as a topic name. */
export function withShownTopic(
  message: WireScheduledMessage,
  emptyTopicName: string,
  knowsEmptyTopic: boolean,
): WireScheduledMessage {
  return message.topic === undefined
    ? message
    : { ...message, topic: shownTopic(message.topic, emptyTopicName, knowsEmptyTopic) };
}
