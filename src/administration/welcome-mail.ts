import type { Runtime } from '../access/context.ts';
import { organizationSetting } from '../access/organization-settings.ts';
import type { Organization, User } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { urlOf } from '../platform/hosts.ts';
import { oneLine, queueMail } from '../platform/mail/outbox.ts';

/**
 * Sends a person who has joined an email with the address of the organization, within the transaction that creates the account.
 * Sends none if the organization has turned the setting `send_welcome_emails` off, or the server cannot send email.
 */
export async function queueWelcomeMail(
  tx: Tx,
  { app: { config }, organization }: { readonly app: Pick<Runtime, 'config'>; readonly organization: Organization },
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
