import DataLoader from 'dataloader';
import { type Ctx, signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { idInCursor, pageByIds } from '../../api/graphql/connection.ts';
import { perOperation } from '../../api/graphql/context.ts';
import { nodeOf, nodesOf, nodeType } from '../../api/graphql/node.ts';
import { pageSize } from '../../api/graphql/page-size.ts';
import { User } from '../../people/graphql.ts';
import { ownUnreadIn } from '../flags/loaders.ts';
import { Message } from '../graphql.ts';
import { type Conversation, countConversations, readConversations } from './queries.ts';

const DirectConversation = builder.objectRef<Conversation>('DirectConversation');

builder.node(DirectConversation, {
  description: 'What the same people write to each other: a direct conversation that the viewer takes part in.',
  id: { resolve: ({ id }) => id },
  fields: (t) => ({
    participants: t.field({
      type: [User],
      description: 'Who takes part, the viewer included, by id; at most 250. The viewer alone: notes to self.',
      resolve: ({ memberIds }, _args, ctx) => nodesOf(ctx, 'User', memberIds),
    }),
    lastMessage: t.field({
      type: Message,
      nullable: true,
      description: 'The last message in it; null when it is gone by now.',
      resolve: ({ lastId }, _args, ctx) => nodeOf(ctx, 'Message', lastId),
    }),
    unreadCount: t.int({
      description: 'How many messages in it are unread for the viewer, of the newest 50,000 that are in all.',
      resolve: async ({ memberIds }, _args, ctx) => (await ownUnreadIn(ctx)).conversation(memberIds)?.ids.length ?? 0,
    }),
    unreadMentionCount: t.int({
      description: 'How many of these mention the viewer.',
      resolve: async ({ memberIds }, _args, ctx) =>
        (await ownUnreadIn(ctx)).conversation(memberIds)?.mentions.length ?? 0,
    }),
    firstUnread: t.field({
      type: Message,
      nullable: true,
      description: 'The oldest unread message in it; null when there is none.',
      resolve: async ({ memberIds }, _args, ctx) => {
        const first = (await ownUnreadIn(ctx)).conversation(memberIds)?.ids[0];
        return nodeOf(ctx, 'Message', first ?? null);
      },
    }),
  }),
});

builder.prismaObjectField(Message, 'directConversation', (t) =>
  t.field({
    type: DirectConversation,
    nullable: true,
    description: 'What it is part of; null for a channel message.',
    select: { conversationId: true },
    resolve: ({ conversationId }, _args, ctx) =>
      conversationId === null ? null : ownConversations(ctx).load(conversationId),
  }),
);

const ALL = { above: 0, below: Number.MAX_SAFE_INTEGER, newestFirst: true } as const;

const withIds = ({ app, viewer }: Ctx, ids: readonly number[]) =>
  readConversations(app.db, viewer.id, { ...ALL, ids, limit: ids.length });

nodeType('DirectConversation', withIds);

/** Conversations of the viewer's by their ids; null for what is not theirs. */
const ownConversations = perOperation(
  (ctx) =>
    new DataLoader<number, Conversation | null>(async (ids) => {
      const found = new Map((await withIds(signedIn(ctx), ids)).map((one) => [one.id, one]));
      return ids.map((id) => found.get(id) ?? null);
    }),
);

builder.queryField('directConversations', (t) =>
  t.connection(
    {
      type: DirectConversation,
      description: "The viewer's direct conversations that hold a message, the one last written to first.",
      async resolve(_root, args, ctx) {
        const { app, viewer } = signedIn(ctx);
        const size = pageSize(args);
        const found = await readConversations(app.db, viewer.id, {
          above: idInCursor('conversation', args, 'before') ?? 0,
          below: idInCursor('conversation', args, 'after') ?? Number.MAX_SAFE_INTEGER,
          limit: size + 1,
          newestFirst: !(args.first == null && args.last != null),
        });
        const more = found.length > size;
        const backward = args.first == null && args.last != null;
        const rows = backward ? found.slice(Math.max(0, found.length - size)) : found.slice(0, size);
        const totalCount = () => countConversations(app.db, viewer.id);
        return pageByIds('conversation', rows, { idOf: ({ lastId }) => lastId, more, args, totalCount });
      },
    },
    { name: 'DirectConversationConnection' },
    { name: 'DirectConversationEdge' },
  ),
);
