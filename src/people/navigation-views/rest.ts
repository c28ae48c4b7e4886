import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPathTail, json, text } from '../../api/rest/params.ts';
import { addNavigationView, listNavigationViews, removeNavigationView, updateNavigationView } from './service.ts';
import { toWire, wireNavigationView } from './wire.ts';

const fragment = inPathTail(z.string(), {
  description: 'What stands behind the # of the address.',
  example: 'narrow/is/starred',
});

const PINNED = { description: 'In the sidebar, or under "More views".' };
const NAME = { description: 'Of a custom view; none for a built-in one.' };

export const getNavigationViews = endpoint({
  method: 'GET',
  path: '/navigation_views',
  auth: 'basic',
  twins: ['navigationViews'],
  summary: 'List your navigation views',
  description: 'Those you have set up; the others are as the client has them.',
  params: {},
  reply: { navigation_views: z.array(wireNavigationView) },
  async handle(ctx) {
    return { navigation_views: (await listNavigationViews(ctx)).map(toWire) };
  },
});

export const postNavigationView = endpoint({
  method: 'POST',
  path: '/navigation_views',
  auth: 'basic',
  twins: ['addNavigationView'],
  summary: 'Add a navigation view',
  params: {
    fragment: text(z.string(), {
      description: 'What stands behind the # of the address.',
      example: 'narrow/is/starred',
    }),
    is_pinned: json(z.boolean(), PINNED),
    name: text(z.string(), NAME).optional(),
  },
  reply: {},
  async handle(ctx, { fragment, is_pinned, name }) {
    await addNavigationView(ctx, { fragment, isPinned: is_pinned, name });
  },
});

export const patchNavigationView = endpoint({
  method: 'PATCH',
  path: '/navigation_views/{fragment}',
  auth: 'basic',
  twins: ['updateNavigationView'],
  summary: 'Edit a navigation view',
  params: { fragment, is_pinned: json(z.boolean(), PINNED).optional(), name: text(z.string(), NAME).optional() },
  reply: {},
  async handle(ctx, { fragment, is_pinned, name }) {
    await updateNavigationView(ctx, fragment, { isPinned: is_pinned, name });
  },
});

export const deleteNavigationView = endpoint({
  method: 'DELETE',
  path: '/navigation_views/{fragment}',
  auth: 'basic',
  twins: ['removeNavigationView'],
  summary: 'Remove a navigation view',
  params: { fragment },
  reply: {},
  async handle(ctx, { fragment }) {
    await removeNavigationView(ctx, fragment);
  },
});
