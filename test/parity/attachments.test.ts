import { describe, test } from 'vitest';
import { bothDoors, furnish, type Who } from '../helpers/both-doors.ts';
import { expectParity } from '../helpers/equivalents.ts';
import { PNG } from '../helpers/pictures.ts';

describe('files', () => {
  test.concurrent('POST /user_uploads and uploadFile', async () => {
    const upload = (who: Who, code?: string) =>
      bothDoors('POST', '/user_uploads', 'uploadFile')(
        who,
        () => ({ file: PNG }),
        () => ({ file: PNG, name: 'a file' }),
        code,
      );
    await expectParity(furnish, { one: upload('member'), "a guest's": upload('guest') });
  });
});
