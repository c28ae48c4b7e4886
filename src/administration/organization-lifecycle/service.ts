import type { App } from '../../access/context.ts';
import { accessRevoked } from '../../access/events.ts';
import { everyone, noRecipients } from '../../events/audience.ts';
import type { AuditAction } from '../../events/audit.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Organization, Prisma } from '../../generated/prisma/client.ts';
import { deleteObjectsOf } from '../../messages/attachments/objects.ts';
import { lockOrganization } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { isUniqueViolation } from '../../platform/db/errors.ts';
import { deleteOrganizationRows } from '../../platform/db/organization-erasure.ts';
import { ConflictError, ValidationError } from '../../platform/errors.ts';
import { isSubdomain } from '../../platform/hosts.ts';
import { MAX_ORGANIZATION_NAME_LENGTH } from '../../platform/limits.ts';
import { requireReadable } from '../../platform/names.ts';
import { GUEST } from '../../platform/roles.ts';
import { requireText } from '../../platform/text.ts';
import { isAwaitingOwner } from '../organization/awaiting-owner.ts';
import { organizationUpdated } from '../organization/events.ts';

const DAY_MS = 86_400_000;
/** Default number of days after which a deleted organization is erased. */
export const GRACE_DAYS = 30;
const MAX_GRACE_DAYS = 365;
/** Time after which another node continues an erasure that was interrupted, in milliseconds. */
const LEASE_MS = 3_600_000;
/** Prefix of the subdomain of an organization that is being erased. A random UUID follows. The former subdomain is then free. */
const ERASING = 'erasing-';
const IS_ERASING = new RegExp(`^${ERASING}[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`);

/**
 * Changes an organization on behalf of the server's operator. Locks the row of the organization.
 *
 * @param action Action that is added to the audit log. Undefined: `make` adds an entry itself.
 * @param make Receives the current row of the organization, and returns the columns to update.
 */
const change = (
  app: App,
  { id }: Pick<Organization, 'id'>,
  action: AuditAction | undefined,
  make: (organization: Organization, tx: Tx, emit: Emit) => Promise<Prisma.OrganizationUpdateInput>,
): Promise<Organization> =>
  transact({ work: app.work, organizationId: id, isOperator: true }, async (tx, emit) => {
    await lockOrganization(tx, id);
    const organization = await tx.organization.findUniqueOrThrow({ where: { id } });
    if (action !== undefined) emit.audit({ action, objectType: 'organization', objectId: id });
    return tx.organization.update({ where: { id }, data: await make(organization, tx, emit) });
  });

/**
 * Suspends an organization: its users cannot sign in, requests are refused, and open connections end within seconds. No data is
 * changed.
 *
 * @throws ConflictError if the organization is suspended already.
 */
export async function suspendOrganization(app: App, organization: Organization): Promise<Organization> {
  const after = await change(app, organization, 'organization_suspended', async ({ deactivatedAt }) => {
    if (deactivatedAt !== null) throw new ConflictError('The organization is suspended already');
    return { deactivatedAt: app.now() };
  });
  await endReaders(app, after);
  return after;
}

/**
 * Ends the readers of all live event queues of an organization, on every node. Their queues remain: clients continue them when
 * the organization is resumed.
 */
async function endReaders(app: App, { id: organizationId }: Organization): Promise<void> {
  await transact({ work: app.work, organizationId }, async (tx, emit) => {
    const queues = await tx.eventQueue.findMany({
      where: { organizationId, endedAt: null },
      distinct: ['userId'],
      select: { userId: true },
    });
    for (const { userId } of queues) emit(accessRevoked(userId), noRecipients());
  });
}

/**
 * Resumes a suspended organization.
 *
 * @throws ConflictError if the organization is not suspended, is deleted, or its first owner has not joined yet.
 */
