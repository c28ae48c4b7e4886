import type { Ctx } from '../../access/context.ts';
import { organizationSetting } from '../../access/organization-settings.ts';
import { requireOwner } from '../../access/roles.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { everyone } from '../../events/audience.ts';
import { transact } from '../../events/log.ts';
import type { Organization, OrganizationDomain, Prisma } from '../../generated/prisma/client.ts';
import { lockOrganization } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError, NotFoundError, ValidationError } from '../../platform/errors.ts';
import { requireWithin } from '../../platform/totals.ts';
import { setOrganizationSettings } from '../organization/update.ts';
import { isDisposable } from './disposable.ts';
import { organizationDomainAdded, organizationDomainChanged, organizationDomainRemoved } from './events.ts';

const MAX_DOMAIN_LENGTH = 255;
const LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;

/** Returns the filter for the domains that the viewer can see: all domains of the organization. */
export const visibleTo = ({ organizationId }: Ctx): Prisma.OrganizationDomainWhereInput => ({ organizationId });

/** Returns the domains whose email addresses can be used to join, in the order in which they were added. */
export function listOrganizationDomains(ctx: Ctx): Promise<OrganizationDomain[]> {
  return ctx.work.db.organizationDomain.findMany({ where: visibleTo(ctx), orderBy: { id: 'asc' } });
}

/**
 * Allows people to join with email addresses of a domain.
 *
 * @throws UnauthorizedPrincipalError unless the viewer is an owner.
 * @throws ValidationError if the domain is invalid.
 * @throws ConflictError if the domain is already allowed.
 * @throws TotalReachedError if there would be more than 1,000 domains.
 */
export async function addOrganizationDomain(
  ctx: Ctx,
  { domain: given, allowSubdomains }: { domain: string; allowSubdomains: boolean },
): Promise<OrganizationDomain> {
  requireOwner(ctx);
  const { organizationId } = ctx;
  const domain = requireDomain(given);
  return transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, organizationId);
    requireOwner(await asOfNow(tx, ctx));
    const where = { organizationId_domain: { organizationId, domain } };
    if ((await tx.organizationDomain.findUnique({ where })) !== null) {
      throw new ConflictError(`The domain ${domain} is already a part of your organization.`, { parameter: 'domain' });
    }
    requireWithin('realm_domains', 1 + (await tx.organizationDomain.count({ where: { organizationId } })));
    const added = await tx.organizationDomain.create({ data: { organizationId, domain, allowSubdomains } });
    emit(organizationDomainAdded(added), everyone());
    return added;
  });
}

/**
 * Returns a domain in the form in which it is stored.
 *
 * @param parameter Name of the parameter that contains the domain.
 * @throws ValidationError if it is not a domain.
 */
export function requireDomain(given: string, parameter = 'domain'): string {
  const domain = given.trim().toLowerCase();
  const invalid = (reason: string, limits: { minimum?: number; maximum?: number } = {}) =>
    new ValidationError(`Invalid domain: ${reason}`, { parameter, value: given, ...limits });
  if (domain === '') throw invalid("Domain can't be empty.", { minimum: 1 });
  if (!domain.includes('.')) throw invalid('Domain must have at least one dot (.)');
  if (domain.startsWith('.') || domain.endsWith('.')) throw invalid('Domain cannot start or end with a dot (.)');
  if (domain.length > MAX_DOMAIN_LENGTH) throw invalid('Domain is too long', { maximum: MAX_DOMAIN_LENGTH });
  if (!domain.split('.').every((label) => LABEL.test(label))) {
    throw invalid('Domain can only have letters, numbers, hyphens and dots, and no part begins or ends with a hyphen.');
  }
  return domain;
}

const noSuchDomain = (domain: string) =>
  new NotFoundError(`No entry found for domain ${domain}.`, { type: 'OrganizationDomain', parameter: 'domain' });

/**
 * Sets whether email addresses of the domain's subdomains are allowed. Emits an event even if the value does not change.
 *
 * @throws UnauthorizedPrincipalError unless the viewer is an owner.
 * @throws NotFoundError if the domain is not in the organization's list of allowed domains.
 */
