import { describe, test } from 'vitest';
import { bothDoors, furnish, type Who } from '../helpers/both-doors.ts';
import { expectParity } from '../helpers/equivalents.ts';

describe('presence', () => {
  test.concurrent('POST /users/me/presence and recordPresence', async () => {
    const ping = bothDoors('POST', '/users/me/presence', 'recordPresence');
    const act = (who: Who, status: 'active' | 'idle', code?: string) =>
      ping(
        who,
        () => ({ status }),
        () => ({ status: status.toUpperCase() }),
        code,
      );
    await expectParity(furnish, {
      'a user who comes online': act('member', 'active'),
      'the same again': act('member', 'active'),
      'an idle user': act('guest', 'idle'),
      'a bot': act('bot', 'active', 'BAD_REQUEST'),
    });
  });
});
