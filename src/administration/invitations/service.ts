import { requireAddress } from '../../access/address.ts';
import type { Ctx } from '../../access/context.ts';
import { type ChannelActor, channelActor } from '../../access/permissions/require.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Invitation, Prisma, User } from '../../generated/prisma/client.ts';
import { lockOrganization } from '../../people/locks.ts';
import { visibleEmail } from '../../people/wire.ts';
import type { Tx } from '../../platform/db/client.ts';
import { NotFoundError, ValidationError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { eraseMailNaming } from '../../platform/mail/outbox.ts';
import { isAdministrator, MEMBER } from '../../platform/roles.ts';
import { requireText } from '../../platform/text.ts';
import { requireWithin } from '../../platform/totals.ts';
import { addressRule } from '../domains/service.ts';
import { linkTokenHash, newLinkToken } from '../link-tokens.ts';
import { isRecentlyProved, requireProof } from '../sign-in/proof.ts';
import { InvitationFailedError, type RefusedAddress } from './errors.ts';
import { emitChanged } from './events.ts';
import { invitationUrl, mailInvitation } from './mail.ts';
import { requireFew, requireMayInvite, requireTerms } from './terms.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Default lifetime of an invitation, in minutes: ten days. */
export const DEFAULT_MINUTES = 14_400;
/** Maximum lifetime of an invitation with an expiry, in minutes: ten years. */
const MAX_MINUTES = 5_256_000;
const MAX_WELCOME_LENGTH = 8000;
/** Maximum number of addresses in a request. */
const MAX_ADDRESSES = 500;
/** Time for which closed and expired invitations are kept, so that their links have a clear message. */
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

/** Returns the condition for invitations that can still be used, as far as their own columns decide. */
export const openAt = (now: Date): Prisma.InvitationWhereInput => ({
  closedAt: null,
  OR: [{ expiresAt: null }, { expiresAt: { gt: now } }],
});

/**
 * Returns the filter for the invitations that the viewer can see: the open ones that the viewer sent, and for administrators
 * those of all users. Invitations with a higher role than the viewer's are hidden, because their links grant that role.
 */
export const visibleTo = ({ app, organizationId, viewer }: Ctx): Prisma.InvitationWhereInput => ({
  organizationId,
  linkId: null,
  role: { gte: viewer.role },
  ...(!isAdministrator(viewer.role) && { inviterId: viewer.id }),
  ...openAt(app.now()),
});

/** Returns the open invitations that the viewer can see, oldest first. */
export const listInvitations = (ctx: Ctx): Promise<Invitation[]> =>
  ctx.work.db.invitation.findMany({ where: visibleTo(ctx), orderBy: { id: 'asc' } });

/**
 * Returns the URL of a reusable invitation. Null for an invitation by email, and if the URL can no longer be read, because
 * SECRET_KEY was replaced. Null for a role above member, unless the viewer proved their identity as for the creation of the
 * invitation.
 */
export function linkUrlOf(ctx: Ctx, { sealedToken, role }: Invitation): string | null {
  const { app, viewer } = ctx;
  if (sealedToken === null || !app.keys.canOpen(sealedToken)) return null;
  if (role < MEMBER && !isRecentlyProved(ctx)) return null;
  return invitationUrl(app, viewer.organization, app.keys.open(sealedToken));
}

/**
 * Invites people by email. Each gets an email with a link that can be used once. If a user has an address and hides it from the
 * viewer, the address is treated as unused, and the email says that the account exists.
 *
 * @throws ForbiddenError, NotFoundError, ConflictError if the viewer cannot invite people with this role, or add them to the
 *   channels and groups.
 * @throws ValidationError if role, lifetime, text or the list of addresses is invalid.
 * @throws InvitationFailedError if an address is invalid, no address can be invited, or the daily limit would be exceeded.
 *   Nothing is sent then.
 * @throws TotalReachedError if the organization would have more than 5,000 open invitations.
 * @throws PasswordRequiredError and the other errors of `requireProof` for a role above member.
 */
export async function inviteUsers(ctx: Ctx, given: NewEmailInvitation): Promise<Invited> {
  const { app, organizationId, viewer } = ctx;
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
    await requireEmailsLeft(tx, now, accepted.length);
    const tokens = accepted.map(newLinkToken);
    const notifiesInviter = given.notifiesInviter;
    const invitations = await insertInvitations(
      tx,
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
    emitChanged(emit, invitations);
    return { invitations, refused };
  });
}

