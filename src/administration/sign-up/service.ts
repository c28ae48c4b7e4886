import { requireAddress } from '../../access/address.ts';
import type { RequestCtx, Runtime } from '../../access/context.ts';
import { OrganizationDeactivatedError } from '../../access/errors.ts';
import { organizationSetting } from '../../access/organization-settings.ts';
import type { Browser } from '../../api/cookies.ts';
import { requireOwnPage } from '../../api/cross-site.ts';
import { transact } from '../../events/log.ts';
import type { Organization, SignUp, User } from '../../generated/prisma/client.ts';
import { lockOrganization } from '../../people/locks.ts';
import { findUserByEmail } from '../../people/users.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError, NonexistentSubdomainError, NotFoundError, RateLimitHitError } from '../../platform/errors.ts';
import { urlOf } from '../../platform/hosts.ts';
import { oneLine, queueMail } from '../../platform/mail/outbox.ts';
import { isOwner, MEMBER } from '../../platform/roles.ts';
import { requireAllowedAddress } from '../domains/service.ts';
import { closeInvitationsTo } from '../invitations/joining.ts';
import { countSignUpRequest } from '../join-limits.ts';
import { linkTokenHash } from '../link-tokens.ts';
import { requireMailServer } from '../mail-server.ts';
import { checkNewUser, refusingTakenAddress } from '../new-user.ts';
import { isAwaitingOwner } from '../organization/awaiting-owner.ts';
import { invitationsPerDayOf } from '../organization-limits.ts';
import { beginFirstSession } from '../sessions/service.ts';
import { introduceUser } from '../users/service.ts';
import { welcomeUser } from '../welcome-mail.ts';
import { countSignUpEmails, insertSignUpLink } from './links.ts';

/** Name of the parameter that contains the token of a link. */
const TOKEN = 'token';
const HOUR_SECONDS = 3600;
const DAY_MS = 86_400_000;

/** Returns whether people can create an account without an invitation. */
export const acceptsSignUps = ({ config }: Pick<Runtime, 'config'>, organization: Organization): boolean =>
  config.smtpUrl !== undefined &&
  organization.deactivatedAt === null &&
  !organizationSetting(organization, 'invite_required');

/**
 * Checks that people can create an account without an invitation.
 *
 * @throws OrganizationDeactivatedError if the organization is deactivated.
 * @throws ConflictError if new users need an invitation.
 */
function requireOpen(organization: Organization): void {
  if (organization.deactivatedAt !== null) throw new OrganizationDeactivatedError();
  if (!organizationSetting(organization, 'invite_required')) return;
  throw new ConflictError('New users need an invitation to this organization. Ask a member for one.');
}

/**
 * Sends a person a link with which they can create an account. If the address has an account, the result and the database
 * statements are the same, but the email says so.
 *
 * @throws NonexistentSubdomainError at the server's own domain, if no organization uses that domain.
 * @throws OrganizationDeactivatedError if the organization is deactivated.
 * @throws ConflictError if new users need an invitation, or the server cannot send email.
 * @throws ValidationError if the address is malformed, or the organization does not accept it.
 * @throws RateLimitHitError after 3 requests for the address, or 250 from the client's network, within an hour, and if the
 *   organization's daily limit of emails is reached.
 */
export async function requestSignUp(request: RequestCtx, email: string): Promise<void> {
  const { app, work, organization } = request;
  if (organization === null) throw new NonexistentSubdomainError();
  requireOpen(organization);
  requireMailServer(app, 'Ask an administrator of the organization for an invitation link.');
  const address = requireAddress(email);
  await requireAllowedAddress(work.db, organization, address);
  await countSignUpRequest(request, organization.id, address);
  await transact({ work, organizationId: organization.id }, async (tx) => {
    await lockOrganization(tx, organization.id);
    const now = await tx.organization.findUniqueOrThrow({ where: { id: organization.id } });
    requireOpen(now);
    await requireAllowedAddress(tx, now, address);
    await requireEmailLeft(tx, app, now);
    const link = await insertSignUpLink(tx, app, now, { email: address, role: MEMBER, lifetimeMs: DAY_MS });
    const holder = await findUserByEmail(tx, organization.id, address);
    await mailLink(tx, app, now, { address, url: link.url, hasAccount: holder !== null });
  });
}

/**
 * Deletes expired links, and checks the daily limit of emails. The transaction must hold the lock of the organization's row.
 *
 * @throws RateLimitHitError if the organization would send more emails than its limit within 24 hours.
 */
async function requireEmailLeft(tx: Tx, app: Runtime, organization: Organization): Promise<void> {
  const { id: organizationId } = organization;
  await tx.signUp.deleteMany({ where: { organizationId, expiresAt: { lte: app.now() } } });
  const limit = invitationsPerDayOf(app, organization);
  if (limit === undefined) return;
  if ((await countSignUpEmails(tx, { app, organizationId })) >= limit) throw new RateLimitHitError(HOUR_SECONDS);
}

