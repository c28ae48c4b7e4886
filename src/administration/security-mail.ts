import type { Organization, User } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { oneLine, queueMail } from '../platform/mail/outbox.ts';

/**
 * Notifies a user by email of a change of their credentials, within the transaction of the change.
 *
 * @param subject Topic of the email, such as "Your password".
 * @param happened A sentence that states the change. Names in it must contain no line breaks.
 * @param details Lines after it, which begin with a line break. Default: none.
 * @param isByAdministrator Whether an administrator made the change, so that the user cannot have requested it. Default: false.
 */
export function queueSecurityMail(
  tx: Tx,
  { id: organizationId, name }: Pick<Organization, 'id' | 'name'>,
  { email: to }: Pick<User, 'email'>,
  {
    subject,
    happened,
    details = '',
    isByAdministrator = false,
  }: {
    readonly subject: string;
    readonly happened: string;
    readonly details?: string;
    readonly isByAdministrator?: boolean;
  },
): Promise<void> {
  const place = oneLine(name);
  const ending = isByAdministrator
    ? `If you have questions, contact the administrators of ${place}.`
    : `If you did not request this, contact the administrators of ${place}.`;
  return queueMail(tx, {
    organizationId,
    to,
    subject: `${subject} for ${place}`,
    body: `Hello,

${happened}
${details}${details === '' ? '' : '\n'}${ending}
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
