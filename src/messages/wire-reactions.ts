import { z } from 'zod';
import { apiEmail } from '../access/address.ts';
import type { Reaction, User } from '../generated/prisma/client.ts';
import type { Wire } from '../platform/wire.ts';

/** A reaction, and the user who reacted. */
export type ReactionOfUser = Omit<Reaction, 'id' | 'organizationId'> & { readonly user: User };

/** Schema of a user in a message or event. */
export const wirePerson = z.object({ id: z.int(), email: z.string(), full_name: z.string() });

/** Schema of a reaction in messages and events. `user` is the legacy form of `user_id`. */
export const wireReaction = z
  .object({
    emoji_name: z.string(),
    emoji_code: z.string(),
    reaction_type: z.string(),
    user_id: z.int(),
    user: wirePerson,
  })
  .meta({ id: 'Reaction' });
export type WireReaction = Wire<typeof wireReaction>;

export const toWireReaction = ({
  emojiName,
  emojiCode,
  reactionType,
  user,
}: Omit<ReactionOfUser, 'messageId'>): WireReaction => ({
  emoji_name: emojiName,
  emoji_code: emojiCode,
  reaction_type: reactionType,
  user_id: user.id,
  user: { id: user.id, email: apiEmail(user), full_name: user.fullName },
});
