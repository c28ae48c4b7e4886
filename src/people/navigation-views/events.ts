import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import { documentEvent } from '../../events/wire.ts';
import type { NavigationView } from '../../generated/prisma/client.ts';
import { toSnapshot, type ViewSnapshot, type WireNavigationView, wireNavigationView, wireOf } from './wire.ts';

// Recipients of all events about navigation views: the user's own clients.

/** The view in an event. Null in events of previous versions, which did not contain the id of the view. */
export type ProjectedView = (ViewSnapshot & { readonly id: number }) | null;

const known = (view: ViewSnapshot | undefined): ProjectedView =>
  view?.id === undefined ? null : { ...view, id: view.id };

export const navigationViewAdded = defineEvent(
  'navigation_view',
  'add',
  (view: NavigationView): { readonly navigation_view: ViewSnapshot } => ({ navigation_view: toSnapshot(view) }),
  {
    render: ({ navigation_view }) => ({
      type: 'navigation_view',
      op: 'add',
      navigation_view: wireOf(navigation_view),
    }),
    facts: ({ navigation_view }) => ({ view: known(navigation_view) }),
  },
);

/** The changed properties of a view, with their new values. */
export type NavigationViewChange = Partial<Pick<WireNavigationView, 'is_pinned' | 'name'>>;

interface UpdatedPayload {
  readonly fragment: string;
  readonly data: NavigationViewChange;
  /** The view after the change. Absent in events of previous versions. */
  readonly view?: ViewSnapshot;
}

export const navigationViewUpdated = defineEvent(
  'navigation_view',
  'update',
  (view: NavigationView, data: NavigationViewChange): UpdatedPayload => ({
    fragment: view.fragment,
    data,
    view: toSnapshot(view),
  }),
  {
    render: ({ fragment, data }) => ({ type: 'navigation_view', op: 'update', fragment, data }),
    facts: ({ view }) => ({ view: known(view) }),
  },
);

interface RemovedPayload {
  readonly fragment: string;
  /** Id of the removed view. Absent in events of previous versions. */
  readonly id?: number;
}

export const navigationViewRemoved = defineEvent(
  'navigation_view',
  'remove',
  ({ id, fragment }: NavigationView): RemovedPayload => ({ fragment, id }),
  {
    render: ({ fragment }) => ({ type: 'navigation_view', op: 'remove', fragment }),
    facts: ({ id }) => ({ id: id ?? null }),
  },
);

documentEvent(navigationViewAdded, 'the user whose views changed', { navigation_view: wireNavigationView });
documentEvent(navigationViewUpdated, 'the user whose views changed', {
  fragment: z.string(),
  data: wireNavigationView.omit({ fragment: true }).partial().describe('Changed fields with their new values.'),
});
documentEvent(navigationViewRemoved, 'the user whose views changed', { fragment: z.string() });
