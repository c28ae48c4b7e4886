import { fromEvent } from '../../api/graphql/entity-facts.ts';
import { type EventSource, eventType } from '../../api/graphql/event-types.ts';
import { flaggedMessage } from '../entity-facts.ts';
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
    flag: t.field({ type: MessageFlagEnum, description: 'The flag.', resolve: ({ event }) => event.flag }),
    messages: t.field({
      type: [Message],
      nullable: { list: false, items: true },
      description: `The messages that have it now, ${MAX_PER_EVENT} at most; empty when \`all\` is true.`,
      ...fromEvent(
        ({ event }: FlagsSource) => flaggedMessage(event.flag, true),
        ({ event }) => [...event.messages],
        { atMost: MAX_PER_EVENT },
      ),
    }),
    all: t.boolean({
      description: 'Whether it is about every message there is; they are not listed then.',
      resolve: ({ event }) => event.all,
    }),
  }),
  { description: 'Messages have a flag of the viewer now.' },
);

eventType<FlagsBody>(
  'update_message_flags',
  'remove',
  'MessageFlagsRemovedEvent',
  (t) => ({
    flag: t.field({ type: MessageFlagEnum, description: 'The flag.', resolve: ({ event }) => event.flag }),
    messages: t.field({
      type: [Message],
      nullable: { list: false, items: true },
      description: `The messages that do not have it any more, ${MAX_PER_EVENT} at most.`,
      ...fromEvent(
        ({ event }: FlagsSource) => flaggedMessage(event.flag, false),
        ({ event }) => [...event.messages],
        { atMost: MAX_PER_EVENT },
      ),
    }),
  }),
  { description: 'Messages do not have a flag of the viewer any more.' },
);
