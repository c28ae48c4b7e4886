import { describe, test } from 'vitest';
import { bothDoors, furnish, type Who } from '../helpers/both-doors.ts';
import { expectParity } from '../helpers/equivalents.ts';

describe('deactivation', () => {
  test.concurrent('DELETE /users/{user_id}, POST /users/{user_id}/reactivate, and their mutations', async () => {
    const away = (who: Who, whom: Who, code?: string) =>
      bothDoors('DELETE', (world) => `/users/${world[whom].id}`, 'deactivateUser')(
        who,
        () => ({ actions: { delete_profile: true }, deactivation_notification_comment: 'Farewell' }),
        (world) => ({ userId: world[whom].id, erase: { profile: true }, notificationComment: 'Farewell' }),
        code,
      );
    const back = (who: Who, whom: Who, code?: string) =>
      bothDoors('POST', (world) => `/users/${world[whom].id}/reactivate`, 'reactivateUser')(
        who,
        () => ({}),
        (world) => ({ userId: world[whom].id }),
        code,
      );
    await expectParity(furnish, {
      'by a member': away('member', 'guest', 'BAD_REQUEST'),
      'the only owner, by an administrator': away('administrator', 'owner', 'BAD_REQUEST'),
      'the only owner': away('owner', 'owner', 'BAD_REQUEST'),
      'a bot': away('owner', 'bot', 'BAD_REQUEST'),
      'a moderator': away('administrator', 'moderator'),
      'a moderator once more': away('administrator', 'moderator', 'BAD_REQUEST'),
      'back by a guest': back('guest', 'moderator', 'BAD_REQUEST'),
      back: back('administrator', 'moderator'),
      'back already': back('administrator', 'moderator'),
    });
  });
});
