import type { Viewer } from '../access/context.ts';
import type { Realm, User } from '../generated/prisma/client.ts';

/** User who sends a message. Every `Viewer` can be used. */
export type MessageSender = Pick<Viewer, 'realm' | 'user' | 'id' | 'role' | 'clientName'>;

/** Creates the sender of a message that no request sends, for example of a scheduled message or of a notice. */
export const senderFor = (realm: Realm, user: User, clientName: string): MessageSender => ({
  realm,
  user,
  clientName,
  id: user.id,
  role: user.role,
});