export async function updateOrganizationDomain(
  ctx: Ctx,
  domain: string,
  allowSubdomains: boolean,
): Promise<OrganizationDomain> {
  requireOwner(ctx);
  return transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, ctx.organizationId);
    requireOwner(await asOfNow(tx, ctx));
    const before = await findDomain(tx, ctx, domain);
    const { id } = before;
    const changed = await tx.organizationDomain.update({
      where: { organizationId_id: { organizationId: ctx.organizationId, id } },
      data: { allowSubdomains },
    });
    emit(organizationDomainChanged(changed, before), everyone());
    return changed;
  });
}

/**
 * Disallows the email addresses of a domain. If the last domain is removed, the restriction to domains ends, because otherwise
 * no email address would be accepted.
 *
 * @throws UnauthorizedPrincipalError unless the viewer is an owner.
 * @throws NotFoundError if the domain is not in the organization's list of allowed domains.
 */
export async function removeOrganizationDomain(ctx: Ctx, domain: string): Promise<OrganizationDomain> {
  requireOwner(ctx);
  return transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, ctx.organizationId);
    requireOwner(await asOfNow(tx, ctx));
    const removed = await findDomain(tx, ctx, domain);
    await tx.organizationDomain.delete({
      where: { organizationId_id: { organizationId: ctx.organizationId, id: removed.id } },
    });
    emit(organizationDomainRemoved(removed), everyone());
    if ((await tx.organizationDomain.count({ where: { organizationId: ctx.organizationId } })) === 0) {
      await setOrganizationSettings(tx, emit, ctx, { emails_restricted_to_domains: false });
    }
    return removed;
  });
}

/**
 * Finds a domain by its name, ignoring case. Names are stored in lower case.
 *
 * @throws NotFoundError if the domain is not in the organization's list of allowed domains.
 */
async function findDomain(tx: Tx, { organizationId }: Ctx, domain: string): Promise<OrganizationDomain> {
  const found = domain.includes('\0')
    ? null
    : await tx.organizationDomain.findUnique({
        where: { organizationId_domain: { organizationId, domain: domain.toLowerCase() } },
      });
  if (found === null) throw noSuchDomain(domain);
  return found;
}

/** Returns the domain of an email address, in lower case. */
const hostOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1).toLowerCase();

/**
 * Returns a function that checks whether the organization accepts an email address. The function returns the error for an
 * address that is not accepted. If the organization accepts only addresses of its domains, addresses of other domains and with
 * "+" are not accepted. Otherwise, disposable addresses are not accepted, if the organization refuses these.
 */
export async function addressRule(
  db: Pick<Tx, 'organizationDomain'>,
  organization: Pick<Organization, 'id' | 'settings'>,
): Promise<(address: string, parameter?: string) => ValidationError | undefined> {
  if (!organizationSetting(organization, 'emails_restricted_to_domains')) {
    if (!organizationSetting(organization, 'disallow_disposable_email_addresses')) return () => undefined;
    return (address, parameter = 'email') =>
      isDisposable(hostOf(address))
        ? new ValidationError('Disposable email addresses are not allowed in this organization', {
            ...{ parameter, value: address },
          })
        : undefined;
  }
  const domains = await db.organizationDomain.findMany({ where: { organizationId: organization.id } });
  return (address, parameter = 'email') => {
    const details = { parameter, value: address };
    if (address.includes('+')) return new ValidationError('Email addresses containing + are not allowed.', details);
    const host = hostOf(address);
    const isAllowed = domains.some(
      ({ domain, allowSubdomains }) => host === domain || (allowSubdomains && host.endsWith(`.${domain}`)),
    );
    return isAllowed ? undefined : new ValidationError(`Email '${address}' not allowed in this organization`, details);
  };
}

/**
 * Checks that the organization accepts an email address.
 *
 * @param parameter Name of the parameter that determines the address.
 * @throws ValidationError under the conditions of `addressRule`.
 */
export async function requireAllowedAddress(
  db: Pick<Tx, 'organizationDomain'>,
  organization: Pick<Organization, 'id' | 'settings'>,
  address: string,
  parameter?: string,
): Promise<void> {
  const objection = (await addressRule(db, organization))(address, parameter);
  if (objection !== undefined) throw objection;
}
