import type { Viewer } from '../../access/context.ts';
import type { Realm, User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';

/** In whose name a message is sent; a `Viewer` is one. */
export type Sender = Pick<Viewer, 'realm' | 'user' | 'id' | 'role' | 'clientName'>;

/** What interactive clients call themselves: who sends with one of these has seen what they sent. */
const INTERACTIVE = /web|desktop|electron|mobile|android|ios|flutter|terminal|mozilla/i;

/** Whether people read and write with this client, rather than programs. */
export const isInteractive = (clientName: string): boolean => INTERACTIVE.test(clientName);

/** A user who sends without having asked for it just now: the owner of a scheduled message, the service's own bot. */
export const senderFor = (realm: Realm, user: User, clientName: string): Sender => ({
  realm,
  user,
  clientName,
  id: user.id,
  role: user.role,
});

/** A bot's owner, whose rights to post it shares; null for a person, and for a bot of nobody. */
export async function botOwner(db: Pick<Tx, 'user'>, { user, realm }: Sender): Promise<User | null> {
  if (user.botOwnerId === null) return null;
  return db.user.findUnique({ where: { realmId_id: { realmId: realm.id, id: user.botOwnerId } } });
}
