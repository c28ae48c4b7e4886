import { EntityFacts, instantOf } from '../../api/graphql/entity-facts.ts';
import { userReference } from '../../people/entity-facts.ts';
import type { KnownScheduled } from './events.ts';
import { lastMoment } from './lateness.ts';

const scheduledAt = (message: KnownScheduled): Date =>
  instantOf(message.scheduledAt, message.scheduled_delivery_timestamp);

/** Whether its channel is still to be seen is not known: it may be why the message failed. */
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

const scheduledFacts = new EntityFacts<KnownScheduled>('ScheduledMessage', identity, {
  ...always,
  readBySender: ({ readBySender }) => readBySender,
  failureReason: ({ failureReason }) => failureReason,
});

/** Of events logged before they told the rest. */
const earlyFacts = new EntityFacts<KnownScheduled>('ScheduledMessage', identity, always);

/** What an event knows of the scheduled messages that stand in it. */
export function factsAbout({ facts }: { readonly facts: unknown }): EntityFacts<KnownScheduled> {
  const [message] = [facts].flat() as KnownScheduled[];
  return message?.readBySender === undefined ? earlyFacts : scheduledFacts;
}
