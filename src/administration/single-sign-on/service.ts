import type { Ctx, Scope } from '../../access/context.ts';
import { ownsOrganization, requireOwner } from '../../access/roles.ts';
import { asOfNow } from '../../access/sign-in.ts';
import type { AuditAction, AuditChange, AuditEntry } from '../../events/audit.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { IdentityProvider, Prisma } from '../../generated/prisma/client.ts';
import { lockOrganization } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError, ForbiddenError, NotFoundError, ValidationError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { ROLES } from '../../platform/roles.ts';
import { requireText, showsNothing } from '../../platform/text.ts';
import { requireWithin } from '../../platform/totals.ts';
import { requireDomain } from '../domains/service.ts';
import { requireProof } from '../sign-in/proof.ts';
import { changingProviders } from './events.ts';
import { type GroupRule, groupRulesOf } from './group-rules.ts';
import { type Address, objectionToIssuer } from './issuer.ts';

const SLUG = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/;
const MAX_NAME_LENGTH = 60;
const MAX_CLIENT_ID_LENGTH = 500;
const MAX_SECRET_LENGTH = 1_000;
const MAX_DOMAINS = 100;
const MAX_CLAIM_LENGTH = 200;
const MAX_RULES = 200;
const MAX_VALUE_LENGTH = 200;
const MAX_GROUPS_PER_RULE = 50;

/** Properties of a provider. Those of an update are optional: absent ones stay unchanged. */
export interface NewIdentityProvider {
  /** Part of the provider's URLs: 1 to 40 lower-case letters, digits and hyphens. It cannot be changed later. */
  readonly slug: string;
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly domains?: readonly string[] | undefined;
  readonly createsAccounts?: boolean | undefined;
  readonly groupsClaim?: string | null | undefined;
  readonly groupRules?: readonly GroupRule[] | undefined;
  readonly isEnabled?: boolean | undefined;
}
export type IdentityProviderEdit = {
  readonly [K in keyof Omit<NewIdentityProvider, 'slug'>]?: NewIdentityProvider[K] | undefined;
};

/** Returns the filter for the providers that the viewer can see: all for owners, otherwise none. */
export const visibleTo = (ctx: Ctx): Prisma.IdentityProviderWhereInput => ({
  organizationId: ctx.organizationId,
  ...(!ownsOrganization(ctx) && { id: { in: [] } }),
});

/**
 * Adds a provider with which people can sign in.
 *
 * @throws UnauthorizedPrincipalError unless the viewer is an owner.
 * @throws ValidationError if a value is invalid.
 * @throws NotFoundError if a group of the rules does not exist.
 * @throws ConflictError if another provider has the slug, or a group is a role group or deactivated.
 * @throws TotalReachedError if the organization would have more than 20 providers.
 * @throws PasswordRequiredError and the other errors of `requireProof`.
 */
export async function createIdentityProvider(
  ctx: Ctx,
  given: NewIdentityProvider,
  currentPassword?: string,
): Promise<IdentityProvider> {
  requireOwner(ctx);
  const provider = checkedNew(ctx.app.config, given);
  await requireProof(ctx, currentPassword);
  return transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, ctx.organizationId);
    requireOwner(await asOfNow(tx, ctx));
    return addProvider(tx, emit, ctx, provider);
  });
}

/** All values of a new provider. They were checked one by one. */
export interface NewProvider extends Required<Checked> {
  readonly slug: string;
}

/** Checks the values of a new provider, and adds defaults. @throws ValidationError if one is invalid. */
export function checkedNew(config: Address, given: NewIdentityProvider): NewProvider {
  const { slug } = given;
  if (!SLUG.test(slug)) {
    const message = 'The identifier must have 1 to 40 lower-case letters, digits and hyphens, no hyphen first or last.';
    throw new ValidationError(message, { parameter: 'slug', value: slug });
  }
  const { domains = [], createsAccounts = false, groupsClaim = null, ...more } = checked(config, given);
  const { name = '', issuer = '', clientId = '', clientSecret = '', groupRules = [], isEnabled = true } = more;
  const provider = {
    ...{ slug, name, issuer, clientId, clientSecret, domains, createsAccounts, groupsClaim, groupRules, isEnabled },
  };
  requireConsistent(provider);
  return provider;
}

