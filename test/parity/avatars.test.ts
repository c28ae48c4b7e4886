import { describe, test } from 'vitest';
import { bothDoors, furnish } from '../helpers/both-doors.ts';
import { expectParity } from '../helpers/equivalents.ts';
import type { Method } from '../helpers/person.ts';
import { PNG } from '../helpers/pictures.ts';

describe('avatars', () => {
  test.concurrent('POST and DELETE /users/me/avatar, and setAvatar', async () => {
    const act = (method: Method, image: Uint8Array | null, code?: string) =>
      bothDoors(method, '/users/me/avatar', 'setAvatar')(
        'member',
        () => (image === null ? {} : { file: image }),
        () => ({ image }),
        code,
      );
    await expectParity(furnish, {
      uploaded: act('POST', PNG),
      'a file that is not an image': act('POST', Buffer.from('text'), 'BAD_IMAGE'),
      'too large': act('POST', Buffer.alloc(5 * 1024 * 1024 + 1), 'BAD_REQUEST'),
      'taken away': act('DELETE', null),
    });
  });

  test.concurrent('POST and DELETE /realm/icon, and setOrganizationIcon', async () => {
    const act = (method: Method, image: Uint8Array | null, by: 'owner' | 'member' = 'owner', code?: string) =>
      bothDoors(method, '/realm/icon', 'setOrganizationIcon')(
        by,
        () => (image === null ? {} : { file: image }),
        () => ({ image }),
        code,
      );
    await expectParity(furnish, {
      uploaded: act('POST', PNG),
      'a file that is not an image': act('POST', Buffer.from('text'), 'owner', 'BAD_IMAGE'),
      'not by a member': act('POST', PNG, 'member', 'UNAUTHORIZED_PRINCIPAL'),
      'taken away': act('DELETE', null),
    });
  });
});
