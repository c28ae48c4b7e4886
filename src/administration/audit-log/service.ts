import type { Ctx } from '../../access/context.ts';
import { administersOrganization, requireAdministrator } from '../../access/roles.ts';
import { type AuditAction, type AuditObjectType, writeAuditLog } from '../../events/audit.ts';
import { requireLive } from '../../events/context.ts';
import type { AuditLogEntry, Organization, Prisma } from '../../generated/prisma/client.ts';
import { ValidationError } from '../../platform/errors.ts';
import { auditLogMs } from '../audit-log-time.ts';

/** Maximum number of actors, and of actions, in a filter. */
const MAX_FILTER_VALUES = 100;
/** Number of entries that an export reads by one statement. */
const EXPORTED_AT_ONCE = 500;

const DAY_MS = 86_400_000;

/** A changed object. */
export interface AuditObject {
  readonly type: AuditObjectType;
  readonly id: number;
}

/** Conditions on the entries of a list. An entry must meet all of them. Absent: every entry is accepted. */
export interface AuditFilter {
  readonly actorIds?: readonly number[] | undefined;
  readonly actions?: readonly AuditAction[] | undefined;
  readonly objectType?: AuditObjectType | undefined;
  readonly object?: AuditObject | undefined;
  /** Time from which entries are accepted. */
  readonly since?: Date | undefined;
  /** Time before which entries are accepted. */
  readonly until?: Date | undefined;
}

/**
 * Returns the filter for the entries that the viewer can see: all entries of the organization.
 *
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator.
 */
export function visibleTo(ctx: Ctx): Prisma.AuditLogEntryWhereInput {
  requireAdministrator(ctx);
  return { organizationId: ctx.organizationId };
}

/**
 * Returns the database condition for the entries that the viewer can see and that meet a filter.
 *
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator.
 * @throws ValidationError if the filter has more than 100 actors or actions.
 */
export function matching(ctx: Ctx, filter: AuditFilter): Prisma.AuditLogEntryWhereInput {
  const visible = visibleTo(ctx);
  const { actorIds, actions, objectType, object, since, until } = filter;
  for (const [parameter, values] of Object.entries({ actors: actorIds, actions })) {
    if (values === undefined || values.length <= MAX_FILTER_VALUES) continue;
    const message = `${parameter} is too long (limit: ${MAX_FILTER_VALUES} items)`;
    throw new ValidationError(message, { parameter, maximum: MAX_FILTER_VALUES });
  }
  return {
    AND: [visible, object === undefined ? {} : { objectType: object.type, objectId: object.id }],
    ...(actorIds !== undefined && { actorId: { in: [...actorIds] } }),
    ...(actions !== undefined && { action: { in: [...actions] } }),
    ...(objectType !== undefined && { objectType }),
    ...((since !== undefined || until !== undefined) && {
      createdAt: { ...(since !== undefined && { gte: since }), ...(until !== undefined && { lt: until }) },
    }),
  };
}

/** Returns the number of days for which entries are kept. Null if the viewer is not an administrator. */
export const retentionDays = (ctx: Ctx, organization: Pick<Organization, 'settings'>): number | null =>
  administersOrganization(ctx) ? auditLogMs(ctx.app.config, organization) / DAY_MS : null;

/** Formats of an export. */
export const EXPORT_FORMATS = ['csv', 'jsonl'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/**
 * Writes an entry about the export to the audit log, and returns a function that reads the entries that meet a filter, newest
 * first, in batches of 500. The entry about the export is not among them.
 *
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator.
 * @throws ValidationError if the filter has more than 100 actors or actions.
 */
export async function beginExport(
  ctx: Ctx,
  filter: AuditFilter,
  format: ExportFormat,
): Promise<() => AsyncGenerator<readonly AuditLogEntry[]>> {
  const where = matching(ctx, filter);
  const { db } = ctx.work;
  const newest = await db.auditLogEntry.findFirst({
    where: { organizationId: ctx.organizationId },
    orderBy: { id: 'desc' },
    select: { id: true },
  });
  const { actorIds, actions, objectType, object, since, until } = filter;
  const conditions = { actors: actorIds, actions, object_type: objectType ?? object?.type, since, until };
  const given = Object.entries({ ...conditions, object_id: object?.id }).filter(([, value]) => value !== undefined);
  await writeAuditLog(db, { ...ctx, app: requireLive(ctx.work).app }, [
    {
      ...{ action: 'audit_log_exported', objectType: 'organization', objectId: ctx.organizationId },
      changes: Object.fromEntries([
        ['format', { new: format }],
        ...given.map(([name, value]) => [name, { new: value }]),
      ]),
    },
  ]);
  return async function* read() {
    for (let below = (newest?.id ?? 0n) + 1n; ; ) {
      const rows = await db.auditLogEntry.findMany({
        where: { AND: [where, { id: { lt: below } }] },
        orderBy: { id: 'desc' },
        take: EXPORTED_AT_ONCE,
      });
      if (rows.length > 0) yield rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < EXPORTED_AT_ONCE) return;
      below = last.id;
    }
  };
}
