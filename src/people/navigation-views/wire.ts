import type { NavigationView } from '../../generated/prisma/client.ts';

export interface WireNavigationView {
  readonly fragment: string;
  readonly is_pinned: boolean;
  /** Null for a view that comes with the client. */
  readonly name: string | null;
}

export function toWire({ fragment, isPinned, name }: NavigationView): WireNavigationView {
  return { fragment, is_pinned: isPinned, name };
}
