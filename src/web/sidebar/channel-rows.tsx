import { type CSSProperties, memo } from 'react';
import type { SidebarSubscriptionFragment as Subscription } from '../generated/graphql.ts';
import { ChannelRow } from './channel-row.tsx';

/** So many rows are laid out, or passed over as out of sight, together: what the browser watches costs each of its frames. */
const TOGETHER = 50;

/** Channels, as one list for who hears it, however many there are. */
export const ChannelRows = memo(({ subscriptions }: { readonly subscriptions: readonly Subscription[] }) => (
  // biome-ignore lint/a11y/useSemanticElements: its rows stand in lists of their own, which are none to who hears it.
  <div role="list">
    {Array.from({ length: Math.ceil(subscriptions.length / TOGETHER) }, (_, i) => {
      const rows = subscriptions.slice(i * TOGETHER, (i + 1) * TOGETHER);
      return (
        // biome-ignore lint/suspicious/noArrayIndexKey: a group is where it stands.
        <ul className="sidebar-list" role="presentation" key={i} style={{ '--rows': rows.length } as CSSProperties}>
          {rows.map((subscription) => (
            <ChannelRow key={subscription.id} subscription={subscription} />
          ))}
        </ul>
      );
    })}
  </div>
));
