import type { ScheduledMessage } from '../../generated/prisma/client.ts';

export interface WireScheduledMessage {
  readonly scheduled_message_id: number;
  readonly type: 'stream' | 'private';
  /** A channel's id, or the ids of the recipients. */
  readonly to: number | readonly number[];
  /** Of a channel message only. */
  readonly topic?: string;
  readonly content: string;
  readonly rendered_content: string;
  /** UNIX seconds. */
  readonly scheduled_delivery_timestamp: number;
  readonly failed: boolean;
}

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

/** The message for a client that does not know the empty topic. */
export function withTopicName(message: WireScheduledMessage, emptyTopicName: string): WireScheduledMessage {
  return message.topic === '' ? { ...message, topic: emptyTopicName } : message;
}