interface LinkMail {
  readonly address: string;
  readonly url: string;
  /** Whether a user of the organization already has the address. The email then has no link. */
  readonly hasAccount: boolean;
}

async function mailLink(
  tx: Tx,
  app: Runtime,
  { id: organizationId, name, subdomain }: Organization,
  { address, url, hasAccount }: LinkMail,
): Promise<void> {
  const place = oneLine(name);
  const home = urlOf(app.config, subdomain);
  const next = hasAccount
    ? `You already have an account there with this address. To sign in, or to choose a new password, open ${home}.`
    : `To create it, follow this link within a day:

${url}`;
  await queueMail(tx, {
    organizationId,
    to: address,
    subject: `Your account in ${place}`,
    body: `Hello,

You asked for an account in ${place} at ${home} with this email address.
${next}

If you did not ask for this, ignore this email.
`,
  });
}

/** A link that can be used, with its organization. */
export interface OpenSignUp {
  readonly link: SignUp;
  readonly organization: Organization;
}

/**
 * Returns the link to which a token belongs.
 *
 * @throws NonexistentSubdomainError at the server's own domain, if no organization uses that domain.
 * @throws NotFoundError if the link was used, has expired or is invalid.
 * @throws OrganizationDeactivatedError, ConflictError if people can no longer create an account. The first owner can.
 */
export async function findSignUp(
  { app, organization }: Pick<RequestCtx, 'app' | 'organization'>,
  db: Tx,
  token: string,
): Promise<OpenSignUp> {
  if (organization === null) throw new NonexistentSubdomainError();
  const where = { organizationId: organization.id, tokenHash: linkTokenHash(token), expiresAt: { gt: app.now() } };
  const link = await db.signUp.findFirst({ where });
  if (link === null) {
    throw new NotFoundError('This link was already used, has expired, or is incomplete.', { parameter: TOKEN });
  }
  if (!isOwner(link.role)) requireOpen(organization);
  else if (organization.deactivatedAt !== null && !isAwaitingOwner(organization))
    throw new OrganizationDeactivatedError();
  return { link, organization };
}

/** Values that a person chooses for a new account. */
export interface SignUpAnswer {
  readonly token: string;
  readonly fullName: string;
  readonly password: string;
}

/**
 * Creates the account of a person who has confirmed an address. The link of the first owner of an organization creates an account
 * with the owner role, and activates the organization.
 *
 * @param browser The person's browser, which is signed in. Undefined if the transport cannot set cookies.
 * @returns The new user.
 * @throws The errors of `findSignUp`.
 * @throws ConflictError if the address has an account, or the name is in use and names must be unique.
 * @throws ValidationError if name or password is invalid, or the organization no longer accepts the address.
 * @throws RateLimitHitError if too many passwords wait to be hashed.
 * @throws CsrfFailedError if the request comes from a page of another site.
 */
export async function completeSignUp(
  request: RequestCtx,
  { token, fullName, password }: SignUpAnswer,
  browser: Browser | undefined,
): Promise<User> {
  const { app, work, caller, clientName } = request;
  if (browser !== undefined) requireOwnPage(app.config, browser.header);
  const { link, organization } = await findSignUp(request, work.db, token);
  const { email, role } = link;
  const given = { email, fullName, password, role, ...(isOwner(role) && { canCreateUsers: true }) };
  const row = await checkNewUser(app, organization, given, caller);
  const scope = { app, work, organizationId: organization.id, caller, clientName };
  const account = await refusingTakenAddress(
    () =>
      transact(scope, async (tx, emit) => {
        await lockOrganization(tx, organization.id);
        // Another request can have used the link, or changed the rules, while the password was hashed.
        const now = await tx.organization.findUniqueOrThrow({ where: { id: organization.id } });
        await findSignUp({ app, organization: now }, tx, token);
        if (!isOwner(role)) await requireAllowedAddress(tx, now, email, TOKEN);
        const opened = isAwaitingOwner(now) ? await open(tx, now) : now;
        const { user } = await introduceUser(tx, emit, scope, opened, row);
        await tx.$executeRaw`
          DELETE FROM sign_up WHERE realm_id = ${organization.id} AND lower(email) = lower(${email})`;
        await closeInvitationsTo(tx, emit, scope, email);
        await welcomeUser(tx, emit, { app, organization: opened }, user);
        return { user, organization: opened };
      }),
    TOKEN,
  );
  await beginFirstSession({ app, work, caller, clientName }, account, browser);
  return account.user;
}

/** Activates an organization when its first owner joins. */
const open = (tx: Tx, { id }: Organization): Promise<Organization> =>
  tx.organization.update({ where: { id }, data: { deactivatedAt: null, deleteAt: null } });
