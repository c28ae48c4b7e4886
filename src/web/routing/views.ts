import type { IconName } from '../ui/icons.tsx';
import { addressOfFragment } from './fragments.ts';
import { addressOf, routeOf } from './routes.ts';

/** The service's entry for a view that the viewer has changed or created. Unchanged built-in views have no entry. */
interface SetUp {
  readonly id: string;
  readonly fragment: string;
  readonly isPinned: boolean;
  readonly name: string | null;
}

/** A view in the sidebar. */
export interface View {
  /** Identifier of the view on the service. */
  readonly fragment: string;
  readonly title: string;
  readonly icon: IconName;
  readonly address: string;
  /** Prefix of other paths at which the view is shown as open. */
  readonly within?: string;
  /** Whether the view is always shown in the sidebar. Otherwise it is behind "More views". */
  readonly isPinned: boolean;
  /** Whether the service has an entry for the view. The entry of a built-in view only contains `isPinned`. */
  readonly isSetUp: boolean;
  /** Whether the viewer has created the view, and can remove it. */
  readonly isOwn: boolean;
}

/** The views that every user has, with the fragments that the service uses for them. Pinned by default. */
const BUILT_IN = [
  { fragment: 'inbox', title: 'Inbox', icon: 'inbox', address: addressOf({ name: 'inbox' }), within: '/inbox/' },
  { fragment: 'feed', title: 'All messages', icon: 'all', address: addressOf({ name: 'view', view: 'all' }) },
  {
    fragment: 'narrow/is/mentioned',
    title: 'Mentions',
    icon: 'at',
    address: addressOf({ name: 'view', view: 'mentions' }),
  },
  {
    fragment: 'narrow/is/starred',
    title: 'Starred',
    icon: 'star',
    address: addressOf({ name: 'view', view: 'starred' }),
  },
  {
    fragment: 'drafts',
    title: 'Drafts and scheduled',
    icon: 'edit',
    address: addressOf({ name: 'writing', list: 'drafts' }),
    within: '/writing/',
  },
  {
    fragment: 'narrow/has/reaction/sender/me',
    title: 'Reactions',
    icon: 'smile',
    address: addressOf({ name: 'search', text: 'has:reaction sender:me' }),
  },
] as const;

/** Fragments of the built-in views that are not pinned by default. */
const USUALLY_HIDDEN: ReadonlySet<string> = new Set(['narrow/has/reaction/sender/me']);

/**
 * Returns all views: the built-in views in their order, then the views that the viewer created, in the order of `setUp`. Leaves
 * out created views whose fragment this page does not support.
 */
export function viewsOf(setUp: readonly SetUp[]): readonly View[] {
  const builtIn = BUILT_IN.map((view): View => {
    const own = setUp.find(({ fragment }) => fragment === view.fragment);
    const isPinned = own?.isPinned ?? !USUALLY_HIDDEN.has(view.fragment);
    return { ...view, isPinned, isSetUp: own !== undefined, isOwn: false };
  });
  const made = setUp.flatMap(({ fragment, isPinned, name }): View[] => {
    const address = addressBehind(fragment);
    if (name === null || address === undefined) return [];
    return [{ fragment, title: name, icon: 'search', address, isPinned, isSetUp: true, isOwn: true }];
  });
  return [...builtIn, ...made];
}

/**
 * Returns the path of a view that the viewer created. Its fragment is a path of the chat without the first slash, or begins
 * with `narrow/` if another client created the view. Undefined if this page does not support the fragment.
 */
function addressBehind(fragment: string): string | undefined {
  if (fragment.startsWith('narrow/')) return addressOfFragment(fragment);
  const address = `/${fragment}`;
  return routeOf(address).name === 'inbox' ? undefined : address;
}
