import type { MessageNarrowInput } from '../generated/graphql.ts';

/** A view of the chat. Each has its own path, and the service serves the page at all of these paths. */
export type Route =
  | { readonly name: 'inbox' }
  /** The conversations with the newest messages. */
  | { readonly name: 'recent' }
  /** @property near ID of a message in the topic. The view opens at this message. Requires `topic`. */
  | { readonly name: 'channel'; readonly channelId: string; readonly topic?: string; readonly near?: string }
  /** All topics of a channel. */
  | { readonly name: 'topics'; readonly channelId: string }
  /** IDs of all participants except the viewer, or of the viewer alone. */
  | { readonly name: 'direct'; readonly userIds: readonly string[]; readonly near?: string }
  /**
   * The current topic or conversation of a message.
   *
   * @property by "with" opens it without scrolling to the message.
   * @property otherwise Path to navigate to if the viewer cannot read the message.
   */
  | {
      readonly name: 'message';
      readonly messageId: string;
      readonly by?: 'near' | 'with';
      readonly otherwise?: string | undefined;
    }
  | { readonly name: 'view'; readonly view: ViewName }
  /** @property text The search as the user typed it: `query.ts`. */
  | { readonly name: 'search'; readonly text: string }
  /** All channels that the viewer can see. */
  | { readonly name: 'channels' }
  | { readonly name: 'people' }
  | { readonly name: 'groups' }
  | { readonly name: 'invitations' }
  /** @property section Absent: the list of sections on narrow screens, and the profile beside it on others. */
  | { readonly name: 'settings'; readonly section?: SettingsSection }
  | { readonly name: 'writing'; readonly list: WritingList }
  /** Continues the sign-in of the browser in the client that opened it. The query contains the secret of the client. */
  | { readonly name: 'app-sign-in' };

/** Sections of the settings that change the organization, in the order of the navigation. */
export const ADMINISTRATION_SECTIONS = [
  ...(['organization', 'permissions', 'people', 'bots', 'emoji'] as const),
  ...(['profile-fields', 'domains', 'default-channels', 'folders', 'usage'] as const),
] as const;
export type AdministrationSection = (typeof ADMINISTRATION_SECTIONS)[number];

export const SETTINGS_SECTIONS = [
  ...(['profile', 'account', 'api-keys', 'preferences', 'notifications'] as const),
  ...ADMINISTRATION_SECTIONS,
  ...(['audit-log', 'single-sign-on', 'security'] as const),
] as const;
export type SettingsSection = (typeof SETTINGS_SECTIONS)[number];

/** The lists of the writing view. Only the viewer can see their entries. */
export const WRITING_LISTS = ['drafts', 'scheduled', 'snippets', 'reminders'] as const;
export type WritingList = (typeof WRITING_LISTS)[number];

export type ViewName = 'all' | 'mentions' | 'starred';

interface View {
  readonly title: string;
  readonly narrow: MessageNarrowInput;
  /** Text that is shown if there are no messages. */
  readonly empty?: string;
}

export const VIEWS: Readonly<Record<ViewName, View>> = {
  all: { title: 'All messages', narrow: {} },
  mentions: { title: 'Mentions', narrow: { is: ['MENTIONED'] }, empty: 'You have no mentions yet.' },
  starred: { title: 'Starred', narrow: { is: ['STARRED'] }, empty: 'You have no starred messages yet.' },
};

const words = (...parts: readonly string[]): string => `/${parts.map(encodeURIComponent).join('/')}`;

