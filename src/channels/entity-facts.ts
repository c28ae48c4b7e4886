import { EntityFacts, referenceFacts } from '../api/graphql/entity-facts.ts';

/** A channel of which an event knows the id alone. */
export const channelReference = referenceFacts('Channel');

/** A channel that an event names. */
export const namedChannel = new EntityFacts<{ readonly id: number; readonly name: string }>(
  'Channel',
  { idOf: ({ id }) => id },
  { databaseId: ({ id }) => id, name: ({ name }) => name },
);
