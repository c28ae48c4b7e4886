import { lazy, type ReactNode, Suspense } from 'react';
import { ChannelView } from '../channels/channel-view.tsx';
import { DirectView } from '../conversation/direct-view.tsx';
import { MessagesView } from '../conversation/messages-view.tsx';
import { Inbox } from '../inbox/inbox.tsx';
import { MessageAt } from '../message-actions/message-at.tsx';
import { useRoute } from '../routing/router.tsx';
import { type Route, VIEWS } from '../routing/routes.ts';
import { TopicsView } from '../topics/topics-view.tsx';

const BrowseChannels = lazy(() =>
  import('../channels/browse-view.tsx').then((module) => ({ default: module.BrowseChannels })),
);
const Directory = lazy(() => import('../people/directory.tsx').then((module) => ({ default: module.Directory })));
const GroupsView = lazy(() => import('../groups/groups-view.tsx').then((module) => ({ default: module.GroupsView })));
const SearchView = lazy(() => import('../search/search-view.tsx').then((module) => ({ default: module.SearchView })));
const SettingsView = lazy(() =>
  import('../settings/settings-view.tsx').then((module) => ({ default: module.SettingsView })),
);
const WritingView = lazy(() =>
  import('../writing/writing-view.tsx').then((module) => ({ default: module.WritingView })),
);

/** What the address asks for. @param menu Opens the sidebar, where that is not beside it. */
export function MainView({ menu }: { readonly menu: ReactNode }) {
  const route = useRoute();
  return <Suspense fallback={<div className="shell-blank" aria-busy="true" />}>{viewOf(route, menu)}</Suspense>;
}

function viewOf(route: Route, menu: ReactNode): ReactNode {
  switch (route.name) {
    case 'inbox':
      return <Inbox menu={menu} />;
    case 'channel':
      return <ChannelView channelId={route.channelId} topic={route.topic} near={route.near} menu={menu} />;
    case 'direct':
      return <DirectView userIds={route.userIds} near={route.near} menu={menu} />;
    case 'message':
      return <MessageAt messageId={route.messageId} menu={menu} />;
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
    case 'groups':
      return <GroupsView menu={menu} />;
    case 'settings':
      return <SettingsView section={route.section} menu={menu} />;
    default:
      return null;
  }
}
