import { isSameAddress } from '../../access/address.ts';
import type { Scope } from '../../access/context.ts';
import { organizationSetting } from '../../access/organization-settings.ts';
import { requireActive } from '../../access/sign-in.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { IdentityProvider, Organization, User } from '../../generated/prisma/client.ts';
import { requireFullName, requireReadableName } from '../../people/full-name.ts';
import { lockOrganization } from '../../people/locks.ts';
import { findUserByEmail } from '../../people/users.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ValidationError } from '../../platform/errors.ts';
import { requireAllowedAddress } from '../domains/service.ts';
import { invitationOf, join } from '../invitations/joining.ts';
import { checkNewUser, isNameTaken, refusingTakenAddress } from '../new-user.ts';
import { introduceUser } from '../users/service.ts';
import { welcomeUser } from '../welcome-mail.ts';
import { emitIdentitiesChanged } from './events.ts';
import { SignInFailure } from './failure.ts';
import { applyGroupRules, firstRole } from './group-rules.ts';
import type { Identity } from './identity.ts';

/**
 * Returns the user to whom an identity belongs: the user who is linked to it, else the user with its verified address, who is
 * then linked, else a new user if the person is invited or the provider creates accounts. Applies the group rules of the provider.
 *
 * @param invitation Token of the invitation that the person has opened.
 * @throws SignInFailure if no user belongs to the identity, and none is created.
 * @throws UserDeactivatedError if the user is deactivated.
 * @throws OrganizationDeactivatedError if the organization is deactivated.
 * @throws ValidationError, ConflictError if the organization does not accept the new user.
 * @throws The errors of `invitationOf`.
 */
export function accountOf(
  scope: Scope,
  given: IdentityProvider,
  identity: Identity,
  invitation?: string,
): Promise<User> {
  const { organizationId } = scope;
  return refusingTakenAddress(() =>
    transact(scope, async (tx, emit) => {
      await lockOrganization(tx, organizationId);
      const organization = await tx.organization.findUniqueOrThrow({ where: { id: organizationId } });
      // The owner can have changed the provider while the person signed in.
      const provider = await tx.identityProvider.findFirst({
        where: { organizationId, id: given.id, isEnabled: true, issuer: given.issuer, clientId: given.clientId },
      });
      if (provider === null)
        throw new SignInFailure('The provider was changed meanwhile. Sign in again.', { status: 409 });
      const user =
        (await linkedUser(tx, scope, identity)) ??
        (await linkByAddress(tx, emit, scope, { provider, organization }, identity)) ??
        (await createUser(tx, emit, scope, { provider, organization }, { identity, token: invitation }));
      requireActive({ user, organization });
      const { groups } = identity;
      if (provider.groupsClaim !== null && groups !== undefined) {
        await applyGroupRules(tx, emit, scope, { user, organization, provider, groups });
      }
      return tx.user.findUniqueOrThrow({ where: { organizationId_id: { organizationId, id: user.id } } });
    }),
  );
}

async function linkedUser(tx: Tx, { organizationId }: Scope, { issuer, subject }: Identity): Promise<User | undefined> {
  const where = { organizationId_issuer_subject: { organizationId, issuer, subject } };
  return (await tx.linkedIdentity.findUnique({ where, include: { user: true } }))?.user;
}

interface Place {
  readonly provider: IdentityProvider;
  readonly organization: Organization;
}

/**
 * Returns the address of an identity, which the provider has verified.
 *
 * @throws SignInFailure if there is none, or people with its domain cannot sign in with the provider.
 */
function requireVerifiedAddress({ domains, name }: IdentityProvider, { email, isEmailVerified }: Identity): string {
  if (email === undefined) throw new SignInFailure(`${name} did not send your email address.`);
  if (!isEmailVerified) {
    throw new SignInFailure(
      `${name} has not verified your email address ${email}. Verify it there, then sign in again.`,
    );
  }
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase();
  if (domains.length > 0 && !domains.includes(domain)) {
    throw new SignInFailure(`You cannot sign in with an address of ${domain}.`);
  }
  return email;
}

