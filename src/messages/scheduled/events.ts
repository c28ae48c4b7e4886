import { z } from 'zod';
import { emptyTopicName } from '../../channels/topic-name.ts';
import { defineEvent } from '../../events/define.ts';
import { tells } from '../../events/wire.ts';
import type { Realm, ScheduledMessage } from '../../generated/prisma/client.ts';
import { type ScheduledFacts, toFacts, wireOf, wireScheduledMessage, withShownTopic } from './wire.ts';

// All go to the owner's own clients only.

/** A scheduled message, and whose it is: nobody else hears of it. */
export interface KnownScheduled extends ScheduledFacts {
  readonly ownerId: number;
}

interface AddedPayload {
  readonly scheduled_messages: readonly ScheduledFacts[];
  readonly empty_topic_name: string;
}

export const scheduledMessageAdded = defineEvent(
  'scheduled_messages',
  'add',
  (message: ScheduledMessage, realm: Realm): AddedPayload => ({
    scheduled_messages: [toFacts(message)],
    empty_topic_name: emptyTopicName(realm),
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
    facts: ({ scheduled_messages }, { userId }): readonly KnownScheduled[] =>
      scheduled_messages.map((message) => ({ ...message, ownerId: userId })),
  },
);

interface UpdatedPayload {
  readonly scheduled_message: ScheduledFacts;
  readonly empty_topic_name: string;
}

/** Edited, or failed. */
export const scheduledMessageUpdated = defineEvent(
  'scheduled_messages',
  'update',
  (message: ScheduledMessage, realm: Realm): UpdatedPayload => ({
    scheduled_message: toFacts(message),
    empty_topic_name: emptyTopicName(realm),
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
    facts: ({ scheduled_message }, { userId }): KnownScheduled => ({ ...scheduled_message, ownerId: userId }),
  },
);

/** Cancelled, or sent. */
export const scheduledMessageRemoved = defineEvent('scheduled_messages', 'remove', (id: number) => ({
  scheduled_message_id: id,
}));

tells(scheduledMessageAdded, 'its owner', { scheduled_messages: z.array(wireScheduledMessage) });
tells(scheduledMessageUpdated, 'its owner', { scheduled_message: wireScheduledMessage });
tells(scheduledMessageRemoved, 'its owner', { scheduled_message_id: z.int() });
