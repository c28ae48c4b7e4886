import { memo, useState } from 'react';
import { topicKey } from '../../contract/topic-key.ts';
import { useData } from '../api/use-data.ts';
import { ChannelTopicsDocument, type SidebarSubscriptionFragment } from '../generated/graphql.ts';
import { Link, useIsAt, useRoute } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { openChannelMenu } from '../topics/channel-menu.tsx';
import { openTopicMenu } from '../topics/topic-menu.tsx';
import { channelIcon } from '../ui/channel-icon.ts';
import { Count } from '../ui/count.tsx';
import { Icon } from '../ui/icons.tsx';
import { Failure } from '../ui/not-ready.tsx';
import { shownTopic, withoutMark } from '../ui/topic-names.ts';

interface Props {
  readonly subscription: SidebarSubscriptionFragment;
  /** Whether the section is collapsed. The row is then shown only if the channel is open or has unread messages. */
  readonly isCollapsed: boolean;
}

/** A channel in the sidebar. If the channel is open, its topics are listed below it. */
export const ChannelRow = memo(({ subscription, isCollapsed }: Props) => {
  const { channel, color, isMuted, unreadCount, unreadMentionCount } = subscription;
  const isShown = useIsAt(
    (route) => (route.name === 'channel' || route.name === 'topics') && route.channelId === channel.id,
  );
  if (isCollapsed && !isShown && unreadCount === 0) return null;
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
        <Count value={unreadCount} isPersonal={unreadMentionCount > 0} />
      </Link>
      {isShown && <Topics channelId={channel.id} channelName={channel.name} />}
    </li>
  );
});

/** Number of topics that the sidebar shows below a channel at first. */
const FEW = 8;
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
  const [showsMore, setShowsMore] = useState(false);
  const route = useRoute();
  const open = route.name === 'channel' && route.topic !== undefined ? topicKey(route.topic) : undefined;
  const shown = lastFirst.filter(({ name }, i) => showsMore || i < FEW || topicKey(name) === open);
  return (
    <ul className="sidebar-list sidebar-topics" aria-label={`Topics in ${channelName}`}>
      {shown.map(({ id, name, isResolved, unreadCount, unreadMentionCount, viewerVisibility }) => (
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
            <Count value={unreadCount} isPersonal={unreadMentionCount > 0} />
          </Link>
        </li>
      ))}
      <Failure of={read} as="li" />
      {lastFirst.length > shown.length && (
        <li>
          <button type="button" className="sidebar-row sidebar-button" onClick={() => setShowsMore(true)}>
            <Icon name="open" size={14} />
            <span className="sidebar-name">More topics</span>
          </button>
        </li>
      )}
      <li>
        <Link className="sidebar-row" to={addressOf({ name: 'topics', channelId }, channelName)}>
          <Icon name="list" size={14} />
          <span className="sidebar-name">All topics</span>
        </Link>
      </li>
    </ul>
  );
}
