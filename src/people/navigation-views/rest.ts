import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPathTail, json, text } from '../../api/rest/params.ts';
import { addNavigationView, listNavigationViews, removeNavigationView, updateNavigationView } from './service.ts';
import { toWire, wireNavigationView } from './wire.ts';

const fragment = inPathTail(z.string(), {
  description: "Part of the view's URL after the `#`.",
  example: 'narrow/is/starred',
});

const PINNED = { description: 'Whether the view is shown in the sidebar. Otherwise it is shown under "More views".' };
const NAME = { description: 'Name of a custom view. Not allowed for a built-in view.' };

export const getNavigationViews = endpoint({
  method: 'GET',
  path: '/navigation_views',
  auth: 'basic',
  equivalents: ['navigationViews'],
  summary: 'List your navigation views',
  description: 'Views that you added. Other built-in views have the defaults of the client.',
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
  equivalents: ['addNavigationView'],
  summary: 'Add a navigation view',
  params: {
    fragment: text(z.string(), {
      description: "Part of the view's URL after the `#`.",
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
  equivalents: ['updateNavigationView'],
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
  equivalents: ['removeNavigationView'],
  summary: 'Remove a navigation view',
  params: { fragment },
  reply: {},
  async handle(ctx, { fragment }) {
    await removeNavigationView(ctx, fragment);
  },
});
