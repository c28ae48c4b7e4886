import type { Person } from '../faults/demo.ts';
import { runCommand } from '../helpers/control.ts';
import { startInProcess } from '../helpers/in-process.ts';
import { median } from './measure.ts';
import { RawHttp, requestBytes } from './raw-http.ts';
import type { tasks as byHandTasks } from './registration-by-hand.ts';
import type { Row } from './report.ts';
import { POOL_SIZE, type Stage } from './stage.ts';
import { Worker } from './workers.ts';

const [MESSAGES, GROUPS, FIELDS, EMOJI] = [5_000, 50, 10, 20] as const;

/** Size of an organization for the benchmark. */
export interface Size {
  readonly subdomain: string;
  readonly users: number;
  readonly channels: number;
  /** Number of channels to which the registering user is subscribed. All messages in them are unread. */
  readonly subscriptions: number;
}

const USUAL: Size = { subdomain: 'registration', users: 1_000, channels: 200, subscriptions: 40 };
export const LARGE: Size = { subdomain: 'large-registration', users: 10_000, channels: 1_000, subscriptions: 200 };
/** Longest accepted 95th percentile of a registration's duration, in milliseconds. */
const ALLOWED_MS = 150;

/** Registration parameters of a current client that requests all data. */
const PARAMETERS = new URLSearchParams({
  apply_markdown: 'true',
  include_subscribers: 'true',
  slim_presence: 'true',
  client_capabilities: JSON.stringify({
    ...{ notification_settings_null: true, bulk_message_deletion: true, archived_channels: true },
    ...{ user_avatar_url_field_optional: true, empty_topic_name: true, simplified_presence_events: true },
    ...{ include_deactivated_groups: true, individual_emoji_changes: true },
  }),
}).toString();

/** The credentials and organization of a user who registers. */
type Registrant = Pick<Person, 'basic' | 'subdomain'>;

/** Measures registrations that request all data, one at a time, in an organization of 1,000 users. Rows "j" of the report. */
export async function measureRegistration(stage: Stage): Promise<Row[]> {
  const { generator, port, quick, databaseUrl } = stage;
  const { owner: registrant } = await makeOrganization(stage, USUAL);
  await using byHand = new Worker<typeof byHandTasks>(`${import.meta.dirname}/registration-by-hand.ts`);
  const byHandPort = await byHand.ask('serve', { databaseUrl, poolSize: POOL_SIZE });
  const [warmUp, rounds, seconds] = quick ? [1, 3, 1.5] : [1, 8, 3];
  const measured: Record<'service' | 'byHand', Awaited<ReturnType<typeof run>>[]> = { service: [], byHand: [] };
  const run = (to: number) => generator.ask('load', { port: to, requests: [registerAt(to, registrant)], seconds });
  let cpuSeconds = 0;
  for (let i = 0; i < warmUp + rounds; i++) {
    for (const [side, to] of [
      ['service', port],
      ['byHand', byHandPort],
    ] as const) {
      const cpuBefore = stage.cpu();
      const load = await run(to);
      if (i < warmUp) continue;
      measured[side].push(load);
      if (side === 'service') cpuSeconds += stage.cpu() - cpuBefore;
    }
  }
  const of = (side: 'service' | 'byHand', name: 'p50' | 'p95') => measured[side].map(({ took }) => took[name]);
  const bytes = (side: 'service' | 'byHand') => `${measured[side][0]?.sample.body.length} bytes`;
  const middle = (side: 'service' | 'byHand') =>
    `p50 ${median(of(side, 'p50')).toFixed(1)} ms, p95 ${median(of(side, 'p95')).toFixed(1)} ms, ${bytes(side)}`;
  const registrations = measured.service.reduce((sum, { answers }) => sum + answers, 0);
  const what = `a registration among ${USUAL.users.toLocaleString('en')} users`;
  const facts = {
    service: middle('service'),
    'by hand': middle('byHand'),
    'registrations measured': registrations,
    'CPU of the service per registration': `${((cpuSeconds / registrations) * 1000).toFixed(1)} ms`,
    'queries per registration': await countQueries(stage, registrant),
  };
  return [
    {
      ...{ id: 'j', unit: 'ms', mark: 1, facts: {} },
      what: `${what}: limit of ${ALLOWED_MS} ms against the measured p95`,
      service: of('service', 'p95').map(() => ALLOWED_MS),
      yardstick: of('service', 'p95'),
    },
    {
      ...{ id: 'j', unit: '/s', facts },
      what: `${what}, against one hand-written statement that builds the reply`,
      service: measured.service.map(({ perSecond }) => perSecond),
      yardstick: measured.byHand.map(({ perSecond }) => perSecond),
    },
  ];
}

