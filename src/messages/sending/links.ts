import { channelAddress } from '../../channels/addresses.ts';
import type { Channel, User } from '../../generated/prisma/client.ts';
import { encodeFragment } from '../../markdown/channel-links.ts';

/**
 * Matches the characters that the name of a channel or topic cannot contain in the link syntax `#**…**`. A tilde breaks the
 * link only in the header of a spoiler.
 */
const UNLINKABLE = /[`~>*&[\]<]|\$\$/;

/** Matches topic names whose end would be parsed as a message id: `#**channel>topic@17**` links to message 17. */
const LIKE_MESSAGE = /@\d+$/;

/** Returns the URL fragment of a topic or of one of its messages: `#narrow/channel/9-general/topic/hello/near/17`. */
export function topicAddress(channel: Pick<Channel, 'id' | 'name'>, topic: string, messageId?: number): string {
  const near = messageId === undefined ? '' : `/near/${messageId}`;
  return `${channelAddress(channel)}/topic/${encodeFragment(topic).replaceAll('~', '.7E')}${near}`;
}

/** Returns the URL fragment of a direct conversation or of one of its messages: `#narrow/dm/7,9-dm/near/17`. */
export function directAddress(memberIds: readonly number[], messageId?: number): string {
  const near = messageId === undefined ? '' : `/near/${messageId}`;
  return `#narrow/dm/${memberIds.join(',')}-${memberIds.length > 2 ? 'group' : 'dm'}${near}`;
}

/** Returns the URL fragment of a message whose topic or conversation is unknown. The page looks the message up. */
export const messageAddress = (messageId: number): string => `#narrow/id/${messageId}`;

/**
 * Returns the message id in a URL fragment of the form `#narrow/…/near/17` or `#narrow/id/17`. Undefined for any other
 * fragment.
 */
export function messageIdIn(address: string): number | undefined {
  const [, id] = /^#narrow\/(?:(?:channel|dm)\/.+\/near|id)\/(\d{1,15})\/?$/.exec(address) ?? [];
  return id === undefined ? undefined : Number(id);
}

/**
 * Returns a Markdown link to a topic, or to one of its messages: `#**general>hello@17**`. If the name of the channel or topic
 * has characters that this syntax does not allow, returns a link of the form `[text](URL)`.
 */
export function topicLink(channel: Pick<Channel, 'id' | 'name'>, topic: string, messageId?: number): string {
  const isPlain = !UNLINKABLE.test(channel.name) && !UNLINKABLE.test(topic);
  if (isPlain && (messageId !== undefined || !LIKE_MESSAGE.test(topic))) {
    return `#**${channel.name}>${topic}${messageId === undefined ? '' : `@${messageId}`}**`;
  }
  return `[#${entities(channel.name)} > ${entities(topic)}](${topicAddress(channel, topic, messageId)})`;
}

/** Returns a Markdown link to a channel, in the same way as `topicLink`. */
export const channelLink = (channel: Pick<Channel, 'id' | 'name'>): string =>
  UNLINKABLE.test(channel.name) ? `[#${entities(channel.name)}](${channelAddress(channel)})` : `#**${channel.name}**`;

/** Replaces characters that would be parsed as Markdown within a line by HTML entities. */
export const entities = (text: string): string =>
  text.replace(/[`~>*&[\]$<]/g, (character) => `&#${character.codePointAt(0)};`);

/** Returns the Markdown of a silent mention: it shows the user's name but does not notify the user. */
export const silentMention = ({ id, fullName }: Pick<User, 'id' | 'fullName'>): string => `@_**${fullName}|${id}**`;

/**
 * Disables the code fences in a text, so that it can be put into a fenced quote or spoiler that is followed by more text. An
 * unclosed fence in the text would prevent the outer fence from ending.
 */
export const withoutFences = (text: string): string => text.replace(/^[^\S\r\n]*(?=`{3}|~{3})/gm, '$&\u200b');

/** Returns a code fence that is longer than every fence in the text, so that no fence in the text can close it. */
export function fenceFor(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}|~{3,}/g)].map(([run]) => run.length));
  return '`'.repeat(longest + 1);
}
