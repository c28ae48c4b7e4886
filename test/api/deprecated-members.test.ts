import { expect, test } from 'vitest';
import { globalId } from '../helpers/global-ids.ts';
import type { Parameters, Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { channelOf, say } from '../helpers/talk.ts';

// Pages of the previous version stay open during a rolling upgrade. They send the deprecated members of the schema.

test('a reaction is added by name, with and without code', async () => {
  const { owner } = await createOrganization();
  const messageId = globalId('Message', await say(owner, await channelOf(owner, 'general', [owner]), 'topic'));
  for (const [emoji, emojiCode] of [
    [{ emojiName: 'octopus', emojiCode: '1f419', reactionType: 'UNICODE_EMOJI' }, '1f419'],
    [{ emojiName: 'tada' }, '1f389'],
  ] as const) {
    const { reaction } = await owner.mutate('addReaction', { messageId, ...emoji }, 'reaction { emojiName emojiCode }');
    expect(reaction).toEqual({ emojiName: emoji.emojiName, emojiCode });
  }
});

test('a status takes the name of the emoji', async () => {
  const { owner } = await createOrganization();
  for (const emojiName of ['car', '']) {
    const { status } = await owner.mutate('setStatus', { text: 'x', emojiName }, 'status { emojiName }');
    expect(status).toEqual({ emojiName: emojiName || null });
  }
});

test('a message and a group are found by the arguments for their ids', async () => {
  const { owner } = await createOrganization();
  const messageId = globalId('Message', await say(owner, await channelOf(owner, 'general', [owner]), 'topic'));
  const { userGroups } = await owner.query('{ userGroups(first: 1) { nodes { id } } }');
  const [{ id: userGroupId }] = userGroups.nodes;
  const document = `query ($messageId: ID!, $userGroupId: ID!) {
    message(messageId: $messageId) { id } userGroup(userGroupId: $userGroupId) { id } }`;
  expect(await owner.query(document, { messageId, userGroupId })).toEqual({
    ...{ message: { id: messageId }, userGroup: { id: userGroupId } },
  });
});

test('a folder is archived and a group reactivated by their updates', async () => {
  const { owner } = await createOrganization();
  const { channelFolder } = await owner.mutate('createChannelFolder', { name: 'Old' }, 'channelFolder { id }');
  const input = { channelFolderId: channelFolder.id, isArchived: true };
  expect(await owner.mutate('updateChannelFolder', input, 'channelFolder { isArchived }')).toEqual({
    channelFolder: { isArchived: true },
  });
  const group = { name: 'Crew', description: '', memberIds: [] };
  const { userGroup } = await owner.mutate('createUserGroup', group, 'userGroup { id }');
  await owner.mutate('deactivateUserGroup', { userGroupId: userGroup.id }, '__typename');
  const change = { userGroupId: userGroup.id, isDeactivated: false };
  expect(await owner.mutate('updateUserGroup', change, 'userGroup { isDeactivated }')).toEqual({
    userGroup: { isDeactivated: false },
  });
});

test('members and subgroups of a group are given by the old names', async () => {
  const { owner, member } = await createOrganization();
  const create = async (name: string): Promise<string> => {
    const group = { name, description: '', memberIds: [] };
    return (await owner.mutate('createUserGroup', group, 'userGroup { id }')).userGroup.id;
  };
  const [outer, inner] = [await create('outer'), await create('inner')];
  const userId = globalId('User', member.id);
  const selection = `userGroup { members(directOnly: true) { nodes { id } } subgroups(directOnly: true) { nodes { id } } }`;
  const change = async (input: object) =>
    (await owner.mutate('updateUserGroupMembers', { userGroupId: outer, ...input }, selection)).userGroup;
  expect(await change({ add: [userId], addSubgroups: [inner] })).toEqual({
    members: { nodes: [{ id: userId }] },
    subgroups: { nodes: [{ id: inner }] },
  });
  expect(await change({ delete: [userId], deleteSubgroups: [inner] })).toEqual({
    members: { nodes: [] },
    subgroups: { nodes: [] },
  });
});

test('channel folders are reordered by `order`', async () => {
  const { owner } = await createOrganization();
  const order: string[] = [];
  for (const name of ['a', 'b']) {
    order.unshift((await owner.mutate('createChannelFolder', { name }, 'channelFolder { id }')).channelFolder.id);
  }
  const { channelFolders } = await owner.mutate('reorderChannelFolders', { order }, 'channelFolders { id }');
  expect(channelFolders).toEqual(order.map((id) => ({ id })));
});

/** Returns the type and the path of the error with which a mutation is refused. */
async function refusal(person: Person, mutation: string, input: Parameters) {
  const type = `${mutation[0]?.toUpperCase()}${mutation.slice(1)}Input!`;
  const { data } = await person.graphql(
    `mutation ($input: ${type}) { ${mutation}(input: $input) { __typename ... on ServiceError { message path } } }`,
    { input },
  );
  return data[mutation];
}

test('a message, a group, an emoji and an order are required in one of their forms', async () => {
  const { owner } = await createOrganization();
  for (const field of ['message', 'userGroup']) {
    for (const args of ['', '(by: null)']) {
      const { data, errors } = await owner.graphql(`{ ${field}${args} { id } }`);
      expect(data).toEqual({ [field]: null });
      expect(errors).toMatchObject([
        { message: '"by" is required.', extensions: { code: 'BAD_REQUEST', kind: 'INVALID', argument: ['by'] } },
      ]);
    }
  }
  const messageId = globalId('Message', await say(owner, await channelOf(owner, 'general', [owner]), 'topic'));
  for (const [mutation, input, name] of [
    ['addReaction', { messageId }, 'emoji'],
    ['addReaction', { messageId, reactionType: 'UNICODE_EMOJI' }, 'emoji'],
    ['reorderChannelFolders', {}, 'channelFolderIds'],
  ] as const) {
    expect(await refusal(owner, mutation, input)).toEqual({
      ...{ __typename: 'ValidationError', message: `"${name}" is required.`, path: ['input', name] },
    });
  }
});

test('a deprecated member is refused beside its replacement', async () => {
  const { owner, member } = await createOrganization();
  const channel = await channelOf(owner, 'general', [owner]);
  const channelId = globalId('Channel', channel);
  const messageId = globalId('Message', await say(owner, channel, 'topic'));
  const group = { name: 'Crew', description: '', memberIds: [] };
  const { userGroup } = await owner.mutate('createUserGroup', group, 'userGroup { id }');
  const userGroupId = userGroup.id;
  for (const [field, id, type] of [
    ['message', messageId, 'messageId'],
    ['userGroup', userGroupId, 'userGroupId'],
  ]) {
    const { errors } = await owner.graphql(`query ($id: ID!) { ${field}(by: { id: $id }, ${type}: $id) { id } }`, {
      id,
    });
    expect(errors).toMatchObject([{ extensions: { code: 'BAD_REQUEST', kind: 'INVALID', argument: [type] } }]);
  }
  const [users, groups] = [[globalId('User', member.id)], [userGroupId]];
  for (const [mutation, input, name, former] of [
    ['addReaction', { messageId, emoji: { name: 'tada' }, emojiName: 'car' }, 'emoji', 'emojiName'],
    ['addReaction', { messageId, emoji: { name: 'tada' }, emojiCode: '1f389' }, 'emoji', 'emojiCode'],
    ['setStatus', { emoji: { name: 'tada' }, emojiName: 'car' }, 'emoji', 'emojiName'],
    ['setStatus', { emoji: null, emojiName: 'car' }, 'emoji', 'emojiName'],
    ['reorderChannelFolders', { channelFolderIds: [], order: [] }, 'channelFolderIds', 'order'],
    ['updateUserGroupMembers', { userGroupId, addMemberIds: users, add: users }, 'addMemberIds', 'add'],
    ['updateUserGroupMembers', { userGroupId, removeMemberIds: users, delete: users }, 'removeMemberIds', 'delete'],
    [
      ...(['updateUserGroupMembers', { userGroupId, addSubgroupIds: groups, addSubgroups: groups }] as const),
      ...(['addSubgroupIds', 'addSubgroups'] as const),
    ],
    [
      ...(['updateUserGroupMembers', { userGroupId, removeSubgroupIds: groups, deleteSubgroups: groups }] as const),
      ...(['removeSubgroupIds', 'deleteSubgroups'] as const),
    ],
    ['createChannel', { name: 'Secret', privacy: 'PUBLIC', isPrivate: true }, 'privacy', 'isPrivate'],
    ['createChannel', { name: 'Secret', privacy: 'PUBLIC', isWebPublic: false }, 'privacy', 'isWebPublic'],
    [
      ...(['updateChannel', { channelId, privacy: 'PUBLIC', historyPublicToSubscribers: false }] as const),
      ...(['privacy', 'historyPublicToSubscribers'] as const),
    ],
    ['updateSettings', { settings: { enterSends: true }, enterSends: false }, 'settings', 'enterSends'],
    [
      ...(['updateSettings', { settings: {}, sendPrivateTypingNotifications: false }] as const),
      ...(['settings', 'sendPrivateTypingNotifications'] as const),
    ],
  ] as const) {
    expect(await refusal(owner, mutation, input)).toEqual({
      __typename: 'ValidationError',
      message: `"${former}" is deprecated and cannot be combined with "${name}".`,
      path: ['input', former],
    });
  }
  expect((await owner.query('{ channels(first: 9) { nodes { name } } }')).channels.nodes).not.toContainEqual({
    name: 'Secret',
  });
});
