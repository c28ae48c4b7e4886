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

const TITLE = 'What its author finds it by.';
const CONTENT = 'The text, as flavored Markdown.';
const TITLE_GIVEN = `${TITLE} Not blank; at most 60 characters.`;
const CONTENT_GIVEN = `${CONTENT} Not blank; at most 10,000 characters.`;
const CREATED = 'When it was saved first.';

export const SavedSnippet = builder.prismaNode('SavedSnippet', {
  id: { field: 'id' },
  description: 'A text that somebody keeps for use in messages. Only they see it.',
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'The number that the REST API knows it by.' }),
    title: t.exposeString('title', { description: TITLE }),
    content: t.exposeString('content', { description: CONTENT }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: CREATED }),
    author: t.relation('author', { description: 'Who saved it.' }),
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
  input: (t) => ({ title: t.string({ description: TITLE_GIVEN }), content: t.string({ description: CONTENT_GIVEN }) }),
  payload: () => ({ savedSnippet: { type: SavedSnippet, description: 'The new snippet.' } }),
  resolve: async (ctx, input) => ({ savedSnippet: await createSavedSnippet(ctx, input) }),
});

mutation('updateSavedSnippet', {
  description: 'Changes what is given of a saved snippet.',
  input: (t) => ({
    savedSnippetId: t.id({ ...refersTo('SavedSnippet'), description: "One of the viewer's snippets." }),
    title: t.string({ required: false, description: `${TITLE_GIVEN} Absent: as it is.` }),
    content: t.string({ required: false, description: `${CONTENT_GIVEN} Absent: as it is.` }),
  }),
  payload: () => ({ savedSnippet: { type: SavedSnippet, description: 'As it is now.' } }),
  resolve: async (ctx, { savedSnippetId, title, content }) => ({
    savedSnippet: await updateSavedSnippet(ctx, savedSnippetId, {
      title: title ?? undefined,
      content: content ?? undefined,
    }),
  }),
});

mutation('deleteSavedSnippet', {
  description: 'Deletes a saved snippet.',
  input: (t) => ({
    savedSnippetId: t.id({ ...refersTo('SavedSnippet'), description: "One of the viewer's snippets." }),
  }),
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
    databaseId: t.exposeInt('id', { description: 'The number that the REST API knows it by.' }),
    title: t.exposeString('title', { description: TITLE }),
    content: t.exposeString('content', { description: CONTENT }),
    createdAt: t.field({
      type: 'DateTime',
      description: CREATED,
      resolve: ({ date_created }) => fromUnix(date_created),
    }),
  }),
});

eventType<{ saved_snippet: WireSavedSnippet }>(
  'saved_snippets',
  'add',
  'SavedSnippetAddedEvent',
  (t) => ({
    savedSnippet: t.field({
      type: SavedSnippetValue,
      description: 'The new snippet.',
      resolve: ({ event }) => event.saved_snippet,
    }),
  }),
  { description: 'The user saved a snippet.' },
);

eventType<{ saved_snippet: WireSavedSnippet }>(
  'saved_snippets',
  'update',
  'SavedSnippetUpdatedEvent',
  (t) => ({
    savedSnippet: t.field({
      type: SavedSnippetValue,
      description: 'As it is now.',
      resolve: ({ event }) => event.saved_snippet,
    }),
  }),
  { description: 'The user edited a saved snippet.' },
);

eventType<{ saved_snippet_id: number }>(
  'saved_snippets',
  'remove',
  'SavedSnippetRemovedEvent',
  (t) => ({
    savedSnippetId: t.id({
      ...refersTo('SavedSnippet'),
      description: 'The snippet that is gone.',
      resolve: ({ event }) => event.saved_snippet_id,
    }),
  }),
  { description: 'The user deleted a saved snippet.' },
);
