import { EntityFacts, instantOf } from '../../api/graphql/entity-facts.ts';
import { userReference } from '../../people/entity-facts.ts';
import type { KnownSnippet } from './events.ts';

/** What an event knows of a snippet that stands in it. */
export const snippetFacts = new EntityFacts<KnownSnippet>(
  'SavedSnippet',
  { idOf: ({ id }) => id },
  {
    databaseId: ({ id }) => id,
    title: ({ title }) => title,
    content: ({ content }) => content,
    createdAt: ({ createdAt, date_created }) => instantOf(createdAt, date_created),
    author: { facts: userReference, of: ({ authorId }) => authorId },
  },
);
