import { escapeText } from './escape.ts';
import type { Inline } from './inline-text.ts';
import { MENTION_START } from './mentions.ts';
import type { Directory } from './types.ts';

/** Matches a link to a channel, topic or message: `#**channel**`, `#**channel>topic**` or `#**channel>topic@1234**`. */
const CHANNEL_LINK = new RegExp(`${MENTION_START}#\\*\\*([^*\\n]+)\\*\\*`, 'gu');

/** Parts of a link such as `#**channel>topic@1234**`, parsed from the text between the asterisks. */
export interface ChannelReference {
  readonly channel: string;
  /** Name of the topic. Undefined for a link to the whole channel. "" for the empty topic. */
  readonly topic: string | undefined;
  /** Id of the message, as decimal digits. Undefined unless the link is to a message. */
  readonly messageId: string | undefined;
}

/** Parses the text between the asterisks of a channel link. The first ">" ends the name of the channel. */
export function channelReferenceIn(text: string): ChannelReference {
  const split = text.indexOf('>');
  if (split === -1) return { channel: text, topic: undefined, messageId: undefined };
  const [, topic, messageId] = /^([^\n]*)@([1-9]\d{0,15})$/.exec(text.slice(split + 1)) ?? [];
  return { channel: text.slice(0, split), topic: topic ?? text.slice(split + 1), messageId };
}

/** Replaces links to channels, topics and messages in a text by placeholders of their HTML. */
export function channelLinks(inline: Inline, text: string): string {
  if (!text.includes('#**')) return text;
  return text.replace(CHANNEL_LINK, (source: string, content: string) => {
    const { rendering } = inline;
    // A name that contains code or a formula does not match, because clients cannot write such names in a channel link.
    const isPlain = inline.source(content) === content;
    const html = isPlain && rendering.directory && linkHtml(rendering.directory, channelReferenceIn(content));
    if (!html) return inline.literal(source);
    rendering.hasLink = true;
    return inline.keep(source, html, true);
  });
}

function linkHtml(directory: Directory, { channel: name, topic, messageId }: ChannelReference): string | undefined {
  const channel = directory.channelNamed(name);
  if (channel === undefined) return undefined;
  const path = `/#narrow/channel/${channelSlug(channel)}`;
  const id = ` data-stream-id="${channel.id}"`;
  const shown = `#${escapeText(channel.name)}`;
  if (topic === undefined) return `<a class="stream"${id} href="${path}">${shown}</a>`;
  const topicPath = `${path}/topic/${encodeFragment(topic)}`;
  const topicShown = topic === '' ? `<em>${escapeText(directory.emptyTopicName)}</em>` : escapeText(topic);
  if (messageId !== undefined) {
    return `<a class="message-link" href="${topicPath}/near/${messageId}">${shown} &gt; ${topicShown} @ 💬</a>`;
  }
  const latest = directory.latestMessageId(channel.id, topic);
  const place = latest === undefined ? '' : `/with/${latest}`;
  return `<a class="stream-topic"${id} href="${topicPath}${place}">${shown} &gt; ${topicShown}</a>`;
}

/** Returns the part of a URL fragment that identifies a channel: its id and, for human readers, its name. */
export const channelSlug = ({ id, name }: { readonly id: number; readonly name: string }): string =>
  `${id}-${encodeFragment(name.replaceAll(' ', '-'))}`;

/** Encodes a name for a URL fragment. Encoded bytes have "." instead of "%". */
export function encodeFragment(text: string): string {
  if (/^[\w-]*$/.test(text)) return text;
  return encodeURIComponent(text.toWellFormed())
    .replaceAll('.', '%2E')
    .replaceAll('(', '%28')
    .replaceAll(')', '%29')
    .replaceAll('%', '.');
}
