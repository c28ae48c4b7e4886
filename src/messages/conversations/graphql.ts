import DataLoader from 'dataloader';
import { type Ctx, signedIn } from '../../access/context.ts';
import { type GraphQLContext, perOperation } from '../../api/graphql/loading/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { nodeOf, nodesOf, nodeType } from '../../api/graphql/schema/node.ts';
import { type OrderBy, orderInput } from '../../api/graphql/schema/order-by.ts';
import { keysetOf, pageRead, sortedConnection } from '../../api/graphql/schema/sorted-list.ts';
import { pageUrl } from '../../channels/addresses.ts';
import { visibleChannels } from '../../channels/loaders.ts';
import type { Message as MessageRow } from '../../generated/prisma/client.ts';
import { User } from '../../people/graphql.ts';
import { firstUnreadInConversation, ownCountsIn, ownMentionsIn } from '../flags/unread-loaders.ts';
import { Message } from '../graphql.ts';
import { directAddress, messageAddress, topicAddress } from '../sending/links.ts';
import { type Conversation, type ConversationField, countConversations, readConversations } from './queries.ts';

export const DirectConversation = builder.objectRef<Conversation>('DirectConversation');

builder.node(DirectConversation, {
  description: 'A direct conversation of the viewer: all direct messages among one set of users.',
  id: { resolve: ({ id }) => id },
  fields: (t) => ({
    participants: t.field({
      type: [User],
      description:
        'Members of the conversation, including the viewer, ascending by id. At most 250. In notes to self, only ' +
        'the viewer.',
      resolve: ({ memberIds }, _args, ctx) => nodesOf(ctx, 'User', memberIds),
    }),
    url: t.string({
      description: "Absolute URL that opens the conversation in the organization's web client.",
      resolve: ({ memberIds }, _args, ctx) => pageUrl(signedIn(ctx), directAddress(memberIds)),
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

builder.prismaObjectField(Message, 'url', (t) =>
  t.string({
    description:
      "Absolute URL that opens the message in the organization's web client, among the others of its topic or conversation. " +
      'Also leads to the message after it was moved.',
    resolve: async (message, _args, ctx) => pageUrl(signedIn(ctx), await addressOf(ctx, message)),
  }),
);

/** Returns the URL fragment of a message. Channels and conversations of several messages are loaded in one batch. */
async function addressOf(ctx: GraphQLContext, { id, channelId, topic, conversationId }: MessageRow): Promise<string> {
  if (channelId !== null) {
    const channel = await visibleChannels(ctx).load(channelId);
    return topicAddress(channel ?? { id: channelId, name: '' }, topic, Number(id));
  }
  const conversation = conversationId === null ? null : await ownConversations(ctx).load(conversationId);
  return conversation === null ? messageAddress(Number(id)) : directAddress(conversation.memberIds, Number(id));
}

const ALL = { field: 'id', above: undefined, below: undefined, descending: false } as const;

const withIds = ({ work, viewer }: Ctx, ids: readonly number[]) =>
  readConversations(
    work.db,
    { organizationId: viewer.organization.id, userId: viewer.id },
    { ...ALL, ids, limit: ids.length },
  );

nodeType('DirectConversation', withIds);

/**
 * Loads direct conversations of the viewer by id. Null for a conversation of which the viewer is not a member, or that has no
 * message.
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
        const { work, viewer } = signedIn(ctx);
        const orderBy = by ?? LAST_WRITTEN_FIRST;
        const sorted = { list: 'conversations', orderBy, keyType: 'number', args } as const;
        const { field } = orderBy;
        const rows = await readConversations(
          work.db,
          { organizationId: viewer.organization.id, userId: viewer.id },
          { field, ...keysetOf(sorted) },
        );
        const page = pageRead(
          rows.map((one) => placeOf(field, one)),
          sorted,
        );
        const totalCount = () =>
          countConversations(work.db, { organizationId: viewer.organization.id, userId: viewer.id });
        return sortedConnection(rows, page, { ...sorted, idOf: ({ id }) => id, totalCount });
      },
    },
    { name: 'DirectConversationConnection' },
    { name: 'DirectConversationEdge' },
  ),
);
