import { useDeferredValue, useMemo, useState } from 'react';
import { useData } from '../api/use-data.ts';
import { SidebarDocument, type SidebarQuery, type SidebarSubscriptionFragment } from '../generated/graphql.ts';
import { openNewMessage, openStatus, PersonButton } from '../people/open-person.tsx';
import { navigate } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { openSearch } from '../search/open-search.tsx';
import { IconButton } from '../ui/button.tsx';
import { Icon } from '../ui/icons.tsx';
import { fitOf } from '../ui/name-words.ts';
import { Avatar, namesOf, PresenceDot, StatusEmoji } from '../ui/person.tsx';
import { ChannelRows } from './channel-rows.tsx';
import { othersIn } from './direct-row.tsx';
import { DirectRows } from './direct-rows.tsx';
import { sectionsOf } from './order.ts';
import { Section, useIsCollapsed } from './section.tsx';
import './sidebar.css';
import { ViewRow, ViewRows } from './view-rows.tsx';

/** Sidebar with the views, the direct conversations, and the channels by folder. */
export function Sidebar() {
  const { data } = useData(SidebarDocument, {});
  const [text, setText] = useState('');
  const filter = useDeferredValue(text.trim());
  const isFiltered = filter !== '';
  const subscriptions = data?.subscriptions?.nodes;
  const sections = useMemo(() => {
    const all = subscriptions ?? [];
    return sectionsOf(filter === '' ? all : all.filter(({ channel }) => fitOf(channel.name, filter) !== undefined));
  }, [subscriptions, filter]);
  const directs = data?.directConversations;
  const viewerId = data?.viewer?.id ?? '';
  const conversations = useMemo(
    () =>
      directs && {
        ...directs,
        nodes: directs.nodes.filter(
          (one) => filter === '' || fitOf(namesOf(othersIn(one, viewerId)), filter) !== undefined,
        ),
      },
    [directs, filter, viewerId],
  );
  const areDirectsCollapsed = useIsCollapsed('direct');
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
      <input
        className="input sidebar-filter"
        type="search"
        aria-label="Filter channels and people"
        placeholder="Filter channels and people"
        autoComplete="off"
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') setText('');
          if (event.key !== 'Enter') return;
          const first = document.querySelector<HTMLAnchorElement>('.sidebar-scroll section a.sidebar-row');
          if (first !== null) navigate(first.pathname);
          setText('');
        }}
      />
      <div className="sidebar-scroll">
        <ViewRows
          setUp={data.navigationViews?.nodes ?? []}
          counts={{ inbox: unread.total, 'narrow/is/mentioned': unread.mentions }}
        />
        <Section id="direct" title="Direct messages" staysOpen={isFiltered}>
          {conversations && (
            <DirectRows
              conversations={conversations}
              viewerId={viewerId}
              isCollapsed={areDirectsCollapsed}
              isFiltered={isFiltered}
            />
          )}
        </Section>
        {sections.map(({ key, title, subscriptions }) => (
          <Section key={key} id={key} title={title} staysOpen={isFiltered}>
            <Channels id={key} subscriptions={subscriptions} isFiltered={isFiltered} />
          </Section>
        ))}
        {isFiltered && sections.length === 0 && conversations?.nodes.length === 0 && (
          <p className="sidebar-none">No channel or person matches.</p>
        )}
        <ul className="sidebar-list sidebar-more">
          <ViewRow to={addressOf({ name: 'channels' })} icon="plus" name="All channels" />
          <ViewRow to={addressOf({ name: 'people' })} within="/people/" icon="people" name="People and groups" />
        </ul>
      </div>
    </>
  );
}

interface ChannelsProps {
  readonly id: string;
  readonly subscriptions: readonly SidebarSubscriptionFragment[];
  readonly isFiltered: boolean;
}

/** The channels of a section. */
function Channels({ id, subscriptions, isFiltered }: ChannelsProps) {
  const isCollapsed = useIsCollapsed(id);
  return <ChannelRows subscriptions={subscriptions} isCollapsed={isCollapsed && !isFiltered} />;
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
      {viewer !== null && <Avatar person={viewer} size={32} />}
      <div>
        <strong>{organization}</strong>
        {viewer !== null && (
          <p>
            <PresenceDot person={viewer} /> <PersonButton userId={viewer.id}>{viewer.fullName}</PersonButton>
            <StatusEmoji status={viewer.status} />
          </p>
        )}
      </div>
      <IconButton icon="status" label="Set your status" onClick={openStatus} />
      <IconButton icon="edit" label="New message" onClick={openNewMessage} />
    </header>
  );
}
