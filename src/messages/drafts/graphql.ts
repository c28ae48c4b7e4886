import { type Ctx, signedIn } from '../../access/context.ts';
import { byKey } from '../../api/graphql/loading/batch-resolvers.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { pageOf } from '../../api/graphql/schema/connection.ts';
import { EventProjection, instantOf, projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { eventType } from '../../api/graphql/schema/event-types.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { byNumber, nodeModel, nodeOf, nodesOf } from '../../api/graphql/schema/node.ts';
import { columnsBy, type OrderBy, orderInput } from '../../api/graphql/schema/order-by.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { Channel } from '../../channels/graphql.ts';
import { userReference } from '../../people/event-projections.ts';
import { User } from '../../people/graphql.ts';
import { usersById } from '../../people/loaders.ts';
import { MessageTarget, targetIn } from '../sending/message-target.ts';
import { Topic, topicAt } from '../topics/graphql.ts';
import type { ProjectedDraft } from './events.ts';
import { createDrafts, deleteDraft, type NewDraft, updateDraft, visibleTo } from './service.ts';
import type { DraftType } from './wire.ts';

/** Type of a draft and the ids of the channel or users to which it is addressed, as in the database and in events. */
interface Addressed {
  readonly type: string;
  readonly to: readonly number[];
}

/** Returns the channel id of a draft. Null unless the draft is for a channel. */
const channelOf = ({ type, to }: Addressed): number | null => (type === 'stream' ? (to[0] ?? null) : null);

/** Returns the ids of the recipients of a draft. Empty unless the draft is for a direct message. */
const peopleOf = ({ type, to }: Addressed): number[] => (type === 'private' ? [...to] : []);

/**
 * Event projection (the fields that an event alone provides) of a draft: all fields except the channel, which the author may no
 * longer be able to see.
 */
const draftProjection = new EventProjection<ProjectedDraft>(
  'Draft',
  { idOf: ({ id }) => id },
  {
    databaseId: ({ id }) => id,
    type: ({ type }) => type,
    recipients: { projection: userReference, of: peopleOf },
    topicName: ({ topic }) => topic,
    content: ({ content }) => content,
    lastEditedAt: ({ lastEditedAt, timestamp }) => instantOf(lastEditedAt, timestamp),
    author: { projection: userReference, of: ({ authorId }) => authorId },
  },
);

const DraftTypeEnum = builder.enumType('DraftType', {
  description: 'Target of a draft.',
  values: {
    UNADDRESSED: { value: '', description: 'No target yet.' },
    CHANNEL: { value: 'stream', description: 'A channel.' },
    DIRECT: { value: 'private', description: 'Users.' },
  } as const,
});

const CHANNEL = 'Target channel of the draft. Null for a draft of another type.';
const ADDRESS = 'Type of the target: a channel, users or none yet.';
const TOPIC = 'Name of the target topic. Empty if the draft is not for a channel.';
const CONTENT = 'Content as flavored Markdown.';
const EDITED = 'Time of the last edit.';
const PEOPLE = 'Recipients of the draft. Empty for a draft of another type.';

export const Draft = builder.prismaNode('Draft', {
  ...byNumber,
  description: 'A message that its author has not sent yet. Only the author can see it.',
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'Id in the REST API.' }),
    type: t.field({ type: DraftTypeEnum, description: ADDRESS, resolve: ({ type }) => type as DraftType }),
    channel: t.field({
      type: Channel,
      nullable: true,
      description: `${CHANNEL} Also null if the viewer cannot see the channel.`,
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
      description: 'Target topic. Null if it has no message that the viewer can read.',
      resolve: (draft, _args, ctx) => topicAt(ctx, channelOf(draft), draft.topic),
    }),
    content: t.exposeString('content', { description: CONTENT }),
    lastEditedAt: t.expose('lastEditedAt', { type: 'DateTime', description: EDITED }),
    author: t.field({
      type: User,
      description: 'Author of the draft.',
      resolve: byKey(usersById, ({ authorId }) => authorId),
    }),
  }),
});
nodeModel('Draft', 'Draft', visibleTo);

