import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { pageOf } from '../../api/graphql/schema/connection.ts';
import { EventProjection, projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { type EventSource, eventType } from '../../api/graphql/schema/event-types.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { byNumber, nodeModel } from '../../api/graphql/schema/node.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import type { ProjectedView } from './events.ts';
import { addNavigationView, removeNavigationView, updateNavigationView, visibleTo } from './service.ts';

/**
 * Event projection (the fields that an event alone provides) of a view: its id, fragment and name, and whether it is pinned.
 */
const viewProjection = new EventProjection<NonNullable<ProjectedView>>(
  'NavigationView',
  { idOf: ({ id }) => id },
  {
    fragment: ({ fragment }) => fragment,
    isPinned: (view) => view.is_pinned,
    name: ({ name }) => name,
  },
);

const FRAGMENT = "Part of the view's URL after the `#`. Unique among the views of a user.";
const PINNED = 'Whether the view is shown in the sidebar. Otherwise it is shown under "More views".';
const NAME = 'Name of a custom view. Null for a built-in view.';

export const NavigationView = builder.prismaNode('NavigationView', {
  description: 'A view that a user added to their sidebar.',
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
      description: 'Views that the viewer added, oldest first.',
      resolve: (_root, args, ctx, info) =>
        pageOf('NavigationView', { where: visibleTo(signedIn(ctx)), order: { id: 'asc' }, args, ctx, info }),
    },
    NavigationViewConnection,
  ),
);

mutation('addNavigationView', {
  description: 'Adds a view to the sidebar.',
  input: (t) => ({
    fragment: t.string({ description: FRAGMENT }),
    isPinned: t.boolean({ description: PINNED }),
    name: t.string({ required: false, description: NAME }),
  }),
  payload: () => ({ navigationView: { type: NavigationView, description: 'The new view.' } }),
  resolve: async (ctx, input) => ({ navigationView: await addNavigationView(ctx, input) }),
});

mutation('updateNavigationView', {
  description: 'Updates a view. Omitted fields do not change.',
  input: (t) => ({
    fragment: t.string({ description: FRAGMENT }),
    isPinned: t.boolean({ required: false, description: PINNED }),
    name: t.string({ required: false, description: NAME }),
  }),
  payload: () => ({ navigationView: { type: NavigationView, description: 'The view after the change.' } }),
  resolve: async (ctx, { fragment, isPinned, name }) => ({
    navigationView: await updateNavigationView(ctx, fragment, {
      isPinned: isPinned ?? undefined,
      name: name ?? undefined,
    }),
  }),
});

mutation('removeNavigationView', {
  description: 'Removes a view. If the view is built in, clients then show it as they do by default.',
  input: (t) => ({ fragment: t.string({ description: FRAGMENT }) }),
  payload: () => ({
    navigationViewId: { type: 'ID', refersTo: 'NavigationView', description: 'Id of the removed view.' },
  }),
  resolve: async (ctx, { fragment }) => ({ navigationViewId: (await removeNavigationView(ctx, fragment)).id }),
});

const navigationView = projectedFromEvent(
  viewProjection,
  ({ facts }: EventSource<unknown, { readonly view: ProjectedView }>) => facts.view,
);

eventType<unknown, { readonly view: ProjectedView }>(
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
  { description: 'The viewer added a view.', outdates: ['navigationViews'] },
);

eventType<{ fragment: string }, { readonly view: ProjectedView }>(
  'navigation_view',
  'update',
  'NavigationViewUpdatedEvent',
  (t) => ({
    navigationView: t.field({
      type: NavigationView,
      nullable: true,
      description: 'The view after the change.',
      ...navigationView,
    }),
    fragment: t.string({
      description: "Part of the view's URL after the `#`.",
      resolve: ({ event }) => event.fragment,
    }),
  }),
  { description: 'The viewer changed a view.' },
);

eventType<{ fragment: string }, { readonly id: number | null }>(
  'navigation_view',
  'remove',
  'NavigationViewRemovedEvent',
  (t) => ({
    navigationViewId: t.id({
      ...refersTo('NavigationView'),
      nullable: true,
      description: 'Id of the removed view. Null in events of previous versions, which contain only `fragment`.',
      resolve: ({ facts }) => facts.id,
    }),
    fragment: t.string({
      description: "Part of the removed view's URL after the `#`.",
      resolve: ({ event }) => event.fragment,
    }),
  }),
  { description: 'The viewer removed a view.', outdates: ['navigationViews'] },
);
