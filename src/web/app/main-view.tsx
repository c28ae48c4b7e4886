import type { ReactNode } from 'react';
import { ChannelView } from '../channels/channel-view.tsx';
import { DirectView } from '../conversation/direct-view.tsx';
import { MessagesView } from '../conversation/messages-view.tsx';
import { Inbox } from '../inbox/inbox.tsx';
import { MessageAt } from '../message-actions/message-at.tsx';
import { useRoute, useVisits } from '../routing/router.tsx';
import { type Route, VIEWS } from '../routing/routes.ts';
import { TopicsView } from '../topics/topics-view.tsx';
import { Broken } from '../ui/broken.tsx';
import { ErrorBoundary } from '../ui/error-boundary.tsx';
import { Header } from '../ui/header.tsx';
import { lazyView } from './lazy-view.tsx';

const AppSignIn = lazyView('Sign in', async () => (await import('../settings/app-sign-in.tsx')).AppSignIn);
const BrowseChannels = lazyView('Channels', async () => (await import('../channels/browse-view.tsx')).BrowseChannels);
const Directory = lazyView('People', async () => (await import('../people/directory.tsx')).Directory);
const InvitationsView = lazyView(
  'Invitations',
  async () => (await import('../people/invitations-view.tsx')).InvitationsView,
);
const GroupsView = lazyView('Groups', async () => (await import('../groups/groups-view.tsx')).GroupsView);
const SearchView = lazyView('Search', async () => (await import('../search/search-view.tsx')).SearchView);
const SettingsView = lazyView('Settings', async () => (await import('../settings/settings-view.tsx')).SettingsView);
const WritingView = lazyView('Drafts and scheduled', async () => (await import('./writing-view.tsx')).WritingView);

/** The view of the current route. @param menu Button that opens the sidebar on narrow screens. */
export function MainView({ menu }: { readonly menu: ReactNode }) {
  const route = useRoute();
  const visits = useVisits();
  const fallback = (retry: () => void) => (
    <>
      <Header menu={menu} title="Error" />
      <Broken retry={retry} />
    </>
  );
  return (
    <ErrorBoundary resetKey={visits} fallback={fallback}>
      {viewOf(route, menu)}
    </ErrorBoundary>
  );
}

function viewOf(route: Route, menu: ReactNode): ReactNode {
  switch (route.name) {
    case 'inbox':
      return <Inbox isRecent={false} menu={menu} />;
    case 'recent':
      return <Inbox isRecent menu={menu} />;
    case 'channel':
      return <ChannelView channelId={route.channelId} topic={route.topic} near={route.near} menu={menu} />;
    case 'direct':
      return <DirectView userIds={route.userIds} near={route.near} menu={menu} />;
    case 'message':
      return <MessageAt messageId={route.messageId} by={route.by} otherwise={route.otherwise} menu={menu} />;
    case 'topics':
      return <TopicsView channelId={route.channelId} menu={menu} />;
    case 'writing':
      return <WritingView list={route.list} menu={menu} />;
    case 'view':
      return <MessagesView {...VIEWS[route.view]} menu={menu} />;
    case 'search':
      return <SearchView key={route.text} text={route.text} menu={menu} />;
    case 'channels':
      return <BrowseChannels menu={menu} />;
    case 'people':
      return <Directory menu={menu} />;
    case 'invitations':
      return <InvitationsView menu={menu} />;
    case 'groups':
      return <GroupsView menu={menu} />;
    case 'settings':
      return <SettingsView section={route.section} menu={menu} />;
    case 'app-sign-in':
      return <AppSignIn menu={menu} />;
    default:
      return null;
  }
}
