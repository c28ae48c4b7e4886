import { requireAddress } from '../../access/address.ts';
import type { Ctx, Scope } from '../../access/context.ts';
import { type ChannelActor, channelActor } from '../../access/permissions/require.ts';
import { administersOrganization } from '../../access/roles.ts';
import { asOfNow } from '../../access/sign-in.ts';
import type { AuditEntry } from '../../events/audit.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Invitation, Organization, Prisma, User } from '../../generated/prisma/client.ts';
import { lockOrganization } from '../../people/locks.ts';
import { visibleEmail } from '../../people/wire.ts';
import type { SqlClient, Tx } from '../../platform/db/client.ts';
import { NotFoundError, ValidationError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { eraseMailNaming } from '../../platform/mail/outbox.ts';
import { isAdministrator, MEMBER } from '../../platform/roles.ts';
import { requireText } from '../../platform/text.ts';
import { requireWithin, TOTALS } from '../../platform/totals.ts';
import { addressRule } from '../domains/service.ts';
import { linkTokenHash, newLinkToken } from '../link-tokens.ts';
import { requireMailServer } from '../mail-server.ts';
import { freeSeats, invitationsPerDayOf, userInvitationsPerDayOf } from '../organization-limits.ts';
import { isRecentlyProved, requireProof } from '../sign-in/proof.ts';
import { InvitationFailedError, type RefusedAddress } from './errors.ts';
import { emitChanged } from './events.ts';
import { invitationUrl, mailInvitation } from './mail.ts';
import { requireFew, requireMayInvite, requireTerms } from './terms.ts';
import { MAX_WELCOME_LENGTH } from './welcome.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Default lifetime of an invitation, in minutes: ten days. */
export const DEFAULT_MINUTES = 14_400;
/** Maximum lifetime of an invitation with an expiry, in minutes: ten years. */
const MAX_MINUTES = 5_256_000;
/** Maximum number of addresses in a request. */
const MAX_ADDRESSES = 500;
/** Time for which closed and expired invitations are kept, so that their pages show a clear error. */
const KEPT_MS = 30 * DAY_MS;

/** Properties of an invitation that the inviter chooses. */
export interface NewInvitation {
  /** Role of the new user. Default: member. */
  readonly role?: number | undefined;
  readonly channelIds?: readonly number[] | undefined;
  /** Whether the new user also joins the default channels. Guests never do. */
  readonly includesDefaultChannels: boolean;
  readonly groupIds?: readonly number[] | undefined;
  /** Lifetime in minutes. Null: the invitation does not expire. Default: ten days. */
  readonly expiresInMinutes?: number | null | undefined;
  /** Text of the direct message to the new user. Null or absent: that of the organization. Empty: no message. */
  readonly welcomeText?: string | null | undefined;
  /** The viewer's own password, as proof of identity. Needed only for roles above member. */
  readonly currentPassword?: string | undefined;
}

/** An invitation by email. */
export interface NewEmailInvitation extends NewInvitation {
  readonly emails: readonly string[];
  /** Whether the inviter gets a direct message when the person joins. */
  readonly notifiesInviter: boolean;
  /** Whether the request fails if any address is refused. If false, the other addresses are invited. */
  readonly isAllOrNone?: boolean;
}

/** The invitations that a request created, and the addresses that it refused. */
export interface Invited {
  readonly invitations: readonly Invitation[];
  readonly refused: readonly RefusedAddress[];
}

/**
 * Returns the filter for the invitations that the viewer can see: those that the viewer sent and, for administrators, those of
 * all users, until they are used or revoked. Expired ones are among them, because they can be sent again. Invitations with a
 * higher role than the viewer's are hidden, because their links grant that role.
 */
export const visibleTo = ({ organizationId, viewer }: Ctx): Prisma.InvitationWhereInput => ({
  organizationId,
  linkId: null,
  role: { gte: viewer.role },
  ...(!isAdministrator(viewer.role) && { inviterId: viewer.id }),
  closedAt: null,
});

/** Returns the invitations that the viewer can see and that have not expired, oldest first. */
export const listInvitations = (ctx: Ctx): Promise<Invitation[]> =>
  ctx.work.db.invitation.findMany({
    where: { ...visibleTo(ctx), OR: [{ expiresAt: null }, { expiresAt: { gt: ctx.app.now() } }] },
    orderBy: { id: 'asc' },
  });

/** Returns whether an invitation has expired. */
export const isExpired = ({ app }: Pick<Ctx, 'app'>, { expiresAt }: Pick<Invitation, 'expiresAt'>): boolean =>
  expiresAt !== null && expiresAt <= app.now();

/**
 * Returns the ids of the channels that determine whether the viewer can see the URL of an invitation. Empty for the viewer's own
 * invitations.
 */
export const decidingChannelIds = ({ viewer }: Ctx, { inviterId, sealedToken, channelIds }: Invitation): number[] =>
  sealedToken === null || inviterId === viewer.id ? [] : channelIds;

/**
 * Returns the URL of a reusable invitation. Null for an invitation by email, if it has expired, and if the URL can no longer be
 * read, because SECRET_KEY was replaced. Null for a role above member, unless the viewer proved their identity as for the creation of the
 * invitation. Null for an invitation of another user into a channel that the viewer cannot read, because the link grants access
 * to the channel.
 *
 * @param readable Ids of the channels that the viewer can read, among `decidingChannelIds`.
 */
export function linkUrlOf(ctx: Ctx, invitation: Invitation, readable: ReadonlySet<number>): string | null {
  const { app, viewer } = ctx;
  const { sealedToken, role } = invitation;
  if (sealedToken === null || isExpired(ctx, invitation) || !app.keys.canOpen(sealedToken)) return null;
  if (role < MEMBER && !isRecentlyProved(ctx)) return null;
  if (!decidingChannelIds(ctx, invitation).every((id) => readable.has(id))) return null;
  return invitationUrl(app, viewer.organization, app.keys.open(sealedToken));
}

/** Checks that the server can send invitations. @throws ConflictError if the operator has not configured a mail server. */
function requireEmail({ app }: Ctx, parameter: string): void {
  requireMailServer(app, 'Create an invitation link instead.', {
    parameter,
    schemaMessage: 'This server cannot send email. Create an invitation link with `createInviteLink` instead.',
  });
}

/**
 * Invites people by email. Each gets an email with a link that can be used once. If a user has an address and hides it from the
 * viewer, the address is treated as unused, and the email says that the account exists.
 *
 * @throws ConflictError if the server cannot send email.
 * @throws ForbiddenError, NotFoundError, ConflictError if the viewer cannot invite people with this role, or add them to the
 *   channels and groups.
 * @throws ValidationError if role, lifetime, text or the list of addresses is invalid.
 * @throws InvitationFailedError if an address is invalid, no address can be invited, or the daily limit or that of active users
 *   would be exceeded. Nothing is sent then.
 * @throws TotalReachedError if the organization would have more than 5,000 invitations that have not expired or were sent within
 *   24 hours.
 * @throws PasswordRequiredError and the other errors of `requireProof` for a role above member.
 */
export async function inviteUsers(ctx: Ctx, given: NewEmailInvitation): Promise<Invited> {
  const { app, organizationId, viewer } = ctx;
  requireEmail(ctx, 'invitee_emails');
  const terms = await checkTerms(ctx, given);
  const emails = await requireAddresses(ctx, given.emails);
  return transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, organizationId);
    const now = await asOfNow(tx, ctx);
    await requireTerms(tx, await actorOf(tx, now), { ...terms, isReusable: false });
    const holders = await holdersOf(tx, organizationId, emails);
    const refused = emails.flatMap((email): RefusedAddress[] => {
      const holder = holders.get(email.toLowerCase());
      if (holder === undefined || visibleEmail(holder, now.viewer) === null) return [];
      return [{ email, refusal: holder.isActive ? 'hasAccount' : 'isDeactivated' }];
    });
    const accepted = emails.filter((email) => refused.every((one) => one.email !== email));
    if (accepted.length === 0 || (given.isAllOrNone === true && refused.length > 0)) {
      throw new InvitationFailedError("We weren't able to invite anyone.", { refused });
    }
    const { organization } = now.viewer;
    await requireSeatsFor(tx, organization, accepted.length);
    await requireEmailsLeft(tx, { app, organization }, accepted.length);
    const tokens = accepted.map(newLinkToken);
    const notifiesInviter = given.notifiesInviter;
    const invitations = await insertInvitations(
      tx,
      emit,
      now,
      accepted.map((email, index) => ({
        ...{ ...terms, email, isReusable: false, notifiesInviter, inviterId: viewer.id },
        ...{ tokenHash: linkTokenHash(tokens[index] ?? ''), sentAt: [app.now()] },
      })),
    );
    for (const [index, invitation] of invitations.entries()) {
      await mailInvitation(tx, app, {
        ...{ organization: now.viewer.organization, inviter: now.viewer.user, invitation },
        ...{ token: tokens[index] ?? '', hasAccount: holders.has(invitation.email?.toLowerCase() ?? '') },
      });
    }
    emit.audit(...invitations.map(invitationCreated));
    emitChanged(emit, invitations);
    return { invitations, refused };
  });
}

