import { EMOJI_END, UNSPACED } from './boundaries.ts';
import { escapeText } from './escape.ts';
import type { Inline } from './inline-text.ts';
import type { Directory, DirectoryGroup, DirectoryUser } from './types.ts';

/**
 * Matches a position at which a mention can begin. The character before it must not be "_", "@", or a letter, mark or digit of
 * a script with spaces between words. For regular expressions with the flag `u`.
 */
export const MENTION_START = `(?<!(?![${UNSPACED}${EMOJI_END}])[\\p{L}\\p{M}\\p{N}_@])`;

/** Matches a mention of a user: `@**Full Name**`, or `@_**Full Name**` for a silent mention. */
const USER_MENTION = new RegExp(`${MENTION_START}@(_?)\\*\\*([^*\\n]+)\\*\\*`, 'gu');

/** Matches the start of a mention of a group: `@*` in `@*group*`, or `@_*` in `@_*group*` for a silent mention. */
const GROUP_START = '@(_?)\\*(?=[^*\\n]+\\*)';
const GROUP_MENTION = new RegExp(MENTION_START + GROUP_START, 'gu');
const GROUP_ANYWHERE = new RegExp(GROUP_START, 'gu');

/**
 * Matches the start of a mention of a group, even if the name of the group begins with an asterisk: `@*` or, for a silent
 * mention, `@_*`.
 */
const STARRED_START = '@(_?)\\*';
const STARRED_MENTION = new RegExp(MENTION_START + STARRED_START, 'gu');
const STARRED_ANYWHERE = new RegExp(STARRED_START, 'gu');
/** Matches a mention of a user that begins exactly at `lastIndex`. */
const USER_MENTION_HERE = /@_?\*\*([^*\n]+)\*\*/uy;

/**
 * Matches names of groups that look like other syntax in a mention: with an asterisk at an end, or with two adjacent asterisks.
 */
const STARRED_NAME = /^\*|\*$|\*\*/;

/**
 * Maximum length, in characters, of a name in a group mention, and maximum number of asterisks that are tried as its end. Names
 * beyond these limits are not found.
 */
const GROUP_NAME = { characters: 100, stars: 6 };

/**
 * A part of a text that may mention a group, with the possible names of the group. There can be several names, because names
 * can contain asterisks.
 */
export interface GroupMention {
  readonly start: number;
  readonly isSilent: boolean;
  /** Index in the text at which all possible names of the group begin. */
  readonly nameStart: number;
  /** Possible names of the group, from the shortest to the longest. Empty if no name within the maximum length is possible. */
  readonly names: readonly string[];
}

/** A part of a text that may mention a group whose name matches `STARRED_NAME`. */
export interface StarredMention extends GroupMention {
  /**
   * Name of the user, if the text is also a mention of a user. The text then mentions a group only if no user has this name.
   * Undefined if the text is not a mention of a user.
   */
  readonly userName: string | undefined;
}

/**
 * Finds the parts of a text that may mention a group, except groups whose names match `STARRED_NAME`.
 *
 * @param options `isBlock` is true if the text is the text of one block. In a whole source, characters of block syntax can
 *   precede a mention.
 */
export function groupMentionsIn(text: string, { isBlock }: { isBlock: boolean }): GroupMention[] {
  return [...text.matchAll(isBlock ? GROUP_MENTION : GROUP_ANYWHERE)].map(({ index, 0: { length }, 1: underscore }) => {
    const nameStart = index + length;
    const names = namesAt(text, nameStart).filter((name) => !STARRED_NAME.test(name));
    return { start: index, isSilent: underscore !== '', nameStart, names };
  });
}

/**
 * Finds the parts of a text that may mention a group whose name matches `STARRED_NAME`. The possible names in the result also
 * include names that do not match `STARRED_NAME`.
 *
 * @param options `isBlock` is true if the text is the text of one block. In a whole source, characters of block syntax can
 *   precede a mention. `isMention` returns whether `@**name**` mentions a user, a channel or a topic. Parts for which it
 *   returns true are left out of the result. If it is absent, no part is left out.
 */
export function starredMentionsIn(
  text: string,
  { isBlock, isMention = () => false }: { isBlock: boolean; isMention?: (name: string) => boolean },
): StarredMention[] {
  const mentions: StarredMention[] = [];
  if (!text.includes('**')) return mentions;
  for (const { index, 0: start, 1: underscore } of text.matchAll(isBlock ? STARRED_MENTION : STARRED_ANYWHERE)) {
    USER_MENTION_HERE.lastIndex = index;
    const userName = USER_MENTION_HERE.exec(text)?.[1];
    if (userName !== undefined && isMention(userName)) continue;
    const nameStart = index + start.length;
    const names = namesAt(text, nameStart);
    if (!names.some((name) => STARRED_NAME.test(name))) continue;
    mentions.push({ start: index, isSilent: underscore !== '', nameStart, names, userName });
  }
  return mentions;
}

/**
 * Matches the rest of a line, at most 201 UTF-16 code units: a name of 100 code points, each of at most 2 code units, and one
 * asterisk. Line separators (U+2028) do not end a line.
 */
