import { describe, test } from 'vitest';
import { bothDoors, furnish, NOBODY, type Who, type World } from '../helpers/both-doors.ts';
import { type Act, expectParity } from '../helpers/equivalents.ts';

describe('channel folders', () => {
  const INVALID: Readonly<Record<string, object>> = {
    'a blank name': { name: ' ' },
    'a long name': { name: 'n'.repeat(61) },
    'a name that cannot be printed': { name: 'a\tb' },
    'a name in use': { name: 'FIRST' },
    'a long description': { description: 'd'.repeat(1025) },
    'a null byte': { description: 'a\0b' },
    'a null byte in the name': { name: 'a\0b' },
  };
  const refused = (act: (who: Who, fields: object, code?: string) => Act<World>) =>
    Object.fromEntries(Object.entries(INVALID).map(([name, fields]) => [name, act('owner', fields, 'BAD_REQUEST')]));

  test.concurrent('POST /channel_folders/create and createChannelFolder', async () => {
    const act = (who: Who, fields: object, code?: string) => {
      const input = () => ({ name: ' Third ', description: 'The *third*', ...fields });
      return bothDoors('POST', '/channel_folders/create', 'createChannelFolder')(who, input, input, code);
    };
    const byMember = act('member', {}, 'UNAUTHORIZED_PRINCIPAL');
    await expectParity(furnish, { one: act('administrator', {}), 'by a member': byMember, ...refused(act) });
  });

  test.concurrent('PATCH /channel_folders/{channel_folder_id} and its mutations', async () => {
    const act = (who: Who, fields: object, code?: string, id = ({ folders }: World) => folders[1]) =>
      bothDoors('PATCH', (world) => `/channel_folders/${id(world)}`, 'updateChannelFolder')(
        who,
        () => fields,
        (world) => ({ channelFolderId: id(world), ...fields }),
        code,
      );
    const archive = (who: Who, is_archived: boolean, code?: string, id = ({ folders }: World) => folders[1]) =>
      bothDoors(
        'PATCH',
        (world) => `/channel_folders/${id(world)}`,
        is_archived ? 'archiveChannelFolder' : 'unarchiveChannelFolder',
      )(
        who,
        () => ({ is_archived }),
        (world) => ({ channelFolderId: id(world) }),
        code,
      );
    await expectParity(furnish, {
      'name and description': act('administrator', { name: '2nd', description: 'The **second**' }),
      archived: archive('owner', true),
      'archived again': archive('owner', true),
      'archived by a moderator': archive('moderator', true, 'UNAUTHORIZED_PRINCIPAL'),
      'one that is not there, archived': archive('owner', true, 'BAD_REQUEST', () => NOBODY),
      'back again': archive('owner', false),
      nothing: act('owner', {}),
      'by a moderator': act('moderator', { name: 'mine' }, 'UNAUTHORIZED_PRINCIPAL'),
      'one that is not there': act('owner', { name: 'x' }, 'BAD_REQUEST', () => NOBODY),
      ...refused(act),
    });
  });

  test.concurrent('PATCH /channel_folders and reorderChannelFolders', async () => {
    const act = (who: Who, order: (folders: readonly number[]) => number[], code?: string) => {
      return bothDoors('PATCH', '/channel_folders', 'reorderChannelFolders')(
        who,
        ({ folders }) => ({ order: order(folders) }),
        ({ folders }) => ({ channelFolderIds: order(folders) }),
        code,
      );
    };
    await expectParity(furnish, {
      'the other way round': act('administrator', (ids) => ids.toReversed()),
      'one is missing': act('owner', (ids) => ids.slice(1), 'BAD_REQUEST'),
      'one twice': act('owner', (ids) => [...ids, ...ids.slice(1)], 'BAD_REQUEST'),
      'by a guest': act('guest', (ids) => [...ids], 'UNAUTHORIZED_PRINCIPAL'),
    });
  });
});
