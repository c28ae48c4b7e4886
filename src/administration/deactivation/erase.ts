import { standInAddress } from '../../access/address.ts';
import type { Ctx } from '../../access/context.ts';
import { replaceKey } from '../../access/sign-in.ts';
import { USER_SETTINGS, VISIBLE_TO_NOBODY } from '../../access/user-settings.ts';
import { everyone } from '../../events/audience.ts';
import { eraseLogged, onlyFor } from '../../events/erase-logged.ts';
import type { Emit } from '../../events/log.ts';
import { Prisma, type User } from '../../generated/prisma/client.ts';
import { expireUnclaimed } from '../../messages/attachments/service.ts';
import { eraseCopies } from '../../messages/edits/traces.ts';
import { eraseAvatar } from '../../people/avatars/service.ts';
import { addressErased, userRenamed } from '../../people/events.ts';
import { setProfileValues } from '../../people/profile-fields/values.ts';
import { writeSettings } from '../../people/settings-write.ts';
import { clearStatus } from '../../people/status/clear.ts';
import type { SqlClient, Tx } from '../../platform/db/client.ts';
import { eraseMail } from '../../platform/mail/outbox.ts';
import { storedAfter } from '../../platform/setting.ts';
import { eraseInvitations } from '../invitations/service.ts';
import { ERASED_NAME } from './scrub-log.ts';

/** Data to delete when a user is deactivated. */
export interface Erasure {
  /**
   * Whether to erase the user's name, email address, image, status, profile and settings, and everything that only the user
   * could read.
   */
  readonly profile?: boolean | undefined;
  readonly publicChannelMessages?: boolean | undefined;
  readonly privateChannelMessages?: boolean | undefined;
  readonly directMessages?: boolean | undefined;
}

/**
 * Erases a user's name, email address, image, status, profile, settings and credentials. Also deletes everything that only the
 * user could read: drafts, scheduled messages, reminders, snippets, topic visibility policies, alert words, navigation views,
 * stored responses to idempotent requests, and emails. The transaction must hold the lock of the organization's row.
 *
 * @param formerAddresses Email addresses that the user had or requested before. Emails that contain them are deleted too.
 */
export async function eraseProfile(
  tx: Tx,
  emit: Emit,
  ctx: Ctx,
  user: User,
  formerAddresses: readonly string[],
): Promise<void> {
  const { organizationId, id } = user;
  if (user.fullName !== ERASED_NAME) emit(userRenamed(id, ERASED_NAME), everyone());
  // A bot keeps its email address: the address belongs to no mailbox, and it is the name of the bot in the API.
  const email = user.botType === null ? standInAddress(id) : user.email;
  const withoutName = await tx.user.update({
    where: { organizationId_id: { organizationId, id } },
    data: { fullName: ERASED_NAME, email, passwordHash: null },
  });
  if (email !== user.email) for (const event of addressErased(user, email)) emit(event, everyone());
  const hidden = user.botType === null ? { email_address_visibility: VISIBLE_TO_NOBODY } : {};
  const change = { now: ctx.app.now(), isOwn: false, isErasure: true };
  // Clears the time zone first, because the events about the changed visibility of the address contain the user's current time
  // zone.
  const withoutTimeZone = await writeSettings(tx, emit, withoutName, { timezone: '' }, change);
  await writeSettings(tx, emit, withoutTimeZone, hidden, change);
  const settings = storedAfter(USER_SETTINGS, {}, hidden);
  await tx.user.update({ where: { organizationId_id: { organizationId, id } }, data: { settings } });
  await eraseAvatar(tx, emit, user);
  await clearStatus(tx, emit, user);
  const values = await tx.profileValue.findMany({ where: { organizationId, userId: id }, orderBy: { fieldId: 'asc' } });
  const none = values.map(({ fieldId }) => ({ fieldId, value: null }));
  await setProfileValues(tx, emit, user, none, { changesAll: true });
  await eraseOwnRows(tx, emit, ctx, user, formerAddresses);
}

/**
 * Deletes everything that only the user could read, from the tables and from the event log; files are deleted by their worker.
 * No events are emitted for the deleted rows, because the deactivation disconnects the user's clients.
 */
