import { createdAddress, isSameAddress, requireAddress } from '../../access/address.ts';
import type { RequestCtx, Scope } from '../../access/context.ts';
import { OrganizationDeactivatedError } from '../../access/errors.ts';
import { organizationSetting } from '../../access/organization-settings.ts';
import { type ChannelActor, channelActor } from '../../access/permissions/require.ts';
import type { Browser } from '../../api/cookies.ts';
import { requireOwnPage } from '../../api/cross-site.ts';
import { defaultChannelIds } from '../../channels/subscriptions/default-channels.ts';
import { everyone } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Invitation, Organization, User } from '../../generated/prisma/client.ts';
import { notify } from '../../messages/sending/notices.ts';
import { lockOrganization } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError, ForbiddenError, NonexistentSubdomainError, NotFoundError } from '../../platform/errors.ts';
import { isGuest } from '../../platform/roles.ts';
import { requireAllowedAddress } from '../domains/service.ts';
import { countInvitationRequest } from '../join-limits.ts';
import { linkTokenHash, newLinkToken } from '../link-tokens.ts';
import { checkNewUser, refusingTakenAddress } from '../new-user.ts';
import { beginFirstSession } from '../sessions/service.ts';
import { settleMemberships, subjectOf } from '../user-groups/access.ts';
import { groupMembersAdded } from '../user-groups/events.ts';
import { membersChanged, writeMembers } from '../user-groups/members.ts';
import { introduceUser } from '../users/service.ts';
import { welcomeUser } from '../welcome-mail.ts';
import { emitChanged } from './events.ts';
import { mailInvitation } from './mail.ts';
import { closeInvitations, holdersOf, insertInvitations, invitationCreated, requireEmailsLeft } from './service.ts';
import { assessChannels, assessGroups, requireMayInvite } from './terms.ts';

/** Name of the parameter that contains the token of an invitation. */
const TOKEN = 'token';
/** Lifetime of the link in an email that a person requested on the page of a reusable link: one day. */
const REQUESTED_MS = 86_400_000;

/** An invitation that can be used, with its inviter and organization. */
export interface OpenInvitation {
  readonly invitation: Invitation;
  readonly inviter: User;
  readonly organization: Organization;
  /**
   * Input that a person must give to use the invitation. `account`: name and password. `address`: the email address to which a
   * link is sent.
   */
  readonly needs: 'account' | 'address';
}

/**
 * Returns the invitation to which a token belongs.
 *
 * @throws NonexistentSubdomainError at the server's own domain, if no organization uses that domain.
 * @throws OrganizationDeactivatedError if the organization is deactivated.
 * @throws NotFoundError if no invitation of the organization has the token.
 * @throws ConflictError if the invitation was used or revoked, has expired, or its inviter can no longer invite people.
 */
export async function findInvitation(
  { app, organization }: Pick<RequestCtx, 'app' | 'organization'>,
  db: Tx,
  token: string,
): Promise<OpenInvitation> {
  if (organization === null) throw new NonexistentSubdomainError();
  if (organization.deactivatedAt !== null) throw new OrganizationDeactivatedError();
  const organizationId = organization.id;
  const found = await db.invitation.findUnique({
    where: { organizationId_tokenHash: { organizationId, tokenHash: linkTokenHash(token) } },
    include: { inviter: true },
  });
  if (found === null) {
    throw new NotFoundError(
      'This invitation link is not valid. It may be incomplete, or a newer email may have replaced it.',
      { parameter: TOKEN },
    );
  }
  return usable({ app, organization }, db, found);
}

/** Checks that an invitation can be used. @throws ConflictError if not. */
async function usable(
  { app, organization }: { readonly app: RequestCtx['app']; readonly organization: Organization },
  db: Tx,
  { inviter, ...invitation }: Invitation & { readonly inviter: User },
): Promise<OpenInvitation> {
  const objection = objectionTo(invitation, app.now());
  if (objection !== undefined) throw new ConflictError(objection, { parameter: TOKEN });
  await requireInviter(await inviterOf(db, { inviter, organization, now: app.now() }), invitation);
  return { invitation, inviter, organization, needs: needsOf(app.config, invitation, organization) };
}

