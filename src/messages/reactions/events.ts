import { defineEvent } from '../../events/define.ts';
import { type ReactionOfUser, toWireReaction } from './wire.ts';

const toWire = (reaction: ReactionOfUser) => ({ message_id: Number(reaction.messageId), ...toWireReaction(reaction) });

// To everyone who hears what becomes of the message. Old clients know whose it is by `user` alone.

export const reactionAdded = defineEvent('reaction', 'add', toWire);

export const reactionRemoved = defineEvent('reaction', 'remove', toWire);
