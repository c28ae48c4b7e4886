import { useMemo } from 'react';
import { useData } from '../api/use-data.ts';
import { SidebarDocument, type SidebarQuery } from '../generated/graphql.ts';
import { openStatus, PersonButton } from '../people/open-person.tsx';
import { addressOf } from '../routing/routes.ts';
import { openSearch } from '../search/open-search.tsx';
import { IconButton } from '../ui/button.tsx';
import { Icon } from '../ui/icons.tsx';
import { Avatar, PresenceDot, StatusEmoji } from '../ui/person.tsx';
import { ChannelRows } from './channel-rows.tsx';
import { DirectRow } from './direct-row.tsx';
import { OlderConversations } from './older-conversations.tsx';
import { sectionsOf } from './order.ts';
import './sidebar.css';
import { ViewRow, ViewRows } from './view-rows.tsx';

/** Sidebar with the views, the channels by folder and the direct conversations. */
export function Sidebar() {
  const { data } = useData(SidebarDocument, {});
  const subscriptions = data?.subscriptions?.nodes;
  const sections = useMemo(() => sectionsOf(subscriptions ?? []), [subscriptions]);
  if (data === undefined) return null;
  const unread = unreadIn(data);
  return (
    <>
      <Who viewer={data.viewer} organization={data.organization?.name ?? ''} />
      <button
        type="button"
        className="sidebar-search"
        aria-label="Search messages"
        aria-keyshortcuts="/"
        onClick={() => openSearch()}
      >
        <Icon name="search" size={16} />
        <span className="sidebar-name">Search messages</span>
        <kbd className="key">/</kbd>
      </button>
      <div className="sidebar-scroll">
        <ViewRows
          setUp={data.navigationViews?.nodes ?? []}
          counts={{ inbox: unread.total, 'narrow/is/mentioned': unread.mentions }}
        />
        {sections.map(({ key, title, subscriptions }) => (
          <section key={key} aria-label={title}>
            <h2 className="sidebar-heading">{title}</h2>
            <ChannelRows subscriptions={subscriptions} />
          </section>
        ))}
        <ul className="sidebar-list sidebar-more">
          <ViewRow to={addressOf({ name: 'channels' })} icon="plus" name="All channels" />
          <ViewRow to={addressOf({ name: 'people' })} within="/people/" icon="people" name="People and groups" />
        </ul>
        <section aria-label="Direct messages">
          <h2 className="sidebar-heading">Direct messages</h2>
          <ul className="sidebar-list">
            {data.directConversations?.nodes.map((conversation) => (
              <DirectRow key={conversation.id} conversation={conversation} viewerId={data.viewer?.id ?? ''} />
            ))}
            <OlderConversations info={data.directConversations?.pageInfo} viewerId={data.viewer?.id ?? ''} />
          </ul>
        </section>
      </div>
    </>
  );
}

/**
 * Returns numbers of unread messages. `total` counts the messages in channels that are not muted, and all direct messages, even
 * those of conversations that the sidebar does not list. `mentions` counts all mentions.
 */
function unreadIn({ subscriptions, viewer }: SidebarQuery) {
  const { conversations = 0, mentions = 0 } = viewer?.unreadCounts ?? {};
  const ofChannels = (subscriptions?.nodes ?? []).reduce((sum, { unreadCount }) => sum + unreadCount, 0);
  return { total: ofChannels + conversations, mentions };
}

function Who({ viewer, organization }: { readonly viewer: SidebarQuery['viewer']; readonly organization: string }) {
  return (
    <header className="sidebar-who">
      {viewer !== null && <Avatar url={viewer.avatarUrl} size={32} />}
      <div>
        <strong>{organization}</strong>
        {viewer !== null && (
          <p>
            <PresenceDot person={viewer} /> <PersonButton userId={viewer.id}>{viewer.fullName}</PersonButton>
            <StatusEmoji status={viewer.status} />
          </p>
        )}
      </div>
      <IconButton className="sidebar-own" icon="status" label="Set your status" onClick={openStatus} />
    </header>
  );
}
