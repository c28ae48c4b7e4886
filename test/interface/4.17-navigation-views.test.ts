import { describe, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import { createOrganization } from '../helpers/server.ts';
import { refused, success } from '../helpers/shapes.ts';

const { member, guest, owner } = await createOrganization();
const add = (parameters: object, by = member) => by.rest('POST', '/navigation_views', { ...parameters });
const view = async (wanted: string, by = member): Promise<Json> =>
  (await by.ok('GET', '/navigation_views')).navigation_views.find(({ fragment }: Json) => fragment === wanted);

describe.concurrent('4.17 POST /navigation_views', () => {
  test.for(['inbox', 'recent', 'feed'])('configures the built-in view %s', async (fragment) => {
    expect((await add({ fragment, is_pinned: true })).body).toEqual(success());
    expect(await view(fragment)).toEqual({ fragment, is_pinned: true, name: null });
  });

  test('adds a custom view with a name', async () => {
    const custom = { fragment: 'narrow/sender/1', is_pinned: false, name: 'From Ann' };
    expect((await add(custom)).body).toEqual(success());
    expect(await view('narrow/sender/1')).toEqual(custom);
  });

  test('adds the view for the current user only', async () => {
    await add({ fragment: 'narrow/sender/2', is_pinned: true, name: 'Mine' }, guest);
    expect(await view('narrow/sender/2', owner)).toBeUndefined();
  });

  test.for([true, false])('keeps is_pinned %s', async (is_pinned) => {
    const fragment = `narrow/pinned/${is_pinned}`;
    await add({ fragment, is_pinned, name: `Pinned ${is_pinned}` });
    expect(await view(fragment)).toMatchObject({ is_pinned });
  });

  test.for(['', ' '])('rejects the fragment %j with BAD_REQUEST', async (fragment) => {
    expect(await add({ fragment, is_pinned: true })).toMatchObject(refused());
  });

  test.for(['fragment', 'is_pinned'])('%s is required', async (name) => {
    expect(await add({ fragment: 'narrow/x', is_pinned: true, name: 'X', [name]: undefined })).toMatchObject(
      refused('REQUEST_VARIABLE_MISSING', { var_name: name }),
    );
  });

  test.for(['yes', '1', 'null'])('is_pinned cannot be %s', async (is_pinned) => {
    expect(await add({ fragment: 'narrow/y', is_pinned, name: 'Y' })).toMatchObject(refused());
  });
});
