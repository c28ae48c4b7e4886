import { z } from 'zod';
import { emptyTopicName } from '../../channels/topic-name.ts';
import { defineEvent } from '../../events/define.ts';
import { documentEvent } from '../../events/wire.ts';
import type { Organization, ScheduledMessage } from '../../generated/prisma/client.ts';
import { type ScheduledSnapshot, toSnapshot, wireOf, wireScheduledMessage, withShownTopic } from './wire.ts';

// The events below are sent only to the clients of the message's owner.

/** Snapshot of a scheduled message, with its owner. The owner is the only recipient of the event. */
export interface ProjectedScheduled extends ScheduledSnapshot {
  readonly ownerId: number;
}

interface AddedPayload {
  readonly scheduled_messages: readonly ScheduledSnapshot[];
  readonly empty_topic_name: string;
}

export const scheduledMessageAdded = defineEvent(
  'scheduled_messages',
  'add',
  (message: ScheduledMessage, organization: Organization): AddedPayload => ({
    scheduled_messages: [toSnapshot(message)],
    empty_topic_name: emptyTopicName(organization),
  }),
  {
    perUser: true,
    render: ({ scheduled_messages, empty_topic_name }, { options }) => ({
      type: 'scheduled_messages',
      op: 'add',
      scheduled_messages: scheduled_messages.map((message) =>
        withShownTopic(wireOf(message), empty_topic_name, options.capabilities.empty_topic_name),
      ),
    }),
    facts: ({ scheduled_messages }, { userId }): readonly ProjectedScheduled[] =>
      scheduled_messages.map((message) => ({ ...message, ownerId: userId })),
  },
);

interface UpdatedPayload {
  readonly scheduled_message: ScheduledSnapshot;
  readonly empty_topic_name: string;
}

/** Event after a scheduled message was edited or failed. */
export const scheduledMessageUpdated = defineEvent(
  'scheduled_messages',
  'update',
  (message: ScheduledMessage, organization: Organization): UpdatedPayload => ({
    scheduled_message: toSnapshot(message),
    empty_topic_name: emptyTopicName(organization),
  }),
  {
    perUser: true,
    render: ({ scheduled_message, empty_topic_name }, { options }) => ({
      type: 'scheduled_messages',
      op: 'update',
      scheduled_message: withShownTopic(
        wireOf(scheduled_message),
        empty_topic_name,
        options.capabilities.empty_topic_name,
      ),
    }),
    facts: ({ scheduled_message }, { userId }): ProjectedScheduled => ({ ...scheduled_message, ownerId: userId }),
  },
);

/** Event after a scheduled message was canceled or sent. */
export const scheduledMessageRemoved = defineEvent('scheduled_messages', 'remove', (id: number) => ({
  scheduled_message_id: id,
}));

documentEvent(scheduledMessageAdded, 'the owner', { scheduled_messages: z.array(wireScheduledMessage) });
documentEvent(scheduledMessageUpdated, 'the owner', { scheduled_message: wireScheduledMessage });
documentEvent(scheduledMessageRemoved, 'the owner', { scheduled_message_id: z.int() });
