/** Types of the ids in arguments and input fields, by field name. */
const NAMED: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['channelId', 'channelIds', 'defaultSendingChannelId', 'defaultEventsChannelId'].map((name) => [name, 'Channel']),
  ),
  moderationRequestChannelId: 'Channel',
  ...Object.fromEntries(
    [
      ...['userId', 'userIds', 'senderId', 'mentionsUserId', 'direct', 'directWith', 'directIncluding', 'memberIds'],
      ...['subscriberIds', 'botId', 'ownerId'],
    ].map((name) => [name, 'User']),
  ),
  ...Object.fromEntries(
    ['groupId', 'groupIds', 'userGroupId', 'subgroupIds', 'addSubgroups', 'deleteSubgroups'].map((name) => [
      name,
      'UserGroup',
    ]),
  ),
  ...Object.fromEntries(['messageId', 'messageIds', 'with'].map((name) => [name, 'Message'])),
  ...Object.fromEntries(['folderId', 'channelFolderId'].map((name) => [name, 'ChannelFolder'])),
  ...Object.fromEntries(['fieldId', 'fieldIds'].map((name) => [name, 'CustomProfileField'])),
  // Fields that exist only in results.
  ...Object.fromEntries(
    ['changedIds', 'firstProcessedId', 'lastProcessedId', 'firstMessageId'].map((name) => [name, 'Message']),
  ),
  ...{ customEmojiId: 'CustomEmoji', skippedChannelIds: 'Channel', supergroupIds: 'UserGroup', otherUserIds: 'User' },
  draftId: 'Draft',
  reminderId: 'Reminder',
  ...{ sessionId: 'Session', sessionIds: 'Session' },
  savedSnippetId: 'SavedSnippet',
  scheduledMessageId: 'ScheduledMessage',
};

/** Returns the global id of an object that REST identifies by a number. */
export const globalId = (typename: string, id: number | string): string =>
  Buffer.from(`${typename}:${id}`).toString('base64');

/** Returns the number in a global id. */
export const numberOf = (id: string): number => Number(Buffer.from(id, 'base64').toString().split(':')[1]);

const isNumbers = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length > 0 && value.every(Number.isInteger);

/** Returns the type of the ids in an argument. For `add`, `delete` and `order` it depends on the operation. */
function typeNamed(name: string, operation: string): string | undefined {
  if (name === 'add' || name === 'delete') {
    if (operation.includes('updateUserGroupMembers')) return 'User';
    if (operation.includes('updateUserGroupSubgroups')) return 'UserGroup';
    return undefined;
  }
  if (name === 'order') return operation.includes('Folders') ? 'ChannelFolder' : 'CustomProfileField';
  return NAMED[name];
}

/**
 * Returns the variables of an operation with global ids instead of the numbers of REST. Values that are not numbers and
 * fields that hold no ids stay unchanged.
 */
export function withGlobalIds<T>(operation: string, value: T): T {
  if (Array.isArray(value)) return value.map((element) => withGlobalIds(operation, element)) as T;
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value).map(([name, inner]): [string, unknown] => {
    const typename = typeNamed(name, operation);
    if (typename !== undefined && Number.isInteger(inner)) return [name, globalId(typename, inner as number)];
    if (typename !== undefined && isNumbers(inner)) return [name, inner.map((id) => globalId(typename, id))];
    return [name, withGlobalIds(operation, inner)];
  });
  return Object.fromEntries(entries) as T;
}

/** Converts the numeric ids of an expected result to global ids. */
export const shownIds = <T>(expected: T): T => withGlobalIds('', expected);
