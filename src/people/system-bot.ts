import type { User } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';

/** "invalid" is reserved: no mail ever arrives there, and nobody can sign up with it. */
export const NOTIFICATION_BOT_EMAIL = 'notification-bot@system.invalid';

/** Gives a new organisation the bot that speaks for the service. It has no key: nobody signs in as it. */
export async function createNotificationBot(tx: Tx, realmId: number, now: Date): Promise<void> {
  const names = { email: NOTIFICATION_BOT_EMAIL, fullName: 'Notification Bot' };
  await tx.user.create({ data: { ...names, realmId, botType: 1, isSystem: true, joinedAt: now } });
}

/** The bot that speaks for the service in this organisation. */
export async function notificationBot(db: Pick<Tx, 'user'>, realmId: number): Promise<User> {
  return db.user.findFirstOrThrow({ where: { realmId, isSystem: true } });
}
