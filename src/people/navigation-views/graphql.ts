import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { pageOf } from '../../api/graphql/connection.ts';
import { fromEvent } from '../../api/graphql/entity-facts.ts';
import { type EventSource, eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { byNumber, nodeModel } from '../../api/graphql/node.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { viewFacts } from './entity-facts.ts';
import type { KnownView } from './events.ts';
import { addNavigationView, removeNavigationView, updateNavigationView, visibleTo } from './service.ts';

const FRAGMENT = 'What stands behind the # of the address; unique among the views of one user.';
const PINNED = 'Whether it stands in the sidebar, or under "More views".';
const NAME = 'What a custom view is called; none for a built-in one.';

export const NavigationView = builder.prismaNode('NavigationView', {
  description: 'A view that a user has set up in their sidebar.',
  ...byNumber,
  fields: (t) => ({
    fragment: t.exposeString('fragment', { description: FRAGMENT }),
    isPinned: t.exposeBoolean('isPinned', { description: PINNED }),
    name: t.exposeString('name', { nullable: true, description: NAME }),
  }),
});
nodeModel('NavigationView', 'NavigationView', visibleTo);

const NavigationViewConnection = builder.connectionObject(
  { type: NavigationView, name: 'NavigationViewConnection' },
  { name: 'NavigationViewEdge' },
);

builder.queryField('navigationViews', (t) =>
  t.connection(
    {
      type: NavigationView,
      description: 'The views the viewer has set up, oldest first.',
      resolve: (_root, args, ctx, info) =>
        pageOf('NavigationView', { where: visibleTo(signedIn(ctx)), order: { id: 'asc' }, args, ctx, info }),
    },
    NavigationViewConnection,
  ),
);

mutation('addNavigationView', {
  description: 'Sets up a view in the sidebar.',
  input: (t) => ({
    fragment: t.string({ description: FRAGMENT }),
    isPinned: t.boolean({ description: PINNED }),
    name: t.string({ required: false, description: NAME }),
  }),
  payload: () => ({ navigationView: { type: NavigationView, description: 'The new view.' } }),
  resolve: async (ctx, input) => ({ navigationView: await addNavigationView(ctx, input) }),
});

mutation('updateNavigationView', {
  description: 'Changes what is given of a view.',
  input: (t) => ({
    fragment: t.string({ description: FRAGMENT }),
    isPinned: t.boolean({ required: false, description: PINNED }),
    name: t.string({ required: false, description: NAME }),
  }),
  payload: () => ({ navigationView: { type: NavigationView, description: 'The view, after the change.' } }),
  resolve: async (ctx, { fragment, isPinned, name }) => ({
    navigationView: await updateNavigationView(ctx, fragment, {
      isPinned: isPinned ?? undefined,
      name: name ?? undefined,
    }),
  }),
});

mutation('removeNavigationView', {
  description: 'Takes a view away: a built-in one is then as the client has it.',
  input: (t) => ({ fragment: t.string({ description: FRAGMENT }) }),
  payload: () => ({ fragment: { type: 'String', description: 'Which view it was.' } }),
  resolve: async (ctx, { fragment }) => {
    await removeNavigationView(ctx, fragment);
    return { fragment };
  },
});

const navigationView = fromEvent(
  viewFacts,
  ({ facts }: EventSource<unknown, { readonly view: KnownView }>) => facts.view,
);

eventType<unknown, { readonly view: KnownView }>(
  'navigation_view',
  'add',
  'NavigationViewAddedEvent',
  (t) => ({
    navigationView: t.field({
      type: NavigationView,
      nullable: true,
      description: 'The new view.',
      ...navigationView,
    }),
  }),
  { description: 'The user set up a view.' },
);

eventType<{ fragment: string }, { readonly view: KnownView }>(
  'navigation_view',
  'update',
  'NavigationViewUpdatedEvent',
  (t) => ({
    navigationView: t.field({
      type: NavigationView,
      nullable: true,
      description: 'As it is now.',
      ...navigationView,
    }),
    fragment: t.string({
      description: 'Which view changed: what stands behind the # of its address.',
      resolve: ({ event }) => event.fragment,
    }),
  }),
  { description: 'The user changed a view.' },
);

eventType<{ fragment: string }, { readonly id: number | null }>(
  'navigation_view',
  'remove',
  'NavigationViewRemovedEvent',
  (t) => ({
    navigationViewId: t.id({
      ...refersTo('NavigationView'),
      nullable: true,
      description: 'The view that is gone. Null for one that went before events told it: `fragment` names it too.',
      resolve: ({ facts }) => facts.id,
    }),
    fragment: t.string({
      description: 'Which view it was: what stood behind the # of its address.',
      resolve: ({ event }) => event.fragment,
    }),
  }),
  { description: 'The user took a view away.' },
);
