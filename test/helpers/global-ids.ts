/** What the arguments and input fields of GraphQL name, by their names. */
const NAMED: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['channelId', 'channelIds', 'defaultSendingChannelId', 'defaultEventsChannelId'].map((name) => [name, 'Channel']),
  ),
  ...Object.fromEntries(
    [
      ...['moderationRequestChannelId', 'newChannelAnnouncementsChannelId', 'signupAnnouncementsChannelId'],
      'serviceUpdateAnnouncementsChannelId',
    ].map((name) => [name, 'Channel']),
  ),
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
  // What only answers have.
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

/** The global id of what REST knows by a number. */
export const globalId = (typename: string, id: number | string): string =>
  Buffer.from(`${typename}:${id}`).toString('base64');

/** The number that REST knows an object by, of its global id. */
export const numberOf = (id: string): number => Number(Buffer.from(id, 'base64').toString().split(':')[1]);

const isNumbers = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length > 0 && value.every(Number.isInteger);

/** What an argument of this name names inside an operation: members or subgroups, by what they are added to. */
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
 * Variables of an operation, with global ids in place of the numbers that tests know objects by from REST. What is no
 * number stays as it is, and so does what names nothing.
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

/** What GraphQL is to answer, from an expectation that names objects by the numbers of REST. */
export const shownIds = <T>(expected: T): T => withGlobalIds('', expected);
