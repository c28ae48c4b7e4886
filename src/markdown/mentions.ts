import { escapeText } from './escape.ts';
import type { Inline } from './inline-text.ts';
import type { Directory, DirectoryUser } from './types.ts';

/** Where a mention of anything may begin: at the start of the text, after white space, or after an opening mark. */
export const MENTION_START = '(?<![^\\s\'"({[/<])';

/** `@**Full Name**`, silent as `@_**Full Name**`. */
export const USER_MENTION = new RegExp(`${MENTION_START}@(_?)\\*\\*([^*\\n]+)\\*\\*`, 'g');

/** `@*group*`, silent as `@_*group*`. */
export const GROUP_MENTION = new RegExp(`${MENTION_START}@(_?)\\*([^*\\n]+)\\*`, 'g');

/** Words that mention everybody there, in exactly this case. */
export const CHANNEL_WILDCARDS: ReadonlySet<string> = new Set(['all', 'everyone', 'channel', 'stream']);
export const TOPIC_WILDCARD = 'topic';

/** A user as a mention names them: by name, by id, or by both. */
export interface NamedUser {
  /** Undefined when the id alone counts. */
  readonly name: string | undefined;
  readonly id: number | undefined;
}

/** Larger numbers are the id of nobody. */
const MAX_USER_ID = 2_147_483_647;

/** Reads what stands between the stars of a mention: "Full Name", "Full Name|31" or "|31". */
export function userNamedIn(text: string): NamedUser {
  const [whole, name = '', digits] = /^(.*)\|(\d{1,10})$/.exec(text) ?? [];
  const id = Number(digits);
  if (whole === undefined || id > MAX_USER_ID) return { name: text, id: undefined };
  return { name: name === '' ? undefined : name, id };
}

/** Mentions of users, of everybody in the channel, and of everybody in the topic. */
export function userMentions(inline: Inline, text: string): string {
  if (!text.includes('**') || !text.includes('@')) return text;
  return text.replace(USER_MENTION, (source: string, underscore: string, name: string) => {
    const html = userMention(inline, name, underscore !== '');
    return html === undefined ? inline.literal(source) : inline.keep(source, html);
  });
}

/** Mentions of groups: `@*name*`, and silent ones `@_*name*`. */
export function groupMentions(inline: Inline, text: string): string {
  if (!text.includes('*') || !text.includes('@')) return text;
  return text.replace(GROUP_MENTION, (source: string, underscore: string, name: string) => {
    const { rendering } = inline;
    const group = rendering.directory?.groupNamed(name);
    if (group === undefined) return inline.literal(source);
    const isSilent = underscore !== '' || rendering.isQuote || !group.isActive;
    if (!isSilent) rendering.mentionedGroupIds.add(group.id);
    const html = span('user-group-mention', isSilent, group.displayName, ` data-user-group-id="${group.id}"`);
    return inline.keep(source, html);
  });
}

function userMention({ rendering }: Inline, name: string, isMarkedSilent: boolean): string | undefined {
  const { directory } = rendering;
  if (directory === undefined) return undefined;
  const isSilent = isMarkedSilent || rendering.isQuote;
  if (CHANNEL_WILDCARDS.has(name)) {
    if (!isSilent) rendering.channelWildcard = true;
    return span('user-mention channel-wildcard-mention', isSilent, name, ' data-user-id="*"');
  }
  if (name === TOPIC_WILDCARD) {
    if (!isSilent) rendering.topicWildcard = true;
    return span('topic-mention', isSilent, name, '');
  }
  const user = findUser(directory, userNamedIn(name));
  if (user === undefined) return undefined;
  if (!isSilent && user.isActive) rendering.mentionedUserIds.add(user.id);
  return span('user-mention', isSilent || !user.isActive, user.fullName, ` data-user-id="${user.id}"`);
}

/** An id decides between equal names, but it must be the id of one who has the name. */
function findUser(directory: Directory, { name, id }: NamedUser): DirectoryUser | undefined {
  if (id === undefined) return directory.userNamed(name ?? '');
  const user = directory.userWithId(id);
  if (name === undefined || user?.fullName.toLowerCase() === name.toLowerCase()) return user;
  return undefined;
}

function span(classes: string, isSilent: boolean, name: string, attribute: string): string {
  const [silent, at] = isSilent ? [' silent', ''] : ['', '@'];
  return `<span class="${classes}${silent}"${attribute}>${at}${escapeText(name)}</span>`;
}
