import { type CSSProperties, memo } from 'react';
import type { SidebarSubscriptionFragment as Subscription } from '../generated/graphql.ts';
import { ChannelRow } from './channel-row.tsx';

/**
 * Number of rows in a group. The browser skips the layout of groups that are out of sight (`content-visibility`). Rows are
 * grouped, because each element with this property costs time in every frame.
 */
const TOGETHER = 50;

interface Props {
  readonly subscriptions: readonly Subscription[];
  readonly isCollapsed: boolean;
}

/** List of channels. Screen readers present it as a single list, whatever the number of groups. */
export const ChannelRows = memo(({ subscriptions, isCollapsed }: Props) => (
  // biome-ignore lint/a11y/useSemanticElements: its children are lists with the role `presentation`.
  <div role="list">
    {Array.from({ length: Math.ceil(subscriptions.length / TOGETHER) }, (_, i) => {
      const rows = subscriptions.slice(i * TOGETHER, (i + 1) * TOGETHER);
      return (
        // biome-ignore lint/suspicious/noArrayIndexKey: the index identifies the group.
        <ul className="sidebar-list" role="presentation" key={i} style={{ '--rows': rows.length } as CSSProperties}>
          {rows.map((subscription) => (
            <ChannelRow key={subscription.id} subscription={subscription} isCollapsed={isCollapsed} />
          ))}
        </ul>
      );
    })}
  </div>
));
