import { z } from 'zod';
import type { NavigationView } from '../../generated/prisma/client.ts';
import type { Wire } from '../../platform/wire.ts';

export const wireNavigationView = z
  .object({
    fragment: z.string(),
    is_pinned: z.boolean(),
    name: z.string().nullable().describe('Null for a built-in view.'),
  })
  .meta({ id: 'NavigationView' });
export type WireNavigationView = Wire<typeof wireNavigationView>;

export function toWire({ fragment, isPinned, name }: NavigationView): WireNavigationView {
  return { fragment, is_pinned: isPinned, name };
}

/** A view in the payload of its events. */
export interface ViewSnapshot extends WireNavigationView {
  /** Id of the view. Absent in events of previous versions. */
  readonly id?: number;
}

export const toSnapshot = (view: NavigationView): ViewSnapshot => ({ ...toWire(view), id: view.id });

/** Returns the view as the REST API shows it. */
export const wireOf = ({ id: _, ...view }: ViewSnapshot): WireNavigationView => view;