/**
 * Checks that all people whom a request invites could join without exceeding the limit of active users. Other open invitations
 * are not counted.
 *
 * @throws InvitationFailedError if the organization would have more active people than its limit permits.
 */
async function requireSeatsFor(tx: Tx, organization: Organization, count: number): Promise<void> {
  if ((await freeSeats(tx, organization)) >= count) return;
  throw new InvitationFailedError(
    'These invitations exceed the limit of active users of this organization, so none was sent. Ask an administrator to ' +
      'deactivate users, or the operator of the server to raise the limit.',
    { isUserLimitReached: true },
  );
}

/** Returns the entry of the audit log for a new invitation. It has no address, because entries are never erased. */
export const invitationCreated = ({ id, role, isReusable, linkId, channelIds, groupIds }: Invitation): AuditEntry => ({
  ...{ action: 'invitation_created', objectType: 'invitation', objectId: id },
  changes: {
    ...{ role: { new: role }, is_reusable: { new: isReusable } },
    ...(linkId !== null && { link_id: { new: linkId } }),
    ...{ stream_ids: { new: channelIds }, group_ids: { new: groupIds } },
  },
});

/**
 * Validates the properties of an invitation that do not depend on the database. For a role above member, also checks the proof
 * of the viewer's identity.
 */
async function checkTerms(ctx: Ctx, given: NewInvitation) {
  const { role = MEMBER, channelIds = [], groupIds = [], includesDefaultChannels } = given;
  const expiresAt = expiryOf(ctx.app.now(), given.expiresInMinutes);
  const parameter = 'welcome_message_custom_text';
  const welcomeText =
    given.welcomeText == null
      ? null
      : requireText(parameter, given.welcomeText, { strip: true, max: MAX_WELCOME_LENGTH });
  const places = { channelIds: requireFew('stream_ids', channelIds), groupIds: requireFew('group_ids', groupIds) };
  // Requires proof of identity, because the invited person keeps a higher role after the viewer's session has ended.
  if (role < MEMBER) await requireProof(ctx, given.currentPassword);
  return { role, ...places, includesDefaultChannels, expiresAt, welcomeText };
}