function objectionTo({ closedAt, wasUsed, expiresAt }: Invitation, now: Date): string | undefined {
  if (closedAt !== null) {
    return wasUsed === true
      ? 'This invitation was already used. Sign in with the account that was created.'
      : 'This invitation was revoked. Ask for a new one.';
  }
  return expiresAt !== null && expiresAt <= now ? 'This invitation has expired. Ask for a new one.' : undefined;
}

const inviterOf = (
  db: Tx,
  { inviter, organization, now }: { inviter: User; organization: Organization; now: Date },
): Promise<ChannelActor> => channelActor(db, { id: inviter.id, role: inviter.role, organization, user: inviter }, now);

/** Checks that the inviter could still create the invitation. @throws ConflictError if not. */
async function requireInviter(inviter: ChannelActor, { role, isReusable, linkId }: Invitation): Promise<void> {
  try {
    requireMayInvite(inviter, { role, isReusable: isReusable || linkId !== null });
  } catch (error) {
    if (!(error instanceof ForbiddenError)) throw error;
    throw new ConflictError(
      'This invitation is no longer valid, because the person who created it can no longer invite people with this ' +
        'role. Ask for a new one.',
      { parameter: TOKEN },
    );
  }
}

function needsOf(
  { smtpUrl }: RequestCtx['app']['config'],
  { isReusable }: Invitation,
  organization: Organization,
): OpenInvitation['needs'] {
  if (!isReusable) return 'account';
  // Without email, no address can be confirmed, so the service creates one. If the organization restricts addresses to domains,
  // a created address is not allowed.
  const isConfirmed = smtpUrl !== undefined || organizationSetting(organization, 'emails_restricted_to_domains');
  return isConfirmed ? 'address' : 'account';
}

/**
 * Checks that the organization still needs the same values from the person as before the transaction.
 *
 * @throws ConflictError if not.
 */
function requireSameNeeds({ needs }: OpenInvitation, before: OpenInvitation['needs']): void {
  if (needs === before) return;
  throw new ConflictError('The organization has changed its rules for joining. Open the link again.', {
    parameter: TOKEN,
  });
}

/**
 * Sends an email with a personal link to a person who has opened a reusable link. The email proves that the address belongs to
 * the person. If the address already has an account, the result is the same, but the email says so and contains no link.
 *
 * @throws The errors of `findInvitation`.
 * @throws ConflictError if the server cannot send email.
 * @throws ValidationError if the address is malformed, or the organization does not accept it.
 * @throws InvitationFailedError if the organization's daily limit of emails is reached.
 * @throws RateLimitHitError after 3 requests for the address, or 250 from the client's network, within an hour.
 */
export async function requestInvitation(
  request: RequestCtx,
  { token, email }: { readonly token: string; readonly email: string },
): Promise<void> {
  const { app, work, caller, clientName } = request;
  const { invitation: found, organization, needs } = await findInvitation(request, work.db, token);
  if (!found.isReusable) throw new ConflictError('This invitation already names an address.', { parameter: TOKEN });
  const address = requireAddress(email);
  await requireAllowedAddress(work.db, organization, address);
  if (needs !== 'address' || app.config.smtpUrl === undefined) {
    throw new ConflictError('This server cannot send email. Ask an administrator of the organization to add you.');
  }
  await countInvitationRequest(request, organization.id, address);
  const newToken = newLinkToken();
  const scope = { app, work, organizationId: organization.id, caller, clientName };
  await transact(scope, async (tx, emit) => {
    await lockOrganization(tx, organization.id);
    const open = await findAgain(request, tx, { token, organizationId: organization.id });
    requireSameNeeds(open, needs);
    await requireAllowedAddress(tx, open.organization, address);
    await requireEmailsLeft(tx, { app, organization: open.organization }, 1, true);
    const { invitation: link, inviter } = open;
    const now = app.now();
    const { inviterId, role, channelIds, groupIds, includesDefaultChannels, welcomeText } = link;
    const [invitation] = await insertInvitations(tx, emit, scope, [
      {
        ...{ inviterId, role, channelIds, groupIds, includesDefaultChannels, welcomeText, linkId: link.id },
        ...{ email: address, isReusable: false, notifiesInviter: false, tokenHash: linkTokenHash(newToken) },
        ...{ expiresAt: new Date(now.getTime() + REQUESTED_MS), sentAt: [now] },
      },
    ]);
    if (invitation === undefined) throw new Error('The inserted invitation was not found');
    emit.audit(invitationCreated(invitation));
    const hasAccount = (await holdersOf(tx, organization.id, [address])).size > 0;
    await mailInvitation(tx, app, {
      ...{ organization: open.organization, inviter, invitation, token: newToken, hasAccount },
    });
  });
}

