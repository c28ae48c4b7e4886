import { requireAddress } from '../../access/address.ts';
import type { App, RequestCtx, WorkCtx } from '../../access/context.ts';
import { normalAddress } from '../../access/sign-in.ts';
import type { AuditedContext } from '../../events/audit.ts';
import { transact } from '../../events/log.ts';
import type { Organization } from '../../generated/prisma/client.ts';
import { createNotificationBot } from '../../people/system-bot.ts';
import { isUniqueViolation } from '../../platform/db/errors.ts';
import { ConflictError, ForbiddenError, RateLimitHitError, ValidationError } from '../../platform/errors.ts';
import { urlOf } from '../../platform/hosts.ts';
import { oneLine, queueMail } from '../../platform/mail/outbox.ts';
import { OWNER } from '../../platform/roles.ts';
import { attemptLimit } from '../attempt-limit.ts';
import { isDisposable } from '../domains/disposable.ts';
import { requireMailServer } from '../mail-server.ts';
import { AWAITING_OWNER, isAwaitingOwner } from '../organization/awaiting-owner.ts';
import { insertOrganization, requireNames } from '../organization/service.ts';
import { insertSignUpLink, type SignUpLink } from '../sign-up/links.ts';

const HOUR_SECONDS = 3600;
const DAY_MS = 86_400_000;
/** Lifetime of the links that operators create, in milliseconds: seven days. */
const OPERATOR_LINK_MS = 7 * DAY_MS;
/** Maximum number of organizations that wait for their first owner, so that requests cannot fill the database. */
const MAX_AWAITING = 1000;
const MIN_SUBDOMAIN_LENGTH = 3;

/** Subdomains that look like a part of the service itself. Visitors cannot use them, but operators can. */
const RESERVED: ReadonlySet<string> = new Set([
  ...[
    'about',
    'account',
    'accounts',
    'admin',
    'api',
    'app',
    'assets',
    'auth',
    'billing',
    'blog',
    'cdn',
    'chat',
    'demo',
  ],
  ...['dev', 'docs', 'email', 'files', 'ftp', 'graphql', 'help', 'imap', 'login', 'mail', 'media', 'metrics', 'news'],
  ...['ns1', 'ns2', 'pop', 'root', 'security', 'shop', 'signin', 'signup', 'smtp', 'staging', 'static', 'status'],
  ...['support', 'system', 'test', 'webmail', 'www'],
]);

/** Counts requests for an address: 3 per hour. */
const countForAddress = attemptLimit('new_organizations', { points: 3, duration: HOUR_SECONDS });
/** Counts requests from a network: 10 per hour. */
const countForNetwork = attemptLimit('new_organizations_by_network', { points: 10, duration: HOUR_SECONDS });

/** An organization that a person asks for. */
export interface WantedOrganization {
  readonly name: string;
  readonly subdomain: string;
  /** Address of the first owner. */
  readonly email: string;
}

/** Address to which the link of a first owner was sent, and URL of the organization that it opens. */
interface RequestedOrganization {
  readonly email: string;
  readonly url: string;
}

/** A new organization without users, with the link of its first owner. */
export interface AwaitingOrganization extends SignUpLink {
  readonly organization: Organization;
}

/**
 * Creates an organization without users, and a link with which its first owner chooses name and password. The organization is
 * deactivated until the link is used. If the link expires, the organization is erased.
 *
 * @param onMade Called in the transaction with the link.
 * @throws ValidationError if a name or the address is invalid.
 * @throws ConflictError if the subdomain is in use.
 */
async function createAwaiting(
  { app, ...scope }: WorkCtx & AuditedContext,
  { email, ...names }: WantedOrganization,
  lifetimeMs: number,
  onMade: (tx: Parameters<typeof queueMail>[0], made: AwaitingOrganization) => Promise<void> = async () => {},
): Promise<AwaitingOrganization> {
  const address = requireAddress(email);
  const name = requireNames(names);
  const { subdomain } = names;
  const now = app.now();
  try {
    return await transact({ ...scope, organizationId: 0 }, async (tx, emit) => {
      const deleteAt = new Date(now.getTime() + lifetimeMs);
      const isByVisitor = scope.isOperator !== true;
      const row = { subdomain, name, createdAt: now, isByVisitor, deactivatedAt: AWAITING_OWNER, deleteAt };
      const organization = await insertOrganization(tx, row);
      await createNotificationBot(tx, organization.id, now);
      emit.audit({
        ...{ action: 'organization_created', objectType: 'organization', objectId: organization.id },
        ...{ objectName: name, organizationId: organization.id, changes: { subdomain: { new: subdomain } } },
      });
      const link = await insertSignUpLink(tx, app, organization, { email: address, role: OWNER, lifetimeMs });
      const made = { organization, ...link };
      await onMade(tx, made);
      return made;
    });
  } catch (error) {
    if (isUniqueViolation(error)) throw new ConflictError('The subdomain is in use', { parameter: 'subdomain' });
    throw error;
  }
}

