import { fromEvent } from '../api/graphql/entity-facts.ts';
import { type EventSource, eventType } from '../api/graphql/event-types.ts';
import { type KnownMessage, sentMessage } from './entity-facts.ts';
import { Message } from './graphql.ts';

interface SentBody {
  readonly local_message_id?: string;
}

eventType<SentBody, KnownMessage>(
  'message',
  undefined,
  'MessageSentEvent',
  (t) => ({
    message: t.field({
      type: Message,
      nullable: true,
      description: 'The message.',
      ...fromEvent(sentMessage, ({ facts }: EventSource<SentBody, KnownMessage>) => facts),
    }),
    localMessageId: t.string({
      nullable: true,
      description: 'In the queue that was named when it was sent.',
      resolve: ({ event }) => event.local_message_id ?? null,
    }),
  }),
  { description: 'A message was sent.' },
);
