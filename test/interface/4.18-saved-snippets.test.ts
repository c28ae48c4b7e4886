import { describe, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import { createOrganization } from '../helpers/server.ts';
import { failure, success } from '../helpers/shapes.ts';

const { member, guest } = await createOrganization();
const BEFORE = { title: 'Hello', content: '**Hello**' };
const save = async (): Promise<number> => (await member.ok('POST', '/saved_snippets', BEFORE)).saved_snippet_id;
const edit = (id: number, parameters: object, by = member) =>
  by.rest('PATCH', `/saved_snippets/${id}`, { ...parameters });
const read = async (wanted: number): Promise<Json> =>
  (await member.ok('GET', '/saved_snippets')).saved_snippets.find(({ id }: Json) => id === wanted);

describe.concurrent('4.18 PATCH /saved_snippets/{saved_snippet_id}', () => {
  test.for([
    ['title', { title: 'Bye' }],
    ['content', { content: '*Bye*' }],
    ['both', { title: 'Bye', content: '*Bye*' }],
    ['nothing', {}],
  ] as const)('changes %s', async ([, change]) => {
    const id = await save();
    expect((await edit(id, change)).body).toEqual(success());
    expect(await read(id)).toMatchObject({ ...BEFORE, ...change });
  });

  test.for([0, 2_000_000_000])('rejects the unknown snippet %d with BAD_REQUEST', async (id) => {
    expect((await edit(id, { title: 'x' })).body).toEqual(failure('BAD_REQUEST'));
  });

  test('rejects a snippet of another user with the error of an unknown one', async () => {
    const id = await save();
    expect((await edit(id, { title: 'mine' }, guest)).body).toEqual(failure('BAD_REQUEST'));
    expect(await read(id)).toMatchObject(BEFORE);
  });
});
