import { useEffect } from 'react';
import { useData } from '../api/use-data.ts';
import { ChannelHeaderDocument } from '../generated/graphql.ts';
import { useUnreadNumber } from '../notifications/unread-number.ts';
import { usePeople } from '../people/use-people.ts';
import { useFirstScreen } from '../people/use-viewer.ts';
import { useRoute } from '../routing/router.tsx';
import { type Route, VIEWS } from '../routing/routes.ts';
import { namesOf } from '../ui/person.tsx';
import { shownTopic } from '../ui/topic-names.ts';
import icon from './icon.svg?raw';

const NAMES: Partial<Record<Route['name'], string>> = {
  inbox: 'Inbox',
  recent: 'Recent conversations',
  channels: 'Channels',
  people: 'People',
  groups: 'Groups',
  invitations: 'Invitations',
  settings: 'Settings',
  writing: 'Drafts and scheduled',
  search: 'Search',
};

/**
 * Sets the title of the page, such as "(3) #website › launch · Harbour Works", and shows the number of unread messages on its
 * icon. Renders nothing.
 */
export function PageTitle() {
  const data = useFirstScreen();
  const unread = useUnreadNumber(data);
  const route = useRoute();
  const channelId = route.name === 'channel' || route.name === 'topics' ? route.channelId : undefined;
  const known = data?.subscriptions?.nodes.find(({ channel }) => channel.id === channelId)?.channel;
  const isOther = channelId !== undefined && data !== undefined && known === undefined;
  const read = useData(ChannelHeaderDocument, { channelId: channelId ?? '' }, { pause: !isOther });
  const view = viewName(route, (known ?? read.data?.channel)?.name);
  const people = route.name === 'direct' ? route.userIds : undefined;
  const organization = data?.organization?.name ?? 'Team chat';
  useEffect(() => showNumber(unread), [unread]);
  useEffect(() => () => showNumber(0), []);
  if (people !== undefined) return <DirectTitle userIds={people} unread={unread} organization={organization} />;
  return <Title unread={unread} view={view} organization={organization} />;
}

interface TitleProps {
  readonly unread: number;
  readonly organization: string;
}

function DirectTitle({ userIds, ...rest }: TitleProps & { readonly userIds: readonly string[] }) {
  const { people } = usePeople(userIds);
  return <Title view={people && namesOf(people)} {...rest} />;
}

/** Sets the title of the document. Renders nothing. */
function Title({ unread, view, organization }: TitleProps & { readonly view: string | undefined }) {
  const number = unread > 0 ? `(${unread > 999 ? '999+' : unread}) ` : '';
  const title = `${number}${view === undefined ? '' : `${view} · `}${organization}`;
  useEffect(() => {
    document.title = title;
  }, [title]);
  return null;
}

function viewName(route: Route, channel: string | undefined): string | undefined {
  if (route.name === 'view') return VIEWS[route.view].title;
  if (route.name === 'search' && route.text !== '') return `Search: ${route.text}`;
  if (route.name === 'topics') return channel && `#${channel} › All topics`;
  if (route.name !== 'channel') return NAMES[route.name];
  return channel && `#${channel}${route.topic === undefined ? '' : ` › ${shownTopic(route.topic)}`}`;
}

/** Shows a number on the icon of the browser tab, and on the icon of the installed application. */
function showNumber(unread: number): void {
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (link !== null) link.href = `data:image/svg+xml,${encodeURIComponent(iconWith(unread))}`;
  // Only installed applications have a badge.
  const done = unread === 0 ? navigator.clearAppBadge?.() : navigator.setAppBadge?.(unread);
  void done?.catch(() => undefined);
}

function iconWith(unread: number): string {
  if (unread === 0) return icon;
  const text = unread > 99 ? '99' : String(unread);
  const badge =
    '<rect x="5" y="6" width="11" height="10" rx="5" fill="#b3261e"/>' +
    `<text x="10.5" y="13.7" font-family="sans-serif" font-size="7.5" font-weight="700" fill="#fff" text-anchor="middle">${text}</text>`;
  return icon.replace('</svg>', `${badge}</svg>`);
}