export const resumeOrganization = (app: App, organization: Organization): Promise<Organization> =>
  change(app, organization, 'organization_resumed', async (now) => {
    if (now.deactivatedAt === null) throw new ConflictError('The organization is not suspended');
    if (isAwaitingOwner(now))
      throw new ConflictError('The organization has no owner yet: the link of the first owner was not used');
    if (now.deleteAt !== null) throw new ConflictError('The organization is deleted. Restore it with org restore');
    return { deactivatedAt: null };
  });

/**
 * Deletes an organization: suspends it, and erases it with all its data after a grace period.
 *
 * @param days Length of the grace period: 0 to 365 days. 0: it is erased within a minute.
 * @throws ValidationError if `days` is out of range.
 * @throws ConflictError if the organization moves to another database.
 */
export async function deleteOrganization(app: App, organization: Organization, days: number): Promise<Organization> {
  if (!Number.isInteger(days) || days < 0 || days > MAX_GRACE_DAYS) {
    throw new ValidationError(`--days must be an integer from 0 to ${MAX_GRACE_DAYS}.`, { parameter: 'days' });
  }
  const after = await change(app, organization, 'organization_deleted', async ({ id, deactivatedAt }, tx) => {
    if ((await tx.organizationMove.count({ where: { organizationId: id } })) > 0) {
      throw new ConflictError('The organization is being moved to another database. Finish or undo the move first');
    }
    const now = app.now();
    return { deactivatedAt: deactivatedAt ?? now, deleteAt: new Date(now.getTime() + days * DAY_MS) };
  });
  await endReaders(app, after);
  return after;
}

/**
 * Restores a deleted organization that is not erased yet, and resumes it.
 *
 * @throws ConflictError if the organization is not deleted, or its erasure has begun.
 */
export const restoreOrganization = (app: App, organization: Organization): Promise<Organization> =>
  change(app, organization, 'organization_restored', async (now) => {
    if (now.deleteAt === null || isAwaitingOwner(now)) throw new ConflictError('The organization is not deleted');
    if (IS_ERASING.test(now.subdomain)) throw new ConflictError('The organization is being erased');
    return { deactivatedAt: null, deleteAt: null };
  });

/** New names of an organization. Absent names stay unchanged. */
export interface NewNames {
  /** Name that users see, 1 to 40 characters. */
  readonly name?: string | undefined;
  readonly subdomain?: string | undefined;
}

/**
 * Changes the name or the subdomain of an organization. Users are notified of a new name. A new subdomain changes the address:
 * users sign in again there, and links in earlier emails do not work any more.
 *
 * @throws ValidationError if a name is invalid, or none is given.
 * @throws ConflictError if the subdomain is in use, or the organization moves to another database.
 */
export async function renameOrganization(app: App, organization: Organization, names: NewNames): Promise<Organization> {
  const { subdomain } = names;
  if (names.name === undefined && subdomain === undefined) {
    throw new ValidationError('A new name or a new subdomain is required.');
  }
  const name =
    names.name === undefined
      ? undefined
      : requireText('name', names.name, { strip: true, min: 1, max: MAX_ORGANIZATION_NAME_LENGTH });
  if (name !== undefined) requireReadable('name', name);
  if (subdomain !== undefined && !isSubdomain(subdomain)) {
    throw new ValidationError(`Invalid subdomain "${subdomain}": use up to 63 lower-case letters, digits and hyphens`, {
      parameter: 'subdomain',
    });
  }
  const isMoved = subdomain !== undefined && subdomain !== organization.subdomain;
  try {
    const after = await change(app, organization, undefined, async (now, tx, emit) => {
      if (
        isMoved &&
        (await tx.organizationMove.count({ where: { OR: [{ subdomain }, { organizationId: now.id }] } })) > 0
      ) {
        throw new ConflictError(
          `The organization, or one with the subdomain ${subdomain}, is being moved to another database`,
        );
      }
      if (name !== undefined && name !== now.name)
        emit(organizationUpdated(now.id, { name }, { name: now.name }), everyone());
      if (isMoved) {
        emit.audit({
          ...{ action: 'organization_changed', objectType: 'organization', objectId: now.id },
          changes: { subdomain: { old: now.subdomain, new: subdomain } },
        });
      }
      return { ...(name !== undefined && { name }), ...(subdomain !== undefined && { subdomain }) };
    });
    if (isMoved) await endReaders(app, after);
    return after;
  } catch (error) {
    if (isUniqueViolation(error)) throw new ConflictError(`The subdomain ${subdomain} is in use`);
    throw error;
  }
}

