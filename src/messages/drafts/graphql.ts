import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { pageOf } from '../../api/graphql/connection.ts';
import { eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { nodeModel } from '../../api/graphql/node.ts';
import { fromUnix } from '../../api/graphql/scalars.ts';
import { createDrafts, deleteDraft, updateDraft, visibleTo } from './service.ts';
import type { DraftType, WireDraft } from './wire.ts';

const DraftTypeEnum = builder.enumType('DraftType', {
  description: 'Where a draft is to go.',
  values: {
    UNADDRESSED: { value: '', description: 'Nowhere yet.' },
    CHANNEL: { value: 'stream', description: 'To a channel.' },
    DIRECT: { value: 'private', description: 'To people.' },
  } as const,
});

const TO = 'One channel id, or user ids, by `type`.';

export const Draft = builder.prismaNode('Draft', {
  id: { field: 'id' },
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'The id REST uses.' }),
    type: t.field({ type: DraftTypeEnum, resolve: ({ type }) => type as DraftType }),
    to: t.exposeIntList('to', { description: TO }),
    topic: t.exposeString('topic', { description: 'Empty unless the draft is for a channel.' }),
    content: t.exposeString('content'),
    lastEditedAt: t.expose('lastEditedAt', { type: 'DateTime' }),
    author: t.relation('author'),
  }),
});
nodeModel('Draft', 'Draft', visibleTo);

const DraftConnection = builder.connectionObject({ type: Draft, name: 'DraftConnection' }, { name: 'DraftEdge' });

builder.queryField('drafts', (t) =>
  t.connection(
    {
      type: Draft,
      description: "The viewer's drafts, last edited first.",
      resolve: (_root, args, ctx, info) => {
        const where = visibleTo(signedIn(ctx));
        return pageOf('Draft', { where, order: { lastEditedAt: 'desc', id: 'desc' }, args, ctx, info });
      },
    },
    DraftConnection,
  ),
);

const DraftInput = builder.inputType('DraftInput', {
  description: 'A whole draft.',
  fields: (t) => ({
    type: t.field({ type: DraftTypeEnum }),
    to: t.intList({ required: false, defaultValue: [], description: TO }),
    topic: t.string({ required: false, defaultValue: '', description: 'Of a channel draft. Cut to 60 characters.' }),
    content: t.string({ description: 'Flavored Markdown, not blank. Cut to 10,000 characters.' }),
    lastEditedAt: t.field({ type: 'DateTime', required: false, description: 'This moment, if absent.' }),
  }),
});

const fromInput = ({ type, to, topic, content, lastEditedAt }: typeof DraftInput.$inferInput) => ({
  type,
  to: to ?? [],
  topic: topic ?? '',
  content,
  timestamp: lastEditedAt == null ? null : lastEditedAt.getTime() / 1000,
});

mutation('createDrafts', {
  description: 'Saves drafts. All are saved or, when one is invalid, none is.',
  input: (t) => ({ drafts: t.field({ type: [DraftInput] }) }),
  payload: () => ({ drafts: { type: [Draft], description: 'In the order given.' } }),
  resolve: async (ctx, { drafts }) => ({ drafts: await createDrafts(ctx, drafts.map(fromInput)) }),
});

mutation('updateDraft', {
  description: 'Puts a whole draft in the place of an older one.',
  input: (t) => ({ draftId: t.int(), draft: t.field({ type: DraftInput }) }),
  payload: () => ({ draft: { type: Draft } }),
  resolve: async (ctx, { draftId, draft }) => ({ draft: await updateDraft(ctx, draftId, fromInput(draft)) }),
});

mutation('deleteDraft', {
  description: 'Deletes a draft.',
  input: (t) => ({ draftId: t.int() }),
  payload: () => ({ draftId: { type: 'Int', description: 'Of the draft that is gone.' } }),
  resolve: async (ctx, { draftId }) => {
    await deleteDraft(ctx, draftId);
    return { draftId };
  },
});

const DraftValue = builder.objectRef<WireDraft>('DraftValue').implement({
  description: 'A draft as it was when the event happened.',
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'The id REST uses.' }),
    type: t.field({ type: DraftTypeEnum, resolve: ({ type }) => type as DraftType }),
    to: t.intList({ description: TO, resolve: ({ to }) => to }),
    topic: t.exposeString('topic'),
    content: t.exposeString('content'),
    lastEditedAt: t.field({ type: 'DateTime', resolve: ({ timestamp }) => fromUnix(timestamp) }),
  }),
});

eventType<{ drafts: readonly WireDraft[] }>(
  'drafts',
  'add',
  'DraftsAddedEvent',
  (t) => ({ drafts: t.field({ type: [DraftValue], resolve: ({ event }) => event.drafts }) }),
  { description: 'The user saved drafts.' },
);

eventType<{ draft: WireDraft }>(
  'drafts',
  'update',
  'DraftUpdatedEvent',
  (t) => ({ draft: t.field({ type: DraftValue, resolve: ({ event }) => event.draft }) }),
  { description: 'The user edited a draft.' },
);

eventType<{ draft_id: number }>(
  'drafts',
  'remove',
  'DraftRemovedEvent',
  (t) => ({ draftId: t.int({ resolve: ({ event }) => event.draft_id }) }),
  { description: 'The user deleted a draft, or sent it.' },
);
