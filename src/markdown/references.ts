import { channelReferenceIn } from './channel-links.ts';
import { emojiNamesIn } from './emoji-spans.ts';
import {
  CHANNEL_WILDCARDS,
  type GroupMention,
  groupMentionsIn,
  starredMentionsIn,
  TOPIC_WILDCARD,
  userNamedIn,
} from './mentions.ts';
import type { RenderOptions } from './types.ts';

/** A topic to which a text links: the name of the channel and the name of the topic. */
export interface TopicReference {
  readonly channel: string;
  /** Name of the topic. "" for the empty topic. */
  readonly topic: string;
}

/**
 * Names, ids and topics that a text may refer to, and that rendering may look up in a `Directory`. Each name occurs once, as
 * written in the text. Some of the names may turn out to be code or plain text.
 */
export interface References {
  readonly userNames: readonly string[];
  readonly userIds: readonly number[];
  readonly groupNames: readonly string[];
  /**
   * Names of groups in texts that are also mentions of users: `*Name*` in `@**Name**`. Such a text mentions the group if no
   * user has the name.
   */
  readonly groupNamesLikeUsers: readonly string[];
  readonly channelNames: readonly string[];
  /** Topics to whose latest message the text links. */
  readonly topics: readonly TopicReference[];
  /** Words of the wildcard mentions in the text, such as "all" or "topic". */
  readonly wildcards: readonly string[];
  /** Names that may be custom emoji of the organization. */
  readonly emojiNames: readonly string[];
}

const NONE: References = {
  userNames: [],
  userIds: [],
  groupNames: [],
  groupNamesLikeUsers: [],
  channelNames: [],
  topics: [],
  wildcards: [],
  emojiNames: [],
};

/**
 * Returns the names and ids that must be looked up before a text is rendered. Most texts contain none, which is cheap to
 * detect.
 *
 * @param options Options with which the text will be rendered.
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
 * Patterns that match every possible mention or link in a source. They match more than rendering finds, because characters of
 * quotes and tables can precede a mention in the source. A match can begin within another match.
 */
const MENTION = /@_?\*\*(?=([^*\n]+)\*\*)/g;
const LINK = /#\*\*(?=([^*\n]+)\*\*)/g;

function mentionsAndLinksIn(written: string): Omit<References, 'emojiNames'> {
  // In a table, rendering removes a backslash before a pipe.
  const source = written.includes('\\|') ? `${written}\n${written.replaceAll('\\|', '|')}` : written;
  const mentions = [...source.matchAll(MENTION)].map(([, name = '']) => name);
  const isWildcard = (name: string) => CHANNEL_WILDCARDS.has(name) || name === TOPIC_WILDCARD;
  const users = mentions.filter((name) => !isWildcard(name)).map(userNamedIn);
  const channels = [...source.matchAll(LINK)].map(([, content = '']) => channelReferenceIn(content));
  const topics = channels.flatMap(({ channel, topic, messageId }) =>
    topic === undefined || messageId !== undefined ? [] : [{ channel, topic }],
  );
  const groups = groupMentionsIn(source, { isBlock: false });
  const starred = starredMentionsIn(source, { isBlock: false });
  return {
    // If a mention has a name and an id, the name is not looked up. Rendering compares it with the name of the user with this
    // id.
    userNames: distinct(users.flatMap(({ name, id }) => (name === undefined || id !== undefined ? [] : [name]))),
    userIds: distinct(users.flatMap(({ id }) => id ?? [])),
    groupNames: distinct([...groups, ...starred.filter(({ userName }) => userName === undefined)].flatMap(namesOf)),
    groupNamesLikeUsers: distinct(starred.filter(({ userName }) => userName !== undefined).flatMap(namesOf)),
    channelNames: distinct(channels.map(({ channel }) => channel)),
    topics: [...new Map(topics.map((reference) => [JSON.stringify(reference), reference])).values()],
    wildcards: distinct(mentions.filter(isWildcard)),
  };
}

const namesOf = ({ names }: GroupMention) => names;
const distinct = <T>(values: readonly T[]): T[] => [...new Set(values)];
