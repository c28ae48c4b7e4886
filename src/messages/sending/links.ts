import type { Channel, User } from '../../generated/prisma/client.ts';
import { channelSlug, encodeFragment } from '../../markdown/channel-links.ts';

/**
 * Characters that a channel or topic name cannot have within `#**…**`. A tilde would be valid except in the header of a spoiler.
 */
const UNLINKABLE = /[`~>*&[\]<]|\$\$/;

/** A topic that ends like this would be parsed as a link to a message. */
const LIKE_MESSAGE = /@\d+$/;

/** Returns the address of a topic, or of one of its messages: `#narrow/channel/9-general/topic/hello/near/17`. */
export function topicAddress(channel: Pick<Channel, 'id' | 'name'>, topic: string, messageId?: number): string {
  const near = messageId === undefined ? '' : `/near/${messageId}`;
  return `#narrow/channel/${channelSlug(channel)}/topic/${encodeFragment(topic)}${near}`.replaceAll('~', '.7E');
}

/** Returns the address of a message in a direct conversation. */
export function directAddress(memberIds: readonly number[], messageId: number): string {
  return `#narrow/dm/${memberIds.join(',')}-${memberIds.length > 2 ? 'group' : 'dm'}/near/${messageId}`;
}

/**
 * Returns a Markdown link to a topic, or to one of its messages: `#**general>hello@17**`. If a name has characters that are not
 * allowed there, it returns an ordinary link.
 */
export function topicLink(channel: Pick<Channel, 'id' | 'name'>, topic: string, messageId?: number): string {
  const isPlain = !UNLINKABLE.test(channel.name) && !UNLINKABLE.test(topic);
  if (isPlain && (messageId !== undefined || !LIKE_MESSAGE.test(topic))) {
    return `#**${channel.name}>${topic}${messageId === undefined ? '' : `@${messageId}`}**`;
  }
  return `[#${entities(channel.name)} > ${entities(topic)}](${topicAddress(channel, topic, messageId)})`;
}

/** Escapes the characters with a meaning in the text of a link as entities. */
const entities = (text: string): string =>
  text.replace(/[`~>*&[\]$<]/g, (character) => `&#${character.codePointAt(0)};`);

/** Returns a mention that notifies no user. */
export const silentMention = ({ id, fullName }: Pick<User, 'id' | 'fullName'>): string => `@_**${fullName}|${id}**`;

/**
 * Returns a text for use in a fenced quote or spoiler that is followed by more text. Fences in it are disabled, because an
 * unclosed one would prevent the outer fence from ending.
 */
export const withoutFences = (text: string): string => text.replace(/^[^\S\r\n]*(?=`{3}|~{3})/gm, '$&\u200b');

/** Returns a fence that the text cannot close. */
export function fenceFor(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}|~{3,}/g)].map(([run]) => run.length));
  return '`'.repeat(longest + 1);
}
