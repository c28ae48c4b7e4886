import { globalId } from '../api/global-id.ts';
import { quoted } from './query.ts';
import { addressOf, decoded, isChatAddress, type Route, type SettingsSection } from './routes.ts';

/**
 * Routes of the views that have a fixed URL fragment, by fragment. The service and other clients write these fragments. A view
 * that this page lacks is replaced by the view with the same content.
 */
const BUILT_IN: Readonly<Record<string, Route>> = {
  inbox: { name: 'inbox' },
  recent: { name: 'recent' },
  recent_topics: { name: 'recent' },
  feed: { name: 'view', view: 'all' },
  all_messages: { name: 'view', view: 'all' },
  drafts: { name: 'writing', list: 'drafts' },
  scheduled: { name: 'writing', list: 'scheduled' },
  reminders: { name: 'writing', list: 'reminders' },
  'narrow/is/starred': { name: 'view', view: 'starred' },
  'narrow/is/mentioned': { name: 'view', view: 'mentions' },
};

/** Sections of the settings, by the names of other clients. Other sections lead to the preferences. */
const SECTIONS: Readonly<Record<string, SettingsSection>> = {
  '': 'profile',
  profile: 'profile',
  'account-and-privacy': 'account',
  'your-account': 'account',
  account: 'account',
};

/**
 * Returns the path in the chat to which a link leads.
 *
 * @param href URL in a message: `/#narrow/…` or a path of the chat, with or without the origin.
 * @returns Undefined if the link leads elsewhere.
 */
export function addressOfLink(href: string): string | undefined {
  if (!URL.canParse(href, location.origin)) return undefined;
  const { origin, pathname, search, hash } = new URL(href, location.origin);
  if (origin !== location.origin || search !== '') return undefined;
  if (pathname === '/' && hash !== '') return addressOfFragment(hash.slice(1));
  return isChatAddress(pathname) && hash === '' ? pathname : undefined;
}

/**
 * Returns the path in the chat that corresponds to a URL fragment of the service or of another client, such as
 * `narrow/channel/9-general/topic/hello/near/17`.
 *
 * @returns Undefined if the fragment is unknown.
 */
export function addressOfFragment(fragment: string): string | undefined {
  const route = BUILT_IN[fragment.replace(/\/$/, '')];
  if (route !== undefined) return addressOf(route);
  const [view, ...parts] = fragment.split('/');
  if (view !== 'narrow') return overlayAddress(view ?? '', parts);
  const terms = termsOf(parts);
  return placeAddress(terms) ?? searchAddress(terms);
}

/**
 * Returns the path for a fragment of an overlay of other clients: `user/5`, `channels/9/general/subscribers`, `groups/7/crew`,
 * `settings/notifications`. Undefined if the page has nothing like it.
 */
function overlayAddress(view: string, [first = '', name = '']: readonly string[]): string | undefined {
  const id = /^\d+$/.test(first) ? first : undefined;
  switch (view) {
    case 'user':
      return id && addressOf({ name: 'direct', userIds: [globalId('User', id)] });
    case 'channels':
    case 'streams':
      if (id === undefined) return addressOf({ name: 'channels' });
      return addressOf({ name: 'channel', channelId: globalId('Channel', id) }, operandOf(name));
    case 'groups':
      return addressOf({ name: 'groups' });
    case 'settings':
      return addressOf({ name: 'settings', section: SECTIONS[first] ?? 'preferences' });
    case 'organization':
      return first === 'users' ? addressOf({ name: 'people' }) : undefined;
    default:
      return undefined;
  }
}

/** An operator and its operand, which is decoded. The operator begins with "-" if it is negated. */
type Term = readonly [operator: string, operand: string];

const ALIASES: Readonly<Record<string, string>> = {
  stream: 'channel',
  streams: 'channels',
  subject: 'topic',
  from: 'sender',
  'pm-with': 'dm',
  'group-pm-with': 'dm-including',
};

/** Splits a path into its terms. A slash at the end does not begin another term. */
function termsOf(parts: readonly string[]): readonly Term[] {
  const terms: Term[] = [];
  for (let i = 0; i < parts.length; i += 2) {
    if (i === parts.length - 1 && parts[i] === '') break;
    const [, minus = '', operator = ''] = /^(-?)(.*)$/.exec(parts[i] ?? '') ?? [];
    terms.push([minus + (ALIASES[operator] ?? operator), operandOf(parts[i + 1] ?? '')]);
  }
  return terms;
}

/** Decodes an operand, which is percent-encoded with `.` in place of `%`. */
const operandOf = (part: string): string => decoded(part, part.replaceAll('.', '%'));

const PLACE_TERMS: ReadonlySet<string> = new Set(['channel', 'topic', 'dm', 'near', 'with', 'id']);

/** Returns the path of a channel, topic, direct conversation or message. Undefined if the terms name none of these. */
function placeAddress(terms: readonly Term[]): string | undefined {
  const of = new Map(terms);
  if (of.size !== terms.length || terms.some(([operator]) => !PLACE_TERMS.has(operator))) return undefined;
  const place = placeOf(of);
  for (const show of ['near', 'with', 'id'] as const) {
    const messageId = numberIn(of.get(show));
    if (messageId === undefined) continue;
    // The link leads to the message's current topic, because the message may have moved since the link was written.
    const by = show === 'with' ? 'with' : 'near';
    return addressOf({ name: 'message', messageId: globalId('Message', messageId), by, otherwise: place });
  }
  return place;
}

function placeOf(terms: ReadonlyMap<string, string>): string | undefined {
  const [channel, topic, people] = ['channel', 'topic', 'dm'].map((operator) => terms.get(operator));
  const channelId = numberIn(channel);
  if (channel !== undefined && channelId !== undefined && people === undefined) {
    const name = channel.slice(channelId.length + 1);
    const route = { name: 'channel', channelId: globalId('Channel', channelId) } as const;
    return addressOf(topic === undefined ? route : { ...route, topic }, name);
  }
  if (people === undefined || channel !== undefined || topic !== undefined) return undefined;
  const [list = ''] = people.split('-');
  const ids = list.split(',');
  if (!ids.every((id) => /^\d+$/.test(id))) return undefined;
  return addressOf({ name: 'direct', userIds: ids.map((id) => globalId('User', id)) });
}

/** Returns the number before a name, such as "9" for `9-general`. Undefined if there is none. */
const numberIn = (operand: string | undefined): string | undefined => /^(\d+)(?:-|$)/.exec(operand ?? '')?.[1];

/** Returns the path of a search that consists of the terms. Undefined if an operator is not supported. */
function searchAddress(terms: readonly Term[]): string | undefined {
  const written: string[] = [];
  for (const [term, operand] of terms) {
    const operator = term.replace(/^-/, '');
    if (operator === 'search') written.push(operand);
    else if (operator === 'channel') written.push(`${term}:${quoted(operand.replace(/^\d+-/, ''))}`);
    else if (/^(is|has|topic|channels)$/.test(operator) || operand === 'me') written.push(`${term}:${quoted(operand)}`);
    else if (/^(sender|dm|dm-including|mentions)$/.test(operator) && /^\d+(?:,\d+)*(?:-|$)/.test(operand))
      written.push(`${term}:${people(operand)}`);
    else return undefined;
  }
  return addressOf({ name: 'search', text: written.join(' ') });
}

/** Converts the users in an operand to the syntax that users type: `5,7-group` becomes `|5,|7`. */
const people = (operand: string): string =>
  (operand.split('-')[0] ?? '')
    .split(',')
    .map((id) => `|${id}`)
    .join(',');