function expiryOf(now: Date, minutes: number | null = DEFAULT_MINUTES): Date | null {
  if (minutes === null) return null;
  const parameter = 'invite_expires_in_minutes';
  if (minutes < 1 || minutes > MAX_MINUTES) {
    const message = `${parameter} must be from 1 to ${MAX_MINUTES}`;
    throw new ValidationError(message, { parameter, minimum: 1, maximum: MAX_MINUTES, value: minutes });
  }
  return new Date(now.getTime() + minutes * MINUTE_MS);
}

/**
 * Returns the addresses to invite, each once. Ignores empty entries.
 *
 * @throws ValidationError if there is none, or more than 500.
 * @throws InvitationFailedError if an address is malformed, or the organization does not accept it.
 */
async function requireAddresses({ work, viewer }: Ctx, emails: readonly string[]): Promise<string[]> {
  const parameter = 'invitee_emails';
  const given = emails.map((email) => email.trim()).filter((email) => email !== '');
  if (given.length === 0) throw new ValidationError('You must specify at least one email address.', { parameter });
  if (given.length > MAX_ADDRESSES) {
    const message = `You cannot invite more than ${MAX_ADDRESSES} people at once.`;
    throw new ValidationError(message, { parameter, maximum: MAX_ADDRESSES });
  }
  const objectionTo = await addressRule(work.db, viewer.organization);
  const refused: RefusedAddress[] = [];
  const valid = new Map<string, string>();
  for (const email of given) {
    const address = addressIn(email);
    if (address === undefined) refused.push({ email, refusal: 'invalidAddress' });
    else if (objectionTo(address) !== undefined) refused.push({ email, refusal: 'addressNotAllowed' });
    else if (!valid.has(address.toLowerCase())) valid.set(address.toLowerCase(), address);
  }
  if (refused.length > 0) {
    throw new InvitationFailedError("Some emails did not validate, so we didn't send any invitations.", { refused });
  }
  return [...valid.values()];
}

