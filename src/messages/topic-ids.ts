import { topicKey } from '../contract/topic-key.ts';
import { isRowId } from '../platform/ids.ts';

/** Channel and name of a topic. */
export interface NamedTopic {
  readonly channelId: number;
  readonly name: string;
}

/** Returns the GraphQL id of a topic without the type name: the channel id and the key of the topic's name. */
export const topicId = ({ channelId, name }: NamedTopic): string => `${channelId}:${topicKey(name)}`;

/**
 * Returns the key of a topic name that previous versions used in topic ids: the name with each character converted to lower
 * case separately. Clients may have stored such ids.
 */
const formerKey = (name: string): string =>
  Array.from(name, (character) => String.fromCodePoint(character.toLowerCase().codePointAt(0) ?? 0)).join('');

/**
 * Returns the channel id in the GraphQL id of a topic, and the key of the topic's name, from the text after the type name.
 * Undefined if the text is not of this form, or the database cannot store the key.
 */
export function namedInId(text: string): NamedTopic | undefined {
  const [, digits, name = ''] = /^([1-9]\d{0,9}):(.*)$/s.exec(text) ?? [];
  const isKey = name === topicKey(name) || name === formerKey(name);
  if (!isRowId(Number(digits)) || !isKey || name.includes('\0') || !name.isWellFormed()) return undefined;
  return { channelId: Number(digits), name };
}
