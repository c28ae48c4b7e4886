import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import type { EventView } from '../../events/view.ts';
import { documentEvent } from '../../events/wire.ts';
import { type ReactionOfUser, toWireReaction, type WireReaction, wireReaction } from '../wire-reactions.ts';
import { classOfReactor, reactionsSeenBy, type SeenReactions } from './groups.ts';
import type { EventReactions } from './queries.ts';

interface ReactionPayload extends WireReaction {
  readonly message_id: number;
  /**
   * All reactions to the message after the change. Absent if the message has more than `MAX_EVENT_REACTIONS`, and in events
   * logged by previous versions.
   */
  readonly told?: EventReactions | undefined;
}

const toPayload = (reaction: ReactionOfUser, told: EventReactions): ReactionPayload => ({
  message_id: Number(reaction.messageId),
  ...toWireReaction(reaction),
  ...(told !== null && { told }),
});

/** Id of a message, with the reactions to it as one recipient of an event sees them. */
export interface ProjectedReacted {
  readonly id: number;
  /** Reactions to the message. Null if the event does not contain them. */
  readonly reactions: SeenReactions | null;
}

const rulesOf = (op: 'add' | 'remove') => ({
  // The event also contains `user`, because old clients do not read `user_id`.
  render: ({ told: _, ...event }: ReactionPayload) => ({ type: 'reaction', op, ...event }),
  perUser: ({ told }: ReactionPayload, { userId }: EventView) => classOfReactor(told ?? [], userId),
  facts: ({ message_id, told }: ReactionPayload, { userId }: EventView): ProjectedReacted => ({
    id: message_id,
    reactions: told == null ? null : reactionsSeenBy(told, userId),
  }),
});

// The two events below are sent to all recipients of changes of the message.

export const reactionAdded = defineEvent('reaction', 'add', toPayload, rulesOf('add'));

export const reactionRemoved = defineEvent('reaction', 'remove', toPayload, rulesOf('remove'));

for (const event of [reactionAdded, reactionRemoved]) {
  documentEvent(event, 'users who receive changes of the message', { message_id: z.int(), ...wireReaction.shape });
}
