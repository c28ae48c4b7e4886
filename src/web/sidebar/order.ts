import type { SidebarSubscriptionFragment as Subscription } from '../generated/graphql.ts';

/** Channels with a common heading. */
export interface Section {
  readonly key: string;
  readonly title: string;
  readonly subscriptions: readonly Subscription[];
}

/** Compares names in natural order. The collator is shared, because creating one takes longer than a sort. */
const { compare } = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });

/**
 * Returns the channels in the order of the sidebar: pinned channels first, then by folder. In each section, muted channels come
 * last.
 */
export function sectionsOf(subscriptions: readonly Subscription[]): Section[] {
  const headings = new Map<string, { readonly title: string; readonly order: number }>();
  const groups = Map.groupBy(subscriptions, ({ pinToTop, channel: { folder } }) => {
    const [key, title, order] = pinToTop
      ? ['pinned', 'Pinned', -1]
      : folder === null
        ? ['channels', 'Channels', Number.POSITIVE_INFINITY]
        : [folder.id, folder.name, folder.order];
    headings.set(key, { title, order });
    return key;
  });
  return [...groups]
    .map(([key, group]) => ({ key, ...(headings.get(key) ?? { title: '', order: 0 }), subscriptions: inOrder(group) }))
    .sort((a, b) => a.order - b.order || compare(a.title, b.title));
}

const inOrder = (subscriptions: readonly Subscription[]): Subscription[] =>
  subscriptions.toSorted((a, b) => Number(a.isMuted) - Number(b.isMuted) || compare(a.channel.name, b.channel.name));