/** Usage figures of an organization. */
export interface Usage {
  /** Number of active people, without bots. */
  readonly people: number;
  /** Number of active guests, who also count as people. */
  readonly guests: number;
  /** Number of people who were active in the last 30 days, by their presence. */
  readonly people_active_30_days: number;
  readonly bots: number;
  readonly channels: number;
  readonly messages: number;
  readonly messages_30_days: number;
  /** Size of the texts of all messages, in bytes. */
  readonly message_bytes: number;
  /** Size of avatars and emoji, in bytes. */
  readonly image_bytes: number;
  /** Number and size of uploaded files, in bytes. */
  readonly files: number;
  readonly file_bytes: number;
  /** Number of events that the log contains. */
  readonly events: number;
  readonly live_queues: number;
  /** Number of emails that were queued in the last 30 days. */
  readonly emails_30_days: number;
  /** Number of sign-ins in browsers in the last 24 hours, by the audit log. */
  readonly sign_ins_24_hours: number;
  /**
   * Number of rows of the organization in all tables, and their share of the disk space of these tables with their indexes. By
   * the statistics of the database, so that no row is read. Tables without statistics are not counted.
   */
  readonly database_rows_estimate: number;
  readonly database_bytes_estimate: number;
  /** Time of the last message. Null: there is none. */
  readonly last_message_at: string | null;
}

/** Returns the usage figures of an organization. Reads all its messages and events. */
export async function usageOf(app: App, { id: organizationId }: Pick<Organization, 'id'>): Promise<Usage> {
  const { db } = app;
  const now = app.now().getTime();
  const [since, yesterday] = [new Date(now - 30 * DAY_MS), new Date(now - DAY_MS)];
  const [row] = await db.$queryRaw<
    (Omit<Usage, 'last_message_at' | keyof Estimate> & { last_message_at: Date | null })[]
  >`
    SELECT
      (SELECT count(*)::int FROM user_account WHERE realm_id = ${organizationId} AND is_active AND bot_type IS NULL AND NOT is_system)
        AS people,
      (SELECT count(*)::int FROM user_account WHERE realm_id = ${organizationId} AND is_active AND bot_type IS NULL AND role = ${GUEST})
        AS guests,
      (SELECT count(*)::int FROM presence p JOIN user_account u ON u.realm_id = p.realm_id AND u.id = p.user_id
        WHERE p.realm_id = ${organizationId} AND u.is_active AND u.bot_type IS NULL AND p.idle_at > ${since})
        AS people_active_30_days,
      (SELECT count(*)::int FROM user_account WHERE realm_id = ${organizationId} AND is_active AND bot_type IS NOT NULL AND NOT is_system)
        AS bots,
      (SELECT count(*)::int FROM channel WHERE realm_id = ${organizationId} AND NOT is_archived) AS channels,
      m.messages, m.messages_30_days, m.message_bytes, m.last_message_at,
      (SELECT COALESCE(sum(octet_length(bytes) + COALESCE(octet_length(reduced), 0)), 0)::float8 FROM image WHERE realm_id = ${organizationId}) AS image_bytes,
      (SELECT count(*)::int FROM attachment WHERE realm_id = ${organizationId} AND is_complete) AS files,
      (SELECT COALESCE(sum(size), 0)::float8 FROM attachment WHERE realm_id = ${organizationId} AND is_complete) AS file_bytes,
      (SELECT count(*)::float8 FROM event WHERE realm_id = ${organizationId}) AS events,
      (SELECT count(*)::int FROM audit_log_entry WHERE realm_id = ${organizationId} AND action = 'signed_in'
        AND created_at > ${yesterday}) AS sign_ins_24_hours,
      (SELECT count(*)::int FROM event_queue WHERE realm_id = ${organizationId} AND ended_at IS NULL) AS live_queues,
      (SELECT count(*)::int FROM outgoing_mail WHERE realm_id = ${organizationId} AND created_at > ${since}) AS emails_30_days
    FROM (SELECT count(*)::int AS messages, count(*) FILTER (WHERE sent_at > ${since})::int AS messages_30_days,
        COALESCE(sum(octet_length(content)), 0)::float8 AS message_bytes, max(sent_at) AS last_message_at
      FROM message WHERE realm_id = ${organizationId}) m`;
  if (row === undefined) throw new Error('The figures were not found');
  return {
    ...row,
    ...(await estimateRows(db, organizationId)),
    last_message_at: row.last_message_at?.toISOString() ?? null,
  };
}

