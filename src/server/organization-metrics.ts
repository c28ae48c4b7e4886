import { Gauge } from 'prom-client';
import type { App } from '../access/context.ts';
import { labelOrganizations, metrics } from '../platform/metrics.ts';

/** Minimum time between two reads of the figures, in milliseconds. They are read only when metrics are requested. */
const REFRESH_MS = 60_000;

const gauge = (name: string, help: string) =>
  new Gauge({ name, help, labelNames: ['organization'] as const, registers: [metrics] });
const GAUGES = {
  people: gauge('organization_people', 'Number of active people, by organization.'),
  bots: gauge('organization_bots', 'Number of active bots, by organization.'),
  fileBytes: gauge('organization_file_bytes', 'Size of uploaded files in bytes, by organization.'),
  queues: gauge('organization_event_queues_live', 'Number of live event queues, by organization.'),
} as const;
type Figures = { readonly subdomain: string } & Readonly<Record<keyof typeof GAUGES, number>>;

const readAt = new WeakMap<App, number>();

/**
 * Updates the metrics of the organizations with the most active people. Does nothing if `METRICS_BY_ORGANIZATION` is 0, or the
 * figures were read within the last minute.
 */
export async function lookAtOrganizations(app: App): Promise<void> {
  const { metricsByOrganization } = app.config;
  const now = performance.now();
  if (metricsByOrganization === 0 || now - (readAt.get(app) ?? Number.NEGATIVE_INFINITY) < REFRESH_MS) return;
  readAt.set(app, now);
  const largest = await readLargest(app, metricsByOrganization);
  labelOrganizations(new Set(largest.map(({ subdomain }) => subdomain)));
  for (const [name, shown] of Object.entries(GAUGES)) {
    shown.reset();
    for (const figures of largest) shown.set({ organization: figures.subdomain }, figures[name as keyof typeof GAUGES]);
  }
}

const readLargest = ({ db }: App, count: number): Promise<Figures[]> => db.$queryRaw<Figures[]>`
  WITH largest AS (
    SELECT u.realm_id, count(*)::int AS people FROM user_account u JOIN realm r ON r.id = u.realm_id AND r.deactivated_at IS NULL
    WHERE u.is_active AND u.bot_type IS NULL AND NOT u.is_system
    GROUP BY u.realm_id ORDER BY people DESC, u.realm_id LIMIT ${count})
  SELECT r.subdomain, l.people,
    (SELECT count(*)::int FROM user_account WHERE realm_id = l.realm_id AND is_active AND bot_type IS NOT NULL AND NOT is_system)
      AS bots,
    (SELECT COALESCE(sum(size), 0)::float8 FROM attachment WHERE realm_id = l.realm_id AND is_complete) AS "fileBytes",
    (SELECT count(*)::int FROM event_queue WHERE realm_id = l.realm_id AND ended_at IS NULL) AS queues
  FROM largest l JOIN realm r ON r.id = l.realm_id`;
