import { describe, test } from 'vitest';
import { bothDoors, furnish, NOBODY, type Who, type World } from '../helpers/both-doors.ts';
import { expectParity } from '../helpers/equivalents.ts';

describe('settings', () => {
  test.concurrent('PATCH /settings with target_users and updateSettingsOf', async () => {
    const edit = bothDoors('PATCH', '/settings', 'updateSettingsOf');
    const act = (who: Who, ids: (world: World) => number[], code?: string, skipsEdited = false) =>
      edit(
        who,
        (world) => ({ color_scheme: 3, target_users: { user_ids: ids(world), skip_if_already_edited: skipsEdited } }),
        (world) => ({ settings: { colorScheme: 'LIGHT' }, userIds: ids(world), skipsEdited }),
        code,
      );
    await expectParity(furnish, {
      'of two': act('administrator', ({ member, guest }) => [member.id, guest.id]),
      'of those who have not chosen': act(
        'owner',
        ({ member, moderator }) => [member.id, moderator.id],
        undefined,
        true,
      ),
      'of a bot': act('owner', ({ member, bot }) => [member.id, bot.id], 'BAD_REQUEST'),
      'of nobody known': act('owner', () => [NOBODY], 'BAD_REQUEST'),
      'by a member': act('member', ({ guest }) => [guest.id], 'UNAUTHORIZED_PRINCIPAL'),
    });
  });
});
