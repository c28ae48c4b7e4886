import type { Runtime } from '../../access/context.ts';
import type { Organization, User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { urlOf } from '../../platform/hosts.ts';
import { oneLine, queueMail } from '../../platform/mail/outbox.ts';

/**
 * Queues the email that notifies a user of the deactivation of their account.
 *
 * @param comment Text that the administrator adds; "" for none.
 */
export function mailDeactivation(
  tx: Tx,
  { config }: Runtime,
  organization: Organization,
  { email, fullName }: Pick<User, 'email' | 'fullName'>,
  comment: string,
): Promise<void> {
  const place = oneLine(organization.name);
  const lines = [
    `Hello ${oneLine(fullName)},`,
    '',
    `your account ${email} at ${place} (${urlOf(config, organization.subdomain)}) has been deactivated.`,
    'You can no longer sign in to it.',
    ...(comment === '' ? [] : ['', 'The administrators have added this comment:', '', comment]),
    '',
  ];
  return queueMail(tx, {
    organizationId: organization.id,
    to: email,
    subject: `Your account at ${place} has been deactivated`,
    body: lines.join('\n'),
  });
}