/** Returns the address in "name@host" or "Name <name@host>". Undefined if it is not valid. */
function addressIn(text: string): string | undefined {
  try {
    return requireAddress(/<([^<>]+)>$/.exec(text)?.[1] ?? text);
  } catch (error) {
    if (error instanceof ValidationError) return undefined;
    throw error;
  }
}

const actorOf = (db: Tx, { app, viewer }: Ctx): Promise<ChannelActor> => channelActor(db, viewer, app.now());

/** Returns the users who have one of the addresses, by address in lower case. */
export async function holdersOf(tx: Tx, organizationId: number, emails: readonly string[]): Promise<Map<string, User>> {
  const lowered = emails.map((email) => email.toLowerCase());
  const rows = await tx.$queryRaw<{ id: number }[]>`
    SELECT id FROM user_account WHERE realm_id = ${organizationId}
    AND lower(email) IN (SELECT lower(e) FROM unnest(${lowered}::text[]) AS e)`;
  const found = await tx.user.findMany({ where: { organizationId, id: { in: rows.map(({ id }) => id) } } });
  return new Map(found.map((user) => [user.email.toLowerCase(), user]));
}

/**
 * Checks the daily limit of emails. Emails that people request on the page of a reusable link have the same limit, but are
 * counted separately. The transaction must hold the lock of the organization's row.
 *
 * @param isRequested Whether the emails are requested on the page of a reusable link.
 * @throws InvitationFailedError if the organization would send more emails than its limit within 24 hours.
 */
export async function requireEmailsLeft(
  tx: Tx,
  { app, organization }: Pick<Ctx, 'app'> & { readonly organization: Organization },
  count: number,
  isRequested = false,
) {
  const limit = (isRequested ? invitationsPerDayOf : userInvitationsPerDayOf)(app, organization);
  if (limit === undefined) return;
  const sent = await countEmails(tx, { app, organizationId: organization.id }, isRequested);
  if (sent + count <= limit) return;
  throw new InvitationFailedError(
    `This organization can send at most ${limit} invitations in one day, so no invitations were sent.`,
    { isDailyLimitReached: true },
  );
}

/**
 * Returns the number of invitation emails that the organization sent within the last 24 hours. Null if the viewer is not an
 * administrator.
 */
export async function invitationEmailsSent(ctx: Ctx): Promise<number | null> {
  return administersOrganization(ctx) ? countEmails(ctx.work.db, ctx) : null;
}

