import { EventProjection, instantOf } from '../../api/graphql/schema/event-projections.ts';
import { userReference } from '../../people/event-projections.ts';
import type { KnownScheduled } from './events.ts';
import { latestDelivery } from './lateness.ts';

const scheduledAt = (message: KnownScheduled): Date =>
  instantOf(message.scheduledAt, message.scheduled_delivery_timestamp);

/**
 * GraphQL fields that the events of all scheduled messages contain. Excludes the channel: the message may have failed because
 * the owner can no longer see it.
 */
const always = {
  databaseId: (message: KnownScheduled) => message.scheduled_message_id,
  recipients: { facts: userReference, of: ({ to }: KnownScheduled) => (typeof to === 'number' ? null : to) },
  topicName: ({ topic }: KnownScheduled) => topic ?? '',
  content: ({ content }: KnownScheduled) => content,
  renderedContent: (message: KnownScheduled) => message.rendered_content,
  scheduledAt,
  sentUntil: (message: KnownScheduled) => latestDelivery(scheduledAt(message)),
  state: ({ failed }: KnownScheduled) => (failed ? 'failed' : 'scheduled'),
  message: () => null,
  owner: { facts: userReference, of: ({ ownerId }: KnownScheduled) => ownerId },
};

const identity = { idOf: (message: KnownScheduled) => message.scheduled_message_id };

const scheduledFacts = new EventProjection<KnownScheduled>('ScheduledMessage', identity, {
  ...always,
  readBySender: ({ readBySender }) => readBySender,
  failureReason: ({ failureReason }) => failureReason,
});

/** Event projection for events logged by earlier versions, which did not contain the fields added above. */
const earlyFacts = new EventProjection<KnownScheduled>('ScheduledMessage', identity, always);

/** Returns the event projection of the scheduled messages in an event, depending on the version that logged the event. */
export function projectionOf({ facts }: { readonly facts: unknown }): EventProjection<KnownScheduled> {
  const [message] = [facts].flat() as KnownScheduled[];
  return message?.readBySender === undefined ? earlyFacts : scheduledFacts;
}
