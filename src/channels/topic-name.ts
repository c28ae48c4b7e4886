import { organizationSetting } from '../access/organization-settings.ts';
import type { Organization } from '../generated/prisma/client.ts';
import { MAX_TOPIC_LENGTH } from '../platform/limits.ts';
import { cutText } from '../platform/text.ts';

/**
 * Returns the stored form of a topic name from a client. A name of more than 60 code points is cut to 60, the last three of
 * them "...". The placeholder names of the empty topic become the empty string.
 */
export function topicNamed(organization: Organization, name: string): string {
  const topic = cutText(name, MAX_TOPIC_LENGTH, '...');
  return namesEmptyTopic(topic, emptyTopicName(organization)) ? '' : topic;
}

/**
 * Returns whether a topic name from a client means the empty topic.
 *
 * @param shown The name of the empty topic that is shown to clients that do not support the empty topic.
 */
export const namesEmptyTopic = (name: string, shown: string): boolean => ['', '(no topic)', shown].includes(name);

/** Returns the name of the empty topic that is sent to clients that do not support the empty topic. */
export const emptyTopicName = (organization: Organization): string =>
  organizationSetting(organization, 'empty_topic_display_name');

/** Prefix of the name of a resolved topic. */
export const RESOLVED_PREFIX = '✔ ';

export const isResolved = (topic: string): boolean => topic.startsWith(RESOLVED_PREFIX);