/**
 * Returns the number of invitation emails that the organization can send within 24 hours. Null if unlimited, or if the viewer is
 * not an administrator.
 */
export const invitationEmailsPerDay = (ctx: Ctx): number | null =>
  administersOrganization(ctx) ? (userInvitationsPerDayOf(ctx.app, ctx.viewer.organization) ?? null) : null;

/**
 * Returns the number of invitation emails that an organization sent within the last 24 hours.
 *
 * @param isRequested Whether to count the emails that people requested on pages of links, instead of those of invitations.
 */
export async function countEmails(
  db: SqlClient,
  { app, organizationId }: Pick<Scope, 'app' | 'organizationId'>,
  isRequested = false,
): Promise<number> {
  const since = new Date(app.now().getTime() - DAY_MS);
  const [row] = await db.$queryRaw<{ sent: number }[]>`
    SELECT count(*)::int AS sent FROM invitation i, unnest(i.sent_at) AS sent
    WHERE i.realm_id = ${organizationId} AND (i.link_id IS NOT NULL) = ${isRequested} AND sent > ${since}`;
  return row?.sent ?? 0;
}

/**
 * Inserts invitations, and returns them in the same order. Invitations that people requested on the page of a reusable link
 * (with `linkId`) must not be mixed with others in one call. The transaction must hold the lock of the organization's row.
 *
 * Deletes invitations that expired or were closed more than 30 days ago. If the organization would have more than 5,000
 * invitations, the oldest expired ones are deleted, except those whose emails count towards the daily limit. Those with a `linkId`
 * are counted separately.
 *
 * @throws TotalReachedError if the organization would have more than 5,000 other invitations.
 */
export async function insertInvitations(
  tx: Tx,
  emit: Emit,
  { app, organizationId }: Pick<Ctx, 'app' | 'organizationId'>,
  rows: readonly Omit<Prisma.InvitationCreateManyInput, 'organizationId' | 'createdAt'>[],
): Promise<Invitation[]> {
  const createdAt = app.now();
  const before = new Date(createdAt.getTime() - KEPT_MS);
  const isOld: Prisma.InvitationWhereInput = { OR: [{ closedAt: { lt: before } }, { expiresAt: { lt: before } }] };
  await tx.invitation.deleteMany({ where: { organizationId, linkId: { not: null }, ...isOld } });
  const old = { organizationId, requested: { none: { organizationId } }, ...isOld };
  const shown = await tx.invitation.findMany({ where: { ...old, closedAt: null }, select: { inviterId: true } });
  await tx.invitation.deleteMany({ where: old });
  const inserted = await tx.invitation.createManyAndReturn({
    data: rows.map((row) => ({ ...row, organizationId, createdAt })),
  });
  const isRequested = rows.some((row) => row.linkId != null);
  const expired = await requireRoom(tx, createdAt, organizationId, isRequested);
  emitChanged(emit, isRequested ? shown : [...shown, ...expired]);
  // Ids increase in the order of the rows, but the database may return the rows in any order.
  return inserted.sort((a, b) => a.id - b.id);
}

/**
 * Checks that the organization has at most 5,000 invitations of a kind. Otherwise deletes the oldest expired ones. Keeps those
 * with an email from the last 24 hours, because `countEmails` counts it.
 *
 * @param isRequested Whether to check the invitations that people requested on pages of links, instead of the others.
 * @returns The inviters of the deleted invitations.
 * @throws TotalReachedError if there are too many others.
 */