async function linkByAddress(
  tx: Tx,
  emit: Emit,
  scope: Scope,
  { provider, organization }: Place,
  identity: Identity,
): Promise<User | undefined> {
  const { organizationId } = scope;
  const email = requireVerifiedAddress(provider, identity);
  const user = await findUserByEmail(tx, organizationId, email);
  if (user === null) return undefined;
  if (user.botType !== null || user.isSystem || !isSameAddress(user.email, email)) {
    throw new SignInFailure('This address cannot be used to sign in.');
  }
  requireActive({ user, organization });
  const { issuer } = identity;
  const where = { organizationId_userId_issuer: { organizationId, userId: user.id, issuer } };
  // The provider can have given the address to another person.
  if ((await tx.linkedIdentity.findUnique({ where })) !== null) {
    throw new SignInFailure(
      `The account with the address ${email} belongs to another person at ${provider.name}. Contact an owner of the organization.`,
    );
  }
  await link(tx, emit, scope, user, identity);
  return user;
}

async function link(
  tx: Tx,
  emit: Emit,
  { app, organizationId }: Scope,
  { id: userId }: User,
  { issuer, subject }: Identity,
): Promise<void> {
  await tx.linkedIdentity.create({ data: { organizationId, userId, issuer, subject, createdAt: app.now() } });
  emitIdentitiesChanged(emit, userId);
  emit.audit({
    action: 'identity_linked',
    objectType: 'user',
    objectId: userId,
    actorId: userId,
    changes: { issuer: { new: issuer } },
  });
}

async function createUser(
  tx: Tx,
  emit: Emit,
  scope: Scope,
  { provider, organization }: Place,
  { identity, token }: { readonly identity: Identity; readonly token: string | undefined },
): Promise<User> {
  const email = requireVerifiedAddress(provider, identity);
  const { app, work } = scope;
  const invited = await invitationOf(tx, { app, organization }, email, token);
  if (invited === undefined && !provider.createsAccounts) {
    throw new SignInFailure(
      `No account of ${organization.name} has the address ${email}. Ask an administrator to invite you.`,
    );
  }
  if (invited === undefined && provider.groupsClaim !== null && identity.groups === undefined) {
    throw new SignInFailure(`${provider.name} did not send your groups, from which your role is derived.`);
  }
  await requireAllowedAddress(tx, organization, email);
  const fullName = await freeName(tx, organization, namesFor(identity, email));
  const role = invited?.invitation.role ?? firstRole(provider, identity.groups);
  const row = await checkNewUser(app, organization, { email, fullName, role });
  const user =
    invited === undefined
      ? (await introduceUser(tx, emit, scope, organization, row)).user
      : await join(tx, emit, { app, work }, invited, row);
  if (invited === undefined) await welcomeUser(tx, emit, { app, organization }, user);
  await link(tx, emit, scope, user, identity);
  return user;
}

/** Returns the valid full names in an identity, followed by a name derived from the email address. At least one name. */
function namesFor({ names }: Identity, email: string): [string, ...string[]] {
  const local = (email.split('@')[0] ?? '').replace(/[^\p{L}\p{N}.-]/gu, ' ').trim();
  const [first = 'New user', ...others] = [...names, local].map((name) => name.slice(0, 100)).filter(isName);
  return [first, ...others];
}

function isName(name: string): boolean {
  try {
    requireReadableName(requireFullName(name));
    return true;
  } catch (error) {
    if (error instanceof ValidationError) return false;
    throw error;
  }
}

/** Returns the first name that is not in use, if the organization requires unique names. If all are, returns the first one. */
async function freeName(tx: Tx, organization: Organization, names: readonly [string, ...string[]]): Promise<string> {
  if (!organizationSetting(organization, 'require_unique_names')) return names[0];
  for (const name of names) if (!(await isNameTaken(tx, organization.id, name))) return name;
  return names[0];
}
