import { memo } from 'react';
import { useData } from '../api/use-data.ts';
import { ChannelTopicsDocument, type SidebarSubscriptionFragment } from '../generated/graphql.ts';
import { Link, useIsAt } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { openChannelMenu } from '../topics/channel-menu.tsx';
import { openTopicMenu } from '../topics/topic-menu.tsx';
import { channelIcon } from '../ui/channel-icon.ts';
import { Count } from '../ui/count.tsx';
import { Icon } from '../ui/icons.tsx';
import { Failure } from '../ui/not-ready.tsx';
import { shownTopic, withoutMark } from '../ui/topic-names.ts';

/** A channel in the sidebar. If the channel is open, its topics are listed below it. */
export const ChannelRow = memo(({ subscription }: { readonly subscription: SidebarSubscriptionFragment }) => {
  const { channel, color, isMuted, unreadCount } = subscription;
  const isShown = useIsAt(
    (route) => (route.name === 'channel' || route.name === 'topics') && route.channelId === channel.id,
  );
  return (
    // biome-ignore lint/a11y/noRedundantRoles: its list has the role `presentation`, so the role must be explicit.
    <li role="listitem" className={isMuted ? 'is-muted' : undefined}>
      <Link
        className="sidebar-row"
        to={addressOf({ name: 'channel', channelId: channel.id }, channel.name)}
        data-unread={unreadCount > 0}
        onContextMenu={(event) => {
          event.preventDefault();
          openChannelMenu(event.currentTarget, channel.id);
        }}
      >
        <span className="channel-mark" style={{ color }}>
          <Icon name={channelIcon(channel.privacy)} size={16} />
        </span>
        <bdi className="sidebar-name">{channel.name}</bdi>
        {isMuted && <span className="only-heard">muted</span>}
        <Count value={unreadCount} />
      </Link>
      {isShown && <Topics channelId={channel.id} channelName={channel.name} />}
    </li>
  );
});

/**
 * Maximum number of topics that the sidebar shows below a channel. Further topics are not shown. The service returns no more,
 * but the cached list grows with new topics.
 */
const MOST = 30;

function Topics({ channelId, channelName }: { readonly channelId: string; readonly channelName: string }) {
  const read = useData(ChannelTopicsDocument, { channelId });
  const topics = read.data?.channel?.topics?.nodes ?? [];
  const lastFirst = topics
    .slice(0, MOST)
    .toSorted((a, b) => (b.lastMessage?.databaseId ?? 0) - (a.lastMessage?.databaseId ?? 0));
  return (
    <ul className="sidebar-list sidebar-topics" aria-label={`Topics in ${channelName}`}>
      {lastFirst.map(({ id, name, isResolved, unreadCount, viewerVisibility }) => (
        <li key={id} className={viewerVisibility === 'MUTED' ? 'is-muted' : undefined}>
          <Link
            className="sidebar-row"
            to={addressOf({ name: 'channel', channelId, topic: name }, channelName)}
            data-unread={unreadCount > 0 && viewerVisibility !== 'MUTED'}
            onContextMenu={(event) => {
              event.preventDefault();
              openTopicMenu(event.currentTarget, { channelId, topic: name });
            }}
          >
            {isResolved && <Icon name="check" size={14} />}
            <bdi className="sidebar-name">{withoutMark(shownTopic(name))}</bdi>
            {isResolved && <span className="only-heard">resolved</span>}
            {viewerVisibility === 'MUTED' && <span className="only-heard">muted</span>}
            {viewerVisibility === 'FOLLOWED' && <Icon name="bell" size={14} />}
            {viewerVisibility === 'FOLLOWED' && <span className="only-heard">followed</span>}
            <Count value={unreadCount} />
          </Link>
        </li>
      ))}
      <Failure of={read} as="li" />
      <li>
        <Link className="sidebar-row" to={addressOf({ name: 'topics', channelId }, channelName)}>
          <Icon name="list" size={14} />
          <span className="sidebar-name">All topics</span>
        </Link>
      </li>
    </ul>
  );
}
