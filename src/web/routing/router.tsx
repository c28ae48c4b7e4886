import type { AnchorHTMLAttributes, MouseEvent } from 'react';
import { createStore, useStore } from '../base/store.ts';
import { addressOfFragment } from './fragments.ts';
import { isChatAddress, type Route, routeOf } from './routes.ts';

const pathname = createStore(location.pathname);
/** Number of navigations, including those to the current path. */
const visits = createStore(0);
addEventListener('popstate', arrive);
addEventListener('click', followLink);

/** Navigates to a path of the chat, without loading the page again. */
export function navigate(address: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (address !== location.pathname) history[replace ? 'replaceState' : 'pushState'](null, '', address);
  arrive();
}

/**
 * Handles clicks on links within messages, which are not `Link` components. `Link` components handle their clicks themselves.
 */
function followLink(event: globalThis.MouseEvent): void {
  const link = (event.target as Element | null)?.closest?.<HTMLAnchorElement>('a[href]') ?? null;
  if (link === null || link.target !== '' || event.defaultPrevented || !isPlainClick(event)) return;
  if (link.origin !== location.origin || link.hash !== '' || !isChatAddress(link.pathname)) return;
  event.preventDefault();
  navigate(link.pathname);
}

/** Returns whether a click would open the link in the current tab: the primary button, without a modifier key. */
const isPlainClick = (event: Pick<globalThis.MouseEvent, 'button' | 'metaKey' | 'ctrlKey' | 'shiftKey' | 'altKey'>) =>
  event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;

/**
 * Navigates to the view that the fragment of the page URL names, if any. Links in emails and links of other clients have such
 * fragments.
 */
export function enterByFragment(): void {
  const address = addressOfFragment(location.hash.slice(1));
  if (address !== undefined) navigate(address, { replace: true });
}

function arrive(): void {
  pathname.set(location.pathname);
  visits.set(visits.get() + 1);
}

let known: { readonly of: string; readonly route: Route } | undefined;

/** Returns the current route. Until the path changes, each call returns the same object. */
export function currentRoute(): Route {
  const of = pathname.get();
  if (known?.of !== of) known = { of, route: routeOf(of) };
  return known.route;
}

export const useRoute = (): Route => useStore(pathname, currentRoute);
/** Returns whether the current route satisfies `isThere`. The component renders again only if the result changes. */
export const useIsAt = (isThere: (route: Route) => boolean): boolean =>
  useStore(pathname, () => isThere(currentRoute()));
/** Returns a number that is incremented on every navigation, even to the current route. */
export const useVisits = (): number => useStore(visits);

interface LinkProps extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> {
  readonly to: string;
  /** Prefix of other paths at which the link is shown as current, such as `/settings/` for all sections of the settings. */
  readonly within?: string | undefined;
}

/** A link within the chat. Sets `aria-current` if it leads to the current view. */
export function Link({ to, within, onClick, ...rest }: LinkProps) {
  const isHere = useStore(pathname, (here) => here === to || (within !== undefined && here.startsWith(within)));
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    if (event.defaultPrevented || !isPlainClick(event)) return;
    event.preventDefault();
    navigate(to);
  };
  return <a href={to} onClick={follow} aria-current={isHere ? 'page' : undefined} {...rest} />;
}
