import { projectedFromEvent } from '../api/graphql/schema/event-projections.ts';
import { type EventSource, eventType } from '../api/graphql/schema/event-types.ts';
import { type ProjectedMessage, sentMessage } from './event-projections.ts';
import { Message } from './graphql.ts';

interface SentBody {
  readonly local_message_id?: string;
}

eventType<SentBody, ProjectedMessage>(
  'message',
  undefined,
  'MessageSentEvent',
  (t) => ({
    message: t.field({
      type: Message,
      nullable: true,
      description: 'The sent message.',
      ...projectedFromEvent(sentMessage, ({ facts }: EventSource<SentBody, ProjectedMessage>) => facts),
    }),
    localMessageId: t.string({
      nullable: true,
      description: 'The `localId` of `sendMessage`. Null in all queues except the one that the sender named.',
      resolve: ({ event }) => event.local_message_id ?? null,
    }),
  }),
  { description: 'A message was sent.' },
);
