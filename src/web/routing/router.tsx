import type { AnchorHTMLAttributes, MouseEvent } from 'react';
import { createStore, useStore } from '../api/store.ts';
import { type Route, routeOf } from './routes.ts';

const pathname = createStore(location.pathname);
/** How often somebody went anywhere, be it to where they were. */
const visits = createStore(0);
addEventListener('popstate', arrive);

/** Goes to an address of the chat, without loading the page again. */
export function navigate(address: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (address !== location.pathname) history[replace ? 'replaceState' : 'pushState'](null, '', address);
  arrive();
}

function arrive(): void {
  pathname.set(location.pathname);
  visits.set(visits.get() + 1);
}

let known: { readonly of: string; readonly route: Route } | undefined;

/** Where in the chat one is; of the same address the same object. */
export function currentRoute(): Route {
  const of = pathname.get();
  if (known?.of !== of) known = { of, route: routeOf(of) };
  return known.route;
}

export const useRoute = (): Route => useStore(pathname, currentRoute);
/** Whether one is at such a place: what stands many times is drawn anew only where that changes. */
export const useIsAt = (isThere: (route: Route) => boolean): boolean =>
  useStore(pathname, () => isThere(currentRoute()));
/** Another number each time somebody goes anywhere, also to what is shown already. */
export const useVisits = (): number => useStore(visits);

interface LinkProps extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> {
  readonly to: string;
  /** What the addresses begin with at which one is here as well: those of its neighbours in the same view. */
  readonly within?: string | undefined;
}

/** A link within the chat; it says of itself where one is. */
export function Link({ to, within, onClick, ...rest }: LinkProps) {
  const isHere = useStore(pathname, (here) => here === to || (within !== undefined && here.startsWith(within)));
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (event.defaultPrevented || !isPlain) return;
    event.preventDefault();
    navigate(to);
  };
  return <a href={to} onClick={follow} aria-current={isHere ? 'page' : undefined} {...rest} />;
}
