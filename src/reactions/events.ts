import { defineEvent } from '../events/define.ts';
import type { Reaction } from '../generated/prisma/client.ts';

const toWire = ({ messageId, userId, emojiName, emojiCode, reactionType }: Omit<Reaction, 'id' | 'realmId'>) => ({
  ...{ message_id: Number(messageId), user_id: userId, emoji_name: emojiName, emoji_code: emojiCode },
  reaction_type: reactionType,
});

// To everyone who hears what becomes of the message. @see registration-and-events companion 3.1

export const reactionAdded = defineEvent('reaction', 'add', toWire);

export const reactionRemoved = defineEvent('reaction', 'remove', toWire);
