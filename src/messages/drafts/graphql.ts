import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { pageOf } from '../../api/graphql/connection.ts';
import { fromEvent } from '../../api/graphql/entity-facts.ts';
import { eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { byNumber, nodeModel, nodeOf, nodesOf } from '../../api/graphql/node.ts';
import { columnsBy, type OrderBy, orderInput } from '../../api/graphql/order-by.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { byKey } from '../../api/graphql/together.ts';
import { Channel } from '../../channels/graphql.ts';
import { User } from '../../people/graphql.ts';
import { usersById } from '../../people/loaders.ts';
import { MessageTarget } from '../sending/message-target.ts';
import { Topic, topicAt } from '../topics/graphql.ts';
import { channelOf, draftFacts, peopleOf } from './entity-facts.ts';
import { createDrafts, deleteDraft, type NewDraft, updateDraft, visibleTo } from './service.ts';
import type { DraftType } from './wire.ts';

const DraftTypeEnum = builder.enumType('DraftType', {
  description: 'Where a draft is to go.',
  values: {
    UNADDRESSED: { value: '', description: 'Nowhere yet.' },
    CHANNEL: { value: 'stream', description: 'To a channel.' },
    DIRECT: { value: 'private', description: 'To people.' },
  } as const,
});

const CHANNEL = 'The channel it is for, of type CHANNEL; else null.';
const ADDRESS = 'Whether it is for a channel, for people, or for nobody yet.';
const TOPIC = 'The topic it is for; empty unless it is for a channel.';
const CONTENT = 'What it says, as flavored Markdown.';
const EDITED = 'When its author last changed it.';
const PEOPLE = 'Whom it is for, of type DIRECT; else nobody.';

export const Draft = builder.prismaNode('Draft', {
  ...byNumber,
  description: 'What somebody has begun to write. Only they see it.',
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'The number that the REST API knows it by.' }),
    type: t.field({ type: DraftTypeEnum, description: ADDRESS, resolve: ({ type }) => type as DraftType }),
    channel: t.field({
      type: Channel,
      nullable: true,
      description: `${CHANNEL} Null as well when the viewer does not see it.`,
      resolve: (draft, _args, ctx) => nodeOf(ctx, 'Channel', channelOf(draft)),
    }),
    recipients: t.field({
      type: [User],
      description: `${PEOPLE} At most 500.`,
      resolve: (draft, _args, ctx) => nodesOf(ctx, 'User', peopleOf(draft)),
    }),
    topicName: t.exposeString('topic', { description: TOPIC }),
    topic: t.field({
      type: Topic,
      nullable: true,
      description: 'The topic it is for; null as long as that holds no message that the viewer may read.',
      resolve: (draft, _args, ctx) => topicAt(ctx, channelOf(draft), draft.topic),
    }),
    content: t.exposeString('content', { description: CONTENT }),
    lastEditedAt: t.expose('lastEditedAt', { type: 'DateTime', description: EDITED }),
    author: t.field({
      type: User,
      description: 'Who writes it.',
      resolve: byKey(usersById, ({ authorId }) => authorId),
    }),
  }),
});
nodeModel('Draft', 'Draft', visibleTo);

const DraftConnection = builder.connectionObject({ type: Draft, name: 'DraftConnection' }, { name: 'DraftEdge' });

type DraftField = 'lastEditedAt' | 'id';

const DraftOrder = orderInput<DraftField>('Draft', 'drafts', {
  LAST_EDITED_AT: { value: 'lastEditedAt', description: 'When they were last changed.' },
  ID: { value: 'id', description: 'The order in which they were saved first.' },
});

const LAST_EDITED_FIRST: OrderBy<DraftField> = { field: 'lastEditedAt', direction: 'desc' };

builder.queryField('drafts', (t) =>
  t.connection(
    {
      type: Draft,
      description: "The viewer's drafts.",
      args: {
        orderBy: t.arg({
          type: DraftOrder,
          required: false,
          defaultValue: LAST_EDITED_FIRST,
          description: 'How they are sorted.',
        }),
      },
      resolve: (_root, { orderBy, ...args }, ctx, info) => {
        const where = visibleTo(signedIn(ctx));
        return pageOf('Draft', { where, order: columnsBy(orderBy ?? LAST_EDITED_FIRST), args, ctx, info });
      },
    },
    DraftConnection,
  ),
);

const DraftInput = builder.inputType('DraftInput', {
  description: 'A whole draft.',
  fields: (t) => ({
    to: t.field({ type: MessageTarget, required: false, description: 'Where it is to go. Absent: nowhere yet.' }),
    content: t.string({ description: `${CONTENT} Not blank. Cut to 10,000 characters.` }),
    lastEditedAt: t.field({ type: 'DateTime', required: false, description: `${EDITED} Absent: this moment.` }),
  }),
});

function fromInput({ to, content, lastEditedAt }: typeof DraftInput.$inferInput): NewDraft {
  const draft = { content, timestamp: lastEditedAt == null ? null : lastEditedAt.getTime() / 1000 };
  if (to == null) return { ...draft, type: '', to: [], topic: '' };
  if (to.topic === undefined) return { ...draft, type: 'private', to: to.direct, topic: '' };
  return { ...draft, type: 'stream', to: to.topic.channel, topic: to.topic.name };
}

mutation('createDrafts', {
  description: 'Saves drafts. All are saved or, when one is invalid, none is.',
  input: (t) => ({ drafts: t.field({ type: [DraftInput], description: 'The new drafts.' }) }),
  payload: () => ({ drafts: { type: [Draft], description: 'What was saved, in the order given; no more than that.' } }),
  resolve: async (ctx, { drafts }) => ({ drafts: await createDrafts(ctx, drafts.map(fromInput)) }),
});

mutation('updateDraft', {
  description: 'Puts a whole draft in the place of an older one.',
  input: (t) => ({
    draftId: t.id({ ...refersTo('Draft'), description: 'The older one.' }),
    draft: t.field({ type: DraftInput, description: 'What it is to be.' }),
  }),
  payload: () => ({ draft: { type: Draft, description: 'As it is now.' } }),
  resolve: async (ctx, { draftId, draft }) => ({ draft: await updateDraft(ctx, draftId, fromInput(draft)) }),
});

mutation('deleteDraft', {
  description: 'Deletes a draft.',
  input: (t) => ({ draftId: t.id({ ...refersTo('Draft'), description: "One of the viewer's drafts." }) }),
  payload: () => ({ draftId: { type: 'ID', refersTo: 'Draft', description: 'Of the draft that is gone.' } }),
  resolve: async (ctx, { draftId }) => {
    await deleteDraft(ctx, draftId);
    return { draftId };
  },
});

eventType(
  'drafts',
  'add',
  'DraftsAddedEvent',
  (t) => ({
    drafts: t.field({
      type: [Draft],
      nullable: { list: false, items: true },
      description: 'The new drafts.',
      ...fromEvent(draftFacts),
    }),
  }),
  { description: 'The user saved drafts.' },
);

eventType(
  'drafts',
  'update',
  'DraftUpdatedEvent',
  (t) => ({
    draft: t.field({
      type: Draft,
      nullable: true,
      description: 'As it is now.',
      ...fromEvent(draftFacts),
    }),
  }),
  { description: 'The user edited a draft.' },
);

eventType<{ draft_id: number }>(
  'drafts',
  'remove',
  'DraftRemovedEvent',
  (t) => ({
    draftId: t.id({
      ...refersTo('Draft'),
      description: 'The draft that is gone.',
      resolve: ({ event }) => event.draft_id,
    }),
  }),
  { description: 'The user deleted a draft, or sent it.' },
);
