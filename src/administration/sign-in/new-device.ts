import type { Account } from '../../access/accounts.ts';
import type { Runtime, Scope } from '../../access/context.ts';
import { localTime } from '../../access/local-time.ts';
import { userSetting } from '../../access/user-settings.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient, Tx } from '../../platform/db/client.ts';
import { readRows } from '../../platform/db/rows.ts';
import { oneLine } from '../../platform/mail/outbox.ts';
import { auditLogMs } from '../audit-log-time.ts';
import { queueSecurityMail } from '../security-mail.ts';

/** Maximum length of a browser's own name in an email, in characters. */
const MAX_CLIENT_LENGTH = 200;

/** A device from which a person signs in. */
export interface Device extends Pick<Scope, 'caller' | 'clientName'> {
  /** User-Agent header of a browser. Absent for other clients. */
  readonly userAgent?: string | undefined;
}

/**
 * Returns whether a person who has enabled the emails signs in from a new device: the audit log has no sign-in of the same client
 * at the same network address. A User-Agent header identifies no device, because many have the same one. False for the first
 * sign-in of a person, unless the audit log can have deleted entries about earlier ones.
 */
export async function isNewDevice(
  db: SqlClient,
  { config, now }: Pick<Runtime, 'config' | 'now'>,
  { user, organization }: Account,
  { caller, clientName }: Device,
): Promise<boolean> {
  if (!userSetting(user, 'enable_login_emails')) return false;
  const isLogComplete = now().getTime() - user.joinedAt.getTime() < auditLogMs(config, organization);
  const signIns = Prisma.sql`
    SELECT FROM audit_log_entry e WHERE e.realm_id = ${user.organizationId} AND e.object_type = 'user'
      AND e.object_id = ${user.id} AND e.action = 'signed_in'`;
  const [row] = await readRows<{ isNew: boolean }>(
    db,
    Prisma.sql`
    SELECT (${!isLogComplete}::boolean OR EXISTS (${signIns}))
      AND NOT EXISTS (${signIns} AND e.address = ${caller?.address ?? ''} AND e.client_name = ${clientName ?? ''})
      AS "isNew"`,
  );
  return row?.isNew === true;
}

/** Notifies a person by email of a sign-in from a new device, within the transaction of the sign-in. */
export function queueNewDeviceMail(
  tx: Tx,
  { user, organization }: Account,
  { caller, clientName, userAgent = clientName }: Device,
  now: Date,
): Promise<void> {
  const client = oneLine(userAgent ?? 'an unknown client').slice(0, MAX_CLIENT_LENGTH);
  return queueSecurityMail(tx, organization, user, {
    subject: 'A new sign-in',
    happened:
      `your account was used to sign in from a new device at ${localTime(now, user)}.\n\n` +
      `Client: ${client}\nNetwork address: ${caller?.address ?? 'unknown'}\n\n` +
      'You can end sessions, and change your password, in the settings of your account.',
  });
}
