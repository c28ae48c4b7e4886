import { everyone } from '../../events/audience.ts';
import type { Emit } from '../../events/log.ts';
import { Prisma, type User } from '../../generated/prisma/client.ts';
import { eraseAvatar } from '../../people/avatars/service.ts';
import { userRenamed } from '../../people/events.ts';
import { setProfileValues } from '../../people/profile-fields/values.ts';
import { clearStatus } from '../../people/status/clear.ts';
import type { SqlClient, Tx } from '../../platform/db/client.ts';

/** What is deleted of a user who is deactivated. */
export interface Erasure {
  /** Their name, image, status and profile. */
  readonly profile?: boolean | undefined;
  readonly publicChannelMessages?: boolean | undefined;
  readonly privateChannelMessages?: boolean | undefined;
  readonly directMessages?: boolean | undefined;
}

const ERASED_NAME = 'Deleted user';

/** Takes a user's name, image, status and profile away, inside a change that holds the organisation's row. */
export async function eraseProfile(tx: Tx, emit: Emit, user: User): Promise<void> {
  if (user.fullName !== ERASED_NAME) {
    await tx.user.update({
      where: { realmId_id: { realmId: user.realmId, id: user.id } },
      data: { fullName: ERASED_NAME },
    });
    emit(userRenamed(user.id, ERASED_NAME), everyone());
  }
  await eraseAvatar(tx, emit, user);
  await clearStatus(tx, emit, user);
  const values = await tx.profileValue.findMany({
    where: { realmId: user.realmId, userId: user.id },
    orderBy: { fieldId: 'asc' },
  });
  const none = values.map(({ fieldId }) => ({ fieldId, value: null }));
  await setProfileValues(tx, emit, user, none, { changesAll: true });
}

/** A message to be deleted. */
export interface Doomed {
  readonly id: number;
  /** Null for a direct message. */
  readonly channelId: number | null;
}

/** The oldest messages of a user that are to be deleted, `limit` at most. */
export async function messagesToErase(
  tx: SqlClient,
  { id, realmId }: Pick<User, 'id' | 'realmId'>,
  { publicChannelMessages, privateChannelMessages, directMessages }: Erasure,
  limit: number,
): Promise<Doomed[]> {
  const classes = [
    ...(publicChannelMessages ? [Prisma.sql`NOT c.invite_only`] : []),
    ...(privateChannelMessages ? [Prisma.sql`c.invite_only`] : []),
    ...(directMessages ? [Prisma.sql`m.channel_id IS NULL`] : []),
  ];
  if (classes.length === 0) return [];
  const rows = await tx.$queryRaw<{ id: bigint; channel_id: number | null }[]>`
    SELECT m.id, m.channel_id FROM message m LEFT JOIN channel c ON c.realm_id = m.realm_id AND c.id = m.channel_id
    WHERE m.sender_id = ${id} AND m.realm_id = ${realmId} AND (${Prisma.join(classes, ' OR ')})
    ORDER BY m.id LIMIT ${limit}`;
  return rows.map((row) => ({ id: Number(row.id), channelId: row.channel_id }));
}