async function requireRoom(
  tx: Tx,
  now: Date,
  organizationId: number,
  isRequested: boolean,
): Promise<{ readonly inviterId: number }[]> {
  const linkId = isRequested ? { not: null } : null;
  const held = await tx.invitation.count({ where: { organizationId, linkId, closedAt: null } });
  const surplus = held - TOTALS.invitations.max;
  if (surplus <= 0) return [];
  const since = new Date(now.getTime() - DAY_MS);
  const deleted = await tx.$queryRaw<{ inviterId: number }[]>`
    DELETE FROM invitation d WHERE d.realm_id = ${organizationId} AND d.id = ANY(ARRAY(
      SELECT i.id FROM invitation i
      WHERE i.realm_id = ${organizationId} AND (i.link_id IS NOT NULL) = ${isRequested} AND i.closed_at IS NULL
      AND i.expires_at <= ${now} AND NOT EXISTS (SELECT FROM unnest(i.sent_at) AS sent WHERE sent > ${since})
      AND i.id NOT IN (
        SELECT r.link_id FROM invitation r WHERE r.realm_id = ${organizationId} AND r.link_id IS NOT NULL)
      ORDER BY i.expires_at, i.id LIMIT ${surplus}::int))
    RETURNING d.inviter_id AS "inviterId"`;
  requireWithin('invitations', held - deleted.length);
  return deleted;
}

/**
 * Creates a link with which any number of people can join.
 *
 * @throws The errors of `inviteUsers`, except InvitationFailedError.
 */
export async function createInviteLink(ctx: Ctx, given: NewInvitation): Promise<Invitation> {
  const { app, organizationId, viewer } = ctx;
  const terms = await checkTerms(ctx, given);
  const token = newLinkToken();
  return transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, organizationId);
    const now = await asOfNow(tx, ctx);
    await requireTerms(tx, await actorOf(tx, now), { ...terms, isReusable: true });
    const row = { ...terms, isReusable: true, notifiesInviter: false, inviterId: viewer.id, sentAt: [] };
    const [link] = await insertInvitations(tx, emit, now, [
      { ...row, tokenHash: linkTokenHash(token), sealedToken: app.keys.seal(token) },
    ]);
    if (link === undefined) throw new Error('The inserted invitation was not found');
    emit.audit(invitationCreated(link));
    emitChanged(emit, [link]);
    return link;
  });
}

/**
 * Returns an invitation that the viewer can see, expired or not.
 *
 * @param isReusable Kind of the invitation. Undefined: both.
 * @throws NotFoundError if there is none.
 */
async function accessInvitation(tx: Tx, ctx: Ctx, id: number, isReusable?: boolean): Promise<Invitation> {
  const kind = isReusable === undefined ? {} : { isReusable };
  const found = isRowId(id)
    ? await tx.invitation.findFirst({ where: { AND: [visibleTo(ctx), { id, ...kind }] } })
    : null;
  if (found === null) throw new NotFoundError('No such invitation', { type: 'Invitation', id, parameter: 'invite_id' });
  return found;
}

/**
 * Revokes an invitation: its link can no longer be used. If it is a reusable link, the invitations that people requested on its
 * page are revoked too.
 *
 * @throws NotFoundError if there is no invitation with this id that the viewer can see, or it was used or revoked.
 */
export async function revokeInvitation(ctx: Ctx, id: number, isReusable?: boolean): Promise<void> {
  await transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, ctx.organizationId);
    const now = await asOfNow(tx, ctx);
    const found = await accessInvitation(tx, now, id, isReusable);
    const which = { OR: [{ id: found.id }, { linkId: found.id }] };
    const place = { organizationId: ctx.organizationId, now: ctx.app.now() };
    emit.audit({ action: 'invitation_revoked', objectType: 'invitation', objectId: found.id });
    emitChanged(emit, await closeInvitations(tx, place, which, { wasUsed: false }));
  });
}

/**
 * Closes invitations that were neither used nor revoked, and removes their addresses and tokens. The transaction must hold the lock of the organization's row.
 *
 * @param which Condition on the invitations of the organization.
 * @param wasUsed Whether a person joined. If not, the invitations are revoked.
 * @returns The closed invitations that users can see.
 */
