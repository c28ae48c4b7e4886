import type { User } from '../generated/prisma/client.ts';
import { isAdministrator, isGuest, isOwner } from '../platform/roles.ts';

/**
 * Returns whether a user can administer a bot. This is true for the bot's owner and for administrators, but never for a guest.
 * Only organization owners can administer another user's bot that has the owner role. `accessBot` applies the same rules.
 */
export function administersBot(
  { id, role }: { readonly id: number; readonly role: number },
  bot: Pick<User, 'role' | 'botOwnerId'>,
): boolean {
  if (isGuest(role)) return false;
  return bot.botOwnerId === id || (isAdministrator(role) && (!isOwner(bot.role) || isOwner(role)));
}