const REST_OF_LINE = new RegExp(`[^\\n]{0,${2 * GROUP_NAME.characters + 1}}`, 'y');

function namesAt(text: string, start: number): string[] {
  const names: string[] = [];
  REST_OF_LINE.lastIndex = start;
  REST_OF_LINE.test(text);
  const { lastIndex } = REST_OF_LINE;
  for (
    let end = text.indexOf('*', start + 1);
    end !== -1 && end < lastIndex && names.length < GROUP_NAME.stars;
    end = text.indexOf('*', end + 1)
  ) {
    names.push(text.slice(start, end));
  }
  return names;
}

/** Words that mention all members of a channel or conversation. Case-sensitive. */
export const CHANNEL_WILDCARDS: ReadonlySet<string> = new Set(['all', 'everyone', 'channel', 'stream']);
export const TOPIC_WILDCARD = 'topic';

/** A reference to a user in a mention: by name, by id, or by both. */
export interface NamedUser {
  /** Full name of the user. Undefined if the mention has only the id. */
  readonly name: string | undefined;
  readonly id: number | undefined;
}

/** Maximum user id in the database. Text with a larger number counts as a name. */
const MAX_USER_ID = 2_147_483_647;

/** Parses the text between the asterisks of a mention: "Full Name", "Full Name|31" or "|31". */
export function userNamedIn(text: string): NamedUser {
  const [whole, name = '', digits] = /^(.*)\|(\d{1,10})$/.exec(text) ?? [];
  const id = Number(digits);
  if (whole === undefined || id > MAX_USER_ID) return { name: text, id: undefined };
  return { name: name === '' ? undefined : name, id };
}

/** Replaces mentions of users, of a whole channel, and of a whole topic by placeholders of their HTML. */
export function userMentions(inline: Inline, text: string): string {
  if (!text.includes('**') || !text.includes('@')) return text;
  return text.replace(USER_MENTION, (source: string, underscore: string, name: string) => {
    const html = userMention(inline, name, underscore !== '');
    return html === undefined ? inline.literal(source) : inline.keep(source, html);
  });
}

/**
 * Replaces mentions of groups whose names match `STARRED_NAME` by placeholders of their HTML. Uses the longest possible name
 * that belongs to a group. If that name does not match `STARRED_NAME`, leaves the text to `groupMentions`. If the text mentions
 * a user, leaves it to `userMentions`.
 */
export function starredGroupMentions(inline: Inline, text: string): string {
  const { directory } = inline.rendering;
  if (directory === undefined || !text.includes('@')) return text;
  let [result, end] = ['', 0];
  const isMention = (name: string) => isMentionable(directory, name);
  for (const { start, isSilent, nameStart, names } of starredMentionsIn(text, { isBlock: true, isMention })) {
    if (start < end) continue;
    const name = names.findLast((one) => directory.groupNamed(one) !== undefined) ?? '';
    const group = STARRED_NAME.test(name) ? directory.groupNamed(name) : undefined;
    if (group === undefined) continue;
    const source = text.slice(start, nameStart + name.length + 1);
    result += text.slice(end, start) + inline.keep(source, groupMention(inline, group, isSilent));
    end = start + source.length;
  }
  return result + text.slice(end);
}

/** Returns whether `@**name**` mentions a user, a channel or a topic. */
const isMentionable = (directory: Directory, name: string): boolean =>
  CHANNEL_WILDCARDS.has(name) || name === TOPIC_WILDCARD || findUser(directory, userNamedIn(name)) !== undefined;

/**
 * Replaces mentions of groups, such as `@*name*` or silent ones `@_*name*`, by placeholders of their HTML. If several possible
 * names belong to groups, the longest is used.
 */
export function groupMentions(inline: Inline, text: string): string {
  if (!text.includes('*') || !text.includes('@')) return text;
  const { rendering } = inline;
  let [result, end] = ['', 0];
  for (const { start, isSilent, nameStart, names } of groupMentionsIn(text, { isBlock: true })) {
    if (start < end) continue;
    // Names can look like code or another construct that was found before.
    const found = names.map((name) => ({ name, group: rendering.directory?.groupNamed(inline.source(name)) }));
    const { name, group } = found.findLast((one) => one.group !== undefined) ?? found[0] ?? {};
    const source = text.slice(start, name === undefined ? nameStart : nameStart + name.length + 1);
    result += text.slice(end, start);
    result += group === undefined ? inline.literal(source) : inline.keep(source, groupMention(inline, group, isSilent));
    end = start + source.length;
  }
  return result + text.slice(end);
}

function groupMention({ rendering }: Inline, group: DirectoryGroup, isMarkedSilent: boolean): string {
  const isSilent = isMarkedSilent || rendering.isQuote || !group.isActive;
  if (!isSilent) rendering.mentionedGroupIds.add(group.id);
  return span('user-group-mention', isSilent, group.displayName, ` data-user-group-id="${group.id}"`);
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

/**
 * Finds the user that a mention names. If a name and an id are given, the user with the id must have the name, ignoring case.
 * Undefined if no user matches.
 */
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
