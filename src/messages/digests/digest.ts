import { organizationSetting } from '../../access/organization-settings.ts';
import { userSetting } from '../../access/user-settings.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import { readRows } from '../../platform/db/rows.ts';
import type { ClaimedMail, MailText } from '../../platform/mail/outbox.ts';
import { IS_PERSON } from '../notifications/candidates.ts';
import { nameSuffix, showsContent } from '../notifications/mail-parts.ts';
import { isAbsent, lastActiveAt } from './absence.ts';
import { digestMail, namedIn } from './email.ts';
import { isNothing, readMissed } from './missed.ts';
import type { DigestApp } from './rounds.ts';

/**
 * Returns the current text of a queued digest. Undefined if it is not to be sent: the user has missed nothing, has been
 * active since it was queued or has another address, or the organization or the user was deactivated or has turned digests off.
 */
export async function currentDigest(
  app: DigestApp,
  { organizationId, recipient, digestSince, createdAt: until }: ClaimedMail,
): Promise<MailText | undefined> {
  const { db } = app;
  const organization = await db.organization.findUniqueOrThrow({ where: { id: organizationId } });
  if (organization.deactivatedAt !== null || !organizationSetting(organization, 'digest_emails_enabled'))
    return undefined;
  const [found] = await readRows<{ id: number; lastActiveAt: Date }>(
    db,
    Prisma.sql`
    SELECT u.id, ${lastActiveAt(organization)} AS "lastActiveAt" FROM user_account u
    WHERE u.realm_id = ${organizationId} AND lower(u.email) = lower(${recipient}) AND ${IS_PERSON}`,
  );
  if (found === undefined || digestSince === null || !isAbsent(found.lastActiveAt, until)) return undefined;
  const user = await db.user.findUniqueOrThrow({ where: { organizationId_id: { organizationId, id: found.id } } });
  if (!userSetting(user, 'enable_digest_emails')) return undefined;
  const since = new Date(Math.max(digestSince.getTime(), found.lastActiveAt.getTime()));
  const missed = await readMissed(db, app, { organization, user, since, until });
  if (isNothing(missed)) return undefined;
  const people = await db.user.findMany({ where: { organizationId, id: { in: namedIn(missed) } } });
  return digestMail(app, {
    ...{ organization, user, since, until, missed },
    names: new Map(people.map((person) => [person.id, person])),
    isShown: showsContent(organization, user),
    suffix: await nameSuffix(db, organization, user),
  });
}
