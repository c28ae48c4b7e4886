import { memo } from 'react';
import { useQuery } from 'urql';
import { ChannelTopicsDocument, type SidebarSubscriptionFragment } from '../generated/graphql.ts';
import { Link, useIsAt } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { openChannelMenu } from '../topics/channel-menu.tsx';
import { openTopicMenu } from '../topics/topic-menu.tsx';
import { shownTopic, withoutMark } from '../topics/topic-names.ts';
import { Count } from '../ui/count.tsx';
import { Icon } from '../ui/icons.tsx';

/** A channel, with its topics where it is the one that is shown. */
export const ChannelRow = memo(({ subscription }: { readonly subscription: SidebarSubscriptionFragment }) => {
  const { channel, color, isMuted, unreadCount } = subscription;
  const isShown = useIsAt(
    (route) => (route.name === 'channel' || route.name === 'topics') && route.channelId === channel.id,
  );
  return (
    // biome-ignore lint/a11y/noRedundantRoles: the list that it stands in is a part of another, and none to who hears it.
    <li role="listitem" className={isMuted ? 'is-muted' : undefined}>
      <Link
        className="sidebar-row"
        to={addressOf({ name: 'channel', channelId: channel.id }, channel.name)}
        data-unread={unreadCount > 0 && !isMuted}
        onContextMenu={(event) => {
          event.preventDefault();
          openChannelMenu(event.currentTarget, channel.id);
        }}
      >
        <span className="channel-mark" style={{ color }}>
          <Icon name={channel.isPrivate ? 'lock' : channel.isWebPublic ? 'globe' : 'hash'} size={16} />
        </span>
        <span className="sidebar-name">{channel.name}</span>
        {isMuted && <span className="only-heard">muted</span>}
        <Count value={unreadCount} />
      </Link>
      {isShown && <Topics channelId={channel.id} channelName={channel.name} />}
    </li>
  );
});

function Topics({ channelId, channelName }: { readonly channelId: string; readonly channelName: string }) {
  const [{ data }] = useQuery({ query: ChannelTopicsDocument, variables: { channelId } });
  const topics = data?.channel?.topics?.nodes ?? [];
  const lastFirst = topics.toSorted((a, b) => (b.lastMessage?.databaseId ?? 0) - (a.lastMessage?.databaseId ?? 0));
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
            <span className="sidebar-name">{withoutMark(shownTopic(name))}</span>
            {isResolved && <span className="only-heard">resolved</span>}
            {viewerVisibility === 'MUTED' && <span className="only-heard">muted</span>}
            {viewerVisibility === 'FOLLOWED' && <Icon name="bell" size={14} />}
            {viewerVisibility === 'FOLLOWED' && <span className="only-heard">followed</span>}
            <Count value={unreadCount} />
          </Link>
        </li>
      ))}
      <li>
        <Link className="sidebar-row" to={addressOf({ name: 'topics', channelId }, channelName)}>
          <Icon name="list" size={14} />
          <span className="sidebar-name">All topics</span>
        </Link>
      </li>
    </ul>
  );
}
