import { channelReferenceIn } from './channel-links.ts';
import { emojiNamesIn } from './emoji-spans.ts';
import { CHANNEL_WILDCARDS, groupMentionsIn, TOPIC_WILDCARD, userNamedIn } from './mentions.ts';
import type { RenderOptions } from './types.ts';

/** A topic that a text links to, with the name of its channel. */
export interface TopicReference {
  readonly channel: string;
  /** "" for the empty topic. */
  readonly topic: string;
}

/**
 * Everything that a text may refer to, each item once and as written: what rendering may look up in a `Directory`. Some of
 * it may turn out to be code or plain text.
 */
export interface References {
  readonly userNames: readonly string[];
  readonly userIds: readonly number[];
  readonly groupNames: readonly string[];
  readonly channelNames: readonly string[];
  /** Topics whose latest message is linked. */
  readonly topics: readonly TopicReference[];
  /** Wildcard mentions of a channel or topic. */
  readonly wildcards: readonly string[];
  /** Names that custom emoji of the organization may have. */
  readonly emojiNames: readonly string[];
}

const NONE: References = {
  userNames: [],
  userIds: [],
  groupNames: [],
  channelNames: [],
  topics: [],
  wildcards: [],
  emojiNames: [],
};

/**
 * Returns what must be looked up before a text is rendered. Most texts refer to nothing, which is cheap to detect.
 *
 * @param options The options for rendering.
 */
export function referencesIn(
  source: string,
  { translateEmoticons = false }: Pick<RenderOptions, 'translateEmoticons'> = {},
): References {
  const emojiNames = emojiNamesIn(source, translateEmoticons);
  if (source.includes('*') && /[@#]_?\*/.test(source)) return { ...mentionsAndLinksIn(source), emojiNames };
  return emojiNames.length === 0 ? NONE : { ...NONE, emojiNames };
}

/**
 * Match every possible mention or link in a source, more than rendering finds: in a source, marks of quotes and tables can
 * precede a mention. A match can begin within another one.
 */
const MENTION = /@_?\*\*(?=([^*\n]+)\*\*)/g;
const LINK = /#\*\*(?=([^*\n]+)\*\*)/g;

function mentionsAndLinksIn(written: string): Omit<References, 'emojiNames'> {
  // Rendering removes a backslash before a pipe in a table.
  const source = written.includes('\\|') ? `${written}\n${written.replaceAll('\\|', '|')}` : written;
  const mentions = [...source.matchAll(MENTION)].map(([, name = '']) => name);
  const isWildcard = (name: string) => CHANNEL_WILDCARDS.has(name) || name === TOPIC_WILDCARD;
  const users = mentions.filter((name) => !isWildcard(name)).map(userNamedIn);
  const channels = [...source.matchAll(LINK)].map(([, content = '']) => channelReferenceIn(content));
  const topics = channels.flatMap(({ channel, topic, messageId }) =>
    topic === undefined || messageId !== undefined ? [] : [{ channel, topic }],
  );
  return {
    // A name with an id is not looked up. It is compared with the name of the user with this id.
    userNames: distinct(users.flatMap(({ name, id }) => (name === undefined || id !== undefined ? [] : [name]))),
    userIds: distinct(users.flatMap(({ id }) => id ?? [])),
    groupNames: distinct(groupMentionsIn(source, { isBlock: false }).flatMap(({ names }) => names)),
    channelNames: distinct(channels.map(({ channel }) => channel)),
    topics: [...new Map(topics.map((reference) => [JSON.stringify(reference), reference])).values()],
    wildcards: distinct(mentions.filter(isWildcard)),
  };
}

const distinct = <T>(values: readonly T[]): T[] => [...new Set(values)];