/**
 * Adds a provider. The transaction must hold the lock of the organization's row.
 *
 * @param options `isDeclared`: whether the environment of the server declares the provider.
 * @throws NotFoundError if a group of the rules does not exist.
 * @throws ConflictError if another provider has the slug, or a group is a role group or deactivated.
 * @throws TotalReachedError if the organization would have more than 20 providers.
 */
export async function addProvider(
  tx: Tx,
  emit: Emit,
  { app, organizationId }: Scope,
  { clientSecret, ...provider }: NewProvider,
  { isDeclared = false } = {},
): Promise<IdentityProvider> {
  const { slug } = provider;
  if ((await tx.identityProvider.count({ where: { organizationId, slug } })) > 0) {
    throw new ConflictError(`Another provider has the identifier "${slug}".`, { parameter: 'slug' });
  }
  requireWithin('identity_providers', 1 + (await tx.identityProvider.count({ where: { organizationId } })));
  await requireGroups(tx, { organizationId }, provider.groupRules);
  const sealedSecret = app.keys.seal(clientSecret);
  const made = await changingProviders(tx, emit, { organizationId }, () =>
    tx.identityProvider.create({
      data: { organizationId, ...provider, sealedSecret, isDeclared, createdAt: app.now() },
    }),
  );
  emit.audit(audited('identity_provider_created', undefined, made, false));
  return made;
}

/** Returns the audit log entry for a change of a provider. It shows that the client secret was replaced, but not the secret. */
function audited(
  action: AuditAction,
  before: IdentityProvider | undefined,
  after: IdentityProvider | undefined,
  isSecretReplaced: boolean,
): AuditEntry {
  const { id, name } = (after ?? before) as IdentityProvider;
  const changes: Record<string, AuditChange> = {};
  for (const property of AUDITED) {
    const [old, now] = [before?.[property], after?.[property]];
    if (JSON.stringify(old) !== JSON.stringify(now)) {
      changes[property] = { ...(before !== undefined && { old }), ...(after !== undefined && { new: now }) };
    }
  }
  return {
    ...{ action, objectType: 'identity_provider', objectId: id, objectName: name },
    changes: { ...changes, ...(isSecretReplaced && { clientSecret: {} }) },
  };
}

const AUDITED = [
  ...(['slug', 'name', 'issuer', 'clientId', 'domains', 'createsAccounts'] as const),
  ...(['groupsClaim', 'groupRules', 'isEnabled'] as const),
] as const;

const noSuchProvider = (id: number) =>
  new NotFoundError('Invalid identity provider', { type: 'IdentityProvider', id, parameter: 'identity_provider_id' });

/**
 * Changes a provider. A new issuer requires a new client secret, because the stored secret must not be sent to another server.
 *
 * @throws The errors of `createIdentityProvider`.
 * @throws NotFoundError if the provider does not exist.
 * @throws ForbiddenError if the environment of the server declares the provider.
 */
export async function updateIdentityProvider(
  ctx: Ctx,
  id: number,
  given: IdentityProviderEdit,
  currentPassword?: string,
): Promise<IdentityProvider> {
  requireOwner(ctx);
  const edit = checked(ctx.app.config, given);
  await requireProof(ctx, currentPassword);
  return transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, ctx.organizationId);
    requireOwner(await asOfNow(tx, ctx));
    return changeProvider(tx, emit, ctx, await findChangeable(tx, ctx, id), edit);
  });
}

/**
 * Changes a provider. The transaction must hold the lock of the organization's row.
 *
 * @throws ValidationError if the values contradict each other, or there is no client secret for a new issuer or an enabled provider.
 * @throws NotFoundError if a group of the rules does not exist.
 * @throws ConflictError if a group is a role group or deactivated.
 */
