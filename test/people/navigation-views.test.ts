import { expect, test } from 'vitest';
import { createOrganization } from '../helpers/server.ts';

const VIEW = { fragment: 'narrow/channel/7-general', is_pinned: true, name: 'General' };

test.concurrent('stores built-in and custom views for each user, in both APIs', async () => {
  const { member, guest } = await createOrganization();
  const heard = await member.receiving();
  await member.ok('POST', '/navigation_views', { fragment: ' inbox ', is_pinned: false });
  await member.ok('POST', '/navigation_views', VIEW);
  const { navigation_views } = await member.ok('GET', '/navigation_views');
  expect(navigation_views).toEqual([{ fragment: 'inbox', is_pinned: false, name: null }, VIEW]);
  expect((await guest.ok('GET', '/navigation_views')).navigation_views).toEqual([]);
  // The fragment in the path contains slashes, which clients may encode or not.
  await member.ok('PATCH', `/navigation_views/${VIEW.fragment}`, { name: 'Other' });
  await member.ok('PATCH', `/navigation_views/${encodeURIComponent(VIEW.fragment)}`, { is_pinned: true });
  const payload = await member.mutate(
    'updateNavigationView',
    { fragment: 'inbox', isPinned: true },
    'navigationView { isPinned name }',
  );
  expect(payload.navigationView).toEqual({ isPinned: true, name: null });
  await member.mutate('removeNavigationView', { fragment: 'inbox' }, 'navigationViewId');
  await member.ok('DELETE', `/navigation_views/${VIEW.fragment}`);
  expect(await heard()).toEqual([
    { type: 'navigation_view', op: 'add', navigation_view: { fragment: 'inbox', is_pinned: false, name: null } },
    { type: 'navigation_view', op: 'add', navigation_view: VIEW },
    { type: 'navigation_view', op: 'update', fragment: VIEW.fragment, data: { name: 'Other' } },
    { type: 'navigation_view', op: 'update', fragment: 'inbox', data: { is_pinned: true } },
    { type: 'navigation_view', op: 'remove', fragment: 'inbox' },
    { type: 'navigation_view', op: 'remove', fragment: VIEW.fragment },
  ]);
});

test.concurrent('refuses invalid and duplicate views', async () => {
  const { member, guest } = await createOrganization();
  await member.ok('POST', '/navigation_views', VIEW);
  await member.ok('POST', '/navigation_views', { fragment: 'feed', is_pinned: true });
  for (const [method, path, parameters, expected] of [
    ['POST', '', { fragment: '  ', is_pinned: true, name: 'x' }, [400, 'fragment cannot be blank']],
    [
      'POST',
      '',
      { fragment: 'drafts', is_pinned: true, name: 'x' },
      [400, 'Built-in views cannot have a custom name.'],
    ],
    ['POST', '', { fragment: 'narrow/x', is_pinned: true }, [400, 'Custom views must have a valid name.']],
    ['POST', '', { ...VIEW, name: 'Another' }, [400, 'Navigation view already exists.']],
    ['POST', '', { ...VIEW, fragment: 'another' }, [400, 'Navigation view already exists.']],
    ['PATCH', '/feed', { name: 'x' }, [400, 'Built-in views cannot have a custom name.']],
    ['PATCH', '/nothing', { is_pinned: true }, [404, 'Navigation view does not exist.']],
    ['DELETE', '/nothing', {}, [404, 'Navigation view does not exist.']],
  ] as const) {
    const { status, body } = await member.rest(method, `/navigation_views${path}`, parameters);
    expect([status, body.msg, body.code], `${method} ${path}`).toEqual([...expected, 'BAD_REQUEST']);
  }
  expect((await guest.rest('DELETE', `/navigation_views/${VIEW.fragment}`)).status).toBe(404);
});
