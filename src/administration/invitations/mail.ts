import type { Runtime } from '../../access/context.ts';
import type { Invitation, Organization, User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { urlOf } from '../../platform/hosts.ts';
import { oneLine, queueMail } from '../../platform/mail/outbox.ts';

/** Path of the page on which people accept an invitation. The token follows. */
export const JOIN_PATH = '/join/';

/** Returns the URL of an invitation. Its host is that of the organization, whatever host the request names. */
export const invitationUrl = (
  { config }: Pick<Runtime, 'config'>,
  { subdomain }: Organization,
  token: string,
): string => `${urlOf(config, subdomain)}${JOIN_PATH}${token}`;

interface Sent {
  readonly organization: Organization;
  readonly inviter: Pick<User, 'id' | 'fullName'>;
  readonly invitation: Pick<Invitation, 'email' | 'expiresAt' | 'linkId'>;
  readonly token: string;
  /** Whether a user of the organization already has the address. The email then has no link. */
  readonly hasAccount: boolean;
}

/** Queues the email with the link of an invitation. */
export async function mailInvitation(
  tx: Tx,
  app: Runtime,
  { organization, inviter, invitation: { email, expiresAt, linkId }, token, hasAccount }: Sent,
): Promise<void> {
  if (email === null) throw new Error('The invitation has no address');
  const [place, name] = [organization.name, inviter.fullName].map(oneLine);
  const url = urlOf(app.config, organization.subdomain);
  const until = expiresAt === null ? '' : ` before ${minuteOf(expiresAt)}`;
  const isRequested = linkId !== null;
  const happened = isRequested
    ? `You asked to join ${place} at ${url} with this email address.`
    : `${name} invites you to join ${place} at ${url}.`;
  const next = hasAccount
    ? `You already have an account there with this address. To sign in, open ${url}.`
    : `To join, follow this link${until}:

${invitationUrl(app, organization, token)}`;
  const otherwise = isRequested ? 'If you did not ask for this' : 'If you do not want to join';
  await queueMail(tx, {
    organizationId: organization.id,
    to: email,
    namedUserId: inviter.id,
    subject: isRequested ? `Join ${place}` : `${name} invites you to ${place}`,
    body: `Hello,

${happened}
${next}

${otherwise}, ignore this email.
`,
  });
}

/** Returns a time in UTC, to the minute: "2026-11-29 20:35 UTC". */
const minuteOf = (time: Date): string => `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