export async function changeProvider(
  tx: Tx,
  emit: Emit,
  { app, organizationId }: Scope,
  before: IdentityProvider,
  { clientSecret, ...edit }: Checked,
): Promise<IdentityProvider> {
  const { id } = before;
  if (edit.issuer !== undefined && edit.issuer !== before.issuer && clientSecret === undefined) {
    throw new ValidationError('A new issuer requires a client secret.', { parameter: 'client_secret' });
  }
  if (edit.groupRules !== undefined) await requireGroups(tx, { organizationId }, edit.groupRules, groupRulesOf(before));
  const after = { ...before, groupRules: groupRulesOf(before), ...edit };
  requireConsistent(after);
  const sealedSecret = clientSecret === undefined ? before.sealedSecret : app.keys.seal(clientSecret);
  if (after.isEnabled && sealedSecret === null) {
    const message = 'The client secret was lost with the previous SECRET_KEY. Enter it again.';
    throw new ValidationError(message, { parameter: 'client_secret' });
  }
  const changed = await changingProviders(tx, emit, { organizationId }, () =>
    tx.identityProvider.update({
      where: { organizationId_id: { organizationId, id } },
      data: { ...edit, ...(clientSecret !== undefined && { sealedSecret }) },
    }),
  );
  // A provider can name people by other subjects to another client. They are linked again by their addresses.
  if (changed.issuer !== before.issuer || changed.clientId !== before.clientId) await unlink(tx, before);
  emit.audit(audited('identity_provider_changed', before, changed, clientSecret !== undefined));
  return changed;
}

/**
 * Deletes a provider, and the links of users to their identities at it. The users keep their accounts and sessions.
 *
 * @throws UnauthorizedPrincipalError unless the viewer is an owner.
 * @throws NotFoundError if the provider does not exist.
 * @throws ForbiddenError if the environment of the server declares the provider. One that it does not declare any more can be deleted.
 * @throws PasswordRequiredError and the other errors of `requireProof`.
 */
export async function deleteIdentityProvider(ctx: Ctx, id: number, currentPassword?: string): Promise<void> {
  requireOwner(ctx);
  await requireProof(ctx, currentPassword);
  await transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, ctx.organizationId);
    requireOwner(await asOfNow(tx, ctx));
    const before = await findChangeable(tx, ctx, id, { mayBeDisabled: true });
    await changingProviders(tx, emit, ctx, () =>
      tx.identityProvider.delete({ where: { organizationId_id: { organizationId: ctx.organizationId, id } } }),
    );
    await unlink(tx, before);
    emit.audit(audited('identity_provider_deleted', before, undefined, false));
  });
}

/** Deletes the links of users to identities of a provider's issuer, unless another provider has this issuer. */
async function unlink(tx: Tx, { organizationId, id, issuer }: IdentityProvider): Promise<void> {
  // The tokens of an issuer can name it with or without a slash at the end.
  const spellings = [issuer.replace(/\/$/, ''), `${issuer.replace(/\/$/, '')}/`];
  const where = { organizationId, issuer: { in: spellings } };
  const others = await tx.identityProvider.count({ where: { ...where, id: { not: id } } });
  if (others === 0) await tx.linkedIdentity.deleteMany({ where });
}

/**
 * Finds a provider that owners can change.
 *
 * @param options `mayBeDisabled`: whether a declared provider is found if it is disabled, because it is not declared any more.
 * @throws NotFoundError if it does not exist.
 * @throws ForbiddenError if the environment of the server declares it.
 */
async function findChangeable(
  tx: Tx,
  { organizationId }: Scope,
  id: number,
  { mayBeDisabled = false } = {},
): Promise<IdentityProvider> {
  const found = isRowId(id)
    ? await tx.identityProvider.findUnique({ where: { organizationId_id: { organizationId, id } } })
    : null;
  if (found === null) throw noSuchProvider(id);
  if (!found.isDeclared || (mayBeDisabled && !found.isEnabled)) return found;
  const message =
    'The operator of the server configures this provider (OPENID_CONNECT_PROVIDERS). It cannot be changed here.';
  throw new ForbiddenError(message, { parameter: 'identity_provider_id' });
}

/** Values of a provider that were checked one by one. Only the given ones are set. */
interface Checked {
  name?: string;
  issuer?: string;
  clientId?: string;
  clientSecret?: string;
  domains?: string[];
  createsAccounts?: boolean;
  groupsClaim?: string | null;
  groupRules?: GroupRule[];
  isEnabled?: boolean;
}

