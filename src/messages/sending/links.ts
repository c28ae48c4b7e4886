import type { Channel, User } from '../../generated/prisma/client.ts';
import { channelSlug, encodeFragment } from '../../markdown/channel-links.ts';

/**
 * What cannot stand in the name of a channel or topic within `#**…**`; a tilde can, but for the header of a spoiler.
 */
const UNLINKABLE = /[`~>*&[\]<]|\$\$/;

/** What ends so would be taken for a link to a message. */
const LIKE_MESSAGE = /@\d+$/;

/** Where the messages of a topic are shown, or one of them: `#narrow/channel/9-general/topic/hello/near/17`. */
export function topicAddress(channel: Pick<Channel, 'id' | 'name'>, topic: string, messageId?: number): string {
  const near = messageId === undefined ? '' : `/near/${messageId}`;
  return `#narrow/channel/${channelSlug(channel)}/topic/${encodeFragment(topic)}${near}`.replaceAll('~', '.7E');
}

/** Where one message of a direct conversation is shown. */
export function directAddress(memberIds: readonly number[], messageId: number): string {
  return `#narrow/dm/${memberIds.join(',')}-${memberIds.length > 2 ? 'group' : 'dm'}/near/${messageId}`;
}

/**
 * A link to a topic, or to one message of it, as Markdown: `#**general>hello@17**`, or, when a name holds what cannot stand
 * there, an ordinary link.
 */
export function topicLink(channel: Pick<Channel, 'id' | 'name'>, topic: string, messageId?: number): string {
  const isPlain = !UNLINKABLE.test(channel.name) && !UNLINKABLE.test(topic);
  if (isPlain && (messageId !== undefined || !LIKE_MESSAGE.test(topic))) {
    return `#**${channel.name}>${topic}${messageId === undefined ? '' : `@${messageId}`}**`;
  }
  return `[#${entities(channel.name)} > ${entities(topic)}](${topicAddress(channel, topic, messageId)})`;
}

/** The characters that mean something within a link's text, as entities. */
const entities = (text: string): string =>
  text.replace(/[`~>*&[\]$<]/g, (character) => `&#${character.codePointAt(0)};`);

/** A mention that notifies nobody. */
export const silentMention = ({ id, fullName }: Pick<User, 'id' | 'fullName'>): string => `@_**${fullName}|${id}**`;

/**
 * A text as it may stand in a fenced quote or spoiler with more behind it: no fence begins in it, which would have to end
 * before the one around it can.
 */
export const withoutFences = (text: string): string => text.replace(/^[^\S\r\n]*(?=`{3}|~{3})/gm, '$&\u200b');

/** A fence that nothing in the text can close. */
export function fenceFor(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}|~{3,}/g)].map(([run]) => run.length));
  return '`'.repeat(longest + 1);
}
