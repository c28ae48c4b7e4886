import type { Organization, User } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { oneLine, queueMail } from '../platform/mail/outbox.ts';

/**
 * Notifies a user by email of a change of their credentials, within the transaction of the change.
 *
 * @param subject Topic of the email, such as "Your password".
 * @param happened A sentence that states the change. Names in it must contain no line breaks.
 * @param details Lines after it, which begin with a line break. Default: none.
 */
export function queueSecurityMail(
  tx: Tx,
  { id: organizationId, name }: Pick<Organization, 'id' | 'name'>,
  { email: to }: Pick<User, 'email'>,
  {
    subject,
    happened,
    details = '',
  }: { readonly subject: string; readonly happened: string; readonly details?: string },
): Promise<void> {
  const place = oneLine(name);
  return queueMail(tx, {
    organizationId,
    to,
    subject: `${subject} for ${place}`,
    body: `Hello,

${happened}
${details}${details === '' ? '' : '\n'}If you did not request this, contact the administrators of ${place}.
`,
  });
}

/**
 * Returns the person to notify of changes of an account's credentials: for a bot, its owner. Null if the bot has no active owner.
 */
export async function personToNotify(tx: Tx, user: User): Promise<User | null> {
  if (user.botType === null) return user;
  const { organizationId, botOwnerId } = user;
  return botOwnerId === null ? null : tx.user.findFirst({ where: { organizationId, id: botOwnerId, isActive: true } });
}