/** Returns the path of a route. @param channelName Makes the path readable. Only the ID identifies the channel. */
export function addressOf(route: Route, channelName = '-'): string {
  switch (route.name) {
    case 'inbox':
      return '/inbox';
    case 'recent':
      return words('inbox', 'recent');
    case 'channel':
      return words(
        'channels',
        route.channelId,
        slugOf(channelName),
        ...(route.topic === undefined ? [] : [topicPart(route.topic)]),
        ...(route.near === undefined ? [] : [route.near]),
      );
    case 'topics':
      return words('channels', route.channelId, slugOf(channelName), 'topics');
    case 'direct':
      return words('direct', route.userIds.toSorted().join('.'), ...(route.near === undefined ? [] : [route.near]));
    case 'message':
      return (
        words('messages', route.messageId, ...(route.by === undefined ? [] : [route.by])) + (route.otherwise ?? '')
      );
    case 'view':
      return words('views', route.view);
    case 'search':
      return words('search', ...(route.text === '' ? [] : [route.text]));
    case 'channels':
    case 'people':
      return words(route.name);
    case 'groups':
      return words('people', 'groups');
    case 'invitations':
      return words('people', 'invitations');
    case 'settings':
      return words('settings', ...(route.section === undefined ? [] : [route.section]));
    case 'writing':
      return words('writing', route.list);
    case 'app-sign-in':
      return words('sign-in', 'app');
  }
}

/**
 * Returns the name of a topic as a segment of a path, with a prefix. Without the prefix, the topic "topics" would have the path
 * of the list of topics, and browsers would remove the segments "." and "..".
 */
const topicPart = (topic: string): string => (topic === '' || topic === '.' ? `:${topic}` : `.${topic}`);

const slugOf = (name: string): string => name.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '-') || '-';

/** First segments of the paths of the chat. */
const FIRST_PARTS: ReadonlySet<string> = new Set([
  ...['inbox', 'channels', 'direct', 'messages', 'views', 'search', 'writing', 'settings', 'people'],
]);

/** Returns whether a path belongs to the chat, and not to another page of the service. */
export const isChatAddress = (pathname: string): boolean => FIRST_PARTS.has(pathname.split('/')[1] ?? '');

/** Returns the route of a path. For an unknown path, returns the inbox. */
export function routeOf(pathname: string): Route {
  const [first = '', second = '', third, topic, near] = pathname
    .split('/')
    .slice(1)
    .map((part) => decoded(part));
  if (first === 'inbox' && second === 'recent') return { name: 'recent' };
  if (first === 'channels' && second !== '') {
    if (topic === 'topics') return { name: 'topics', channelId: second };
    const named = topic !== undefined && { topic: topic.replace(/^[.:]/, '') };
    return { name: 'channel', channelId: second, ...named, ...(near !== undefined && { near }) };
  }
  if (first === 'channels') return { name: 'channels' };
  if (first === 'people') return { name: second === 'groups' || second === 'invitations' ? second : 'people' };
  if (first === 'settings') {
    const section = SETTINGS_SECTIONS.find((one) => one === second);
    return { name: 'settings', ...(section !== undefined && { section }) };
  }
  if (first === 'direct' && second !== '') {
    return { name: 'direct', userIds: second.split('.'), ...(third !== undefined && { near: third }) };
  }
  if (first === 'messages' && second !== '') {
    if (third !== 'near' && third !== 'with') return { name: 'message', messageId: second };
    const rest = pathname.split('/').slice(4);
    const otherwise = `/${rest.join('/')}`;
    return { name: 'message', messageId: second, by: third, ...(isChatAddress(otherwise) && { otherwise }) };
  }
  if (first === 'views' && Object.hasOwn(VIEWS, second)) return { name: 'view', view: second as ViewName };
  if (first === 'search') return { name: 'search', text: second };
  if (first === 'writing') return { name: 'writing', list: WRITING_LISTS.find((list) => list === second) ?? 'drafts' };
  if (first === 'sign-in' && second === 'app') return { name: 'app-sign-in' };
  return { name: 'inbox' };
}

/**
 * Decodes a segment of a path.
 *
 * @param escaped The segment in percent-encoding, if `part` has another character in place of `%`.
 * @returns The segment itself if it cannot be decoded.
 */
export function decoded(part: string, escaped = part): string {
  try {
    return decodeURIComponent(escaped);
  } catch {
    return part;
  }
}

/** Returns the narrow (message filter) of a route. Null if the route is not a channel, topic, conversation or message view. */
export function narrowOf(route: Route): MessageNarrowInput | null {
  switch (route.name) {
    case 'channel':
      return { channel: { id: route.channelId }, ...(route.topic !== undefined && { topicNamed: route.topic }) };
    case 'direct':
      return { directWith: [...route.userIds] };
    case 'view':
      return VIEWS[route.view].narrow;
    default:
      return null;
  }
}
