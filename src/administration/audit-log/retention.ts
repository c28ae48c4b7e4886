import { permitPruning } from '../../events/audit.ts';
import type { LogContext } from '../../events/context.ts';
import { databaseNow } from '../../platform/db/clock.ts';
import { transaction } from '../../platform/db/rows.ts';
import { PeriodicWorker } from '../../platform/periodic-worker.ts';
import { auditLogMs } from '../audit-log-time.ts';

/** Interval between two runs, in milliseconds. Several nodes can run it at the same time without harm. */
const PRUNE_MS = 3_600_000;
/** Maximum number of entries that one transaction deletes. */
const BATCH = 5_000;
const LIMITS = { maxWait: 5_000, timeout: 15_000 };

/** Deletes the entries of the audit log that are older than the retention of their organization. */
export async function pruneAuditLog(app: LogContext, isOver: () => boolean = () => false): Promise<void> {
  const now = await databaseNow(app);
  const { config, db } = app;
  // Skips organizations that have moved to another database, because their rows cannot be changed.
  const organizations = await db.$queryRaw<{ id: number }[]>`
    SELECT r.id FROM realm r WHERE (
      SELECT a.created_at FROM audit_log_entry a WHERE a.realm_id = r.id ORDER BY a.created_at LIMIT 1
    ) < to_timestamp(extract(epoch FROM ${now}::timestamptz)::float8
      - LEAST(${config.auditLogMs / 1000}::float8, (r.settings->>'audit_log_days')::float8 * 86400))`;
  for (const { id } of organizations) {
    for (let deleted = BATCH; deleted === BATCH && !isOver(); ) {
      deleted = await transaction(
        db,
        async (tx) => {
          // The setting can have changed since the previous batch.
          const organization = await tx.organization.findUnique({ where: { id }, select: { settings: true } });
          if (organization === null) return 0;
          const before = new Date(now.getTime() - auditLogMs(config, organization));
          await tx.$queryRaw(permitPruning);
          return tx.$executeRaw`
            DELETE FROM audit_log_entry WHERE realm_id = ${id} AND id IN (
              SELECT id FROM audit_log_entry WHERE realm_id = ${id} AND created_at < ${before}
              ORDER BY created_at LIMIT ${BATCH})`;
        },
        LIMITS,
      );
    }
  }
}

/** Returns the worker that deletes old entries of the audit log. */
export const auditLogWorker = (app: LogContext): PeriodicWorker =>
  new PeriodicWorker(app.log, {
    ...{ everyMs: PRUNE_MS, failure: 'audit log pruning failed, retrying' },
    run: (isOver) => pruneAuditLog(app, isOver),
  });
