import { describe, expect, test } from 'vitest';
import { expectShownAlike, logAsBefore, type Shown } from '../helpers/entity-events.ts';
import type { InProcess } from '../helpers/in-process.ts';
import { animation, PNG } from '../helpers/pictures.ts';
import { organisation } from '../helpers/server.ts';

/** What each heard, by types alone. */
const typesOf = (heard: readonly (readonly Shown[])[]) => heard.map((events) => events.map(({ type }) => type));

/** What everybody hears the same of. */
const everybody = (...types: readonly string[]) => [types, types, types];

/** Of what the organisation has. */
export function thingsOfTheOrganization(service: () => InProcess): void {
  test('custom emoji are shown by their events as by themselves, to clients of either kind', async () => {
    const { owner, member, guest } = await organisation({}, { on: service() });
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
    test('are shown by their events as by themselves', async () => {
      const { owner, member, guest } = await organisation({}, { on: service() });
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

    test('of events logged before are read', async () => {
      const { owner, member, realm } = await organisation({}, { on: service() });
      const lunch = { name: 'Lunch', description: '' };
      const { channel_folder_id } = await owner.ok('POST', '/channel_folders/create', lunch);
      const before = { type: 'channel_folder', op: 'update', channel_folder_id, data: { name: 'Lunch' } };
      const heard = await expectShownAlike([member], () => logAsBefore(service(), realm.id, before, [member]));
      expect(heard[0]?.[0]?.event.channelFolder).not.toHaveProperty('name');
    });
  });
}
