import { z } from 'zod';
import type { NavigationView } from '../../generated/prisma/client.ts';
import type { Wire } from '../../platform/wire.ts';

export const wireNavigationView = z
  .object({
    fragment: z.string(),
    is_pinned: z.boolean(),
    name: z.string().nullable().describe('Null for a view that comes with the client.'),
  })
  .meta({ id: 'NavigationView' });
export type WireNavigationView = Wire<typeof wireNavigationView>;

export function toWire({ fragment, isPinned, name }: NavigationView): WireNavigationView {
  return { fragment, is_pinned: isPinned, name };
}

/** A view as its events keep it. */
export interface ViewFacts extends WireNavigationView {
  /** Absent in events logged before they told it. */
  readonly id?: number;
}

export const toFacts = (view: NavigationView): ViewFacts => ({ ...toWire(view), id: view.id });

/** What the wire has of a view. */
export const wireOf = ({ id: _, ...view }: ViewFacts): WireNavigationView => view;
