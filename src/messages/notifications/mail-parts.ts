import { organizationSetting } from '../../access/organization-settings.ts';
import { userSetting } from '../../access/user-settings.ts';
import { type Organization, Prisma, type User } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { readRows } from '../../platform/db/rows.ts';

/** The text of an email that users can turn off without signing in. */
export interface UnsubscribableText {
  readonly subject: string;
  readonly body: string;
  /** URL to which a POST request unsubscribes the user from such emails. */
  readonly unsubscribeUrl: string;
}

/**
 * Returns whether emails to a user can contain texts and places of messages, and names. False if a setting of the organization
 * or the user excludes them.
 */
export const showsContent = (organization: Organization, user: User): boolean =>
  organizationSetting(organization, 'message_content_allowed_in_email_notifications') &&
  userSetting(user, 'message_content_in_email_notifications');

/**
 * Returns the end of the subject of emails to a user: the name of the organization in brackets, or nothing, as the setting
 * `realm_name_in_email_notifications_policy` says.
 */
export async function nameSuffix(db: SqlClient, organization: Organization, user: User): Promise<string> {
  const policy = userSetting(user, 'realm_name_in_email_notifications_policy');
  return policy === 2 || (policy === 1 && (await isInSeveral(db, user))) ? ` [${organization.name}]` : '';
}

/** Returns whether a user's email address has accounts in other organizations of this database too. */
async function isInSeveral(db: SqlClient, { organizationId, email }: User): Promise<boolean> {
  const rows = await readRows<unknown>(
    db,
    Prisma.sql`
    SELECT u.realm_id FROM user_account u WHERE lower(u.email) = lower(${email}) AND u.is_active AND u.realm_id <> ${organizationId}
      AND EXISTS (SELECT FROM realm r WHERE r.id = u.realm_id AND r.deactivated_at IS NULL OFFSET 0) LIMIT 1`,
  );
  return rows.length > 0;
}

/** Cuts a text to a maximum length in UTF-16 code units. A text that is cut ends in an ellipsis. */
export const cutTo = (max: number, text: string): string => (text.length > max ? `${text.slice(0, max)}…` : text);
