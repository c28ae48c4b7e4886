import type { Client } from 'urql';
import { SidebarDocument, type SidebarQuery, SuggestionsDocument } from '../generated/graphql.ts';
import { addressOf } from '../routing/routes.ts';
import { viewsOf } from '../routing/views.ts';
import type { Option } from '../type-ahead/options.ts';
import { channelIcon } from '../ui/channel-icon.ts';
import { fitOf } from '../ui/name-words.ts';
import { namesOf } from '../ui/person.tsx';

/**
 * Maximum number of options, besides the option that searches messages. Further matches are omitted, because users can scan
 * only that many at a glance.
 */
const LIMIT = 12;

/** An option that opens a channel, conversation or view. */
interface JumpOption extends Option {
  readonly unread: number;
}

/**
 * Returns the channels, conversations and views that match a text, best match first: those of the sidebar, then suggestions of
 * the service. If the text is not empty, the last option searches messages for the text.
 */
export async function jumpOptions(client: Client, written: string): Promise<readonly Option[]> {
  const text = written.trim();
  const data = client.readQuery(SidebarDocument, {})?.data;
  const own = data ? [...directs(data), ...channels(data), ...views(data)] : [];
  const fitting = own
    .flatMap((option) => {
      const rank = fitOf(option.label, text);
      return rank === undefined ? [] : [{ option, rank }];
    })
    .toSorted((a, b) => a.rank - b.rank || Number(b.option.unread > 0) - Number(a.option.unread > 0))
    .map(({ option }) => option);
  if (text === '') return fitting.slice(0, LIMIT);
  const known = new Set(fitting.map(({ insert }) => insert));
  const others = (await suggested(client, text)).filter(({ insert }) => !known.has(insert));
  const messages: Option = {
    key: 'search',
    label: `Search messages for ${written.trim()}`,
    icon: 'search',
    insert: addressOf({ name: 'search', text: written.trim() }),
  };
  return [...[...fitting, ...others].slice(0, LIMIT), messages];
}

const unreadDetail = (unread: number) => unread > 0 && { detail: `${unread} unread` };

const channels = ({ subscriptions }: SidebarQuery): JumpOption[] =>
  (subscriptions?.nodes ?? []).map(({ channel: { id, name, privacy }, unreadCount }) => ({
    key: id,
    label: name,
    icon: channelIcon(privacy),
    insert: addressOf({ name: 'channel', channelId: id }, name),
    unread: unreadCount,
    ...unreadDetail(unreadCount),
  }));

const directs = ({ directConversations, viewer }: SidebarQuery): JumpOption[] =>
  (directConversations?.nodes ?? []).map(({ id, participants, unreadCount }) => {
    const others = participants.filter((person) => person.id !== viewer?.id);
    const shown = others.length > 0 ? others : participants;
    const [only] = shown.length === 1 ? shown : [];
    return {
      key: id,
      label: namesOf(shown),
      ...(only === undefined ? { icon: 'people' as const } : { person: only }),
      insert: addressOf({ name: 'direct', userIds: shown.map((person) => person.id) }),
      unread: unreadCount,
      ...unreadDetail(unreadCount),
    };
  });

const views = ({ navigationViews }: SidebarQuery): JumpOption[] =>
  [...viewsOf(navigationViews?.nodes ?? []), ...OTHERS].map(({ title, icon, address }) => ({
    key: address,
    label: title,
    icon,
    insert: address,
    unread: 0,
  }));

const OTHERS = [
  { title: 'All channels', icon: 'plus', address: addressOf({ name: 'channels' }) },
  { title: 'Settings', icon: 'settings', address: addressOf({ name: 'settings' }) },
] as const;

async function suggested(client: Client, text: string): Promise<Option[]> {
  const { data } = await client.query(SuggestionsDocument, { text, kinds: ['USER', 'CHANNEL'] }).toPromise();
  return (data?.suggestions ?? []).flatMap((one): Option[] => {
    if (one.__typename === 'User') {
      const insert = addressOf({ name: 'direct', userIds: [one.id] });
      return [{ key: one.id, label: one.fullName, person: one, insert }];
    }
    if (one.__typename !== 'Channel') return [];
    const insert = addressOf({ name: 'channel', channelId: one.id }, one.name);
    return [{ key: one.id, label: one.name, icon: channelIcon(one.privacy), insert }];
  });
}
