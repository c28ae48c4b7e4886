import { EventProjection, instantOf } from '../../api/graphql/event-projections.ts';
import { userReference } from '../../people/event-projections.ts';
import type { KnownScheduled } from './events.ts';
import { lastMoment } from './lateness.ts';

const scheduledAt = (message: KnownScheduled): Date =>
  instantOf(message.scheduledAt, message.scheduled_delivery_timestamp);

/**
 * Fields known of every scheduled message. Excludes the channel: the owner may no longer see it, so that the message
 * failed.
 */
const always = {
  databaseId: (message: KnownScheduled) => message.scheduled_message_id,
  recipients: { facts: userReference, of: ({ to }: KnownScheduled) => (typeof to === 'number' ? null : to) },
  topicName: ({ topic }: KnownScheduled) => topic ?? '',
  content: ({ content }: KnownScheduled) => content,
  renderedContent: (message: KnownScheduled) => message.rendered_content,
  scheduledAt,
  sentUntil: (message: KnownScheduled) => lastMoment(scheduledAt(message)),
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

/** For events logged by earlier versions, which did not contain the other fields. */
const earlyFacts = new EventProjection<KnownScheduled>('ScheduledMessage', identity, always);

/** Returns the event projection of the scheduled messages in an event. */
export function projectionOf({ facts }: { readonly facts: unknown }): EventProjection<KnownScheduled> {
  const [message] = [facts].flat() as KnownScheduled[];
  return message?.readBySender === undefined ? earlyFacts : scheduledFacts;
}