type Estimate = Pick<Usage, 'database_rows_estimate' | 'database_bytes_estimate'>;

/**
 * Estimates the rows of an organization from the most common organizations of each table. Organizations that are not among them
 * share the remaining rows equally.
 */
async function estimateRows(db: App['db'], organizationId: number): Promise<Estimate> {
  const [row] = await db.$queryRaw<Estimate[]>`
    WITH frequent AS (
      SELECT c.reltuples::float8 AS rows, pg_total_relation_size(c.oid)::float8 AS bytes,
        CASE WHEN s.n_distinct < 0 THEN -s.n_distinct * c.reltuples ELSE s.n_distinct END::float8 AS organizations,
        COALESCE(s.most_common_vals::text::int[], '{}') AS ids, COALESCE(s.most_common_freqs, '{}') AS shares
      FROM pg_class c JOIN pg_stats s ON s.schemaname = current_schema() AND s.tablename = c.relname AND s.attname = 'realm_id'
      WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND c.reltuples > 0),
    estimated AS (
      SELECT rows, bytes, COALESCE(shares[array_position(ids, ${organizationId}::int)],
        CASE WHEN organizations > cardinality(ids)
          THEN (1 - (SELECT COALESCE(sum(f), 0) FROM unnest(shares) AS f)) / (organizations - cardinality(ids)) ELSE 0 END) AS share
      FROM frequent)
    SELECT COALESCE(round(sum(rows * share)), 0)::float8 AS database_rows_estimate,
      COALESCE(round(sum(bytes * share)), 0)::float8 AS database_bytes_estimate
    FROM estimated`;
  if (row === undefined) throw new Error('The statistics were not found');
  return row;
}

/**
 * Erases the organizations whose grace period has ended, one after the other. Several nodes can run it at the same time: each
 * organization is erased by one of them.
 *
 * @param isOver Returns true if no further erasure should begin.
 */
export async function eraseDueOrganizations(app: App, isOver: () => boolean = () => false): Promise<void> {
  while (!isOver()) {
    const organizationId = await claimDue(app);
    if (organizationId === undefined) return;
    app.log.warn({ organization: organizationId }, 'erasing deleted organization');
    await deleteObjectsOf(app, organizationId);
    await app.database.session((run) => deleteOrganizationRows(run, organizationId));
    app.log.warn({ organization: organizationId }, 'deleted organization erased');
  }
}

/**
 * Claims an organization that is due to be erased. From now on it cannot be restored, and its subdomain is free. If the erasure
 * does not end within an hour, another node repeats it.
 */
async function claimDue({ db, now }: App): Promise<number | undefined> {
  const time = now();
  const lease = new Date(time.getTime() + LEASE_MS);
  const [claimed] = await db.$queryRaw<{ id: number }[]>`
    UPDATE realm SET delete_at = ${lease}, subdomain = ${ERASING} || gen_random_uuid() WHERE id = (
      SELECT r.id FROM realm r WHERE r.delete_at <= ${time} AND r.deactivated_at IS NOT NULL
      ORDER BY r.delete_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id`;
  return claimed?.id;
}
