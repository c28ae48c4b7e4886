import { describe, expect, test } from 'vitest';
import { EDITABLE_ORGANIZATION_SETTINGS } from '../../src/access/organization-settings.ts';
import {
  EDITABLE_USER_DEFAULT_NAMES,
  EDITABLE_USER_DEFAULTS,
} from '../../src/administration/user-defaults/settings.ts';
import type { Setting } from '../../src/platform/setting.ts';
import { expectShownAlike, logAsBefore, type Shown } from '../helpers/entity-events.ts';
import type { InProcess } from '../helpers/in-process.ts';
import { animation, PNG } from '../helpers/pictures.ts';
import { createOrganization } from '../helpers/server.ts';
import { anotherValue } from '../helpers/settings.ts';
import { channelOf } from '../helpers/talk.ts';

/** Returns, for each reader, the types of the events that the reader received. */
const typesOf = (heard: readonly (readonly Shown[])[]) => heard.map((events) => events.map(({ type }) => type));

/** Returns the expected types of the events of three readers, if each of them receives events of these types. */
const everybody = (...types: readonly string[]) => [types, types, types];

/**
 * Registers the tests of events about the organization and its settings, emoji, fields, domains and bots.
 *
 * @param service Returns the service that the tests use.
 */
export function thingsOfTheOrganization(service: () => InProcess): void {
  test('events of custom emoji contain the same data as queries, with and without the client capability', async () => {
    const { owner, member, guest } = await createOrganization({}, { on: service() });
    const readers = [owner, member, guest];
    const oneByOne = {
      client_capabilities: { notification_settings_null: true, individual_emoji_changes: true },
    };
    const add = (name: string, file: Buffer) => member.ok('POST', `/realm/emoji/${name}`, { file });
    const added = await expectShownAlike(readers, () => add('ducky', PNG), oneByOne);
    expect(typesOf(added)).toEqual(everybody('CustomEmojiAddedEvent'));
    expect(added[2]?.[0]?.event.customEmoji).toMatchObject({ name: 'ducky', author: { databaseId: member.id } });
    const moving = await animation(['red', 'blue']);
    const all = await expectShownAlike(readers, () => add('spin_it', moving));
    expect(typesOf(all)).toEqual(everybody('CustomEmojiUpdatedEvent'));
    expect(all[2]?.[0]?.event.allCustomEmoji).toMatchObject([
      { name: 'ducky', stillUrl: null },
      { name: 'spin_it', stillUrl: expect.any(String) },
    ]);
    const remove = () => member.ok('DELETE', '/realm/emoji/spin_it');
    const gone = await expectShownAlike(readers, remove, oneByOne);
    expect(typesOf(gone)).toEqual(everybody('CustomEmojiDeactivatedEvent'));
    expect(gone[2]?.[0]?.event.customEmoji).toMatchObject({ isActive: false });
  });

  describe('channel folders', () => {
    test('events contain the same data as queries', async () => {
      const { owner, member, guest } = await createOrganization({}, { on: service() });
      const readers = [owner, member, guest];
      const make = (name: string) => owner.ok('POST', '/channel_folders/create', { name, description: '*of* lunch' });
      const added = await expectShownAlike(readers, () => make('Lunch'));
      expect(typesOf(added)).toEqual(everybody('ChannelFolderAddedEvent'));
      const { databaseId } = added[0]?.[0]?.event.channelFolder ?? {};
      const rename = () => owner.ok('PATCH', `/channel_folders/${databaseId}`, { name: 'Dinner', is_archived: true });
      const renamed = await expectShownAlike(readers, rename);
      expect(typesOf(renamed)).toEqual(everybody('ChannelFolderUpdatedEvent'));
      expect(renamed[2]?.[0]?.event.channelFolder).toMatchObject({ name: 'Dinner', isArchived: true });
      const { channel_folder_id: second } = await make('Lunch');
      const reorder = () => owner.ok('PATCH', '/channel_folders', { order: [second, databaseId] });
      const ordered = await expectShownAlike(readers, reorder);
      expect(typesOf(ordered)).toEqual(everybody('ChannelFoldersReorderedEvent'));
      expect(ordered[2]?.[0]?.event.channelFolders).toMatchObject([
        { databaseId: second, order: 0 },
        { databaseId, order: 1 },
      ]);
    });

    test('events logged by a previous version are read', async () => {
      const { owner, member, organization } = await createOrganization({}, { on: service() });
      const lunch = { name: 'Lunch', description: '' };
      const { channel_folder_id } = await owner.ok('POST', '/channel_folders/create', lunch);
      const before = { type: 'channel_folder', op: 'update', channel_folder_id, data: { name: 'Lunch' } };
      const heard = await expectShownAlike([member], () => logAsBefore(service(), organization.id, before, [member]));
      expect(heard[0]?.[0]?.event.channelFolder).not.toHaveProperty('name');
    });
  });

  test('events of custom profile fields contain the same data as queries', async () => {
    const { owner, member, guest } = await createOrganization({}, { on: service() });
    const fields = [
      { field_type: 3, name: 'Flag', field_data: { r: { text: 'Red', order: '1' } }, hint: 'Whose?' },
      {
        field_type: 7,
        name: 'Site',
        field_data: { subtype: 'custom', url_pattern: 'https://example.com/%(username)s' },
      },
      { field_type: 1, name: 'Ship', display_in_profile_summary: true, use_for_user_matching: true },
    ];
    for (const field of fields) {
      const add = () => owner.ok('POST', '/realm/profile_fields', field);
      const heard = await expectShownAlike([owner, member, guest], add);
      expect(typesOf(heard)).toEqual(everybody('CustomProfileFieldsChangedEvent'));
      expect(heard[2]?.[0]?.event.customProfileFields.at(-1)).toMatchObject({ name: field.name });
    }
  });

  describe('allowed domains', () => {
    test('events contain the same data as queries', async () => {
      const { owner, member, guest } = await createOrganization({}, { on: service() });
      const readers = [owner, member, guest];
      const add = () => owner.ok('POST', '/realm/domains', { domain: 'a.example', allow_subdomains: false });
      const added = await expectShownAlike(readers, add);
      expect(typesOf(added)).toEqual(everybody('OrganizationDomainAddedEvent'));
      const { organizationDomain } = added[2]?.[0]?.event ?? {};
      expect(organizationDomain).toMatchObject({ domain: 'a.example', allowSubdomains: false });
      const change = () => owner.ok('PATCH', '/realm/domains/a.example', { allow_subdomains: true });
      const changed = await expectShownAlike(readers, change);
      expect(changed[2]?.[0]?.event.organizationDomain).toEqual({ ...organizationDomain, allowSubdomains: true });
      const removed = await expectShownAlike(readers, () => owner.ok('DELETE', '/realm/domains/a.example'));
      expect(removed[2]?.[0]?.event).toMatchObject({
        organizationDomainId: organizationDomain.id,
        domain: 'a.example',
      });
    });

    test('events logged by a previous version contain only the domain', async () => {
      const { owner, organization } = await createOrganization({}, { on: service() });
      const [heard] = await expectShownAlike([owner], async () => {
        const wire = { domain: 'a.example', allow_subdomains: false };
        const type = 'realm_domains';
        await logAsBefore(service(), organization.id, { type, op: 'add', realm_domain: wire }, [owner]);
        await logAsBefore(service(), organization.id, { type, op: 'remove', domain: wire.domain }, [owner]);
      });
      expect(heard?.map(({ event }) => event)).toMatchObject([
        { organizationDomain: null },
        { organizationDomainId: null, domain: 'a.example' },
      ]);
    });
  });

  describe('default settings of new users', () => {
    test('events of each setting contain the same data as queries', async () => {
      const { owner, member } = await createOrganization({}, { on: service() });
      const others = Object.fromEntries(
        Object.entries(EDITABLE_USER_DEFAULTS).map(([name, setting]) => [name, anotherValue(setting)]),
      );
      const change = () => owner.ok('PATCH', '/realm/user_settings_defaults', others);
      const [heard] = await expectShownAlike([member], change);
      expect(heard).toHaveLength(EDITABLE_USER_DEFAULT_NAMES.length);
    });

    test('events are the same for all roles', async () => {
      const { owner, member, guest } = await createOrganization({}, { on: service() });
      const change = () => owner.ok('PATCH', '/realm/user_settings_defaults', { enter_sends: true });
      const heard = await expectShownAlike([owner, member, guest], change);
      expect(typesOf(heard)).toEqual(everybody('UserSettingsDefaultUpdatedEvent'));
      expect(heard[2]?.[0]?.event).toMatchObject({
        userSetting: 'ENTER_SENDS',
        userSettingsDefaults: { enterSends: true },
      });
    });

    test('events logged by a previous version contain only the name of the setting', async () => {
      const { owner, organization } = await createOrganization({}, { on: service() });
      const before = { type: 'realm_user_settings_defaults', op: 'update', property: 'enter_sends', value: true };
      const [heard] = await expectShownAlike([owner], () => logAsBefore(service(), organization.id, before, [owner]));
      expect(heard?.[0]?.event).toMatchObject({ userSetting: 'ENTER_SENDS', userSettingsDefaults: null });
    });
  });

  describe('the organization', () => {
    const ONLY = { event_types: ['realm'] };

    test('events of each setting, alone and with others, contain the same data as queries', async () => {
      const { owner, member, guest } = await createOrganization({}, { on: service() });
      const readers = [owner, member, guest];
      const others = Object.entries<Setting<unknown>>(EDITABLE_ORGANIZATION_SETTINGS)
        .filter(([name, { names }]) => names === undefined && name !== 'video_chat_provider')
        .map(([name, setting]) => [name, anotherValue(setting)] as const);
      const texts = { name: 'Engines', description: '*a*' };
      const all = { ...texts, ...Object.fromEntries(others) };
      const heard = await expectShownAlike(readers, () => owner.ok('PATCH', '/realm', all), ONLY);
      expect(typesOf(heard)).toEqual(everybody('OrganizationUpdatedEvent'));
      expect(heard[2]?.[0]?.event.organization).toMatchObject({
        ...{ name: 'Engines', renderedDescription: '<p><em>a</em></p>', organizationType: expect.any(String) },
      });
      const alone = { message_content_edit_limit_seconds: '"unlimited"' };
      const [unlimited] = await expectShownAlike([member], () => owner.ok('PATCH', '/realm', alone), ONLY);
      expect(unlimited?.[0]?.event).toMatchObject({
        organizationSettings: ['MESSAGE_CONTENT_EDIT_LIMIT_SECONDS'],
        organization: { messageContentEditLimitSeconds: null },
      });
    });

    test('events of permissions and announcement channels are read', async () => {
      const { owner, member } = await createOrganization({}, { on: service() });
      const channel = await channelOf(owner, 'general', [owner]);
      const changes = {
        can_create_groups: { new: { direct_members: [member.id], direct_subgroups: [] } },
        signup_announcements_stream_id: channel,
      };
      const [heard] = await expectShownAlike([member], () => owner.ok('PATCH', '/realm', changes), ONLY);
      expect(Object.keys(heard?.[0]?.event.organization)).toEqual(['__typename', 'id']);
    });

    test('events logged by a previous version contain only the names of the changed settings', async () => {
      const { owner, organization } = await createOrganization({}, { on: service() });
      const before = { type: 'realm', op: 'update_dict', property: 'default', data: { org_type: 40 } };
      const [heard] = await expectShownAlike(
        [owner],
        () => logAsBefore(service(), organization.id, before, [owner]),
        ONLY,
      );
      expect(heard?.[0]?.event).toMatchObject({ organizationSettings: ['ORGANIZATION_TYPE'], organization: null });
    });
  });

  describe('bots', () => {
    const ONLY = { event_types: ['realm_bot'] };

    test('events contain the same data as queries, for users who can administer the bot', async () => {
      const { owner, administrator, member, guest } = await createOrganization({}, { on: service() });
      const channel = await channelOf(owner, 'general', [owner, administrator, member]);
      const readers = [owner, administrator, member, guest];
      let id = 0;
      const make = async () => {
        id = (await member.ok('POST', '/bots', { full_name: 'Helper', short_name: 'helper' })).user_id;
      };
      const added = await expectShownAlike(readers, make, ONLY);
      expect(typesOf(added)).toEqual([['BotAddedEvent'], ['BotAddedEvent'], ['BotAddedEvent'], []]);
      expect(added[2]?.[0]?.event.user).toMatchObject({ databaseId: id, bot: { hearsAllPublicChannels: false } });
      const hear = () => member.mutate('updateBot', { botId: id, hearsAllPublicChannels: true }, '__typename');
      const hearing = await expectShownAlike(readers, hear, ONLY);
      expect(hearing[1]?.[0]?.event).toMatchObject({
        botSetting: 'HEARS_ALL_PUBLIC_CHANNELS',
        user: { bot: { hearsAllPublicChannels: true } },
      });
      const settle = () => member.mutate('updateBot', { botId: id, defaultSendingChannelId: channel }, '__typename');
      const settled = await expectShownAlike(readers, settle, ONLY);
      expect(settled[1]?.[0]?.event).toMatchObject({ botSetting: 'DEFAULT_SENDING_CHANNEL' });
      const give = () => owner.mutate('updateBot', { botId: id, ownerId: guest.id }, '__typename');
      const given = await expectShownAlike(readers, give, ONLY);
      expect(typesOf(given)).toEqual([[], [], ['BotLostEvent'], ['BotAddedEvent']]);
      // Guests cannot administer bots, not even their own.
      for (const heard of given.slice(2)) expect(heard[0]?.event.user).toMatchObject({ databaseId: id, bot: null });
    });

    test('events of a bot with the owner role do not contain the bot for administrators', async () => {
      const { owner, administrator } = await createOrganization({}, { on: service() });
      const { user_id: botId } = await owner.ok('POST', '/bots', { full_name: 'Helper', short_name: 'helper' });
      await owner.mutate('updateBot', { botId, role: 'OWNER' }, '__typename');
      const hear = () => owner.mutate('updateBot', { botId, hearsAllPublicChannels: true }, '__typename');
      const [toOwner, toAdministrator] = await expectShownAlike([owner, administrator], hear, ONLY);
      expect(toOwner?.[0]?.event.user.bot).toMatchObject({ hearsAllPublicChannels: true });
      expect(toAdministrator?.[0]?.event.user.bot).toBeNull();
    });

    test('events logged by a previous version are read', async () => {
      const { owner, bot, organization } = await createOrganization({}, { on: service() });
      const before = { type: 'realm_bot', op: 'update', bot: { user_id: bot.id, default_all_public_streams: false } };
      const [heard] = await expectShownAlike([owner], () => logAsBefore(service(), organization.id, before, [owner]));
      expect(heard?.[0]?.event.user).not.toHaveProperty('bot');
    });
  });
}
