import { describe, test } from 'vitest';
import { bothDoors, furnish, type Who } from '../helpers/both-doors.ts';
import { expectParity } from '../helpers/equivalents.ts';

describe('default settings of new users', () => {
  test.concurrent('PATCH /realm/user_settings_defaults and updateUserSettingsDefaults', async () => {
    const edit = bothDoors('PATCH', '/realm/user_settings_defaults', 'updateUserSettingsDefaults');
    const act = (who: Who, rest: object, graphql: object, code?: string) =>
      edit(
        who,
        () => rest,
        () => graphql,
        code,
      );
    const dark = [{ color_scheme: 2 }, { settings: { colorScheme: 'DARK' } }] as const;
    await expectParity(furnish, {
      'another one': act('administrator', ...dark),
      'the same': act('administrator', ...dark),
      'one there is not': act(
        'administrator',
        { web_font_size_px: 0 },
        { settings: { webFontSizePx: 0 } },
        'BAD_REQUEST',
      ),
      'by a moderator': act('moderator', ...dark, 'UNAUTHORIZED_PRINCIPAL'),
    });
  });
});
