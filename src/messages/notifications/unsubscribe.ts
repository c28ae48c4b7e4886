import type { App, Ctx, Runtime } from '../../access/context.ts';
import { updateSubscriptionSettings } from '../../channels/subscriptions/subscription-settings.ts';
import { changing } from '../../events/act.ts';
import { transact } from '../../events/log.ts';
import type { Organization, User } from '../../generated/prisma/client.ts';
import { lockUser } from '../../people/locks.ts';
import { writeSettings } from '../../people/settings-write.ts';
import type { Caller } from '../../platform/caller.ts';
import { NotFoundError } from '../../platform/errors.ts';
import { urlOf } from '../../platform/hosts.ts';
import { isRowId } from '../../platform/ids.ts';
import { isSameSecret } from '../../platform/key-vault.ts';
import { eraseMissedMail } from '../../platform/mail/outbox.ts';

export const UNSUBSCRIBE_PATH = '/notifications/unsubscribe';

/** Settings that are turned off. The setting of a subscription that turns emails on is turned off too. */
const TURNED_OFF = {
  enable_offline_email_notifications: false,
  enable_followed_topic_email_notifications: false,
  enable_stream_email_notifications: false,
} as const;

/** Text from which the token is derived. Contains the address, so that a link ends with a change of the address. */
const tokenText = ({ uuid }: Organization, { id, email }: Pick<User, 'id' | 'email'>) =>
  `unsubscribe ${uuid} ${id} ${email.toLowerCase()}`;

/**
 * Returns the URL of the page on which a user can end emails about missed messages without signing in. The token is derived from
 * SECRET_KEY, so nothing is stored. It permits nothing else.
 */
export function unsubscribeUrl(
  { config, keys }: Pick<Runtime, 'config' | 'keys'>,
  organization: Organization,
  user: User,
): string {
  const token = Buffer.from(keys.fingerprint(tokenText(organization, user))).toString('base64url');
  // The token is last, so that it is erased from emails that were sent.
  return `${urlOf(config, organization.subdomain)}${UNSUBSCRIBE_PATH}?user=${user.id}&token=${token}`;
}

/** Values of the URL that `unsubscribeUrl` returns. */
export interface UnsubscribeLink {
  readonly userId: number;
  readonly token: string;
}

/**
 * Returns the user of a link.
 *
 * @throws NotFoundError if the link is not valid, the user was deactivated, or the user's email address was changed.
 */
export async function userOfLink(
  { db, keys }: Pick<App, 'db' | 'keys'>,
  organization: Organization,
  { userId, token }: UnsubscribeLink,
): Promise<User> {
  const user = isRowId(userId)
    ? await db.user.findFirst({ where: { organizationId: organization.id, id: userId, isActive: true } })
    : null;
  const isValid = ({ id, email }: User) =>
    keys
      .fingerprints(tokenText(organization, { id, email }))
      .some((known) => isSameSecret(token, Buffer.from(known).toString('base64url')));
  if (user === null || !isValid(user))
    throw new NotFoundError('The link is not valid.', { type: 'User', id: userId, parameter: 'token', status: 404 });
  return user;
}

/**
 * Turns off all emails about missed messages of a user: their settings, and those of their subscriptions. Emails that wait are
 * deleted.
 *
 * @throws NotFoundError if the link is not valid.
 */
export async function unsubscribe(
  app: App,
  organization: Organization,
  link: UnsubscribeLink,
  caller: Caller,
): Promise<void> {
  const { id, role } = await userOfLink(app, organization, link);
  const organizationId = organization.id;
  return changing(async () => {
    const scope = { app, work: app.work, organizationId, caller };
    const after = await transact({ ...scope, clientName: 'Email' }, async (tx, emit) => {
      await lockUser(tx, { organizationId, id });
      const user = await tx.user.findUniqueOrThrow({ where: { organizationId_id: { organizationId, id } } });
      await tx.notification.deleteMany({ where: { organizationId, userId: id, transport: 'email' } });
      await eraseMissedMail(tx, user);
      return writeSettings(tx, emit, user, TURNED_OFF, { now: app.now(), isOwn: true });
    });
    const subscribed = await app.db.subscription.findMany({
      where: { organizationId, userId: id, active: true, emailNotifications: true },
      select: { channelId: true },
    });
    if (subscribed.length === 0) return;
    const viewer = { organization, user: after, id, role, clientName: 'Email', credential: null };
    const ctx: Ctx = { ...scope, viewer };
    await updateSubscriptionSettings(
      ctx,
      subscribed.map(({ channelId }) => ({ channelId, property: 'email_notifications', value: false })),
    );
  });
}
