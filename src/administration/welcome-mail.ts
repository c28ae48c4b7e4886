import type { Runtime } from '../access/context.ts';
import { organizationSetting } from '../access/organization-settings.ts';
import type { Emit } from '../events/log.ts';
import type { Organization, User } from '../generated/prisma/client.ts';
import { notify } from '../messages/sending/notices.ts';
import type { Tx } from '../platform/db/client.ts';
import { urlOf } from '../platform/hosts.ts';
import { oneLine, queueMail } from '../platform/mail/outbox.ts';

/** A place in which a person has joined. */
interface Place {
  readonly app: Runtime;
  readonly organization: Organization;
}

/**
 * Greets a person who has joined, within the transaction that creates the account: with a direct message, and with the welcome
 * email.
 *
 * @param text Text of the direct message. Default: that of the organization. Empty: no message.
 */
export async function welcomeUser(
  tx: Tx,
  emit: Emit,
  place: Place,
  user: User,
  text: string = organizationSetting(place.organization, 'welcome_message_custom_text'),
): Promise<void> {
  if (text.trim() !== '') await notify(tx, emit, place, { userIds: [user.id] }, text);
  await queueWelcomeMail(tx, place, user);
}

/**
 * Sends a person who has joined an email with the address of the organization, within the transaction that creates the account.
 * Sends none if the organization has turned the setting `send_welcome_emails` off, or the server cannot send email.
 */
async function queueWelcomeMail(
  tx: Tx,
  { app: { config }, organization }: Place,
  { email }: Pick<User, 'email'>,
): Promise<void> {
  if (config.smtpUrl === undefined || !organizationSetting(organization, 'send_welcome_emails')) return;
  const name = oneLine(organization.name);
  await queueMail(tx, {
    organizationId: organization.id,
    to: email,
    subject: `Welcome to ${name}`,
    body: `Hello,

You have joined ${name}. You find it at:

${urlOf(config, organization.subdomain)}

You sign in with the email address ${email}.
`,
  });
}