const DraftConnection = builder.connectionObject({ type: Draft, name: 'DraftConnection' }, { name: 'DraftEdge' });

type DraftField = 'lastEditedAt' | 'id';

const DraftOrder = orderInput<DraftField>('Draft', 'drafts', {
  LAST_EDITED_AT: { value: 'lastEditedAt', description: 'Time of the last edit.' },
  ID: { value: 'id', description: 'Order of creation.' },
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
          description: 'Sort order.',
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
  description: 'A complete draft.',
  fields: (t) => ({
    to: t.field({ type: MessageTarget, required: false, description: 'Target of the draft. Absent: no target yet.' }),
    content: t.string({ description: `${CONTENT} Not blank. Truncated to 10,000 characters.` }),
    lastEditedAt: t.field({ type: 'DateTime', required: false, description: `${EDITED} Absent: now.` }),
  }),
});

async function fromInput(ctx: Ctx, { to, content, lastEditedAt }: typeof DraftInput.$inferInput): Promise<NewDraft> {
  const draft = { content, timestamp: lastEditedAt == null ? null : lastEditedAt.getTime() / 1000 };
  if (to == null) return { ...draft, type: '', to: [], topic: '' };
  const { topic, direct } = await targetIn(ctx, to);
  if (topic === undefined) return { ...draft, type: 'private', to: direct, topic: '' };
  return { ...draft, type: 'stream', to: topic.channel, topic: topic.name };
}

mutation('createDrafts', {
  description: 'Saves drafts. If one of them is invalid, none is saved.',
  input: (t) => ({ drafts: t.field({ type: [DraftInput], description: 'The new drafts.' }) }),
  payload: () => ({ drafts: { type: [Draft], description: 'The saved drafts, in the order given. At most 1,000.' } }),
  resolve: async (ctx, { drafts }) => ({
    drafts: await createDrafts(ctx, await Promise.all(drafts.map((draft) => fromInput(ctx, draft)))),
  }),
});

mutation('updateDraft', {
  description: 'Replaces a draft completely.',
  input: (t) => ({
    draftId: t.id({ ...refersTo('Draft'), description: "Id of one of the viewer's drafts." }),
    draft: t.field({ type: DraftInput, description: 'The new draft.' }),
  }),
  payload: () => ({ draft: { type: Draft, description: 'The updated draft.' } }),
  resolve: async (ctx, { draftId, draft }) => ({ draft: await updateDraft(ctx, draftId, await fromInput(ctx, draft)) }),
});

mutation('deleteDraft', {
  description: 'Deletes a draft.',
  input: (t) => ({ draftId: t.id({ ...refersTo('Draft'), description: "Id of one of the viewer's drafts." }) }),
  payload: () => ({ draftId: { type: 'ID', refersTo: 'Draft', description: 'Id of the deleted draft.' } }),
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
      ...projectedFromEvent(draftProjection),
    }),
  }),
  { description: 'The user saved drafts.', outdates: ['drafts'] },
);

eventType(
  'drafts',
  'update',
  'DraftUpdatedEvent',
  (t) => ({
    draft: t.field({
      type: Draft,
      nullable: true,
      description: 'The updated draft.',
      ...projectedFromEvent(draftProjection),
    }),
  }),
  { description: 'The user edited a draft, or the target topic of a draft was moved.' },
);

eventType<{ draft_id: number }>(
  'drafts',
  'remove',
  'DraftRemovedEvent',
  (t) => ({
    draftId: t.id({
      ...refersTo('Draft'),
      description: 'Id of the deleted draft.',
      resolve: ({ event }) => event.draft_id,
    }),
  }),
  { description: 'The user deleted or sent a draft.', outdates: ['drafts'] },
);