/** Validates the properties of an invitation as far as they do not depend on the database, and the viewer's identity. */
async function checkTerms(ctx: Ctx, given: NewInvitation) {
  const { role = MEMBER, channelIds = [], groupIds = [], includesDefaultChannels } = given;
  const expiresAt = expiryOf(ctx.app.now(), given.expiresInMinutes);
  const parameter = 'welcome_message_custom_text';
  const welcomeText =
    given.welcomeText == null
      ? null
      : requireText(parameter, given.welcomeText, { strip: true, max: MAX_WELCOME_LENGTH });
  const places = { channelIds: requireFew('stream_ids', channelIds), groupIds: requireFew('group_ids', groupIds) };
  // A person with a higher role keeps it after the viewer's session has ended.
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
 * Checks the daily limit of emails. Emails that people request on the page of a link have the same limit, but are counted
 * separately. The transaction must hold the lock of the organization's row.
 *
 * @param isRequested Whether the emails are requested on the page of a link.
 * @throws InvitationFailedError if the organization would send more than `invitationsPerDay` emails within 24 hours.
 */
export async function requireEmailsLeft(
  tx: Tx,
  { app, organizationId }: Pick<Ctx, 'app' | 'organizationId'>,
  count: number,
  isRequested = false,
) {
  const { invitationsPerDay } = app.config;
  if (invitationsPerDay === undefined) return;
  const since = new Date(app.now().getTime() - DAY_MS);
  const [row] = await tx.$queryRaw<{ sent: number }[]>`
    SELECT count(*)::int AS sent FROM invitation i, unnest(i.sent_at) AS sent
    WHERE i.realm_id = ${organizationId} AND (i.link_id IS NOT NULL) = ${isRequested} AND sent > ${since}`;
  if ((row?.sent ?? 0) + count <= invitationsPerDay) return;
  throw new InvitationFailedError(
    `This organization can send at most ${invitationsPerDay} invitations in one day, so no invitations were sent.`,
    { isDailyLimitReached: true },
  );
}

/**
 * Inserts invitations, and returns them in the same order. All of them were requested on the page of a link, or none. The
 * transaction must hold the lock of the organization's row.
 *
 * @throws TotalReachedError if the organization would have more than 5,000 open invitations. Those that people requested on the
 *   page of a link are counted separately.
 */
export async function insertInvitations(
  tx: Tx,
  { app, organizationId }: Pick<Ctx, 'app' | 'organizationId'>,
  rows: readonly Omit<Prisma.InvitationCreateManyInput, 'organizationId' | 'createdAt'>[],
): Promise<Invitation[]> {
  const createdAt = app.now();
  const before = new Date(createdAt.getTime() - KEPT_MS);
  const isOld: Prisma.InvitationWhereInput = { OR: [{ closedAt: { lt: before } }, { expiresAt: { lt: before } }] };
  await tx.invitation.deleteMany({ where: { organizationId, linkId: { not: null }, ...isOld } });
  await tx.invitation.deleteMany({ where: { organizationId, requested: { none: { organizationId } }, ...isOld } });
  const inserted = await tx.invitation.createManyAndReturn({
    data: rows.map((row) => ({ ...row, organizationId, createdAt })),
  });
  const linkId = rows.some((row) => row.linkId != null) ? { not: null } : null;
  const held = await tx.invitation.count({ where: { organizationId, linkId, ...openAt(createdAt) } });
  requireWithin('invitations', held);
  // Ids rise in the order of the rows, but the database may return the rows in any order.
  return inserted.sort((a, b) => a.id - b.id);
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
    const [link] = await insertInvitations(tx, now, [
      { ...row, tokenHash: linkTokenHash(token), sealedToken: app.keys.seal(token) },
    ]);
    if (link === undefined) throw new Error('The inserted invitation was not found');
    emitChanged(emit, [link]);
    return link;
  });
}

/**
 * Returns an open invitation that the viewer can see.
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
 * Revokes an invitation: its link can no longer be used. For a reusable link, this includes the emails that people requested on
 * its page.
 *
 * @throws NotFoundError if there is no open invitation with this id that the viewer can see.
 */
export async function revokeInvitation(ctx: Ctx, id: number, isReusable?: boolean): Promise<void> {
  await transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, ctx.organizationId);
    const now = await asOfNow(tx, ctx);
    const found = await accessInvitation(tx, now, id, isReusable);
    const which = { OR: [{ id: found.id }, { linkId: found.id }] };
    const place = { organizationId: ctx.organizationId, now: ctx.app.now() };
    emitChanged(emit, await closeInvitations(tx, place, which, { wasUsed: false }));
  });
}

/**
 * Closes open invitations, and removes their addresses and tokens. The transaction must hold the lock of the organization's row.
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
 * begins again.
 *
 * @throws NotFoundError if there is no open invitation by email with this id that the viewer can see.
 * @throws ForbiddenError if the viewer can no longer invite people.
 * @throws InvitationFailedError if the daily limit would be exceeded.
 */
export async function resendInvitation(ctx: Ctx, id: number): Promise<Invitation> {
  const { organizationId } = ctx;
  return transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, organizationId);
    const now = await asOfNow(tx, ctx);
    const found = await accessInvitation(tx, now, id, false);
    requireMayInvite(await actorOf(tx, now), found);
    await requireEmailsLeft(tx, now, 1);
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
  emitChanged(emit, [invitation]);
  return invitation;
}

/** Revokes all open invitations of a user, as part of the user's deactivation. */
export async function revokeInvitationsOf(
  tx: Tx,
  emit: Emit,
  now: Date,
  { id, organizationId }: Pick<User, 'id' | 'organizationId'>,
): Promise<void> {
  const closed = await closeInvitations(tx, { organizationId, now }, { inviterId: id }, { wasUsed: false });
  emitChanged(emit, closed);
}

/** Deletes the invitations that a user sent, with their emails, and the open ones to the user's addresses, as part of the user's erasure. */
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
