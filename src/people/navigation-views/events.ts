import { defineEvent } from '../../events/define.ts';
import type { NavigationView } from '../../generated/prisma/client.ts';
import { toWire, type WireNavigationView } from './wire.ts';

// All go to the user's own clients only.

export const navigationViewAdded = defineEvent('navigation_view', 'add', (view: NavigationView) => ({
  navigation_view: toWire(view),
}));

/** The changed keys alone. */
export type NavigationViewChange = Partial<Pick<WireNavigationView, 'is_pinned' | 'name'>>;

export const navigationViewUpdated = defineEvent(
  'navigation_view',
  'update',
  (fragment: string, data: NavigationViewChange) => ({ fragment, data }),
);

export const navigationViewRemoved = defineEvent('navigation_view', 'remove', (fragment: string) => ({ fragment }));