/**
 * Creates an organization for the server's operator, who passes the link on to the first owner. The link is valid for seven days.
 *
 * @throws ValidationError, ConflictError as for `createOrganization`.
 */
export const createForOwner = (app: App, wanted: WantedOrganization): Promise<AwaitingOrganization> =>
  createAwaiting({ app, work: app.work, isOperator: true }, wanted, OPERATOR_LINK_MS);

/**
 * Creates another link with which a person becomes an owner, for the server's operator. It is needed if the link of the first
 * owner has expired, or if all owners have left. The link is valid for seven days.
 *
 * @throws ValidationError if the address is invalid.
 */
export async function createOwnerLink(app: App, { id }: Organization, email: string): Promise<SignUpLink> {
  const address = requireAddress(email);
  return transact({ work: app.work, organizationId: id, isOperator: true }, async (tx, emit) => {
    emit.audit({ action: 'owner_link_created', objectType: 'organization', objectId: id });
    const organization = await tx.organization.findUniqueOrThrow({ where: { id } });
    const invitee = { email: address, role: OWNER, lifetimeMs: OPERATOR_LINK_MS };
    const link = await insertSignUpLink(tx, app, organization, invitee);
    if (isAwaitingOwner(organization)) {
      await tx.organization.update({ where: { id }, data: { deleteAt: link.expiresAt } });
    }
    return link;
  });
}

/**
 * Creates an organization that a visitor asks for, and sends the first owner a link, which is valid for a day.
 *
 * @throws ForbiddenError if the operator does not permit it.
 * @throws ConflictError if the server cannot send email, or the subdomain is in use.
 * @throws ValidationError if a name or the address is invalid, the address is disposable, or the subdomain is reserved or shorter
 *   than 3 characters.
 * @throws RateLimitHitError after 3 requests for the address, or 10 from the client's network, within an hour, and if 1,000
 *   organizations wait for their first owner.
 */
export async function requestOrganization(
  request: RequestCtx,
  wanted: WantedOrganization,
): Promise<RequestedOrganization> {
  const { app, work, caller } = request;
  requireOpen(app);
  requireMailServer(app, 'Ask the operator of the server to create the organization.');
  const email = requireAddress(wanted.email);
  if (isDisposable(email.slice(email.lastIndexOf('@') + 1).toLowerCase())) {
    throw new ValidationError('Disposable email addresses are not allowed.', { parameter: 'email', value: email });
  }
  const subdomain = wanted.subdomain.trim().toLowerCase();
  const parameter = 'subdomain';
  if (subdomain.length < MIN_SUBDOMAIN_LENGTH) {
    const message = `The subdomain must have at least ${MIN_SUBDOMAIN_LENGTH} characters.`;
    throw new ValidationError(message, { parameter, value: subdomain, minimum: MIN_SUBDOMAIN_LENGTH });
  }
  requireNames({ ...wanted, subdomain });
  if (RESERVED.has(subdomain)) {
    throw new ValidationError(`The subdomain ${subdomain} is reserved.`, { parameter, value: subdomain });
  }
  await countForAddress(app, normalAddress(email));
  await countForNetwork(app, caller?.network ?? '');
  if ((await work.db.organization.count({ where: { deactivatedAt: AWAITING_OWNER } })) >= MAX_AWAITING) {
    throw new RateLimitHitError(HOUR_SECONDS);
  }
  const { clientName } = request;
  const home = urlOf(app.config, subdomain);
  await createAwaiting(
    { app, work, caller, clientName },
    { name: wanted.name, subdomain, email },
    DAY_MS,
    (tx, { organization, url: link }) => {
      const place = oneLine(organization.name);
      return queueMail(tx, {
        organizationId: organization.id,
        to: email,
        subject: `Your organization ${place}`,
        body: `Hello,

You asked for the organization ${place} at ${home}.
To become its owner, follow this link within a day:

${link}

If you did not ask for this, ignore this email. The organization is then removed.
`,
      });
    },
  );
  return { email, url: home };
}

/** Checks that visitors can create organizations. @throws ForbiddenError if the operator does not permit it. */
export function requireOpen({ config }: Pick<App, 'config'>): void {
  if (config.allowsOrganizationCreation) return;
  throw new ForbiddenError('New organizations are created by the operator of this server.');
}
