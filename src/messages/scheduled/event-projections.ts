import { EventProjection, instantOf } from '../../api/graphql/schema/event-projections.ts';
import { userReference } from '../../people/event-projections.ts';
import type { ProjectedScheduled } from './events.ts';
import { latestDelivery } from './lateness.ts';

const scheduledAt = (message: ProjectedScheduled): Date =>
  instantOf(message.scheduledAt, message.scheduled_delivery_timestamp);

/**
 * GraphQL fields of a scheduled message that all its events contain. Excludes `channel`, because the owner may no longer be
 * able to see the channel.
 */
const always = {
  databaseId: (message: ProjectedScheduled) => message.scheduled_message_id,
  recipients: { projection: userReference, of: ({ to }: ProjectedScheduled) => (typeof to === 'number' ? null : to) },
  topicName: ({ topic }: ProjectedScheduled) => topic ?? '',
  content: ({ content }: ProjectedScheduled) => content,
  renderedContent: (message: ProjectedScheduled) => message.rendered_content,
  scheduledAt,
  expiresAt: (message: ProjectedScheduled) => latestDelivery(scheduledAt(message)),
  state: ({ failed }: ProjectedScheduled) => (failed ? 'failed' : 'scheduled'),
  message: () => null,
  owner: { projection: userReference, of: ({ ownerId }: ProjectedScheduled) => ownerId },
};

const identity = { idOf: (message: ProjectedScheduled) => message.scheduled_message_id };

const scheduledProjection = new EventProjection<ProjectedScheduled>('ScheduledMessage', identity, {
  ...always,
  readBySender: ({ readBySender }) => readBySender,
  failureReason: ({ failureReason }) => failureReason,
});

/**
 * Event projection of a scheduled message, for events logged by earlier versions: all fields except `readBySender` and
 * `failureReason`, which these events do not contain.
 */
const earlyProjection = new EventProjection<ProjectedScheduled>('ScheduledMessage', identity, always);

/**
 * Returns the event projection (the fields that an event alone provides) of the scheduled messages in an event: all fields
 * except `channel`. Events of earlier versions also lack `readBySender` and `failureReason`.
 */
export function projectionOf({ facts }: { readonly facts: unknown }): EventProjection<ProjectedScheduled> {
  const [message] = [facts].flat() as ProjectedScheduled[];
  return message?.readBySender === undefined ? earlyProjection : scheduledProjection;
}
