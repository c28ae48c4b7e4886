import { type ReactNode, useMemo } from 'react';
import { useData } from '../api/use-data.ts';
import {
  type InboxConversationFragment,
  type InboxTopicFragment,
  RecentTopicsDocument,
  type SidebarSubscriptionFragment,
  UnreadTopicsDocument,
} from '../generated/graphql.ts';
import { useFirstScreen } from '../people/use-viewer.ts';
import { Link } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { Header } from '../ui/header.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { ConversationRow, TopicRow } from './inbox-rows.tsx';
import './inbox.css';
import { Welcome } from './welcome.tsx';

interface Props {
  /** Whether the conversations with the newest messages are shown, read or not. Otherwise those with unread messages. */
  readonly isRecent: boolean;
  readonly menu: ReactNode;
}

/** View of topics and direct conversations, newest message first. */
export function Inbox({ isRecent, menu }: Props) {
  return (
    <>
      <Header menu={menu} title={isRecent ? 'Recent conversations' : 'Inbox'} />
      <nav className="tabs" aria-label="Inbox">
        <Link className="tab" to={addressOf({ name: 'inbox' })}>
          Unread
        </Link>
        <Link className="tab" to={addressOf({ name: 'recent' })}>
          Recent
        </Link>
      </nav>
      <div className="inbox" data-section>
        {!isRecent && <Welcome />}
        {isRecent ? <Recent /> : <Unread />}
      </div>
    </>
  );
}

// The two queries differ in their arguments only, so that the cache has a list for each of them.

/** While a list from the cache is read again, it is not shown as empty: messages may have arrived since. */
const READING = { state: 'loading' } as const;

function Unread() {
  const read = useData(UnreadTopicsDocument, {}, { requestPolicy: 'cache-and-network' });
  const muted = useMutedChannels();
  if (read.state !== 'ready') return <NotReady of={read} shape="messages" />;
  const { topics, directConversations } = read.data;
  // Events change the numbers of the topics and conversations, but remove none of them from the lists.
  const isUnread = ({ unreadCount }: { readonly unreadCount: number }) => unreadCount > 0;
  const isUnmuted = ({ viewerVisibility, channel }: InboxTopicFragment) =>
    viewerVisibility !== 'MUTED' && (viewerVisibility !== 'INHERIT' || !muted.has(channel?.id ?? ''));
  return (
    <Rows
      topics={topics?.nodes.filter((topic) => isUnread(topic) && isUnmuted(topic)) ?? []}
      conversations={directConversations?.nodes.filter(isUnread) ?? []}
      empty={
        read.isStale ? <NotReady of={READING} shape="messages" /> : <p className="message-note">No unread messages.</p>
      }
    />
  );
}

function Recent() {
  const read = useData(RecentTopicsDocument, {}, { requestPolicy: 'cache-and-network' });
  if (read.state !== 'ready') return <NotReady of={read} shape="messages" />;
  const { topics, directConversations } = read.data;
  return (
    <Rows
      topics={topics?.nodes ?? []}
      conversations={directConversations?.nodes ?? []}
      empty={<p className="message-note">There are no messages yet.</p>}
    />
  );
}

interface RowsProps {
  readonly topics: readonly InboxTopicFragment[];
  readonly conversations: readonly InboxConversationFragment[];
  /** Shown if both lists are empty. */
  readonly empty: ReactNode;
}

function Rows({ topics, conversations, empty }: RowsProps) {
  const data = useFirstScreen();
  const viewerId = data?.viewer?.id ?? '';
  const subscriptions = data?.subscriptions?.nodes;
  const colors = useMemo(() => colorsOf(subscriptions ?? []), [subscriptions]);
  const rows = [...topics, ...conversations].filter(({ lastMessage }) => lastMessage !== null);
  if (rows.length === 0) return empty;
  rows.sort((a, b) => (b.lastMessage?.databaseId ?? 0) - (a.lastMessage?.databaseId ?? 0));
  return (
    <ul className="inbox-list">
      {rows.map((row) =>
        'participants' in row ? (
          <ConversationRow key={row.id} conversation={row} viewerId={viewerId} />
        ) : (
          <TopicRow key={row.id} topic={row} color={colors.get(row.channel?.id ?? '')} viewerId={viewerId} />
        ),
      )}
    </ul>
  );
}

/** Returns the ids of the channels that the viewer has muted. */
function useMutedChannels(): ReadonlySet<string> {
  const subscriptions = useFirstScreen()?.subscriptions?.nodes;
  return useMemo(
    () => new Set(subscriptions?.filter(({ isMuted }) => isMuted).map(({ channel }) => channel.id)),
    [subscriptions],
  );
}

const colorsOf = (subscriptions: readonly SidebarSubscriptionFragment[]): ReadonlyMap<string, string> =>
  new Map(subscriptions.map(({ channel, color }) => [channel.id, color]));
