import type { AnchorHTMLAttributes, MouseEvent } from 'react';
import { createStore, useStore } from '../api/store.ts';
import { type Route, routeOf } from './routes.ts';

const pathname = createStore(location.pathname);
addEventListener('popstate', () => pathname.set(location.pathname));

/** Goes to an address of the chat, without loading the page again. */
export function navigate(address: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (address === location.pathname) return;
  history[replace ? 'replaceState' : 'pushState'](null, '', address);
  pathname.set(location.pathname);
}

let known: { readonly of: string; readonly route: Route } | undefined;

/** Where in the chat one is; of the same address the same object. */
export function currentRoute(): Route {
  const of = pathname.get();
  if (known?.of !== of) known = { of, route: routeOf(of) };
  return known.route;
}

export const useRoute = (): Route => useStore(pathname, currentRoute);
export const usePathname = (): string => useStore(pathname);

type LinkProps = Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> & { readonly to: string };

/** A link within the chat; it says of itself where one is. */
export function Link({ to, onClick, ...rest }: LinkProps) {
  const isHere = usePathname() === to;
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (event.defaultPrevented || !isPlain) return;
    event.preventDefault();
    navigate(to);
  };
  return <a href={to} onClick={follow} aria-current={isHere ? 'page' : undefined} {...rest} />;
}
