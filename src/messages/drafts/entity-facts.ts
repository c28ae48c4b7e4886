import { EntityFacts, instantOf } from '../../api/graphql/entity-facts.ts';
import { userReference } from '../../people/entity-facts.ts';
import type { KnownDraft } from './events.ts';

/** Where a draft is to go, in the database or in an event. */
interface Addressed {
  readonly type: string;
  readonly to: readonly number[];
}

/** The channel that a draft is for; null unless it is for one. */
export const channelOf = ({ type, to }: Addressed): number | null => (type === 'stream' ? (to[0] ?? null) : null);

/** Whom a draft is for; nobody unless it is for people. */
export const peopleOf = ({ type, to }: Addressed): number[] => (type === 'private' ? [...to] : []);

/** What an event knows of a draft that stands in it, but for its channel, which may not be there to be seen any more. */
export const draftFacts = new EntityFacts<KnownDraft>(
  'Draft',
  { idOf: ({ id }) => id },
  {
    databaseId: ({ id }) => id,
    type: ({ type }) => type,
    recipients: { facts: userReference, of: peopleOf },
    topicName: ({ topic }) => topic,
    content: ({ content }) => content,
    lastEditedAt: ({ lastEditedAt, timestamp }) => instantOf(lastEditedAt, timestamp),
    author: { facts: userReference, of: ({ authorId }) => authorId },
  },
);