export async function closeInvitations(
  tx: Tx,
  { organizationId, now }: { readonly organizationId: number; readonly now: Date },
  which: Prisma.InvitationWhereInput,
  { wasUsed }: { readonly wasUsed: boolean },
): Promise<Invitation[]> {
  const closed = await tx.invitation.updateManyAndReturn({
    where: { AND: [which, { organizationId, closedAt: null }] },
    data: { closedAt: now, wasUsed, email: null, sealedToken: null },
  });
  return closed.filter(({ linkId }) => linkId === null);
}

/**
 * Sends the email of an invitation again, with a new link. The link in the previous email becomes invalid, and the lifetime
 * begins again, also if it has expired.
 *
 * @throws ConflictError if the server cannot send email.
 * @throws NotFoundError if there is no invitation by email with this id that the viewer can see, or it was used or revoked.
 * @throws ForbiddenError if the viewer can no longer invite people.
 * @throws InvitationFailedError if the daily limit would be exceeded.
 */
export async function resendInvitation(ctx: Ctx, id: number): Promise<Invitation> {
  const { organizationId } = ctx;
  requireEmail(ctx, 'invite_id');
  return transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, organizationId);
    const now = await asOfNow(tx, ctx);
    const found = await accessInvitation(tx, now, id, false);
    requireMayInvite(await actorOf(tx, now), found);
    const { app, viewer } = now;
    await requireEmailsLeft(tx, { app, organization: viewer.organization }, 1);
    return sendAgain(tx, emit, now, found);
  });
}

async function sendAgain(tx: Tx, emit: Emit, ctx: Ctx, before: Invitation): Promise<Invitation> {
  const { app, organizationId, viewer } = ctx;
  const [now, token] = [app.now(), newLinkToken()];
  const lastSent = before.sentAt.at(-1) ?? before.createdAt;
  const lifetime = before.expiresAt === null ? null : before.expiresAt.getTime() - lastSent.getTime();
  const sentAt = [...before.sentAt.filter((at) => at.getTime() > now.getTime() - DAY_MS), now];
  const expiresAt = lifetime === null ? null : new Date(now.getTime() + lifetime);
  const invitation = await tx.invitation.update({
    where: { organizationId_id: { organizationId, id: before.id } },
    data: { tokenHash: linkTokenHash(token), sentAt, expiresAt },
  });
  const inviter = await tx.user.findUniqueOrThrow({
    where: { organizationId_id: { organizationId, id: invitation.inviterId } },
  });
  const holders = await holdersOf(tx, organizationId, [invitation.email ?? '']);
  const { organization } = viewer;
  await mailInvitation(tx, app, { organization, inviter, invitation, token, hasAccount: holders.size > 0 });
  emit.audit({ action: 'invitation_resent', objectType: 'invitation', objectId: invitation.id });
  emitChanged(emit, [invitation]);
  return invitation;
}

/** Revokes all invitations of a user, as part of the user's deactivation. */
export async function revokeInvitationsOf(
  tx: Tx,
  emit: Emit,
  now: Date,
  { id, organizationId }: Pick<User, 'id' | 'organizationId'>,
): Promise<void> {
  const closed = await closeInvitations(tx, { organizationId, now }, { inviterId: id }, { wasUsed: false });
  const object = { action: 'invitation_revoked', objectType: 'invitation' } as const;
  emit.audit(...closed.map(({ id: objectId }) => ({ ...object, objectId })));
  emitChanged(emit, closed);
}

/**
 * Deletes the invitations that a user sent, with their emails, and the invitations to the user's addresses, as part of the
 * user's erasure.
 */
export async function eraseInvitations(
  tx: Tx,
  { id, organizationId }: Pick<User, 'id' | 'organizationId'>,
  addresses: readonly string[],
): Promise<void> {
  await tx.invitation.deleteMany({ where: { organizationId, inviterId: id } });
  await eraseMailNaming(tx, { organizationId, id });
  await tx.$executeRaw`
    DELETE FROM invitation WHERE realm_id = ${organizationId}
    AND lower(email) IN (SELECT lower(a) FROM unnest(${[...addresses]}::text[]) AS a)`;
}
