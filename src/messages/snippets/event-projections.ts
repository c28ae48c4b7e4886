import { EventProjection, instantOf } from '../../api/graphql/schema/event-projections.ts';
import { userReference } from '../../people/event-projections.ts';
import type { ProjectedSnippet } from './events.ts';

/** Event projection of a snippet. */
export const snippetProjection = new EventProjection<ProjectedSnippet>(
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