/**
 * Longest accepted 95th percentile of a registration's duration in a large organization, in milliseconds, and number of
 * concurrent registrations.
 */
const [LARGE_ALLOWED_MS, AT_ONCE] = [250, 20];

/**
 * Measures registrations in an organization of 10,000 users and 1,000 channels: one at a time, and `AT_ONCE` concurrently. Rows
 * "o" of the report.
 */
export async function measureLargeRegistration(stage: Stage): Promise<Row[]> {
  const { generator, port, quick } = stage;
  const { owner } = await makeOrganization(stage, LARGE);
  const request = registerAt(port, owner);
  const took: number[] = [];
  const [warmUp, rounds] = quick ? [1, 3] : [1, 8];
  let [cpuSeconds, answers] = [0, 0];
  let bytes = 0;
  for (let i = 0; i < warmUp + rounds; i++) {
    const before = stage.cpu();
    const load = await generator.ask('load', { port, requests: [request], seconds: 5 });
    if (i < warmUp) continue;
    cpuSeconds += stage.cpu() - before;
    answers += load.answers;
    took.push(load.took.p95);
    bytes = load.sample.body.length;
  }
  const startedAt = performance.now();
  const together = await Promise.all(Array.from({ length: AT_ONCE }, () => askOnce(port, request)));
  const facts = {
    'the reply': `${(bytes / 1e6).toFixed(1)} MB`,
    'CPU of the service per registration': `${((cpuSeconds / answers) * 1000).toFixed(0)} ms`,
    [`${AT_ONCE} concurrent`]: `${together.filter((status) => status === 200).length} answered within ${((performance.now() - startedAt) / 1000).toFixed(1)} s`,
  };
  return [
    {
      ...{ id: 'o', unit: 'ms', mark: 1, facts },
      what: `a registration among ${LARGE.users.toLocaleString('en')} users and ${LARGE.channels.toLocaleString('en')} channels: limit of ${LARGE_ALLOWED_MS} ms against the measured p95`,
      service: took.map(() => LARGE_ALLOWED_MS),
      yardstick: took,
    },
  ];
}

async function askOnce(port: number, request: Buffer): Promise<number> {
  const connection = await RawHttp.connect(port);
  const { status } = await connection.ask(request);
  connection.close();
  return status;
}

/** Returns a request for a registration with all data. @param more Additional headers. */
export const registerAt = (port: number, { basic, subdomain }: Registrant, more: Record<string, string> = {}): Buffer =>
  requestBytes({
    method: 'POST',
    path: '/api/v1/register',
    port,
    headers: {
      ...{ Host: `${subdomain}.localhost:${port}`, Authorization: basic },
      ...{ 'Content-Type': 'application/x-www-form-urlencoded', ...more },
    },
    body: PARAMETERS,
  });

/** Counts the SQL queries of a registration. For this, another node runs in this process on the same database. */
async function countQueries(stage: Stage, registrant: Registrant): Promise<number> {
  await using node = await startInProcess({
    env: {
      DATABASE_URL: stage.databaseUrl,
      SECRET_KEY: stage.service.env['SECRET_KEY'] ?? '',
      GUARD_TRANSACTIONS: 'off',
    },
  });
  const register = async () => {
    const { port } = new URL(node.url);
    const connection = await RawHttp.connect(Number(port));
    const { status } = await connection.ask(registerAt(Number(port), registrant));
    connection.close();
    if (status !== 200) throw new Error(`A registration was answered with ${status}`);
  };
  await register();
  return (await node.queriesOf(register)).length;
}

/** Creates an organization of a given size. Its owner is subscribed to some of its channels. */
export async function makeOrganization(
  { db, service }: Pick<Stage, 'db' | 'service'>,
  size: Size,
): Promise<{ readonly organizationId: number; readonly owner: Person }> {
  const { subdomain } = size;
  const made = (await runCommand(service.server.dataDir, 'org create', {
    subdomain,
    name: 'Organization of many',
    people: [{ name: 'owner', role: 'owner', email: `owner@${subdomain}.example` }],
  })) as { realm_id: number; users: { user_id: number; email: string; api_key: string }[] };
  const [owner] = made.users;
  if (owner === undefined) throw new Error('The organization has no owner');
  await fill(db, made.realm_id, owner.user_id, size);
  await db.query('VACUUM ANALYZE');
  const basic = `Basic ${Buffer.from(`${owner.email}:${owner.api_key}`).toString('base64')}`;
  return { organizationId: made.realm_id, owner: { role: 'owner', userId: owner.user_id, basic, subdomain } };
}

/**
 * Inserts all data of the organization directly into the database. Every user is in five channels and one group, and has
 * profile values.
 */
