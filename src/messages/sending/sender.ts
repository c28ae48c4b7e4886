import type { Viewer } from '../../access/context.ts';
import type { Realm, User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';

/** User who sends a message. Every `Viewer` can be used. */
export type MessageSender = Pick<Viewer, 'realm' | 'user' | 'id' | 'role' | 'clientName'>;

/** Matches names of interactive clients. Messages sent by them are marked as read for the sender. */
const INTERACTIVE = /web|desktop|electron|mobile|android|ios|flutter|terminal|mozilla/i;

/** Returns whether the client, by its name, is operated by a person and not by a program. */
export const isInteractive = (clientName: string): boolean => INTERACTIVE.test(clientName);

/** Creates the sender of a message that no request sends, for example of a scheduled message or of a notice. */
export const senderFor = (realm: Realm, user: User, clientName: string): MessageSender => ({
  realm,
  user,
  clientName,
  id: user.id,
  role: user.role,
});

/**
 * Reads the owner of a bot. The bot can also post where its owner is permitted to. Null for a person, and for a bot without an
 * owner.
 */
export async function botOwner(db: Pick<Tx, 'user'>, { user, realm }: MessageSender): Promise<User | null> {
  if (user.botOwnerId === null) return null;
  return db.user.findUnique({ where: { realmId_id: { realmId: realm.id, id: user.botOwnerId } } });
}
