import { type ReactNode, useState } from 'react';
import { useQuery } from 'urql';
import { Header } from '../conversation/header.tsx';
import { type TopicLineFragment, TopicsOfChannelDocument } from '../generated/graphql.ts';
import { Link } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { Count } from '../ui/count.tsx';
import { Icon } from '../ui/icons.tsx';
import { openTopicMenu } from './topic-menu.tsx';
import { shownTopic, withoutMark } from './topic-names.ts';
import './topics.css';

/** All topics of a channel, the one last written to first. */
export function TopicsView({ channelId, menu }: { readonly channelId: string; readonly menu: ReactNode }) {
  const [{ data }] = useQuery({ query: TopicsOfChannelDocument, variables: { channelId, after: null } });
  const [more, setMore] = useState<readonly string[]>([]);
  const [text, setText] = useState('');
  const channel = data?.channel;
  if (channel === null) return <Header menu={menu} title="There is no such channel here" />;
  const name = channel?.name ?? '';
  return (
    <>
      <Header
        menu={menu}
        title={
          <>
            <Icon name={channel?.isPrivate ? 'lock' : 'hash'} />
            <Link to={addressOf({ name: 'channel', channelId }, name)}>{name}</Link>
            <span>› all topics</span>
          </>
        }
        detail={channel?.topics?.totalCount && `${channel.topics.totalCount} topics`}
      />
      <div className="topics" data-section>
        <input
          className="input topics-filter"
          type="search"
          aria-label="Filter the topics"
          placeholder="Filter the topics"
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <ul className="topics-list" aria-label={`Topics in ${name}`}>
          {[null, ...more].map((after, i) => (
            <Page
              key={after}
              channelId={channelId}
              after={after}
              text={text}
              onMore={i === more.length ? (cursor) => setMore([...more, cursor]) : undefined}
            />
          ))}
        </ul>
      </div>
    </>
  );
}

interface PageProps {
  readonly channelId: string;
  readonly after: string | null;
  readonly text: string;
  /** Shows the page after this one; undefined where that is shown. */
  readonly onMore: ((cursor: string) => void) | undefined;
}

function Page({ channelId, after, text, onMore }: PageProps) {
  const [{ data }] = useQuery({ query: TopicsOfChannelDocument, variables: { channelId, after } });
  const { name = '', topics } = data?.channel ?? {};
  const { hasNextPage = false, endCursor = null } = topics?.pageInfo ?? {};
  const shown = (topics?.nodes ?? [])
    .filter((topic) => shownTopic(topic.name).toLowerCase().includes(text.trim().toLowerCase()))
    .toSorted((a, b) => (b.lastMessage?.databaseId ?? 0) - (a.lastMessage?.databaseId ?? 0));
  return (
    <>
      {shown.map((topic) => (
        <TopicRow key={topic.id} topic={topic} channelId={channelId} channelName={name} />
      ))}
      {hasNextPage && endCursor !== null && onMore !== undefined && (
        <li>
          <Button kind="quiet" onClick={() => onMore(endCursor)}>
            More topics
          </Button>
        </li>
      )}
    </>
  );
}

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });

interface RowProps {
  readonly topic: TopicLineFragment;
  readonly channelId: string;
  readonly channelName: string;
}

function TopicRow({ topic, channelId, channelName }: RowProps) {
  const { name, isResolved, unreadCount, viewerVisibility, lastMessage } = topic;
  return (
    <li className="topics-row" data-unread={unreadCount > 0}>
      <Link className="topics-link" to={addressOf({ name: 'channel', channelId, topic: name }, channelName)}>
        <span className="topics-name">{withoutMark(shownTopic(name))}</span>
        {isResolved && <span className="message-tag">resolved</span>}
        {viewerVisibility === 'FOLLOWED' && <span className="message-tag">followed</span>}
        {viewerVisibility === 'MUTED' && <span className="message-tag">muted</span>}
        <Count value={unreadCount} />
      </Link>
      {lastMessage !== null && (
        <span className="topics-last">
          {lastMessage.sender.fullName}, {DAY.format(new Date(lastMessage.sentAt))}
        </span>
      )}
      <IconButton
        icon="more"
        label={`Actions on ${shownTopic(name)}`}
        aria-haspopup="menu"
        onClick={({ currentTarget }) => openTopicMenu(currentTarget, { channelId, topic: name })}
      />
    </li>
  );
}
