import { apiEmail } from '../../access/address.ts';
import type { Reaction, User } from '../../generated/prisma/client.ts';

/** A reaction, and whose it is. */
export type ReactionOfUser = Omit<Reaction, 'id' | 'realmId'> & { readonly user: User };

/** A reaction as on the wire, with the older form of whose it is: messages and events have the same. */
export const toWireReaction = ({ emojiName, emojiCode, reactionType, user }: Omit<ReactionOfUser, 'messageId'>) => ({
  emoji_name: emojiName,
  emoji_code: emojiCode,
  reaction_type: reactionType,
  user_id: user.id,
  user: { id: user.id, email: apiEmail(user), full_name: user.fullName },
});
