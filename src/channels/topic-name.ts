import { realmSetting } from '../access/realm-settings.ts';
import type { Realm } from '../generated/prisma/client.ts';
import { MAX_TOPIC_LENGTH } from '../platform/limits.ts';
import { cutText } from '../platform/text.ts';

/**
 * The topic a client named, as it is stored: cut to 60 code points with "..." at the end, and the empty text for the
 * two names of the empty topic.
 */
export function topicNamed(realm: Realm, name: string): string {
  const topic = cutText(name, MAX_TOPIC_LENGTH, '...');
  return namesEmptyTopic(topic, emptyTopicName(realm)) ? '' : topic;
}

/** Whether a client means the empty topic by the name. @param shown What clients that do not know it are told. */
export const namesEmptyTopic = (name: string, shown: string): boolean => ['', '(no topic)', shown].includes(name);

/** What clients that do not know the empty topic are told instead. */
export const emptyTopicName = (realm: Realm): string => realmSetting(realm, 'empty_topic_display_name');

/**
 * A topic's name as it is compared: in lower case, each character by itself as the database has it. `toLowerCase` knows
 * more, such as the sigma at the end of a word.
 */
export const topicKey = (name: string): string =>
  [...name].map((character) => String.fromCodePoint(character.toLowerCase().codePointAt(0) ?? 0)).join('');

/** Before the name of a resolved topic. */
export const RESOLVED_PREFIX = '✔ ';

export const isResolved = (topic: string): boolean => topic.startsWith(RESOLVED_PREFIX);
