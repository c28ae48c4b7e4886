import type { Runtime } from '../../access/context.ts';
import type { Organization } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { urlOf } from '../../platform/hosts.ts';
import { linkTokenHash, newLinkToken } from '../link-tokens.ts';

/** Path of the page on which people ask for an account. With a token: of the page on which they create it. */
export const SIGN_UP_PATH = '/sign-up';

/** A new link with which a person creates an account. */
export interface SignUpLink {
  /** URL of the link. Its host is that of the organization, whatever host the request names. */
  readonly url: string;
  readonly expiresAt: Date;
}

/** The person for whom a link is created. */
interface Invitee {
  readonly email: string;
  readonly role: number;
  /** Lifetime of the link in milliseconds. */
  readonly lifetimeMs: number;
}

/** Creates a link with which a person creates an account with a role. The caller sends or prints it. */
export async function insertSignUpLink(
  tx: Tx,
  app: Runtime,
  { id: organizationId, subdomain }: Pick<Organization, 'id' | 'subdomain'>,
  { email, role, lifetimeMs }: Invitee,
): Promise<SignUpLink> {
  const [token, createdAt] = [newLinkToken(), app.now()];
  const expiresAt = new Date(createdAt.getTime() + lifetimeMs);
  await tx.signUp.create({
    data: { organizationId, tokenHash: linkTokenHash(token), email, role, createdAt, expiresAt },
  });
  return { url: `${urlOf(app.config, subdomain)}${SIGN_UP_PATH}/${token}`, expiresAt };
}

/** Returns the number of emails for sign-up that count towards the daily limit: one for each link that is valid. */
export const countSignUpEmails = (
  db: Pick<Tx, 'signUp'>,
  { app, organizationId }: { readonly app: Pick<Runtime, 'now'>; readonly organizationId: number },
): Promise<number> => db.signUp.count({ where: { organizationId, expiresAt: { gt: app.now() } } });