/** Finds an invitation in a transaction, with the current row of the organization. @throws The errors of `findInvitation`. */
async function findAgain(
  { app }: Pick<RequestCtx, 'app'>,
  tx: Tx,
  { token, organizationId }: { readonly token: string; readonly organizationId: number },
): Promise<OpenInvitation> {
  const organization = await tx.organization.findUniqueOrThrow({ where: { id: organizationId } });
  return findInvitation({ app, organization }, tx, token);
}

/** Values with which a person accepts an invitation. */
export interface Acceptance {
  readonly token: string;
  readonly fullName: string;
  readonly password: string;
}

/**
 * Creates the account of a person who accepts an invitation, with the role, channels and groups of the invitation. Channels and
 * groups to which the inviter can no longer add users are left out. The inviter is notified if the invitation says so.
 *
 * If the invitation is a reusable link and the server cannot send email, no address can be confirmed. The service then creates an
 * address for the account. An address that the person enters is not used: an error would reveal that another user has it.
 *
 * @param browser The person's browser, in which a session begins. Undefined if the transport cannot set cookies.
 * @returns The new user.
 * @throws The errors of `findInvitation`.
 * @throws ConflictError if the invited address has an account, the name is in use and names must be unique, or the address must
 *   be confirmed by `requestInvitation` first.
 * @throws ValidationError if name or password is invalid, or the organization no longer accepts the address.
 * @throws RateLimitHitError if too many passwords wait to be hashed.
 * @throws CsrfFailedError if the request comes from a page of another site.
 */
export async function acceptInvitation(
  request: RequestCtx,
  { token, fullName, password }: Acceptance,
  browser: Browser | undefined,
): Promise<User> {
  const { app, work, caller, clientName } = request;
  if (browser !== undefined) requireOwnPage(app.config, browser.header);
  const { invitation: found, organization, needs } = await findInvitation(request, work.db, token);
  if (needs === 'address') {
    throw new ConflictError('The address must be confirmed by email first.', {
      parameter: TOKEN,
      schemaMessage: 'The address must be confirmed by email first: use `requestInvitation`.',
    });
  }
  const { role } = found;
  const given = { email: found.email ?? createdAddress(fullName), fullName, password, role };
  const row = await checkNewUser(app, organization, given, caller);
  await requireAllowedAddress(work.db, organization, row.email);
  const scope = { app, work, organizationId: organization.id, caller, clientName };
  const user = await refusingTakenAddress(() =>
    transact(scope, async (tx, emit) => {
      await lockOrganization(tx, organization.id);
      // Another request can have used the invitation, or changed the inviter's rights, while the password was hashed.
      const open = await findAgain(request, tx, { token, organizationId: organization.id });
      requireSameNeeds(open, needs);
      await requireAllowedAddress(tx, open.organization, row.email);
      return join(tx, emit, { app, work }, open, row);
    }),
  );
  await beginFirstSession({ app, work, caller, clientName }, { user, organization }, browser);
  return user;
}

/**
 * Finds the invitation with which a person joins whose address an identity provider has verified: the one that the person has
 * opened, else the newest open one to the address.
 *
 * @param token Token of the invitation that the person has opened. Undefined: none.
 * @returns Undefined if no token is given, and no invitation to the address can be used.
 * @throws The errors of `findInvitation` for the token.
 * @throws ForbiddenError if the invitation of the token is for another address.
 */
