import { projectedFromEvent } from '../api/graphql/schema/event-projections.ts';
import { type EventSource, eventType } from '../api/graphql/schema/event-types.ts';
import { type ProjectedMessage, sentMessage } from './event-projections.ts';
import { Message } from './graphql.ts';

interface SentBody {
  readonly local_message_id?: string;
}

const LOCAL_ID =
  'The `localId` of `sendMessage`. Null in all queues except the one that `queueId` of `sendMessage` named.';
const localIdOf = ({ event }: EventSource<SentBody, ProjectedMessage>) => event.local_message_id ?? null;

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
    localId: t.string({ nullable: true, description: LOCAL_ID, resolve: localIdOf }),
    localMessageId: t.string({
      nullable: true,
      description: LOCAL_ID,
      deprecationReason: 'Use `localId`.',
      resolve: localIdOf,
    }),
  }),
  { description: 'A message was sent.' },
);
