import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import type { EventView } from '../../events/view.ts';
import { tells } from '../../events/wire.ts';
import { classOfReactor, type KnownReactions, reactionsSeenBy } from './groups.ts';
import type { ToldReactions } from './queries.ts';
import { type ReactionOfUser, toWireReaction, type WireReaction, wireReaction } from './wire.ts';

interface ReactionPayload extends WireReaction {
  readonly message_id: number;
  /** What is on the message after the change; absent in events logged before they told it, and where it is too much. */
  readonly told?: ToldReactions | undefined;
}

/** @param told What is on the message after the change. */
const toPayload = (reaction: ReactionOfUser, told: ToldReactions): ReactionPayload => ({
  message_id: Number(reaction.messageId),
  ...toWireReaction(reaction),
  ...(told !== null && { told }),
});

/** What an event knows of the message it is about. */
export interface KnownReacted {
  readonly id: number;
  /** Null where it does not know them. */
  readonly reactions: KnownReactions | null;
}

const rulesOf = (op: 'add' | 'remove') => ({
  // Old clients know whose it is by `user` alone.
  render: ({ told: _, ...event }: ReactionPayload) => ({ type: 'reaction', op, ...event }),
  perUser: ({ told }: ReactionPayload, { userId }: EventView) => classOfReactor(told ?? [], userId),
  facts: ({ message_id, told }: ReactionPayload, { userId }: EventView): KnownReacted => ({
    id: message_id,
    reactions: told == null ? null : reactionsSeenBy(told, userId),
  }),
});

// To everyone who hears what becomes of the message.

export const reactionAdded = defineEvent('reaction', 'add', toPayload, rulesOf('add'));

export const reactionRemoved = defineEvent('reaction', 'remove', toPayload, rulesOf('remove'));

for (const event of [reactionAdded, reactionRemoved]) {
  tells(event, 'everyone who hears what becomes of the message', { message_id: z.int(), ...wireReaction.shape });
}
