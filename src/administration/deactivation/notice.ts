import type { App } from '../../access/context.ts';
import type { Realm, User } from '../../generated/prisma/client.ts';
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
  { config }: App,
  realm: Realm,
  { email, fullName }: Pick<User, 'email' | 'fullName'>,
  comment: string,
): Promise<void> {
  const place = oneLine(realm.name);
  const lines = [
    `Hello ${oneLine(fullName)},`,
    '',
    `your account ${email} at ${place} (${urlOf(config, realm.subdomain)}) has been deactivated.`,
    'You can no longer sign in to it.',
    ...(comment === '' ? [] : ['', 'The administrators have added this comment:', '', comment]),
    '',
  ];
  return queueMail(tx, {
    realmId: realm.id,
    to: email,
    subject: `Your account at ${place} has been deactivated`,
    body: lines.join('\n'),
  });
}
