import { describe, test } from 'vitest';
import { bothDoors, furnish, type Who } from '../helpers/both-doors.ts';
import { runCommand } from '../helpers/control.ts';
import { type EquivalentOrganization, expectParity } from '../helpers/equivalents.ts';
import { serverOf } from '../helpers/server.ts';

describe('addresses and passwords', () => {
  test.concurrent('addresses and passwords in PATCH /settings, PATCH /users/{user_id} and their mutations', async () => {
    const settings = bothDoors('PATCH', '/settings', 'updateSettings');
    const wanted = (who: Who, email: string, code?: string) => {
      const input = () => ({ email });
      return settings(who, input, input, code);
    };
    const give = (who: Who, newEmail: string, code?: string) =>
      bothDoors('PATCH', ({ moderator }) => `/users/${moderator.id}`, 'updateUser')(
        who,
        () => ({ new_email: newEmail }),
        ({ moderator }) => ({ userId: moderator.id, newEmail }),
        code,
      );
    const granted = async (twin: EquivalentOrganization) => {
      const { owner, organization } = twin.people;
      const right = { org: organization.subdomain, user: owner.email, right: 'can_change_user_emails' };
      await runCommand(serverOf().dataDir, 'user grant', right);
      return furnish(twin);
    };
    await expectParity(granted, {
      'an address of their own': wanted('guest', 'gia@new.example'),
      'no address': wanted('guest', 'gia', 'BAD_REQUEST'),
      'one for a bot': wanted('bot', 'bot@new.example', 'BAD_REQUEST'),
      'a wrong password': settings(
        'member',
        () => ({ old_password: 'wrong', new_password: 'a new password' }),
        () => ({ oldPassword: 'wrong', newPassword: 'a new password' }),
        'BAD_REQUEST',
      ),
      'an address of another user': give('owner', 'mo@new.example'),
      'by a user without the right': give('administrator', 'mo@newer.example', 'BAD_REQUEST'),
      'no address for another user': give('owner', 'mo', 'BAD_REQUEST'),
    });
  });
});
