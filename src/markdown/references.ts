import { CHANNEL_LINK, channelReferenceIn } from './channel-links.ts';
import { emojiNamesIn } from './emoji-spans.ts';
import { CHANNEL_WILDCARDS, GROUP_MENTION, TOPIC_WILDCARD, USER_MENTION, userNamedIn } from './mentions.ts';
import type { RenderOptions } from './types.ts';

/** A topic that a text links, by the name of its channel. */
export interface TopicReference {
  readonly channel: string;
  /** "" for the empty topic. */
  readonly topic: string;
}

/**
 * What a text may refer to, each once and as it is written there: what rendering may ask a `Directory` for. Some of it
 * may turn out to be code.
 */
export interface References {
  readonly userNames: readonly string[];
  readonly userIds: readonly number[];
  readonly groupNames: readonly string[];
  readonly channelNames: readonly string[];
  /** The topics whose latest message is linked. */
  readonly topics: readonly TopicReference[];
  /** Words for everybody in a channel or topic. */
  readonly wildcards: readonly string[];
  /** Of what may be the organisation's own. */
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
 * What is to be looked up before a text is rendered. Most texts refer to nothing, which costs next to nothing to see.
 *
 * @param options As it will be rendered with.
 */
export function referencesIn(
  source: string,
  { translateEmoticons = false }: Pick<RenderOptions, 'translateEmoticons'> = {},
): References {
  const emojiNames = emojiNamesIn(source, translateEmoticons);
  if (source.includes('*') && /[@#]_?\*/.test(source)) return { ...mentionsAndLinksIn(source), emojiNames };
  return emojiNames.length === 0 ? NONE : { ...NONE, emojiNames };
}

function mentionsAndLinksIn(source: string): Omit<References, 'emojiNames'> {
  const mentions = [...source.matchAll(USER_MENTION)].map(([, , name = '']) => name);
  const isWildcard = (name: string) => CHANNEL_WILDCARDS.has(name) || name === TOPIC_WILDCARD;
  const users = mentions.filter((name) => !isWildcard(name)).map(userNamedIn);
  const channels = [...source.matchAll(CHANNEL_LINK)].map(([, content = '']) => channelReferenceIn(content));
  const topics = channels.flatMap(({ channel, topic, messageId }) =>
    topic === undefined || messageId !== undefined ? [] : [{ channel, topic }],
  );
  return {
    // The name that comes with an id is checked against the id's.
    userNames: distinct(users.flatMap(({ name, id }) => (name === undefined || id !== undefined ? [] : [name]))),
    userIds: distinct(users.flatMap(({ id }) => id ?? [])),
    groupNames: distinct([...source.matchAll(GROUP_MENTION)].map(([, , name = '']) => name)),
    channelNames: distinct(channels.map(({ channel }) => channel)),
    topics: [...new Map(topics.map((reference) => [JSON.stringify(reference), reference])).values()],
    wildcards: distinct(mentions.filter(isWildcard)),
  };
}

const distinct = <T>(values: readonly T[]): T[] => [...new Set(values)];
