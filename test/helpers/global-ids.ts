import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const SCHEMA = readFileSync(join(import.meta.dirname, '../../schema.graphql'), 'utf8');

/** Types of objects with a global id. */
const NODES = new Set([...SCHEMA.matchAll(/^type (\w+) implements .*\bNode\b/gm)].map(([, name]) => name));

/** Types of ids, by the names of arguments and input fields that do not contain the name of the type. */
const NAMED: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['defaultSendingChannelId', 'defaultEventsChannelId', 'moderationRequestChannelId', 'skippedChannelIds'].map(
      (name) => [name, 'Channel'],
    ),
  ),
  ...Object.fromEntries(
    [
      ...['senderId', 'mentionsUserId', 'direct', 'directWith', 'directIncluding', 'memberIds', 'subscriberIds'],
      ...['botId', 'ownerId', 'otherUserIds', 'addMemberIds', 'removeMemberIds'],
    ].map((name) => [name, 'User']),
  ),
  ...Object.fromEntries(
    ['groupId', 'subgroupIds', 'supergroupIds', 'addSubgroupIds', 'removeSubgroupIds'].map((name) => [
      name,
      'UserGroup',
    ]),
  ),
  with: 'Message',
  conversationId: 'DirectConversation',
  folderId: 'ChannelFolder',
  ...Object.fromEntries(['fieldId', 'fieldIds'].map((name) => [name, 'CustomProfileField'])),
  // Fields that exist only in results.
  ...Object.fromEntries(
    ['changedIds', 'firstProcessedId', 'lastProcessedId', 'firstMessageId'].map((name) => [name, 'Message']),
  ),
};

/** Returns the type that a name such as `savedSnippetId` or `userIds` contains, if its objects have global ids. */
function typeIn(name: string): string | undefined {
  const type = /^\w+(?=Ids?$)/.exec(name)?.[0].replace(/^./, (letter) => letter.toUpperCase());
  return type !== undefined && NODES.has(type) ? type : undefined;
}

/** Returns the global id of an object that REST identifies by a number. */
export const globalId = (typename: string, id: number | string): string =>
  Buffer.from(`${typename}:${id}`).toString('base64');

/** Returns the number in a global id. */
export const numberOf = (id: string): number => Number(Buffer.from(id, 'base64').toString().split(':')[1]);

const isNumbers = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length > 0 && value.every(Number.isInteger);

/**
 * Returns the variables of an operation, or an expected result, with global ids instead of the numbers of REST. Values that are
 * not numbers and fields that hold no ids stay unchanged.
 */
export function withGlobalIds<T>(value: T): T {
  if (Array.isArray(value)) return value.map((element) => withGlobalIds(element)) as T;
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value).map(([name, inner]): [string, unknown] => {
    const typename = NAMED[name] ?? typeIn(name);
    if (typename !== undefined && Number.isInteger(inner)) return [name, globalId(typename, inner as number)];
    if (typename !== undefined && isNumbers(inner)) return [name, inner.map((id) => globalId(typename, id))];
    return [name, withGlobalIds(inner)];
  });
  return Object.fromEntries(entries) as T;
}
