import type { User } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';

/** "invalid" is a reserved domain: no email arrives there, and no user can sign up with it. */
export const NOTIFICATION_BOT_EMAIL = 'notification-bot@system.invalid';

/**
 * Creates the bot that sends the service's own messages in a new organization. The bot has no API key, so it cannot sign in.
 */
export async function createNotificationBot(tx: Tx, organizationId: number, now: Date): Promise<void> {
  const names = { email: NOTIFICATION_BOT_EMAIL, fullName: 'Notification Bot' };
  await tx.user.create({ data: { ...names, organizationId, botType: 1, isSystem: true, joinedAt: now } });
}

/** Returns the bot that sends the service's own messages in this organization. */
export async function notificationBot(db: Pick<Tx, 'user'>, organizationId: number): Promise<User> {
  return db.user.findFirstOrThrow({ where: { organizationId, isSystem: true } });
}
