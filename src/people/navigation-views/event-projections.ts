import { EventProjection } from '../../api/graphql/schema/event-projections.ts';
import type { ProjectedView } from './events.ts';

/** Event projection of a view that the event contains in full. */
export const viewProjection = new EventProjection<NonNullable<ProjectedView>>(
  'NavigationView',
  { idOf: ({ id }) => id },
  {
    fragment: ({ fragment }) => fragment,
    isPinned: (view) => view.is_pinned,
    name: ({ name }) => name,
  },
);