async function eraseOwnRows(
  tx: Tx,
  emit: Emit,
  ctx: Ctx,
  { organizationId, id, email, botType }: User,
  formerAddresses: readonly string[],
): Promise<void> {
  const where = { organizationId, userId: id };
  const wanted = await tx.emailChange.findMany({ where, select: { newEmail: true } });
  await tx.draft.deleteMany({ where: { organizationId, authorId: id } });
  await tx.savedSnippet.deleteMany({ where: { organizationId, authorId: id } });
  await tx.scheduledMessage.deleteMany({ where: { organizationId, ownerId: id } });
  await tx.userTopic.deleteMany({ where });
  await tx.alertWord.deleteMany({ where });
  await tx.navigationView.deleteMany({ where });
  await tx.pushDevice.deleteMany({ where });
  await tx.notification.deleteMany({ where });
  await tx.callToken.deleteMany({ where });
  await tx.linkedIdentity.deleteMany({ where });
  await tx.namedApiKey.deleteMany({ where });
  await tx.secondFactor.deleteMany({ where });
  await tx.recoveryCode.deleteMany({ where });
  await tx.passkey.deleteMany({ where });
  await tx.emailChange.deleteMany({ where });
  await tx.idempotencyRecord.deleteMany({ where });
  await tx.$executeRaw`
    UPDATE event_queue SET client_name = '', options = jsonb_set(options, '{narrow}', '[]')
    WHERE realm_id = ${organizationId} AND user_id = ${id}`;
  await replaceKey(tx, emit, ctx, id);
  const addresses = [email, ...formerAddresses, ...wanted.map(({ newEmail }) => newEmail)];
  if (botType === null) await eraseMail(tx, organizationId, addresses);
  await expireUnclaimed(tx, { organizationId, id });
  await eraseInvitations(tx, { organizationId, id }, addresses);
  await tx.$executeRaw`
    DELETE FROM sign_up WHERE realm_id = ${organizationId}
    AND lower(email) IN (SELECT lower(a) FROM unnest(${addresses}::text[]) AS a)`;
  await eraseLogged(tx, emit, organizationId, onlyFor(id));
}

/** A message to delete when its sender is deactivated. */
export interface PendingDeletion {
  readonly id: number;
  /** Channel of the message. Null for a direct message. */
  readonly channelId: number | null;
}

/** Returns the oldest messages of a user that `erasure` selects for deletion, at most `limit`. */
export async function messagesToErase(
  tx: SqlClient,
  { id, organizationId }: Pick<User, 'id' | 'organizationId'>,
  erasure: Erasure,
  limit: number,
): Promise<PendingDeletion[]> {
  const classes = classesOf(erasure, Prisma.sql`m.channel_id`);
  if (classes.length === 0) return [];
  const rows = await tx.$queryRaw<{ id: bigint; channel_id: number | null }[]>`
    SELECT m.id, m.channel_id FROM message m LEFT JOIN channel c ON c.realm_id = m.realm_id AND c.id = m.channel_id
    WHERE m.sender_id = ${id} AND m.realm_id = ${organizationId} AND (${Prisma.join(classes, ' OR ')})
    ORDER BY m.id LIMIT ${limit}`;
  return rows.map((row) => ({ id: Number(row.id), channelId: row.channel_id }));
}

/**
 * Erases messages of the user that were deleted earlier: their copies, which are kept for the operator for 30 days, and their
 * data in the event log. `erasure` selects the kinds of messages.
 */
export async function eraseDeletedMessages(
  tx: Tx,
  emit: Emit,
  { id, organizationId }: Pick<User, 'id' | 'organizationId'>,
  erasure: Erasure,
): Promise<void> {
  const classes = classesOf(erasure, Prisma.sql`d.channel_id`);
  if (classes.length === 0) return;
  const copies = await tx.$queryRaw<{ id: bigint; sent_event_id: bigint }[]>`
    SELECT d.id, (d.body->>'sent_event_id')::bigint AS sent_event_id
    FROM deleted_message d LEFT JOIN channel c ON c.realm_id = d.realm_id AND c.id = d.channel_id
    WHERE d.realm_id = ${organizationId} AND d.sender_id = ${id} AND (${Prisma.join(classes, ' OR ')})`;
  await eraseCopies(tx, emit, organizationId, copies);
}

/**
 * Returns SQL conditions on a message and its channel `c`. A message is to be deleted if any of the conditions is true. Returns
 * no condition if `erasure` selects no messages.
 *
 * @param channelId SQL expression for the channel id of the message, which is null for a direct message.
 */
const classesOf = (
  { publicChannelMessages, privateChannelMessages, directMessages }: Erasure,
  channelId: Prisma.Sql,
): Prisma.Sql[] => [
  ...(publicChannelMessages ? [Prisma.sql`NOT c.invite_only`] : []),
  ...(privateChannelMessages ? [Prisma.sql`c.invite_only`] : []),
  ...(directMessages ? [Prisma.sql`${channelId} IS NULL`] : []),
];
