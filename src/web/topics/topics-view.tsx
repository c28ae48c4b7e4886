import { type ReactNode, useState } from 'react';
import { useData } from '../api/use-data.ts';
import { type TopicLineFragment, TopicsOfChannelDocument } from '../generated/graphql.ts';
import { useKnownChannel } from '../people/use-known.ts';
import { Link } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { channelIcon } from '../ui/channel-icon.ts';
import { Count } from '../ui/count.tsx';
import { SearchField } from '../ui/form.tsx';
import { Header } from '../ui/header.tsx';
import { Icon } from '../ui/icons.tsx';
import { fitOf } from '../ui/name-words.ts';
import { NotReady } from '../ui/not-ready.tsx';
import { shownTopic, withoutMark } from '../ui/topic-names.ts';
import { openTopicMenu } from './topic-menu.tsx';
import './topics.css';

/** View of all topics of a channel, newest message first. */
export function TopicsView({ channelId, menu }: { readonly channelId: string; readonly menu: ReactNode }) {
  const { data } = useData(TopicsOfChannelDocument, { channelId, after: null }, { requestPolicy: 'cache-and-network' });
  const [more, setMore] = useState<readonly string[]>([]);
  const [text, setText] = useState('');
  const known = useKnownChannel(channelId);
  const channel = data?.channel;
  if (channel === null) return <Header menu={menu} title="Channel not found" />;
  const name = (channel ?? known)?.name ?? '';
  return (
    <>
      <Header
        menu={menu}
        title={
          <>
            <Icon name={channelIcon((channel ?? known)?.privacy)} />
            <Link to={addressOf({ name: 'channel', channelId }, name)}>{name}</Link>
            <span>› all topics</span>
          </>
        }
        detail={channel?.topics?.totalCount && `${channel.topics.totalCount} topics`}
      />
      <div className="topics" data-section>
        <SearchField className="topics-filter" label="Filter topics" value={text} onSearch={setText} />
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
  /** Shows the next page. Undefined if the next page is already shown. */
  readonly onMore: ((cursor: string) => void) | undefined;
}

function Page({ channelId, after, text, onMore }: PageProps) {
  const read = useData(TopicsOfChannelDocument, { channelId, after });
  if (read.state !== 'ready') return <NotReady of={read} as="li" />;
  const { name = '', topics } = read.data.channel ?? {};
  const { hasNextPage = false, endCursor = null } = topics?.pageInfo ?? {};
  const shown = (topics?.nodes ?? [])
    .filter((topic) => {
      const name = shownTopic(topic.name);
      return name.toLowerCase().includes(text.trim().toLowerCase()) || fitOf(name, text) !== undefined;
    })
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
        <bdi className="topics-name">{withoutMark(shownTopic(name))}</bdi>
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
