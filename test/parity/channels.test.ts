import { describe, expect, test } from 'vitest';
import { bothDoors, furnish, NOBODY, type Who, type World } from '../helpers/both-doors.ts';
import { type Act, expectParity } from '../helpers/equivalents.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { CHANNEL_FIELDS, GROUP_FRAGMENT, toRestChannel } from '../helpers/rest-channel.ts';
import { createOrganization } from '../helpers/server.ts';

describe('channels', () => {
  test.concurrent('POST /channels/create and createChannel', async () => {
    type Make = (
      who: Who,
      rest: (world: World) => object,
      graphql: (world: World) => object,
      code?: string,
    ) => Act<World>;
    const create = bothDoors('POST', '/channels/create', 'createChannel');
    const act: Make = (who, rest, graphql, code) =>
      create(
        who,
        (world) => ({ name: 'new', subscribers: [world.member.id, world.guest.id], ...rest(world) }),
        (world) => ({ name: 'new', subscriberIds: [world.member.id, world.guest.id], ...graphql(world) }),
        code,
      );
    const same = (who: Who, fields: (world: World) => object, code?: string) => act(who, fields, fields, code);
    await expectParity(furnish, {
      'a public one': same('member', () => ({ name: ' public ', description: 'For\n*all*' })),
      'a private one with shared history': act(
        'member',
        () => ({ name: 'private', invite_only: true, history_public_to_subscribers: true }),
        () => ({ name: 'private', privacy: 'PRIVATE_SHARED_HISTORY' }),
      ),
      'one with all there is': act(
        'owner',
        ({ folders, owners, guest, member }) => ({
          ...{ name: 'full', folder_id: folders[0], is_default_stream: true, topics_policy: 'disable_empty_topic' },
          ...{ message_retention_days: 7, can_send_message_group: owners },
          can_remove_subscribers_group: { direct_members: [guest.id, member.id], direct_subgroups: [owners] },
        }),
        ({ folders, owners, guest, member }) => ({
          ...{ name: 'full', folderId: folders[0], isDefault: true, topicsPolicy: 'DISABLE_EMPTY_TOPIC' },
          messageRetentionDays: 7,
          permissions: {
            canSendMessage: { groupId: owners },
            canRemoveSubscribers: { direct: { memberIds: [guest.id, member.id], subgroupIds: [owners] } },
          },
        }),
      ),
      'a name in use': same('owner', () => ({ name: 'GENERAL' }), 'CHANNEL_ALREADY_EXISTS'),
      'a blank name': same('owner', () => ({ name: ' ' }), 'BAD_REQUEST'),
      'a null byte': same('owner', () => ({ description: 'a\0b' }), 'BAD_REQUEST'),
      'a null byte in the name': same('owner', () => ({ name: 'a\0b' }), 'BAD_REQUEST'),
      'by a guest': same('guest', () => ({}), 'UNAUTHORIZED_PRINCIPAL'),
      'a subscriber who is not there': act(
        'owner',
        () => ({ subscribers: [NOBODY] }),
        () => ({ subscriberIds: [NOBODY] }),
        'BAD_REQUEST',
      ),
      'a folder that is not there': act(
        'owner',
        () => ({ folder_id: NOBODY }),
        () => ({ folderId: NOBODY }),
        'BAD_REQUEST',
      ),
      'a default one by a member': act(
        'member',
        () => ({ is_default_stream: true }),
        () => ({ isDefault: true }),
        'BAD_REQUEST',
      ),
      'a retention by an administrator': act(
        'administrator',
        () => ({ message_retention_days: 7 }),
        () => ({ messageRetentionDays: 7 }),
        'UNAUTHORIZED_PRINCIPAL',
      ),
      'a web-public one': act(
        'owner',
        () => ({ is_web_public: true }),
        () => ({ privacy: 'WEB_PUBLIC' }),
        'BAD_REQUEST',
      ),
      'a group that is not there': act(
        'owner',
        () => ({ can_send_message_group: NOBODY }),
        () => ({ permissions: { canSendMessage: { groupId: NOBODY } } }),
        'BAD_REQUEST',
      ),
    });
  });

  test.concurrent('PATCH /streams/{stream_id} and updateChannel', async () => {
    const act = (
      who: Who,
      rest: (world: World) => object,
      graphql: (world: World) => object,
      code?: string,
      id = ({ general }: World) => general,
    ) =>
      bothDoors('PATCH', (world) => `/streams/${id(world)}`, 'updateChannel')(
        who,
        rest,
        (world) => ({ channelId: id(world), ...graphql(world) }),
        code,
      );
    const renamed = (who: Who, name: string, code?: string, id = ({ general }: World) => general) =>
      act(
        who,
        () => ({ new_name: name }),
        () => ({ name }),
        code,
        id,
      );
    const who = ({ owner, guest }: World) => [owner.id, guest.id];
    await expectParity(furnish, {
      'another name': renamed('administrator', 'renamed'),
      'description, folder and policy': act(
        'member',
        ({ folders }) => ({ description: '*All*', folder_id: folders[0], topics_policy: 'allow_empty_topic' }),
        ({ folders }) => ({ description: '*All*', folderId: folders[0], topicsPolicy: 'ALLOW_EMPTY_TOPIC' }),
      ),
      'no folder': act(
        'member',
        () => ({ folder_id: null }),
        () => ({ folderId: null }),
      ),
      private: act(
        'member',
        () => ({ is_private: true }),
        () => ({ privacy: 'PRIVATE' }),
      ),
      'shared history': act(
        'member',
        () => ({ history_public_to_subscribers: true }),
        () => ({ privacy: 'PRIVATE_SHARED_HISTORY' }),
      ),
      'public again': act(
        'member',
        () => ({ is_private: false }),
        () => ({ privacy: 'PUBLIC' }),
      ),
      'a default one': act(
        'administrator',
        () => ({ is_default_stream: true }),
        () => ({ isDefault: true }),
      ),
      'a retention': act(
        'owner',
        () => ({ message_retention_days: 9 }),
        () => ({ messageRetentionDays: 9 }),
      ),
      'no retention of its own': act(
        'owner',
        () => ({ message_retention_days: '"realm_default"' }),
        () => ({ messageRetentionDays: null }),
      ),
      'permissions, as expected': act(
        'member',
        (world) => ({
          can_send_message_group: { new: world.owners },
          can_subscribe_group: { new: { direct_members: who(world), direct_subgroups: [] } },
          can_administer_channel_group: {
            new: { direct_members: [world.member.id, world.moderator.id], direct_subgroups: [] },
            old: { direct_members: [world.member.id], direct_subgroups: [] },
          },
        }),
        (world) => ({
          permissions: {
            canSendMessage: { new: { groupId: world.owners } },
            canSubscribe: { new: { direct: { memberIds: who(world) } } },
            canAdministerChannel: {
              new: { direct: { memberIds: [world.member.id, world.moderator.id] } },
              old: { direct: { memberIds: [world.member.id] } },
            },
          },
        }),
      ),
      'a permission that is not as expected': act(
        'owner',
        ({ owners }) => ({ can_resolve_topics_group: { new: owners, old: owners } }),
        ({ owners }) => ({ permissions: { canResolveTopics: { new: { groupId: owners }, old: { groupId: owners } } } }),
        'EXPECTATION_MISMATCH',
      ),
      'the name it has': renamed('owner', 'renamed', 'BAD_REQUEST'),
      'a name in use': renamed('owner', 'OTHER', 'BAD_REQUEST'),
      'a null byte in the name': renamed('owner', 'a\0b', 'BAD_REQUEST'),
      'by a guest': renamed('guest', 'mine', 'BAD_REQUEST'),
      'what one does not administer': renamed('member', 'mine', 'BAD_REQUEST', ({ other }) => other),
      'what one does not see': renamed('moderator', 'mine', 'BAD_REQUEST', ({ hidden }) => hidden),
      'a nonexistent channel': renamed('owner', 'mine', 'BAD_REQUEST', () => NOBODY),
      'a retention by a member': act(
        'member',
        () => ({ message_retention_days: 9 }),
        () => ({ messageRetentionDays: 9 }),
        'UNAUTHORIZED_PRINCIPAL',
      ),
      'public with protected history': act(
        'owner',
        () => ({ history_public_to_subscribers: false }),
        () => ({ historyPublicToSubscribers: false }),
        'BAD_REQUEST',
      ),
    });
  });

  test.concurrent('DELETE /streams/{stream_id} and archiveChannel; is_archived and unarchiveChannel', async () => {
    const id = ({ general }: World) => general;
    const act =
      (back: boolean) =>
      (who: Who, code?: string, channel: (world: World) => number = id) =>
        bothDoors(
          back ? 'PATCH' : 'DELETE',
          (world) => `/streams/${channel(world)}`,
          back ? 'unarchiveChannel' : 'archiveChannel',
        )(
          who,
          () => (back ? { is_archived: false } : {}),
          (world) => ({ channelId: channel(world) }),
          code,
        );
    const [archive, unarchive] = [act(false), act(true)];
    await expectParity(furnish, {
      'by a guest': archive('guest', 'BAD_REQUEST'),
      'not archived': unarchive('owner', 'BAD_REQUEST'),
      archived: archive('member'),
      'archived again': archive('owner', 'BAD_REQUEST'),
      'back again': unarchive('administrator'),
      'what one does not see': archive('moderator', 'BAD_REQUEST', ({ hidden }) => hidden),
      'a nonexistent channel': unarchive('owner', 'BAD_REQUEST', () => NOBODY),
    });
  });

  test.concurrent('POST and DELETE /default_streams and updateChannel', async () => {
    const act = (on: boolean, who: Who, code?: string, id = ({ general }: World) => general) =>
      bothDoors(on ? 'POST' : 'DELETE', '/default_streams', 'updateChannel')(
        who,
        (world) => ({ stream_id: id(world) }),
        (world) => ({ channelId: id(world), isDefault: on }),
        code,
      );
    await expectParity(furnish, {
      on: act(true, 'administrator'),
      'on already': act(true, 'owner'),
      off: act(false, 'owner'),
      'a private one': act(true, 'owner', 'BAD_REQUEST', ({ hidden }) => hidden),
      'a nonexistent channel': act(true, 'owner', 'BAD_REQUEST', () => NOBODY),
    });
  });

  test.concurrent('GET /streams, /streams/{stream_id} and channels, channel', async () => {
    const people = await createOrganization();
    const { owner, member, guest, moderator } = people;
    const { channel_folder_id } = await owner.ok('POST', '/channel_folders/create', { name: 'F', description: '' });
    const fields = { subscribers: [member.id, guest.id], folder_id: channel_folder_id, description: '*a*' };
    const { id } = await owner.ok('POST', '/channels/create', { name: 'a', ...fields });
    const { id: hidden } = await member.ok('POST', '/channels/create', {
      name: 'b',
      subscribers: [member.id],
      invite_only: true,
    });
    await member.ok('POST', '/channels/create', { name: 'c', subscribers: [] });
    // Guests see no groups. Therefore they do not see the permission groups of a channel either.
    const asGuest = ({ can_send_message_group: _, can_administer_channel_group: __, ...channel }: Json) => channel;
    for (const person of [owner, moderator, member, guest]) {
      const { channels } = await person.query(
        `{ channels { edges { node { ${CHANNEL_FIELDS} } } } } ${GROUP_FRAGMENT}`,
      );
      const { streams } = await person.ok('GET', '/streams', { include_all: true });
      const all = channels.edges.map(({ node }: Json) => toRestChannel(node));
      const shown = person === guest ? all.map(asGuest) : all;
      expect(streams.map(({ name }: Json) => name)).toEqual(shown.map(({ name }: Json) => name));
      expect(streams).toMatchObject(shown);
    }
    const { channel } = await guest.query(
      `query ($channelId: ID!) { channel(by: { id: $channelId }) { ${CHANNEL_FIELDS} } } ${GROUP_FRAGMENT}`,
      {
        channelId: id,
      },
    );
    expect((await guest.ok('GET', `/streams/${id}`)).stream).toMatchObject(asGuest(toRestChannel(channel)));
    expect(channel.permissions.canSendMessage).toEqual({ group: null, directMembers: [], directSubgroups: [] });
    // For a hidden channel REST returns an error, GraphQL null.
    expect((await moderator.rest('GET', `/streams/${hidden}`)).body).toMatchObject({ code: 'BAD_REQUEST' });
    expect(await moderator.query(`{ channel(by: { id: "${globalId('Channel', hidden)}" }) { name } }`)).toEqual({
      channel: null,
    });
  });
});
