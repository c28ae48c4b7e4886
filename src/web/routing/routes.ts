import type { MessageNarrowInput } from '../generated/graphql.ts';

/** Where in the chat somebody is. Each has an address of its own, which the service serves the page at. */
export type Route =
  | { readonly name: 'inbox' }
  /** @property near A message of the place to begin at; with a topic alone. */
  | { readonly name: 'channel'; readonly channelId: string; readonly topic?: string; readonly near?: string }
  /** All topics of a channel. */
  | { readonly name: 'topics'; readonly channelId: string }
  /** With all others who take part; alone, the viewer. */
  | { readonly name: 'direct'; readonly userIds: readonly string[]; readonly near?: string }
  /** A message, wherever it stands by now. */
  | { readonly name: 'message'; readonly messageId: string }
  | { readonly name: 'view'; readonly view: ViewName }
  /** @property text What is looked for, as somebody writes it: `search/query.ts`. */
  | { readonly name: 'search'; readonly text: string }
  /** All channels that the viewer can see. */
  | { readonly name: 'channels' }
  | { readonly name: 'people' }
  | { readonly name: 'groups' }
  | { readonly name: 'settings'; readonly section: SettingsSection }
  | { readonly name: 'writing'; readonly list: WritingList };

export const SETTINGS_SECTIONS = ['profile', 'account', 'preferences', 'notifications'] as const;
export type SettingsSection = (typeof SETTINGS_SECTIONS)[number];

/** What somebody has written, or wants written, and is not a message. */
export const WRITING_LISTS = ['drafts', 'scheduled', 'snippets', 'reminders'] as const;
export type WritingList = (typeof WRITING_LISTS)[number];

export type ViewName = 'all' | 'mentions' | 'starred';

interface View {
  readonly title: string;
  readonly narrow: MessageNarrowInput;
  /** What is said where there are none. */
  readonly empty?: string;
}

export const VIEWS: Readonly<Record<ViewName, View>> = {
  all: { title: 'All messages', narrow: {} },
  mentions: { title: 'Mentions', narrow: { is: ['MENTIONED'] }, empty: 'Nobody has mentioned you yet.' },
  starred: { title: 'Starred', narrow: { is: ['STARRED'] }, empty: 'Nothing is starred yet.' },
};

const words = (...parts: readonly string[]): string => `/${parts.map(encodeURIComponent).join('/')}`;

/** The address of a place. @param channelName Stands in it to be read; the id decides. */
export function addressOf(route: Route, channelName = '-'): string {
  switch (route.name) {
    case 'inbox':
      return '/inbox';
    case 'channel':
      return words(
        'channels',
        route.channelId,
        slugOf(channelName),
        ...(route.topic === undefined ? [] : [`.${route.topic}`]),
        ...(route.near === undefined ? [] : [route.near]),
      );
    case 'topics':
      return words('channels', route.channelId, slugOf(channelName), 'topics');
    case 'direct':
      return words('direct', route.userIds.toSorted().join('.'), ...(route.near === undefined ? [] : [route.near]));
    case 'message':
      return words('messages', route.messageId);
    case 'view':
      return words('views', route.view);
    case 'search':
      return words('search', ...(route.text === '' ? [] : [route.text]));
    case 'channels':
    case 'people':
      return words(route.name);
    case 'groups':
      return words('people', 'groups');
    case 'settings':
      return words('settings', route.section);
    case 'writing':
      return words('writing', route.list);
  }
}

const slugOf = (name: string): string => name.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '-') || '-';

/** The place of an address; the inbox for any other. */
export function routeOf(pathname: string): Route {
  const [first = '', second = '', third, topic, near] = pathname
    .split('/')
    .slice(1)
    .map((part) => decoded(part));
  if (first === 'channels' && second !== '') {
    if (topic === 'topics') return { name: 'topics', channelId: second };
    const named = topic !== undefined && { topic: topic.replace(/^\./, '') };
    return { name: 'channel', channelId: second, ...named, ...(near !== undefined && { near }) };
  }
  if (first === 'channels') return { name: 'channels' };
  if (first === 'people') return { name: second === 'groups' ? 'groups' : 'people' };
  if (first === 'settings') {
    return { name: 'settings', section: SETTINGS_SECTIONS.find((section) => section === second) ?? 'profile' };
  }
  if (first === 'direct' && second !== '') {
    return { name: 'direct', userIds: second.split('.'), ...(third !== undefined && { near: third }) };
  }
  if (first === 'messages' && second !== '') return { name: 'message', messageId: second };
  if (first === 'views' && Object.hasOwn(VIEWS, second)) return { name: 'view', view: second as ViewName };
  if (first === 'search') return { name: 'search', text: second };
  if (first === 'writing') return { name: 'writing', list: WRITING_LISTS.find((list) => list === second) ?? 'drafts' };
  return { name: 'inbox' };
}

/**
 * A part of an address as it is meant.
 *
 * @param escaped The same with percent signs, where it has other signs for them.
 * @returns The part itself where it is no such escape.
 */
export function decoded(part: string, escaped = part): string {
  try {
    return decodeURIComponent(escaped);
  } catch {
    return part;
  }
}

/** The messages of a place; null where there are none. */
export function narrowOf(route: Route): MessageNarrowInput | null {
  switch (route.name) {
    case 'channel':
      return { channel: { id: route.channelId }, ...(route.topic !== undefined && { topic: route.topic }) };
    case 'direct':
      return { directWith: [...route.userIds] };
    case 'view':
      return VIEWS[route.view].narrow;
    default:
      return null;
  }
}
