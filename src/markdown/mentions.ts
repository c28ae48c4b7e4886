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

/** As above, but the name of the group can also begin with a star. */
const STARRED_START = '@(_?)\\*';
const STARRED_MENTION = new RegExp(MENTION_START + STARRED_START, 'gu');
const STARRED_ANYWHERE = new RegExp(STARRED_START, 'gu');
/** Matches a mention of a user at a certain position. */
const USER_MENTION_HERE = /@_?\*\*([^*\n]+)\*\*/uy;

/** Matches names of groups that look like other syntax in a mention: with a star at an end, or with two adjacent stars. */
const STARRED_NAME = /^\*|\*$|\*\*/;

/**
 * Limits of the names in a mention of a group: their maximum length, and the number of stars that are tried as the end of a
 * name.
 */
const GROUP_NAME = { characters: 100, stars: 6 };

/**
 * A text that may mention a group, with the possible names of the group. There can be several, because names can contain stars.
 */
export interface GroupMention {
  readonly start: number;
  readonly isSilent: boolean;
  /** Index in the text at which the names begin. */
  readonly nameStart: number;
  /** Possible names, from the shortest to the longest. */
  readonly names: readonly string[];
}

/** A text that may mention a group whose name matches `STARRED_NAME`. */
export interface StarredMention extends GroupMention {
  /** Name in the mention of a user that the text is as well. Then it mentions a group only if there is no such user. */
  readonly userName: string | undefined;
}

/**
 * Finds the texts that may mention a group, except for names that match `STARRED_NAME`.
 *
 * @param options `isBlock` is true if the text is the text of one block. In a whole source, characters of block syntax can
 * precede a mention.
 */
export function groupMentionsIn(text: string, { isBlock }: { isBlock: boolean }): GroupMention[] {
  return [...text.matchAll(isBlock ? GROUP_MENTION : GROUP_ANYWHERE)].map(({ index, 0: { length }, 1: underscore }) => {
    const nameStart = index + length;
    const names = namesAt(text, nameStart).filter((name) => !STARRED_NAME.test(name));
    return { start: index, isSilent: underscore !== '', nameStart, names };
  });
}

/**
 * Finds the texts that may mention a group whose name matches `STARRED_NAME`. Their possible names include names that do not.
 *
 * @param options As for `groupMentionsIn`.
 */
export function starredMentionsIn(text: string, { isBlock }: { isBlock: boolean }): StarredMention[] {
  if (!text.includes('**')) return [];
  return [...text.matchAll(isBlock ? STARRED_MENTION : STARRED_ANYWHERE)].flatMap(
    ({ index, 0: { length }, 1: underscore }) => {
      const nameStart = index + length;
      const names = namesAt(text, nameStart);
      if (!names.some((name) => STARRED_NAME.test(name))) return [];
      USER_MENTION_HERE.lastIndex = index;
      const userName = USER_MENTION_HERE.exec(text)?.[1];
      return [{ start: index, isSilent: underscore !== '', nameStart, names, userName }];
    },
  );
}

function namesAt(text: string, start: number): string[] {
  const names: string[] = [];
  const line = /^.*/.exec(text.slice(start, start + 2 * GROUP_NAME.characters + 1))?.[0] ?? '';
  for (
    let end = line.indexOf('*', 1);
    end !== -1 && names.length < GROUP_NAME.stars;
    end = line.indexOf('*', end + 1)
  ) {
    names.push(line.slice(0, end));
  }
  return names;
}

/** Words that mention all members of a channel or conversation. Case-sensitive. */
export const CHANNEL_WILDCARDS: ReadonlySet<string> = new Set(['all', 'everyone', 'channel', 'stream']);
export const TOPIC_WILDCARD = 'topic';

/** A user as a mention names them: by name, by id, or by both. */
export interface NamedUser {
  /** Full name. Undefined if only the id is given. */
  readonly name: string | undefined;
  readonly id: number | undefined;
}

/** Maximum user id in the database. */
const MAX_USER_ID = 2_147_483_647;

/** Parses the text between the stars of a mention: "Full Name", "Full Name|31" or "|31". */
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
 * Replaces mentions of groups whose names match `STARRED_NAME` by placeholders of their HTML. The longest possible name that
 * belongs to a group is used. If it does not match, the text is left to `groupMentions`; if a user has the name, to
 * `userMentions`.
 */
export function starredGroupMentions(inline: Inline, text: string): string {
  const { directory } = inline.rendering;
  if (directory === undefined || !text.includes('@')) return text;
  let [result, end] = ['', 0];
  for (const { start, isSilent, nameStart, names, userName } of starredMentionsIn(text, { isBlock: true })) {
    if (start < end || (userName !== undefined && isMentionable(directory, userName))) continue;
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
    const found = names.map((name) => ({ name, group: rendering.directory?.groupNamed(name) }));
    const { name = '', group } = found.findLast((one) => one.group !== undefined) ?? found[0] ?? {};
    const source = text.slice(start, nameStart + name.length + 1);
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
 * Finds the user that a mention names. If a name and an id are given, the user with the id must have the name. Undefined if
 * there is none.
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
