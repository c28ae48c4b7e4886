import { describe, test } from 'vitest';
import { bothDoors, furnish, type Who } from '../helpers/both-doors.ts';
import { expectParity } from '../helpers/equivalents.ts';
import { PNG } from '../helpers/pictures.ts';

describe('custom emoji', () => {
  const add = (who: Who, name: string, code?: string) =>
    bothDoors('POST', `/realm/emoji/${name}`, 'addCustomEmoji')(
      who,
      () => ({ file: PNG }),
      () => ({ name, image: PNG }),
      code,
    );

  test.concurrent('POST /realm/emoji/{emoji_name} and addCustomEmoji', async () => {
    await expectParity(furnish, {
      one: add('member', 'steamer'),
      'the same again': add('owner', 'steamer', 'BAD_REQUEST'),
      'a built-in one': add('member', 'tada', 'BAD_REQUEST'),
      'a built-in one by an administrator': add('administrator', 'tada'),
      "a guest's": add('guest', 'yawl', 'UNAUTHORIZED_PRINCIPAL'),
    });
  });

  test.concurrent('DELETE /realm/emoji/{emoji_name} and deactivateCustomEmoji', async () => {
    const act = (who: Who, code?: string) =>
      bothDoors('DELETE', '/realm/emoji/steamer', 'deactivateCustomEmoji')(
        who,
        () => ({}),
        () => ({ name: 'steamer' }),
        code,
      );
    await expectParity(furnish, {
      added: add('member', 'steamer'),
      "somebody else's": act('moderator', 'BAD_REQUEST'),
      one: act('member'),
      'the same again': act('owner', 'BAD_REQUEST'),
    });
  });
});
