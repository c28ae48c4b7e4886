import { type Ctx, signedIn } from '../../access/context.ts';
import { byKey } from '../../api/graphql/loading/batch-resolvers.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { EventProjection, instantOf, projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { eventType } from '../../api/graphql/schema/event-types.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { byNumber, nodeModel } from '../../api/graphql/schema/node.ts';
import { type OrderBy, orderInput } from '../../api/graphql/schema/order-by.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { sortedPageOf } from '../../api/graphql/schema/sorted-list.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import { userReference } from '../../people/event-projections.ts';
import { User } from '../../people/graphql.ts';
import { usersById } from '../../people/loaders.ts';
import { byName } from '../../platform/db/keyset.ts';
import type { ListedRows } from '../../platform/db/places.ts';
import type { ProjectedSnippet } from './events.ts';
import { createSavedSnippet, deleteSavedSnippet, updateSavedSnippet, visibleTo } from './service.ts';

/** Event projection (the fields that an event alone provides) of a snippet: all its fields. */
const snippetProjection = new EventProjection<ProjectedSnippet>(
  'SavedSnippet',
  { idOf: ({ id }) => id },
  {
    databaseId: ({ id }) => id,
    title: ({ title }) => title,
    content: ({ content }) => content,
    createdAt: ({ createdAt, date_created }) => instantOf(createdAt, date_created),
    author: { projection: userReference, of: ({ authorId }) => authorId },
  },
);

const TITLE = 'Title, by which the author finds the snippet.';
const CONTENT = 'Text as flavored Markdown.';
const TITLE_GIVEN = `${TITLE} Not blank. At most 60 characters.`;
const CONTENT_GIVEN = `${CONTENT} Not blank. At most 10,000 characters.`;
const CREATED = 'Time of creation.';

export const SavedSnippet = builder.prismaNode('SavedSnippet', {
  ...byNumber,
  description: 'A text that its author saved for use in messages. Only the author can see it.',
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'Id in the REST API.' }),
    title: t.exposeString('title', { description: TITLE }),
    content: t.exposeString('content', { description: CONTENT }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: CREATED }),
    author: t.field({
      type: User,
      description: 'Author of the snippet.',
      resolve: byKey(usersById, ({ authorId }) => authorId),
    }),
  }),
});
nodeModel('SavedSnippet', 'SavedSnippet', visibleTo);

const SavedSnippetConnection = builder.connectionObject(
  { type: SavedSnippet, name: 'SavedSnippetConnection' },
  { name: 'SavedSnippetEdge' },
);

type SnippetField = 'id' | 'title';

const SnippetOrder = orderInput<SnippetField>('SavedSnippet', 'saved snippets', {
  ID: { value: 'id', description: 'Order of creation.' },
  TITLE: { value: 'title', description: 'Title, ignoring case.' },
});

const SNIPPET_ID = Prisma.sql`s.id`;
const COLUMNS = {
  id: { key: SNIPPET_ID, keyType: 'number' },
  title: { ...byName(Prisma.sql`s.title`), keyType: 'string' },
} as const;

const listedSnippets = ({ organizationId, viewer }: Ctx): ListedRows => ({
  from: Prisma.sql`saved_snippet s`,
  where: Prisma.sql`s.realm_id = ${organizationId} AND s.author_id = ${viewer.id}`,
});

const OLDEST_FIRST: OrderBy<SnippetField> = { field: 'id', direction: 'asc' };

builder.queryField('savedSnippets', (t) =>
  t.connection(
    {
      type: SavedSnippet,
      description: "The viewer's saved snippets.",
      args: {
        orderBy: t.arg({
          type: SnippetOrder,
          required: false,
          defaultValue: OLDEST_FIRST,
          description: 'Sort order.',
        }),
      },
      resolve: (_root, args, ctx, info) => {
        const request = signedIn(ctx);
        const [where, orderBy] = [visibleTo(request), args.orderBy ?? OLDEST_FIRST];
        const { keyType, ...column } = COLUMNS[orderBy.field];
        const sorted = { list: 'snippets', orderBy, keyType, args } as const;
        const rows = listedSnippets(request);
        return sortedPageOf('SavedSnippet', { ...sorted, rows, column, id: SNIPPET_ID, where, ctx, info });
      },
    },
    SavedSnippetConnection,
  ),
);

mutation('createSavedSnippet', {
  description: 'Saves a text for use in messages.',
  input: (t) => ({ title: t.string({ description: TITLE_GIVEN }), content: t.string({ description: CONTENT_GIVEN }) }),
  payload: () => ({ savedSnippet: { type: SavedSnippet, description: 'The new snippet.' } }),
  resolve: async (ctx, input) => ({ savedSnippet: await createSavedSnippet(ctx, input) }),
});

mutation('updateSavedSnippet', {
  description: 'Changes the given fields of a saved snippet.',
  input: (t) => ({
    savedSnippetId: t.id({ ...refersTo('SavedSnippet'), description: "Id of one of the viewer's snippets." }),
    title: t.string({ required: false, description: `${TITLE_GIVEN} Absent: unchanged.` }),
    content: t.string({ required: false, description: `${CONTENT_GIVEN} Absent: unchanged.` }),
  }),
  payload: () => ({ savedSnippet: { type: SavedSnippet, description: 'The updated snippet.' } }),
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
    savedSnippetId: t.id({ ...refersTo('SavedSnippet'), description: "Id of one of the viewer's snippets." }),
  }),
  payload: () => ({
    savedSnippetId: { type: 'ID', refersTo: 'SavedSnippet', description: 'Id of the deleted snippet.' },
  }),
  resolve: async (ctx, { savedSnippetId }) => {
    await deleteSavedSnippet(ctx, savedSnippetId);
    return { savedSnippetId };
  },
});

for (const { op, name, shown, description, outdates } of [
  {
    ...{ op: 'add', name: 'SavedSnippetAddedEvent', shown: 'The new snippet.' },
    ...{ description: 'The user saved a snippet.', outdates: ['savedSnippets'] },
  },
  {
    ...{ op: 'update', name: 'SavedSnippetUpdatedEvent' },
    ...{ shown: 'The updated snippet.', description: 'The user edited a saved snippet.', outdates: [] },
  },
]) {
  eventType(
    'saved_snippets',
    op,
    name,
    (t) => ({
      savedSnippet: t.field({
        type: SavedSnippet,
        nullable: true,
        description: shown,
        ...projectedFromEvent(snippetProjection),
      }),
    }),
    { description, outdates },
  );
}

eventType<{ saved_snippet_id: number }>(
  'saved_snippets',
  'remove',
  'SavedSnippetRemovedEvent',
  (t) => ({
    savedSnippetId: t.id({
      ...refersTo('SavedSnippet'),
      description: 'Id of the deleted snippet.',
      resolve: ({ event }) => event.saved_snippet_id,
    }),
  }),
  { description: 'The user deleted a saved snippet.', outdates: ['savedSnippets'] },
);
