import { Gauge } from 'prom-client';
import type { App } from '../access/context.ts';
import { databaseClock } from '../platform/db/clock.ts';
import { metrics } from '../platform/metrics.ts';

const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [metrics] });

// Metrics of this process.
const tails = gauge('event_windows_open', 'Number of organizations whose event log this process reads.');
const tailBytes = gauge('event_windows_bytes', 'Memory of the in-memory tails of event logs, in bytes.');
const sharedBytes = gauge(
  'registration_shared_bytes',
  'Memory of the cached state for registrations of event queues, in bytes.',
);
const readers = gauge('event_readers_open', 'Number of clients that wait for events on this process.');
const poolUsed = gauge('database_pool_used', 'Number of database connections in use (PostgreSQL).');
const poolWaiting = gauge(
  'database_pool_waiting',
  'Number of statements that wait for a database connection (PostgreSQL).',
);
// Metrics of all processes that use the database. They are read from the database.
const COUNTED = {
  queues: gauge('event_queues_live', 'Number of live event queues.'),
  lagEvents: gauge(
    'event_lag_events',
    'Number of events after the position of the live queue that is furthest behind.',
  ),
  lagSeconds: gauge(
    'event_lag_seconds',
    'Age of the first event after the position of the live queue that is furthest behind, in seconds.',
  ),
  logRows: gauge('event_log_rows', 'Estimated number of events in the log.'),
  logSeconds: gauge('event_log_age_seconds', 'Age of the oldest event in the log, in seconds.'),
  mail: gauge('mail_due', 'Number of emails that are due but not sent.'),
  scheduled: gauge('scheduled_messages_due', 'Number of scheduled messages that are due but not sent.'),
} as const;
type GaugeValues = Record<keyof typeof COUNTED, number | null>;

/**
 * Updates the gauges that are measured only when metrics are requested. If the database does not return the value of a gauge,
 * the gauge is removed.
 */
export async function lookAtService(app: App): Promise<void> {
  tails.set(app.hub.tailCount);
  tailBytes.set(app.hub.tailBytes);
  sharedBytes.set(app.sharedState.bytes);
  readers.set(app.hub.readerCount);
  const pool = app.database.pool();
  poolUsed.set(pool.used);
  poolWaiting.set(pool.waiting);
  const counted = await count(app).catch(() => undefined);
  for (const [name, shown] of Object.entries(COUNTED)) {
    const value = counted?.[name as keyof GaugeValues];
    if (value == null) shown.remove();
    else shown.set(value);
  }
}

async function count(app: App): Promise<GaugeValues | undefined> {
  const now = databaseClock(app);
  const time = app.now();
  const [row] = await app.db.$queryRaw<GaugeValues[]>`
    WITH live AS (
      SELECT q.realm_id, q.scanned_through, GREATEST(c.last_id - q.scanned_through, 0) AS behind
      FROM event_queue q JOIN event_counter c ON c.realm_id = q.realm_id
      WHERE q.ended_at IS NULL AND q.expires_at > ${now}),
    last AS (SELECT * FROM live ORDER BY behind DESC LIMIT 1)
    SELECT (SELECT count(*) FROM live)::int AS queues,
      COALESCE((SELECT behind FROM last), 0)::float8 AS "lagEvents",
      COALESCE((SELECT extract(epoch FROM ${now} - e.created_at) FROM last l JOIN LATERAL (
        SELECT created_at FROM event WHERE realm_id = l.realm_id AND id > l.scanned_through ORDER BY id LIMIT 1
      ) e ON true), 0)::float8 AS "lagSeconds",
      (SELECT GREATEST(reltuples, 0) FROM pg_class WHERE oid = 'event'::regclass)::float8 AS "logRows",
      COALESCE((SELECT extract(epoch FROM ${now} - min(e.created_at)) FROM event_counter c JOIN LATERAL (
        SELECT created_at FROM event WHERE realm_id = c.realm_id ORDER BY created_at LIMIT 1
      ) e ON true), 0)::float8 AS "logSeconds",
      (SELECT count(*) FROM outgoing_mail WHERE next_attempt_at <= ${time} OR next_digest_attempt_at <= ${time})::int AS mail,
      (SELECT count(*) FROM scheduled_message WHERE state = 'scheduled' AND scheduled_at <= ${time})::int AS scheduled`;
  return row;
}
