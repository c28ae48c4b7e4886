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
import { eraseUnsentMail, type UnsubscribableKind } from '../../platform/mail/outbox.ts';

export const UNSUBSCRIBE_PATH = '/notifications/unsubscribe';

/**
 * Settings that are turned off, by the kind of the emails. For emails about missed messages, the setting of a subscription that
 * turns emails on is turned off too.
 */
const TURNED_OFF = {
  missed: {
    enable_offline_email_notifications: false,
    enable_followed_topic_email_notifications: false,
    enable_stream_email_notifications: false,
  },
  digest: { enable_digest_emails: false },
} as const satisfies Record<UnsubscribableKind, object>;

/** Text from which the token is derived. Contains the address, so that a link ends with a change of the address. */
const tokenText = (kind: UnsubscribableKind, { uuid }: Organization, { id, email }: Pick<User, 'id' | 'email'>) =>
  `unsubscribe ${kind === 'digest' ? 'digest ' : ''}${uuid} ${id} ${email.toLowerCase()}`;

/** Query parameters that precede the user and the token in a URL. Links without `emails` are those of version 0.2.0. */
const PREFIXES: Readonly<Record<UnsubscribableKind, string>> = { missed: '', digest: 'emails=digest&' };

/**
 * Returns path and query of the page on which a user can end emails of a kind without signing in. The token is last, so that it
 * is erased from emails that were sent.
 */
export const unsubscribePath = ({ kind, userId, token }: UnsubscribeLink): string =>
  `${UNSUBSCRIBE_PATH}?${PREFIXES[kind]}user=${userId}&token=${token}`;

/**
 * Returns the URL of the page on which a user can end emails of a kind without signing in. The token is derived from SECRET_KEY,
 * so nothing is stored. It permits nothing else.
 */
export function unsubscribeUrl(
  { config, keys }: Pick<Runtime, 'config' | 'keys'>,
  kind: UnsubscribableKind,
  organization: Organization,
  user: Pick<User, 'id' | 'email'>,
): string {
  const token = Buffer.from(keys.fingerprint(tokenText(kind, organization, user))).toString('base64url');
  return `${urlOf(config, organization.subdomain)}${unsubscribePath({ kind, userId: user.id, token })}`;
}

/** Values of the URL that `unsubscribeUrl` returns. */
export interface UnsubscribeLink {
  readonly kind: UnsubscribableKind;
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
  { kind, userId, token }: UnsubscribeLink,
): Promise<User> {
  const user = isRowId(userId)
    ? await db.user.findFirst({ where: { organizationId: organization.id, id: userId, isActive: true } })
    : null;
  const isValid = ({ id, email }: User) =>
    keys
      .fingerprints(tokenText(kind, organization, { id, email }))
      .some((known) => isSameSecret(token, Buffer.from(known).toString('base64url')));
  if (user === null || !isValid(user))
    throw new NotFoundError('The link is not valid.', { type: 'User', id: userId, parameter: 'token', status: 404 });
  return user;
}

/**
 * Turns off all emails of a kind to a user. Emails about missed messages have settings of the user and of the subscriptions.
 * Emails that wait are deleted.
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
  const { kind } = link;
  const organizationId = organization.id;
  return changing(async () => {
    const scope = { app, work: app.work, organizationId, caller };
    const after = await transact({ ...scope, clientName: 'Email' }, async (tx, emit) => {
      await lockUser(tx, { organizationId, id });
      const user = await tx.user.findUniqueOrThrow({ where: { organizationId_id: { organizationId, id } } });
      if (kind === 'missed')
        await tx.notification.deleteMany({ where: { organizationId, userId: id, transport: 'email' } });
      await eraseUnsentMail(tx, kind, user);
      return writeSettings(tx, emit, user, TURNED_OFF[kind], { now: app.now(), isOwn: true });
    });
    if (kind === 'digest') return;
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
