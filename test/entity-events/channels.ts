import { describe, expect, test } from 'vitest';
import { CHANNEL_PERMISSION_NAMES } from '../../src/access/permissions/channel-permissions.ts';
import { expectShownAlike, logAsBefore } from '../helpers/entity-events.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { InProcess } from '../helpers/in-process.ts';
import { createOrganization } from '../helpers/server.ts';
import { channelOf } from '../helpers/talk.ts';

const MODERN = {
  event_types: ['stream', 'default_streams'],
  client_capabilities: { notification_settings_null: true, archived_channels: true },
};

/**
 * Registers the tests of events about channels.
 *
 * @param service Returns the service that the tests use.
 */
export function channels(service: () => InProcess): void {
  describe('channels', () => {
    test('events of channels that become visible contain the same data as queries', async () => {
      const { owner, member, guest } = await createOrganization({}, { on: service() });
      const readers = [owner, member, guest];
      const folder = { name: 'Lunch', description: '' };
      const { channel_folder_id: folder_id } = await owner.ok('POST', '/channel_folders/create', folder);
      const secret = { name: 'secret', invite_only: true, description: '*hush*', folder_id };
      const make = () => owner.ok('POST', '/channels/create', { ...secret, subscribers: [owner.id, guest.id] });
      const made = await expectShownAlike(readers, make, MODERN);
      expect(made.map((events) => events.map(({ type }) => type))).toEqual([
        ['ChannelsCreatedEvent'],
        [],
        ['ChannelsCreatedEvent'],
      ]);
      const [channel] = made[2]?.[0]?.event.channels ?? [];
      expect(channel).toMatchObject({
        name: 'secret',
        privacy: 'PRIVATE',
        isDefault: false,
        folder: { databaseId: folder_id },
      });
      const subscriptions = [{ name: 'secret' }];
      const invite = () => owner.ok('POST', '/users/me/subscriptions', { subscriptions, principals: [member.id] });
      const invited = await expectShownAlike(readers, invite, MODERN);
      expect(invited[1]?.[0]?.event.channels).toEqual([channel]);
      const dismiss = () =>
        owner.ok('DELETE', '/users/me/subscriptions', { subscriptions: ['secret'], principals: [member.id] });
      const dismissed = await expectShownAlike([member], dismiss, MODERN);
      expect(dismissed[0]?.[0]).toMatchObject({ type: 'ChannelsDeletedEvent', event: { channelIds: [channel.id] } });
    });

    test('events of changes contain the same data as queries, for users who can see the channel', async () => {
      const { owner, member, guest } = await createOrganization({}, { on: service() });
      const readers = [owner, member, guest];
      const channel = await channelOf(owner, 'general', [owner, guest]);
      const folder = { name: 'Lunch', description: '' };
      const { channel_folder_id: folder_id } = await owner.ok('POST', '/channel_folders/create', folder);
      const { group_id: group } = await owner.ok('POST', '/user_groups/create', {
        ...{ name: 'crew', description: '', members: [owner.id] },
      });
      const { can_remove_subscribers_group: administrators } = (await owner.ok('GET', `/streams/${channel}`)).stream;
      const changes: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
        NAME: { new_name: 'lobby' },
        DESCRIPTION: { description: '*all*' },
        FOLDER: { folder_id },
        TOPICS_POLICY: { topics_policy: 'allow_empty_topic' },
        MESSAGE_RETENTION_DAYS: { message_retention_days: 30 },
      };
      const permissions = [
        { can_send_message_group: { new: administrators } },
        ...CHANNEL_PERMISSION_NAMES.map((name) => ({ [name]: { new: group } })),
      ];
      for (const [property, change] of [
        ...Object.entries(changes),
        ...permissions.map((change) => ['PERMISSIONS', change] as const),
      ]) {
        const heard = await expectShownAlike(readers, () => owner.ok('PATCH', `/streams/${channel}`, change), MODERN);
        for (const events of heard) {
          expect(events.map(({ event }) => event.property)).toContain(property);
          for (const { event } of events) expect(event.channel.databaseId).toBe(channel);
        }
      }
      const close = () =>
        owner.ok('PATCH', `/streams/${channel}`, { is_private: true, history_public_to_subscribers: true });
      const closed = await expectShownAlike(readers, close, MODERN);
      expect(closed.map((events) => events.map(({ type }) => type))).toEqual([
        ['ChannelUpdatedEvent'],
        ['ChannelsDeletedEvent'],
        ['ChannelUpdatedEvent'],
      ]);
      expect(closed[2]?.[0]?.event).toMatchObject({
        property: 'PRIVACY',
        channel: { privacy: 'PRIVATE_SHARED_HISTORY' },
      });
    });

    test('events of archiving contain the same data as queries, with and without the client capability', async () => {
      const { owner, member, guest } = await createOrganization({}, { on: service() });
      const readers = [owner, member, guest];
      const channel = await channelOf(owner, 'general', [owner, guest]);
      const archive = () => owner.ok('DELETE', `/streams/${channel}`);
      const archived = await expectShownAlike(readers, archive, MODERN);
      expect(archived[2]?.[0]?.event).toMatchObject({ property: 'IS_ARCHIVED', channel: { isArchived: true } });
      const unarchive = () => owner.ok('PATCH', `/streams/${channel}`, { is_archived: false });
      const back = await expectShownAlike([member], unarchive, { event_types: ['stream'] });
      expect(back[0]?.[0]).toMatchObject({
        type: 'ChannelsCreatedEvent',
        event: { channels: [{ databaseId: channel, isArchived: false }] },
      });
      const gone = await expectShownAlike([member], archive, { event_types: ['stream'] });
      expect(gone[0]?.[0]?.event.channelIds).toEqual([globalId('Channel', channel)]);
    });

    test('events of default channels contain the same data as queries', async () => {
      const { owner, member } = await createOrganization({}, { on: service() });
      const channel = await channelOf(owner, 'general', [owner]);
      const add = () => owner.ok('PATCH', `/streams/${channel}`, { is_default_stream: true });
      const heard = await expectShownAlike([owner, member], add, { event_types: ['default_streams'] });
      for (const [event] of heard) {
        expect(event?.event.channels).toMatchObject([{ databaseId: channel, isDefault: true }]);
      }
    });

    test('events logged by a previous version contain the logged fields, and the others are read', async () => {
      const { owner, organization } = await createOrganization({}, { on: service() });
      await channelOf(owner, 'general', [owner]);
      const { streams } = await owner.ok('GET', '/streams');
      const { is_default: _, can_access_content: _can, ...wire } = streams[0];
      const { streams: registered } = await owner.register({ fetch_event_types: ['stream'] });
      const before = { type: 'stream', op: 'create', channels: [{ ...wire, ...registered[0] }], told_after: false };
      const [heard] = await expectShownAlike([owner], () => logAsBefore(service(), organization.id, before, [owner]));
      expect(heard?.[0]?.event.channels[0]).not.toHaveProperty('createdAt');
      expect(heard?.[0]?.event.channels[0]).toHaveProperty('name', 'general');
    });

    test('channels that are no longer visible are null if they must be read, and the event keeps its position', async () => {
      const { owner, member } = await createOrganization({}, { on: service() });
      const { queue_id: queueId } = await member.register(MODERN);
      const channel = await channelOf(owner, 'general', [owner]);
      await owner.ok('PATCH', `/streams/${channel}`, { new_name: 'lobby' });
      await owner.ok('PATCH', `/streams/${channel}`, { is_private: true });
      await using stream = await member.events(
        `position ... on ChannelsCreatedEvent { channels { name viewerCanSubscribe } }
         ... on ChannelUpdatedEvent { property channel { name } } ... on ChannelsDeletedEvent { channelIds }`,
        { queueId },
      );
      const [created, renamed, deleted] = await stream.take(3);
      expect(created).toMatchObject({ channels: [null] });
      // The event contains the data of the channel at the time of the event.
      expect(renamed).toMatchObject({ property: 'NAME', channel: { name: 'lobby' } });
      expect(renamed.position).toBeGreaterThan(created.position);
      expect(deleted.channelIds).toEqual([globalId('Channel', channel)]);
    });
  });
}
