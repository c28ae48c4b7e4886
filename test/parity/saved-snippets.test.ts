import { describe, test } from 'vitest';
import { bothDoors, furnish, NOBODY, type Who, type World } from '../helpers/both-doors.ts';
import { type Act, expectParity } from '../helpers/equivalents.ts';

describe('saved snippets', () => {
  const INVALID: Readonly<Record<string, object>> = {
    'a blank title': { title: ' ' },
    'a long title': { title: 't'.repeat(61) },
    'blank content': { content: '\n' },
    'a null byte': { content: 'a\0b' },
  };
  const refused = (act: (fields: object, code?: string) => Act<World>) =>
    Object.fromEntries(Object.entries(INVALID).map(([name, fields]) => [name, act(fields, 'BAD_REQUEST')]));

  test.concurrent('POST /saved_snippets and createSavedSnippet', async () => {
    const act = (fields: object, code?: string) => {
      const input = () => ({ title: ' Bye ', content: 'Bye!', ...fields });
      return bothDoors('POST', '/saved_snippets', 'createSavedSnippet')('guest', input, input, code);
    };
    await expectParity(furnish, { one: act({}), ...refused(act) });
  });

  test.concurrent('PATCH /saved_snippets/{saved_snippet_id} and updateSavedSnippet', async () => {
    const act = (fields: object, code?: string, who: Who = 'member', id = ({ snippet }: World) => snippet) =>
      bothDoors('PATCH', (world) => `/saved_snippets/${id(world)}`, 'updateSavedSnippet')(
        who,
        () => fields,
        (world) => ({ savedSnippetId: id(world), ...fields }),
        code,
      );
    await expectParity(furnish, {
      'another title': act({ title: 'Hi' }),
      'other content': act({ content: 'Hi!' }),
      nothing: act({}),
      "another's": act({ title: 'mine' }, 'BAD_REQUEST', 'owner'),
      'one that is not there': act({}, 'BAD_REQUEST', 'member', () => NOBODY),
      ...refused(act),
    });
  });

  test.concurrent('DELETE /saved_snippets/{saved_snippet_id} and deleteSavedSnippet', async () => {
    const act = (who: Who, code?: string) =>
      bothDoors('DELETE', ({ snippet }) => `/saved_snippets/${snippet}`, 'deleteSavedSnippet')(
        who,
        () => ({}),
        ({ snippet }) => ({ savedSnippetId: snippet }),
        code,
      );
    await expectParity(furnish, {
      "another's": act('owner', 'BAD_REQUEST'),
      one: act('member'),
      'the same again': act('member', 'BAD_REQUEST'),
    });
  });
});
