import type { Viewer } from '../../access/context.ts';
import type { Realm, User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';

/** The user who sends a message. A `Viewer` is one. */
export type MessageSender = Pick<Viewer, 'realm' | 'user' | 'id' | 'role' | 'clientName'>;

/** Names of interactive clients. Users of these have seen the messages that they sent. */
const INTERACTIVE = /web|desktop|electron|mobile|android|ios|flutter|terminal|mozilla/i;

/** Returns whether the client is operated by a person and not by a program. */
export const isInteractive = (clientName: string): boolean => INTERACTIVE.test(clientName);

/** Creates a sender for a message without a current request: the owner of a scheduled message, or the notification bot. */
export const senderFor = (realm: Realm, user: User, clientName: string): MessageSender => ({
  realm,
  user,
  clientName,
  id: user.id,
  role: user.role,
});

/** Returns the owner of a bot, whose permissions to post the bot shares. Null for a person and for a bot without an owner. */
export async function botOwner(db: Pick<Tx, 'user'>, { user, realm }: MessageSender): Promise<User | null> {
  if (user.botOwnerId === null) return null;
  return db.user.findUnique({ where: { realmId_id: { realmId: realm.id, id: user.botOwnerId } } });
}
