import type { Ctx } from '../../access/context.ts';
import { realmSetting } from '../../access/realm-settings.ts';
import { requireOwner } from '../../access/roles.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { everyone } from '../../events/audience.ts';
import { transact } from '../../events/log.ts';
import type { Prisma, Realm, RealmDomain } from '../../generated/prisma/client.ts';
import { lockRealm } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { requireWithin } from '../../platform/totals.ts';
import { setRealmSettings } from '../organization/update.ts';
import { realmDomainAdded, realmDomainChanged, realmDomainRemoved } from './events.ts';

const MAX_DOMAIN_LENGTH = 255;
const LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;

/** Returns the filter for the domains that the viewer can see: all of the organization. */
export const visibleTo = ({ realmId }: Ctx): Prisma.RealmDomainWhereInput => ({ realmId });

/** Returns the domains whose email addresses can be used to join, in the order in which they were added. */
export function listRealmDomains(ctx: Ctx): Promise<RealmDomain[]> {
  return ctx.app.db.realmDomain.findMany({ where: visibleTo(ctx), orderBy: { id: 'asc' } });
}

/**
 * Allows the email addresses of a domain.
 *
 * @throws UnauthorizedPrincipalError unless the viewer is an owner.
 * @throws BadRequestError if the domain is invalid or already allowed.
 * @throws TotalReachedError if there would be more than 1,000 domains.
 */
export async function addRealmDomain(
  ctx: Ctx,
  { domain: given, allowSubdomains }: { domain: string; allowSubdomains: boolean },
): Promise<RealmDomain> {
  requireOwner(ctx);
  const { realmId } = ctx;
  const domain = requireDomain(given);
  return transact(ctx, async (tx, emit) => {
    await lockRealm(tx, realmId);
    requireOwner(await asOfNow(tx, ctx));
    const where = { realmId_domain: { realmId, domain } };
    if ((await tx.realmDomain.findUnique({ where })) !== null) {
      throw new BadRequestError(`The domain ${domain} is already a part of your organization.`);
    }
    requireWithin('realm_domains', 1 + (await tx.realmDomain.count({ where: { realmId } })));
    const added = await tx.realmDomain.create({ data: { realmId, domain, allowSubdomains } });
    emit(realmDomainAdded(added), everyone());
    return added;
  });
}

function requireDomain(given: string): string {
  const domain = given.trim().toLowerCase();
  const invalid = (reason: string) => new BadRequestError(`Invalid domain: ${reason}`);
  if (domain === '') throw invalid("Domain can't be empty.");
  if (!domain.includes('.')) throw invalid('Domain must have at least one dot (.)');
  if (domain.startsWith('.') || domain.endsWith('.')) throw invalid('Domain cannot start or end with a dot (.)');
  if (domain.length > MAX_DOMAIN_LENGTH) throw invalid('Domain is too long');
  if (!domain.split('.').every((label) => LABEL.test(label))) {
    throw invalid('Domain can only have letters, numbers, hyphens and dots, and no part begins or ends with a hyphen.');
  }
  return domain;
}

const noSuchDomain = (domain: string) => new BadRequestError(`No entry found for domain ${domain}.`);

/**
 * Sets whether email addresses of the domain's subdomains are allowed. Emits an event even if the value does not change.
 *
 * @throws UnauthorizedPrincipalError unless the viewer is an owner.
 * @throws BadRequestError if the domain is not allowed.
 */
export async function updateRealmDomain(ctx: Ctx, domain: string, allowSubdomains: boolean): Promise<RealmDomain> {
  requireOwner(ctx);
  return transact(ctx, async (tx, emit) => {
    await lockRealm(tx, ctx.realmId);
    requireOwner(await asOfNow(tx, ctx));
    const { id } = await findDomain(tx, ctx, domain);
    const changed = await tx.realmDomain.update({
      where: { realmId_id: { realmId: ctx.realmId, id } },
      data: { allowSubdomains },
    });
    emit(realmDomainChanged(changed), everyone());
    return changed;
  });
}

/**
 * Disallows the email addresses of a domain. If the last domain is removed, the restriction to domains ends, because no address
 * could satisfy it any more.
 *
 * @throws UnauthorizedPrincipalError unless the viewer is an owner.
 * @throws BadRequestError if the domain is not allowed.
 */
export async function removeRealmDomain(ctx: Ctx, domain: string): Promise<void> {
  requireOwner(ctx);
  await transact(ctx, async (tx, emit) => {
    await lockRealm(tx, ctx.realmId);
    requireOwner(await asOfNow(tx, ctx));
    const removed = await findDomain(tx, ctx, domain);
    await tx.realmDomain.delete({ where: { realmId_id: { realmId: ctx.realmId, id: removed.id } } });
    emit(realmDomainRemoved(removed), everyone());
    if ((await tx.realmDomain.count({ where: { realmId: ctx.realmId } })) === 0) {
      await setRealmSettings(tx, emit, ctx, { emails_restricted_to_domains: false });
    }
  });
}

/**
 * Finds a domain by its name, ignoring case. Names are stored in lower case.
 *
 * @throws BadRequestError if the domain is not allowed.
 */
async function findDomain(tx: Tx, { realmId }: Ctx, domain: string): Promise<RealmDomain> {
  const found = domain.includes('\0')
    ? null
    : await tx.realmDomain.findUnique({ where: { realmId_domain: { realmId, domain: domain.toLowerCase() } } });
  if (found === null) throw noSuchDomain(domain);
  return found;
}

/**
 * Checks that the organization accepts an email address. @throws BadRequestError if it accepts only addresses of its domains,
 * and the address is of another domain or contains "+".
 */
export async function requireAllowedAddress(
  db: Pick<Tx, 'realmDomain'>,
  realm: Pick<Realm, 'id' | 'settings'>,
  address: string,
): Promise<void> {
  if (!realmSetting(realm, 'emails_restricted_to_domains')) return;
  if (address.includes('+')) throw new BadRequestError('Email addresses containing + are not allowed.');
  const host = address.slice(address.lastIndexOf('@') + 1).toLowerCase();
  const domains = await db.realmDomain.findMany({ where: { realmId: realm.id } });
  const isAllowed = domains.some(
    ({ domain, allowSubdomains }) => host === domain || (allowSubdomains && host.endsWith(`.${domain}`)),
  );
  if (!isAllowed) throw new BadRequestError(`Email '${address}' not allowed in this organization`);
}