export async function invitationOf(
  tx: Tx,
  place: { readonly app: RequestCtx['app']; readonly organization: Organization },
  email: string,
  token: string | undefined,
): Promise<OpenInvitation | undefined> {
  if (token !== undefined) {
    const found = await findInvitation(place, tx, token);
    const { email: invited } = found.invitation;
    if (invited !== null && !isSameAddress(invited, email)) {
      throw new ForbiddenError(`This invitation is for ${invited}, but you signed in with the address ${email}.`);
    }
    return found;
  }
  const rows = await tx.$queryRaw<{ id: number; email: string }[]>`
    SELECT id, email FROM invitation
    WHERE realm_id = ${place.organization.id} AND closed_at IS NULL AND lower(email) = lower(${email})
    ORDER BY id DESC`;
  for (const { id } of rows.filter((row) => isSameAddress(row.email, email))) {
    const organizationId = place.organization.id;
    const where = { organizationId_id: { organizationId, id } };
    const found = await tx.invitation.findUniqueOrThrow({ where, include: { inviter: true } });
    const open = await usable(place, tx, found).catch(nothingIfConflict);
    if (open !== undefined) return open;
  }
  return undefined;
}

/** Returns undefined for the error of an invitation that cannot be used. @throws Any other error. */
function nothingIfConflict(error: unknown): undefined {
  if (!(error instanceof ConflictError)) throw error;
}

/** Creates the user. The transaction must hold the lock of the organization's row. */
export async function join(
  tx: Tx,
  emit: Emit,
  { app, work }: Pick<Scope, 'app' | 'work'>,
  { invitation, inviter, organization }: OpenInvitation,
  row: Awaited<ReturnType<typeof checkNewUser>>,
): Promise<User> {
  const now = app.now();
  const scope = { app, work, organizationId: organization.id };
  const actor = await inviterOf(tx, { inviter, organization, now });
  const { id: invitationId, role, isReusable, includesDefaultChannels, notifiesInviter, channelIds } = invitation;
  const named = objectsOf(await assessChannels(tx, actor, channelIds)).map(({ id }) => id);
  const initial = includesDefaultChannels && !isGuest(role) ? await defaultChannelIds(tx, organization.id) : [];
  const { user } = await introduceUser(tx, emit, scope, organization, row, [...new Set([...initial, ...named])]);
  emit.audit({
    ...{ action: 'invitation_accepted', objectType: 'invitation', objectId: invitationId, actorId: user.id },
    changes: { inviter_id: { new: inviter.id } },
  });
  const groups = objectsOf(await assessGroups(tx, actor, invitation.groupIds));
  for (const group of groups) {
    await writeMembers(tx, group, [user]);
    emit(groupMembersAdded(subjectOf(group), [user.id]), everyone());
    emit.audit(membersChanged('group_members_added', group, [user.id]));
  }
  if (groups.length > 0) {
    await settleMemberships(tx, emit, { ...actor, person: { ...actor.person, organization } }, [user.id]);
  }
  // The other invitations of the address can no longer be used.
  await closeInvitationsTo(tx, emit, scope, user.email, isReusable ? [] : [invitationId]);
  const place = { app, organization };
  if (notifiesInviter && inviter.isActive && inviter.botType === null) {
    const content = `@_**${user.fullName}|${user.id}** accepted your invitation and joined.`;
    await notify(tx, emit, place, { userIds: [inviter.id] }, content);
  }
  await welcomeUser(tx, emit, place, user, invitation.welcomeText ?? undefined);
  return user;
}

/**
 * Closes the open invitations of an address, whose person has joined. The transaction must hold the lock of the organization's
 * row.
 *
 * @param ids Ids of other invitations to close.
 */
export async function closeInvitationsTo(
  tx: Tx,
  emit: Emit,
  { app, organizationId }: Pick<Scope, 'app' | 'organizationId'>,
  email: string,
  ids: readonly number[] = [],
): Promise<void> {
  const rows = await tx.$queryRaw<{ id: number }[]>`
    SELECT id FROM invitation WHERE realm_id = ${organizationId} AND closed_at IS NULL AND lower(email) = lower(${email})`;
  const which = { id: { in: [...ids, ...rows.map(({ id }) => id)] } };
  emitChanged(emit, await closeInvitations(tx, { organizationId, now: app.now() }, which, { wasUsed: true }));
}

/** Returns the objects to which the inviter can add users. */
const objectsOf = <T>(assessed: readonly { readonly object: T | undefined; readonly objection: unknown }[]): T[] =>
  assessed.flatMap(({ object, objection }) => (object === undefined || objection !== undefined ? [] : [object]));
