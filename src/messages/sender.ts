import type { Viewer } from '../access/context.ts';
import type { Organization, User } from '../generated/prisma/client.ts';

/** The user who sends a message. A `Viewer` has this form. */
export type MessageSender = Pick<Viewer, 'organization' | 'user' | 'id' | 'role' | 'clientName'>;

/** Creates the sender of a message that no request of the user sends, such as a scheduled message or a notice. */
export const senderFor = (organization: Organization, user: User, clientName: string): MessageSender => ({
  organization,
  user,
  clientName,
  id: user.id,
  role: user.role,
});
