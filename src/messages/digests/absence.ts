import { organizationSetting } from '../../access/organization-settings.ts';
import { type Organization, Prisma } from '../../generated/prisma/client.ts';
import { DAY_MS } from './calendar.ts';

/** Number of days without activity after which a person gets digests. */
const ABSENT_DAYS = 5;

/** Returns whether a user has been inactive for so long that a digest is sent to the user at a time. */
export const isAbsent = (lastActiveAt: Date, at: Date): boolean =>
  lastActiveAt.getTime() <= at.getTime() - ABSENT_DAYS * DAY_MS;

/**
 * Builds SQL for the time at which the user `u` was last active: reported as active by a client, sent a message, signed in in a
 * browser, registered a device, or joined. If the presence of the user is hidden, the last use of a browser, an event queue, an
 * API key with a name, or a device counts instead of the presence. It does not count otherwise, because open pages and apps
 * send requests without their user.
 */
export function lastActiveAt(organization: Organization): Prisma.Sql {
  const { id } = organization;
  const isHidden = organizationSetting(organization, 'presence_disabled')
    ? Prisma.sql`true`
    : Prisma.sql`COALESCE(u.settings->>'presence_enabled', '') = 'false'`;
  return Prisma.sql`GREATEST(
    u.joined_at,
    (SELECT p.active_at FROM presence p WHERE p.realm_id = ${id} AND p.user_id = u.id),
    (SELECT m.sent_at FROM message m WHERE m.realm_id = ${id} AND m.sender_id = u.id ORDER BY m.id DESC LIMIT 1),
    (SELECT max(CASE WHEN ${isHidden} THEN e.last_seen_at ELSE e.created_at END) FROM session e
      WHERE e.realm_id = ${id} AND e.user_id = u.id),
    (SELECT max(CASE WHEN ${isHidden} THEN GREATEST(d.created_at, d.token_updated_at) ELSE d.created_at END) FROM push_device d
      WHERE d.realm_id = ${id} AND d.user_id = u.id),
    CASE WHEN ${isHidden} THEN GREATEST(
      (SELECT max(k.last_used_at) FROM named_api_key k WHERE k.realm_id = ${id} AND k.user_id = u.id),
      (SELECT max(q.last_active_at) FROM event_queue q WHERE q.realm_id = ${id} AND q.user_id = u.id)) END)`;
}
