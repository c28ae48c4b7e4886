import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { pageOf } from '../../api/graphql/connection.ts';
import { eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { nodeModel } from '../../api/graphql/node.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { fromUnix } from '../../api/graphql/scalars.ts';
import { createSavedSnippet, deleteSavedSnippet, updateSavedSnippet, visibleTo } from './service.ts';
import type { WireSavedSnippet } from './wire.ts';

const TITLE = 'Not blank; at most 60 characters.';
const CONTENT = 'Flavored Markdown, not blank; at most 10,000 characters.';

export const SavedSnippet = builder.prismaNode('SavedSnippet', {
  id: { field: 'id' },
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'The id REST uses.' }),
    title: t.exposeString('title'),
    content: t.exposeString('content'),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    author: t.relation('author'),
  }),
});
nodeModel('SavedSnippet', 'SavedSnippet', visibleTo);

const SavedSnippetConnection = builder.connectionObject(
  { type: SavedSnippet, name: 'SavedSnippetConnection' },
  { name: 'SavedSnippetEdge' },
);

builder.queryField('savedSnippets', (t) =>
  t.connection(
    {
      type: SavedSnippet,
      description: "The viewer's saved snippets, oldest first.",
      resolve: (_root, args, ctx, info) =>
        pageOf('SavedSnippet', { where: visibleTo(signedIn(ctx)), order: { id: 'asc' }, args, ctx, info }),
    },
    SavedSnippetConnection,
  ),
);

mutation('createSavedSnippet', {
  description: 'Keeps a text for use in messages.',
  input: (t) => ({ title: t.string({ description: TITLE }), content: t.string({ description: CONTENT }) }),
  payload: () => ({ savedSnippet: { type: SavedSnippet } }),
  resolve: async (ctx, input) => ({ savedSnippet: await createSavedSnippet(ctx, input) }),
});

mutation('updateSavedSnippet', {
  description: 'Changes what is given of a saved snippet.',
  input: (t) => ({
    savedSnippetId: t.id(refersTo('SavedSnippet')),
    title: t.string({ required: false, description: TITLE }),
    content: t.string({ required: false, description: CONTENT }),
  }),
  payload: () => ({ savedSnippet: { type: SavedSnippet } }),
  resolve: async (ctx, { savedSnippetId, title, content }) => ({
    savedSnippet: await updateSavedSnippet(ctx, savedSnippetId, {
      title: title ?? undefined,
      content: content ?? undefined,
    }),
  }),
});

mutation('deleteSavedSnippet', {
  description: 'Deletes a saved snippet.',
  input: (t) => ({ savedSnippetId: t.id(refersTo('SavedSnippet')) }),
  payload: () => ({
    savedSnippetId: { type: 'ID', refersTo: 'SavedSnippet', description: 'Of the snippet that is gone.' },
  }),
  resolve: async (ctx, { savedSnippetId }) => {
    await deleteSavedSnippet(ctx, savedSnippetId);
    return { savedSnippetId };
  },
});

const SavedSnippetValue = builder.objectRef<WireSavedSnippet>('SavedSnippetValue').implement({
  description: 'A saved snippet as it was when the event happened.',
  fields: (t) => ({
    id: t.expose('id', { type: 'ID', ...refersTo('SavedSnippet'), description: 'The `id` of the SavedSnippet.' }),
    databaseId: t.exposeInt('id', { description: 'The id REST uses.' }),
    title: t.exposeString('title'),
    content: t.exposeString('content'),
    createdAt: t.field({ type: 'DateTime', resolve: ({ date_created }) => fromUnix(date_created) }),
  }),
});

eventType<{ saved_snippet: WireSavedSnippet }>(
  'saved_snippets',
  'add',
  'SavedSnippetAddedEvent',
  (t) => ({ savedSnippet: t.field({ type: SavedSnippetValue, resolve: ({ event }) => event.saved_snippet }) }),
  { description: 'The user saved a snippet.' },
);

eventType<{ saved_snippet: WireSavedSnippet }>(
  'saved_snippets',
  'update',
  'SavedSnippetUpdatedEvent',
  (t) => ({ savedSnippet: t.field({ type: SavedSnippetValue, resolve: ({ event }) => event.saved_snippet }) }),
  { description: 'The user edited a saved snippet.' },
);

eventType<{ saved_snippet_id: number }>(
  'saved_snippets',
  'remove',
  'SavedSnippetRemovedEvent',
  (t) => ({ savedSnippetId: t.id({ ...refersTo('SavedSnippet'), resolve: ({ event }) => event.saved_snippet_id }) }),
  { description: 'The user deleted a saved snippet.' },
);