async function fill(db: Stage['db'], organizationId: number, ownerId: number, size: Size): Promise<void> {
  const { subdomain, users, channels, subscriptions } = size;
  const insert = (sql: string, ...values: unknown[]) => db.query(sql, [organizationId, ...values]);
  await insert(
    `INSERT INTO user_account (realm_id, email, full_name, avatar_source, joined_at, settings)
     SELECT $1, 'person' || i || '@${subdomain}.example', 'Person ' || i, 'J', now(),
            CASE WHEN i % 3 = 0 THEN '{"timezone": "Europe/Paris", "email_address_visibility": 3}'::jsonb ELSE '{}' END
     FROM generate_series(2, $2::int) AS i`,
    users,
  );
  await insert(
    `INSERT INTO channel (realm_id, name, description, rendered_description, invite_only)
     SELECT $1, 'channel ' || i, 'About ' || i, '<p>About ' || i || '</p>', i % 10 = 0
     FROM generate_series(1, $2::int) AS i`,
    channels,
  );
  await insert(
    `WITH people AS (SELECT id, row_number() OVER (ORDER BY id) AS n FROM user_account WHERE realm_id = $1 AND NOT is_system),
     places AS (SELECT id, row_number() OVER (ORDER BY id) AS n FROM channel WHERE realm_id = $1),
     subscribed AS (
       INSERT INTO subscription (realm_id, user_id, channel_id, color)
       SELECT $1, people.id, places.id, '#76ce90' FROM people JOIN places
       ON (people.id = $2 AND places.n <= $3) OR (people.id <> $2 AND (people.n + places.n) % ($4 / 5) = 0)
       RETURNING user_id, channel_id
     )
     INSERT INTO subscription_period (realm_id, user_id, channel_id, began_event_id)
     SELECT $1, user_id, channel_id, 0 FROM subscribed`,
    ...[ownerId, subscriptions, channels],
  );
  await insert(
    `WITH places AS (SELECT id, row_number() OVER (ORDER BY id) AS n FROM channel WHERE realm_id = $1)
     INSERT INTO message (realm_id, id, sender_id, channel_id, sent_channel_id, topic, content, rendered_content,
                          client_name, sent_at, sent_event_id, send_token)
     SELECT $1, nextval('message_id_seq'), (SELECT max(id) FROM user_account WHERE realm_id = $1), p.id, p.id,
            'topic ' || i % 7, 'hello', '<p>hello</p>', 'bench', now() - i * interval '1 minute', i, i
     FROM generate_series(1, $2::int) AS i JOIN places p ON p.n = 1 + i % $3::int`,
    ...[MESSAGES, channels],
  );
  await insert('UPDATE event_counter SET last_id = $2 WHERE realm_id = $1', MESSAGES);
  await insert(
    `WITH made AS (
       INSERT INTO user_group (realm_id, name) SELECT $1, 'group ' || i FROM generate_series(1, $2::int) AS i RETURNING id
     ), groups AS (SELECT id, row_number() OVER (ORDER BY id) AS n FROM made),
     people AS (SELECT id, row_number() OVER (ORDER BY id) AS n FROM user_account WHERE realm_id = $1 AND NOT is_system)
     INSERT INTO user_group_member (realm_id, group_id, user_id)
     SELECT $1, groups.id, people.id FROM groups JOIN people ON people.n % $2::int + 1 = groups.n`,
    GROUPS,
  );
  await insert(
    `WITH made AS (
       INSERT INTO profile_field (realm_id, type, position, name)
       SELECT $1, 1, i, 'Field ' || i FROM generate_series(1, $2::int) AS i RETURNING id
     )
     INSERT INTO profile_value (realm_id, user_id, field_id, value, rendered_value)
     SELECT $1, u.id, made.id, 'Value ' || made.id, '<p>Value ' || made.id || '</p>'
     FROM made, user_account u WHERE u.realm_id = $1 AND u.bot_type IS NULL`,
    FIELDS,
  );
  await insert(
    `WITH made AS (
       INSERT INTO image (id, realm_id, media_type, bytes)
       SELECT gen_random_uuid(), $1, 'image/png', 'x' FROM generate_series(1, $2::int) RETURNING id
     )
     INSERT INTO custom_emoji (realm_id, name, image_id) SELECT $1, 'emoji_' || row_number() OVER (), id FROM made`,
    EMOJI,
  );
  await insert(
    `INSERT INTO presence (user_id, realm_id, active_at, idle_at, update_id)
     SELECT id, $1, now(), now(), id FROM user_account WHERE realm_id = $1 AND bot_type IS NULL`,
  );
}
