import { memo, type ReactNode } from 'react';
import type { InboxConversationFragment, InboxMessageFragment, InboxTopicFragment } from '../generated/graphql.ts';
import { dress, spoken } from '../markdown/markup.ts';
import { Link } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { type Clock, useClock } from '../ui/clock.ts';
import { Count } from '../ui/count.tsx';
import { Icon } from '../ui/icons.tsx';
import { Avatar, namesOf } from '../ui/person.tsx';
import { shownTopic, withoutMark } from '../ui/topic-names.ts';

interface RowProps {
  readonly to: string;
  /** Picture at the left. */
  readonly mark: ReactNode;
  readonly title: ReactNode;
  readonly last: InboxMessageFragment | null;
  readonly viewerId: string;
  readonly unreadCount: number;
  readonly unreadMentionCount: number;
  readonly isDirect?: boolean;
}

/** A row of two lines: title and time; sender and text of the last message, and the number of unread messages. */
function Row({ to, mark, title, last, viewerId, unreadCount, unreadMentionCount, isDirect = false }: RowProps) {
  const clock = useClock();
  return (
    <li>
      <Link className="inbox-row" to={to} data-unread={unreadCount > 0}>
        {mark}
        <span className="inbox-title">{title}</span>
        {last !== null && (
          <time className="inbox-time" dateTime={last.sentAt}>
            {whenOf(last.sentAt, clock)}
          </time>
        )}
        <span className="inbox-last">
          {last !== null && (
            <>
              <bdi className="inbox-sender">{last.sender.id === viewerId ? 'You' : last.sender.fullName}:</bdi>{' '}
              <bdi>{spoken(dress(last.renderedContent)).replaceAll(/\s+/g, ' ')}</bdi>
            </>
          )}
        </span>
        <span className="inbox-numbers">
          {unreadMentionCount > 0 && (
            <span className="inbox-mention">
              <Icon name="at" size={16} />
              <span className="only-heard">mentions you</span>
            </span>
          )}
          <Count value={unreadCount} isPersonal={isDirect || unreadMentionCount > 0} />
        </span>
      </Link>
    </li>
  );
}

const DAY_MS = 24 * 60 * 60_000;
const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });

/** Returns the time of a message of the last day, and the date of an older one. */
const whenOf = (sentAt: string, { time }: Clock): string =>
  Date.now() - Date.parse(sentAt) < DAY_MS ? time(sentAt) : DAY.format(new Date(sentAt));

interface TopicProps {
  readonly topic: InboxTopicFragment;
  /** Color of the channel. Undefined if the viewer is not subscribed to it. */
  readonly color: string | undefined;
  readonly viewerId: string;
}

export const TopicRow = memo(({ topic, color, viewerId }: TopicProps) => {
  const { name, channel, isResolved, lastMessage, unreadCount, unreadMentionCount } = topic;
  if (channel === null) return null;
  return (
    <Row
      to={addressOf({ name: 'channel', channelId: channel.id, topic: name }, channel.name)}
      mark={
        <span className="inbox-mark channel-mark" style={{ color }}>
          <Icon name="hash" />
        </span>
      }
      title={
        <>
          <bdi className="inbox-name">{withoutMark(shownTopic(name))}</bdi>
          {isResolved && <span className="message-tag">resolved</span>}
          <bdi className="inbox-place">#{channel.name}</bdi>
        </>
      }
      last={lastMessage}
      viewerId={viewerId}
      unreadCount={unreadCount}
      unreadMentionCount={unreadMentionCount}
    />
  );
});

interface ConversationProps {
  readonly conversation: InboxConversationFragment;
  readonly viewerId: string;
}

export const ConversationRow = memo(({ conversation, viewerId }: ConversationProps) => {
  const { participants, lastMessage, unreadCount, unreadMentionCount } = conversation;
  const others = participants.filter(({ id }) => id !== viewerId);
  const shown = others.length > 0 ? others : participants;
  return (
    <Row
      to={addressOf({ name: 'direct', userIds: shown.map(({ id }) => id) })}
      mark={
        <span className="inbox-mark" data-many={shown.length > 1}>
          {shown.slice(0, 2).map((person) => (
            <Avatar key={person.id} person={person} size={shown.length > 1 ? 24 : 36} />
          ))}
        </span>
      }
      title={<bdi className="inbox-name">{namesOf(shown)}</bdi>}
      last={lastMessage}
      viewerId={viewerId}
      unreadCount={unreadCount}
      unreadMentionCount={unreadMentionCount}
      isDirect
    />
  );
});
