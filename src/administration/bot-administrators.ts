import type { User } from '../generated/prisma/client.ts';
import { isAdministrator, isGuest, isOwner } from '../platform/roles.ts';

/** Returns whether a user can administer the bot, by the rules of `accessBot`. */
export function administersBot(
  { id, role }: { readonly id: number; readonly role: number },
  bot: Pick<User, 'role' | 'botOwnerId'>,
): boolean {
  if (isGuest(role)) return false;
  return bot.botOwnerId === id || (isAdministrator(role) && (!isOwner(bot.role) || isOwner(role)));
}
