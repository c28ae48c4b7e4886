import { projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { type EventSource, eventType, outdatedRoot } from '../../api/graphql/schema/event-types.ts';
import { flaggedMessage } from '../event-projections.ts';
import { Message, MessageFlag as MessageFlagEnum } from '../graphql.ts';
import { MAX_PER_EVENT, type MessageFlag } from './events.ts';

interface FlagsBody {
  readonly flag: MessageFlag;
  readonly messages: readonly number[];
  readonly all: boolean;
}

type FlagsSource = EventSource<FlagsBody>;

eventType<FlagsBody>(
  'update_message_flags',
  'add',
  'MessageFlagsAddedEvent',
  (t) => ({
    flag: t.field({ type: MessageFlagEnum, description: 'The changed flag.', resolve: ({ event }) => event.flag }),
    messages: t.field({
      type: [Message],
      nullable: { list: false, items: true },
      description: `Messages to which the flag was added. At most ${MAX_PER_EVENT}. Empty if \`all\` is true.`,
      ...projectedFromEvent(
        ({ event }: FlagsSource) => flaggedMessage(event.flag, true),
        ({ event }) => [...event.messages],
        { atMost: MAX_PER_EVENT },
      ),
    }),
    all: t.boolean({
      description: 'Whether the event applies to all messages. If true, `messages` is empty.',
      resolve: ({ event }) => event.all,
    }),
  }),
  {
    description: 'A flag of the user was added to messages.',
    // An event for all messages contains none of them, and not the counts of their channels, topics and conversations.
    outdates: ({ event }) =>
      event.all ? [outdatedRoot('messages', 'subscriptions', 'directConversations', 'channel', 'topic', 'topics')] : [],
  },
);

eventType<FlagsBody>(
  'update_message_flags',
  'remove',
  'MessageFlagsRemovedEvent',
  (t) => ({
    flag: t.field({ type: MessageFlagEnum, description: 'The changed flag.', resolve: ({ event }) => event.flag }),
    messages: t.field({
      type: [Message],
      nullable: { list: false, items: true },
      description: `Messages from which the flag was removed. At most ${MAX_PER_EVENT}.`,
      ...projectedFromEvent(
        ({ event }: FlagsSource) => flaggedMessage(event.flag, false),
        ({ event }) => [...event.messages],
        { atMost: MAX_PER_EVENT },
      ),
    }),
  }),
  { description: 'A flag of the user was removed from messages.' },
);
