import { emptyTopicName } from '../../channels/topic-name.ts';
import { defineEvent } from '../../events/define.ts';
import type { Realm, ScheduledMessage } from '../../generated/prisma/client.ts';
import { toWire, type WireScheduledMessage, withShownTopic } from './wire.ts';

// All go to the owner's own clients only.

interface AddedPayload {
  readonly scheduled_messages: readonly WireScheduledMessage[];
  readonly empty_topic_name: string;
}

export const scheduledMessageAdded = defineEvent(
  'scheduled_messages',
  'add',
  (message: ScheduledMessage, realm: Realm): AddedPayload => ({
    scheduled_messages: [toWire(message)],
    empty_topic_name: emptyTopicName(realm),
  }),
  {
    render: ({ scheduled_messages, empty_topic_name }, { options }) => ({
      type: 'scheduled_messages',
      op: 'add',
      scheduled_messages: scheduled_messages.map((message) =>
        withShownTopic(message, empty_topic_name, options.capabilities.empty_topic_name),
      ),
    }),
  },
);

interface UpdatedPayload {
  readonly scheduled_message: WireScheduledMessage;
  readonly empty_topic_name: string;
}

/** Edited, or failed. */
export const scheduledMessageUpdated = defineEvent(
  'scheduled_messages',
  'update',
  (message: ScheduledMessage, realm: Realm): UpdatedPayload => ({
    scheduled_message: toWire(message),
    empty_topic_name: emptyTopicName(realm),
  }),
  {
    render: ({ scheduled_message, empty_topic_name }, { options }) => ({
      type: 'scheduled_messages',
      op: 'update',
      scheduled_message: withShownTopic(scheduled_message, empty_topic_name, options.capabilities.empty_topic_name),
    }),
  },
);

/** Cancelled, or sent. */
export const scheduledMessageRemoved = defineEvent('scheduled_messages', 'remove', (id: number) => ({
  scheduled_message_id: id,
}));
