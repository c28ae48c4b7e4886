import { EventProjection, instantOf } from '../../api/graphql/schema/event-projections.ts';
import { userReference } from '../../people/event-projections.ts';
import type { ProjectedScheduled } from './events.ts';
import { latestDelivery } from './lateness.ts';

const scheduledAt = (message: ProjectedScheduled): Date =>
  instantOf(message.scheduledAt, message.scheduled_delivery_timestamp);

/**
 * GraphQL fields that the events of all scheduled messages contain. Excludes the channel: the message may have failed because
 * the owner can no longer see it.
 */
const always = {
  databaseId: (message: ProjectedScheduled) => message.scheduled_message_id,
  recipients: { facts: userReference, of: ({ to }: ProjectedScheduled) => (typeof to === 'number' ? null : to) },
  topicName: ({ topic }: ProjectedScheduled) => topic ?? '',
  content: ({ content }: ProjectedScheduled) => content,
  renderedContent: (message: ProjectedScheduled) => message.rendered_content,
  scheduledAt,
  sentUntil: (message: ProjectedScheduled) => latestDelivery(scheduledAt(message)),
  state: ({ failed }: ProjectedScheduled) => (failed ? 'failed' : 'scheduled'),
  message: () => null,
  owner: { facts: userReference, of: ({ ownerId }: ProjectedScheduled) => ownerId },
};

const identity = { idOf: (message: ProjectedScheduled) => message.scheduled_message_id };

const scheduledFacts = new EventProjection<ProjectedScheduled>('ScheduledMessage', identity, {
  ...always,
  readBySender: ({ readBySender }) => readBySender,
  failureReason: ({ failureReason }) => failureReason,
});

/** Event projection for events logged by earlier versions, which did not contain the fields added above. */
const earlyFacts = new EventProjection<ProjectedScheduled>('ScheduledMessage', identity, always);

/** Returns the event projection of the scheduled messages in an event, depending on the version that logged the event. */
export function projectionOf({ facts }: { readonly facts: unknown }): EventProjection<ProjectedScheduled> {
  const [message] = [facts].flat() as ProjectedScheduled[];
  return message?.readBySender === undefined ? earlyFacts : scheduledFacts;
}