/** Checks the given values one by one. @throws ValidationError if one is invalid. */
function checked(config: Address, given: IdentityProviderEdit): Checked {
  const { name, issuer, clientId, clientSecret, domains, createsAccounts, groupsClaim, groupRules, isEnabled } = given;
  return {
    ...(name !== undefined && { name: requireName(name) }),
    ...(issuer !== undefined && { issuer: requireIssuer(config, issuer.trim()) }),
    ...(clientId !== undefined && {
      clientId: requireText('client_id', clientId, { strip: true, min: 1, max: MAX_CLIENT_ID_LENGTH }),
    }),
    ...(clientSecret !== undefined && {
      clientSecret: requireText('client_secret', clientSecret, { strip: true, min: 1, max: MAX_SECRET_LENGTH }),
    }),
    ...(domains !== undefined && { domains: requireDomains(domains) }),
    ...(createsAccounts !== undefined && { createsAccounts }),
    ...(groupsClaim !== undefined && {
      groupsClaim:
        groupsClaim === null || groupsClaim.trim() === ''
          ? null
          : requireText('groups_claim', groupsClaim, { strip: true, max: MAX_CLAIM_LENGTH }),
    }),
    ...(groupRules !== undefined && { groupRules: requireRules(groupRules) }),
    ...(isEnabled !== undefined && { isEnabled }),
  };
}

function requireName(given: string): string {
  const name = requireText('name', given, { strip: true, min: 1, max: MAX_NAME_LENGTH });
  if (showsNothing(name) || /\p{Cc}/u.test(name)) throw new ValidationError('Invalid name', { parameter: 'name' });
  return name;
}

function requireIssuer(config: Address, issuer: string): string {
  const objection = objectionToIssuer(config, issuer);
  if (objection === undefined) return issuer;
  throw new ValidationError(`Invalid issuer. ${objection}`, { parameter: 'issuer', value: issuer });
}

function requireDomains(domains: readonly string[]): string[] {
  requireFew('domains', domains.length, MAX_DOMAINS);
  return [...new Set(domains.map((domain, i) => requireDomain(domain, `domains[${i}]`)))];
}

function requireFew(parameter: string, count: number, maximum: number): void {
  if (count > maximum) throw new ValidationError(`${parameter} has too many entries`, { parameter, maximum });
}

function requireRules(rules: readonly GroupRule[]): GroupRule[] {
  requireFew('group_rules', rules.length, MAX_RULES);
  return rules.map(({ value, role, groupIds }, i) => {
    const at = `group_rules[${i}]`;
    const text = requireText('value', value, { min: 1, max: MAX_VALUE_LENGTH, parameter: `${at}[value]` });
    if (role !== null && !ROLES.some((known) => known === role)) {
      throw new ValidationError('Invalid role', { parameter: `${at}[role]`, value: role });
    }
    requireFew(`${at}[group_ids]`, groupIds.length, MAX_GROUPS_PER_RULE);
    return { value: text, role, groupIds: [...new Set(groupIds)] };
  });
}

/** Checks values that depend on each other. @throws ValidationError if they contradict each other. */
function requireConsistent({
  domains,
  createsAccounts,
  groupsClaim,
  groupRules,
}: Required<Pick<Checked, 'domains' | 'createsAccounts' | 'groupRules'>> & { groupsClaim: string | null }): void {
  if (createsAccounts && domains.length === 0) {
    const message = 'Accounts are created only for the addresses of listed domains. List at least one.';
    throw new ValidationError(message, { parameter: 'domains' });
  }
  if (groupRules.length > 0 && groupsClaim === null) {
    throw new ValidationError('Group rules require the name of the groups claim.', { parameter: 'groups_claim' });
  }
}

/**
 * Checks that the groups in rules exist, are active, and are not role groups. Groups that the rules in `kept` already contain
 * are not checked, because they may have been deactivated since.
 */
async function requireGroups(
  tx: Tx,
  { organizationId }: Pick<Scope, 'organizationId'>,
  rules: readonly GroupRule[],
  kept: readonly GroupRule[] = [],
): Promise<void> {
  const known = new Set(kept.flatMap(({ groupIds }) => groupIds));
  const ids = [...new Set(rules.flatMap(({ groupIds }) => groupIds))].filter((id) => !known.has(id));
  if (ids.length === 0) return;
  const found = await tx.userGroup.findMany({ where: { organizationId, id: { in: ids.filter(isRowId) } } });
  for (const id of ids) {
    const group = found.find((one) => one.id === id);
    if (group === undefined) throw new NotFoundError(`Invalid user group ID: ${id}`, { type: 'UserGroup', id });
    const parameter = `group_rules[${rules.findIndex(({ groupIds }) => groupIds.includes(id))}]`;
    if (group.isSystem) throw new ConflictError('Role groups cannot be changed.', { parameter });
    if (group.deactivatedAt !== null) throw new ConflictError('User group is deactivated.', { parameter });
  }
}
