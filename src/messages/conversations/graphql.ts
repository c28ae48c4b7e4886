import DataLoader from 'dataloader';
import { type Ctx, signedIn } from '../../access/context.ts';
import { perOperation } from '../../api/graphql/loading/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { nodeOf, nodesOf, nodeType } from '../../api/graphql/schema/node.ts';
import { type OrderBy, orderInput } from '../../api/graphql/schema/order-by.ts';
import { keysetOf, pageRead, sortedConnection } from '../../api/graphql/schema/sorted-list.ts';
import { User } from '../../people/graphql.ts';
import { firstUnreadInConversation, ownCountsIn, ownMentionsIn } from '../flags/unread-loaders.ts';
import { Message } from '../graphql.ts';
import { type Conversation, type ConversationField, countConversations, readConversations } from './queries.ts';

const DirectConversation = builder.objectRef<Conversation>('DirectConversation');

builder.node(DirectConversation, {
  description: 'A direct conversation of the viewer: all direct messages among one set of users.',
  id: { resolve: ({ id }) => id },
  fields: (t) => ({
    participants: t.field({
      type: [User],
      description:
        'Members of the conversation, including the viewer, by id. At most 250. Only the viewer, for notes to self.',
      resolve: ({ memberIds }, _args, ctx) => nodesOf(ctx, 'User', memberIds),
    }),
    lastMessage: t.field({
      type: Message,
      nullable: true,
      description: 'Last message of the conversation. Null if it no longer exists.',
      resolve: ({ lastId }, _args, ctx) => nodeOf(ctx, 'Message', lastId),
    }),
    unreadCount: t.int({
      description: 'Number of unread messages in the conversation.',
      resolve: async ({ id }, _args, ctx) => (await ownCountsIn(ctx)).conversation(id),
    }),
    unreadMentionCount: t.int({
      description: 'Number of unread messages that mention the viewer.',
      resolve: async ({ id }, _args, ctx) => (await ownMentionsIn(ctx)).conversation(id),
    }),
    firstUnread: t.field({
      type: Message,
      nullable: true,
      description: 'Oldest unread message of the conversation. Null if there is none.',
      resolve: async ({ id }, _args, ctx) => nodeOf(ctx, 'Message', await firstUnreadInConversation(ctx, id)),
    }),
  }),
});

builder.prismaObjectField(Message, 'directConversation', (t) =>
  t.field({
    type: DirectConversation,
    nullable: true,
    description: 'Conversation of the message. Null for a channel message.',
    resolve: ({ conversationId }, _args, ctx) =>
      conversationId === null ? null : ownConversations(ctx).load(conversationId),
  }),
);

const ALL = { field: 'id', above: undefined, below: undefined, descending: false } as const;

const withIds = ({ app, viewer }: Ctx, ids: readonly number[]) =>
  readConversations(app.db, { realmId: viewer.realm.id, userId: viewer.id }, { ...ALL, ids, limit: ids.length });

nodeType('DirectConversation', withIds);

/**
 * Loads direct conversations of the viewer by id. Null if the viewer is not a member, or if the conversation has no message.
 */
const ownConversations = perOperation(
  (ctx) =>
    new DataLoader<number, Conversation | null>(async (ids) => {
      const found = new Map((await withIds(signedIn(ctx), ids)).map((one) => [one.id, one]));
      return ids.map((id) => found.get(id) ?? null);
    }),
);

const ConversationOrder = orderInput<ConversationField>('DirectConversation', 'direct conversations', {
  LAST_MESSAGE: { value: 'lastMessage', description: 'Last message of the conversation.' },
  ID: { value: 'id', description: 'Order of creation.' },
});

const LAST_WRITTEN_FIRST: OrderBy<ConversationField> = { field: 'lastMessage', direction: 'desc' };

const placeOf = (field: ConversationField, { id, lastId }: Conversation) => ({ id, key: field === 'id' ? id : lastId });

builder.queryField('directConversations', (t) =>
  t.connection(
    {
      type: DirectConversation,
      description: "The viewer's direct conversations that have a message.",
      args: {
        orderBy: t.arg({
          type: ConversationOrder,
          required: false,
          defaultValue: LAST_WRITTEN_FIRST,
          description: 'Sort order.',
        }),
      },
      async resolve(_root, { orderBy: by, ...args }, ctx) {
        const { app, viewer } = signedIn(ctx);
        const orderBy = by ?? LAST_WRITTEN_FIRST;
        const sorted = { list: 'conversations', orderBy, keyType: 'number', args } as const;
        const { field } = orderBy;
        const rows = await readConversations(
          app.db,
          { realmId: viewer.realm.id, userId: viewer.id },
          { field, ...keysetOf(sorted) },
        );
        const page = pageRead(
          rows.map((one) => placeOf(field, one)),
          sorted,
        );
        const totalCount = () => countConversations(app.db, { realmId: viewer.realm.id, userId: viewer.id });
        return sortedConnection(rows, page, { ...sorted, idOf: ({ id }) => id, totalCount });
      },
    },
    { name: 'DirectConversationConnection' },
    { name: 'DirectConversationEdge' },
  ),
);
