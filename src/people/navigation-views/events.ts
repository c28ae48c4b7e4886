import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import { tells } from '../../events/wire.ts';
import type { NavigationView } from '../../generated/prisma/client.ts';
import { toFacts, type ViewFacts, type WireNavigationView, wireNavigationView, wireOf } from './wire.ts';

// All go to the user's own clients only.

/** A view that an event tells of; null in events logged before they told its id. */
export type KnownView = (ViewFacts & { readonly id: number }) | null;

const known = (view: ViewFacts | undefined): KnownView => (view?.id === undefined ? null : { ...view, id: view.id });

export const navigationViewAdded = defineEvent(
  'navigation_view',
  'add',
  (view: NavigationView): { readonly navigation_view: ViewFacts } => ({ navigation_view: toFacts(view) }),
  {
    render: ({ navigation_view }) => ({
      type: 'navigation_view',
      op: 'add',
      navigation_view: wireOf(navigation_view),
    }),
    facts: ({ navigation_view }) => ({ view: known(navigation_view) }),
  },
);

/** The changed keys alone. */
export type NavigationViewChange = Partial<Pick<WireNavigationView, 'is_pinned' | 'name'>>;

interface UpdatedPayload {
  readonly fragment: string;
  readonly data: NavigationViewChange;
  /** As it is now; absent in events logged before they told it. */
  readonly view?: ViewFacts;
}

export const navigationViewUpdated = defineEvent(
  'navigation_view',
  'update',
  (view: NavigationView, data: NavigationViewChange): UpdatedPayload => ({
    fragment: view.fragment,
    data,
    view: toFacts(view),
  }),
  {
    render: ({ fragment, data }) => ({ type: 'navigation_view', op: 'update', fragment, data }),
    facts: ({ view }) => ({ view: known(view) }),
  },
);

interface RemovedPayload {
  readonly fragment: string;
  /** Absent in events logged before they told it. */
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

tells(navigationViewAdded, 'the user', { navigation_view: wireNavigationView });
tells(navigationViewUpdated, 'the user', {
  fragment: z.string(),
  data: wireNavigationView.omit({ fragment: true }).partial().describe('What changed, with its new value.'),
});
tells(navigationViewRemoved, 'the user', { fragment: z.string() });
