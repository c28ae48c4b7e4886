import { standInAddress } from '../../access/address.ts';
import type { Ctx } from '../../access/context.ts';
import { replaceKey } from '../../access/sign-in.ts';
import { USER_SETTINGS, VISIBLE_TO_NOBODY } from '../../access/user-settings.ts';
import { everyone } from '../../events/audience.ts';
import { eraseLogged, onlyFor } from '../../events/erase-logged.ts';
import type { Emit } from '../../events/log.ts';
import { Prisma, type User } from '../../generated/prisma/client.ts';
import { eraseCopies } from '../../messages/edits/traces.ts';
import { eraseAvatar } from '../../people/avatars/service.ts';
import { addressErased, userRenamed } from '../../people/events.ts';
import { setProfileValues } from '../../people/profile-fields/values.ts';
import { writeSettings } from '../../people/settings-write.ts';
import { clearStatus } from '../../people/status/clear.ts';
import type { SqlClient, Tx } from '../../platform/db/client.ts';
import { eraseMail } from '../../platform/mail/outbox.ts';
import { storedAfter } from '../../platform/setting.ts';
import { ERASED_NAME } from './scrub-log.ts';

/** Data of a deactivated user to delete. */
export interface Erasure {
  /**
   * Whether to erase name, email address, image, status, profile and settings, and everything that only the user could read.
   */
  readonly profile?: boolean | undefined;
  readonly publicChannelMessages?: boolean | undefined;
  readonly privateChannelMessages?: boolean | undefined;
  readonly directMessages?: boolean | undefined;
}

/**
 * Erases a user's name, email address, image, status, profile, settings and credentials. Also erases everything that only they
 * could read: drafts, scheduled messages, reminders, snippets, topic policies, alert words, views, stored responses and email.
 * The transaction must hold the lock of the organization's row.
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
  const { realmId, id } = user;
  if (user.fullName !== ERASED_NAME) emit(userRenamed(id, ERASED_NAME), everyone());
  // A bot keeps its email address: it has no mailbox, and the API uses the address as its name.
  const email = user.botType === null ? standInAddress(id) : user.email;
  const nameless = await tx.user.update({
    where: { realmId_id: { realmId, id } },
    data: { fullName: ERASED_NAME, email, passwordHash: null },
  });
  if (email !== user.email) for (const event of addressErased(user, email)) emit(event, everyone());
  const hidden = user.botType === null ? { email_address_visibility: VISIBLE_TO_NOBODY } : {};
  const change = { now: ctx.app.now(), isOwn: false };
  // Clears the time zone first: the events about changed visibility contain the user's data at that time.
  const somewhere = await writeSettings(tx, emit, nameless, { timezone: '' }, change);
  await writeSettings(tx, emit, somewhere, hidden, change);
  const settings = storedAfter(USER_SETTINGS, {}, hidden);
  await tx.user.update({ where: { realmId_id: { realmId, id } }, data: { settings } });
  await eraseAvatar(tx, emit, user);
  await clearStatus(tx, emit, user);
  const values = await tx.profileValue.findMany({ where: { realmId, userId: id }, orderBy: { fieldId: 'asc' } });
  const none = values.map(({ fieldId }) => ({ fieldId, value: null }));
  await setProfileValues(tx, emit, user, none, { changesAll: true });
  await eraseOwnRows(tx, emit, ctx, user, formerAddresses);
}

/**
 * Deletes everything that only the user could read, also from the event log. No events are emitted for the deleted rows,
 * because the deactivation disconnects the user's clients.
 */
async function eraseOwnRows(
  tx: Tx,
  emit: Emit,
  ctx: Ctx,
  { realmId, id, email, botType }: User,
  formerAddresses: readonly string[],
): Promise<void> {
  const where = { realmId, userId: id };
  const wanted = await tx.emailChange.findMany({ where, select: { newEmail: true } });
  await tx.draft.deleteMany({ where: { realmId, authorId: id } });
  await tx.savedSnippet.deleteMany({ where: { realmId, authorId: id } });
  await tx.scheduledMessage.deleteMany({ where: { realmId, ownerId: id } });
  await tx.userTopic.deleteMany({ where });
  await tx.alertWord.deleteMany({ where });
  await tx.navigationView.deleteMany({ where });
  await tx.callToken.deleteMany({ where });
  await tx.emailChange.deleteMany({ where });
  await tx.idempotencyRecord.deleteMany({ where });
  await tx.$executeRaw`
    UPDATE event_queue SET client_name = '', options = jsonb_set(options, '{narrow}', '[]')
    WHERE realm_id = ${realmId} AND user_id = ${id}`;
  await replaceKey(tx, emit, ctx, id);
  const addresses = [email, ...formerAddresses, ...wanted.map(({ newEmail }) => newEmail)];
  if (botType === null) await eraseMail(tx, realmId, addresses);
  await eraseLogged(tx, emit, realmId, onlyFor(id));
}

/** A message that is pending deletion. */
export interface Doomed {
  readonly id: number;
  /** Channel of the message. Null for a direct message. */
  readonly channelId: number | null;
}

/** Returns the oldest messages of a user that are pending deletion, at most `limit`. */
export async function messagesToErase(
  tx: SqlClient,
  { id, realmId }: Pick<User, 'id' | 'realmId'>,
  erasure: Erasure,
  limit: number,
): Promise<Doomed[]> {
  const classes = classesOf(erasure, Prisma.sql`m.channel_id`);
  if (classes.length === 0) return [];
  const rows = await tx.$queryRaw<{ id: bigint; channel_id: number | null }[]>`
    SELECT m.id, m.channel_id FROM message m LEFT JOIN channel c ON c.realm_id = m.realm_id AND c.id = m.channel_id
    WHERE m.sender_id = ${id} AND m.realm_id = ${realmId} AND (${Prisma.join(classes, ' OR ')})
    ORDER BY m.id LIMIT ${limit}`;
  return rows.map((row) => ({ id: Number(row.id), channelId: row.channel_id }));
}

/** Deletes the operator's copies of messages that the user sent and that were deleted before, also from the event log. */
export async function eraseDeletedMessages(
  tx: Tx,
  emit: Emit,
  { id, realmId }: Pick<User, 'id' | 'realmId'>,
  erasure: Erasure,
): Promise<void> {
  const classes = classesOf(erasure, Prisma.sql`d.channel_id`);
  if (classes.length === 0) return;
  const copies = await tx.$queryRaw<{ id: bigint; sent_event_id: bigint }[]>`
    SELECT d.id, (d.body->>'sent_event_id')::bigint AS sent_event_id
    FROM deleted_message d LEFT JOIN channel c ON c.realm_id = d.realm_id AND c.id = d.channel_id
    WHERE d.realm_id = ${realmId} AND d.sender_id = ${id} AND (${Prisma.join(classes, ' OR ')})`;
  await eraseCopies(tx, emit, realmId, copies);
}

/** Returns SQL conditions on the channel `c` of a message. A message is to be erased if any of them is true. */
const classesOf = (
  { publicChannelMessages, privateChannelMessages, directMessages }: Erasure,
  channelId: Prisma.Sql,
): Prisma.Sql[] => [
  ...(publicChannelMessages ? [Prisma.sql`NOT c.invite_only`] : []),
  ...(privateChannelMessages ? [Prisma.sql`c.invite_only`] : []),
  ...(directMessages ? [Prisma.sql`${channelId} IS NULL`] : []),
];
