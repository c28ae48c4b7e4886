import { EntityFacts } from '../../api/graphql/entity-facts.ts';
import type { KnownView } from './events.ts';

/** What an event knows of a view that stands in it. */
export const viewFacts = new EntityFacts<NonNullable<KnownView>>(
  'NavigationView',
  { idOf: ({ id }) => id },
  {
    fragment: ({ fragment }) => fragment,
    isPinned: (view) => view.is_pinned,
    name: ({ name }) => name,
  },
);
