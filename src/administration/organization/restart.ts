import type { App } from '../../access/context.ts';
import { everyone } from '../../events/audience.ts';
import { transact } from '../../events/log.ts';
import { databaseClock } from '../../platform/db/clock.ts';
import { restarted } from './events.ts';

/**
 * Notifies live event queues that the service has started, perhaps with another version. Emits one event in each
 * organization that has a live queue for this type of event.
 */
export async function announceRestart(app: App): Promise<void> {
  const organizations = await app.db.$queryRaw<{ realm_id: number }[]>`
    SELECT DISTINCT q.realm_id FROM event_queue q JOIN realm r ON r.id = q.realm_id
    WHERE q.ended_at IS NULL AND q.expires_at > ${databaseClock(app)} AND r.deactivated_at IS NULL
      AND (jsonb_typeof(q.options->'eventTypes') = 'null' OR q.options->'eventTypes' @> '["restart"]'::jsonb)`;
  for (const { realm_id } of organizations) {
    await transact({ work: app.work, organizationId: realm_id }, async (_tx, emit) => emit(restarted(), everyone()));
  }
}
