import { realmSetting } from '../access/realm-settings.ts';
import type { Realm } from '../generated/prisma/client.ts';
import { MAX_TOPIC_LENGTH } from '../platform/limits.ts';
import { cutText } from '../platform/text.ts';

/**
 * Returns a client's topic name as stored. Cuts it to 60 code points, ending in "...". The placeholder names of the empty
 * topic become the empty string.
 */
export function topicNamed(realm: Realm, name: string): string {
  const topic = cutText(name, MAX_TOPIC_LENGTH, '...');
  return namesEmptyTopic(topic, emptyTopicName(realm)) ? '' : topic;
}

/**
 * Whether a client's name means the empty topic.
 *
 * @param shown The name that is shown to clients that do not support the empty topic.
 */
export const namesEmptyTopic = (name: string, shown: string): boolean => ['', '(no topic)', shown].includes(name);

/** Returns the name that is sent to clients that do not support the empty topic. */
export const emptyTopicName = (realm: Realm): string => realmSetting(realm, 'empty_topic_display_name');

/** Prefix of the name of a resolved topic. */
export const RESOLVED_PREFIX = '✔ ';

export const isResolved = (topic: string): boolean => topic.startsWith(RESOLVED_PREFIX);
