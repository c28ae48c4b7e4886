import { escapeText } from './escape.ts';
import type { Inline } from './inline-text.ts';
import { MENTION_START } from './mentions.ts';
import type { Directory } from './types.ts';

/** Matches `#**channel**`, `#**channel>topic**` and `#**channel>topic@1234**`. */
const CHANNEL_LINK = new RegExp(`${MENTION_START}#\\*\\*([^*\\n]+)\\*\\*`, 'gu');

/** The parsed text between the stars of a channel link. */
export interface ChannelReference {
  readonly channel: string;
  /** Undefined for a link to the channel. "" for the empty topic. */
  readonly topic: string | undefined;
  /** Set for a link to one message of the topic. */
  readonly messageId: string | undefined;
}

/** Parses the text between the stars. The first ">" ends the channel's name. */
export function channelReferenceIn(text: string): ChannelReference {
  const split = text.indexOf('>');
  if (split === -1) return { channel: text, topic: undefined, messageId: undefined };
  const [, topic, messageId] = /^(.*)@([1-9]\d{0,15})$/.exec(text.slice(split + 1)) ?? [];
  return { channel: text.slice(0, split), topic: topic ?? text.slice(split + 1), messageId };
}

/** Renders links to channels, topics and messages. */
export function channelLinks(inline: Inline, text: string): string {
  if (!text.includes('#**')) return text;
  return text.replace(CHANNEL_LINK, (source: string, content: string) => {
    const { rendering } = inline;
    // A name with code or a formula does not match: clients cannot write such names here.
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

/** Returns a channel as part of a URL fragment: its id, and its name for readers. */
export const channelSlug = ({ id, name }: { readonly id: number; readonly name: string }): string =>
  `${id}-${encodeFragment(name.replaceAll(' ', '-'))}`;

/** Encodes a name for a URL fragment. */
export function encodeFragment(text: string): string {
  return encodeURIComponent(text.toWellFormed())
    .replaceAll('.', '%2E')
    .replaceAll('(', '%28')
    .replaceAll(')', '%29')
    .replaceAll('%', '.');
}
