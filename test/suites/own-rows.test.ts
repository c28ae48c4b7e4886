import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { copyOrganization, leaveRoomForCopies } from '../helpers/copies.ts';
import { createMigratedDatabase } from '../helpers/database.ts';
import { startDatabaseProxy } from '../helpers/database-proxy.ts';
import { doEverything, doMore } from '../helpers/everything.ts';
import { asStatement } from '../helpers/routing.ts';
import { unexceptedViolationsOf } from '../helpers/routing-exceptions.ts';
import { contentsOf, makeScene, type Scene } from '../helpers/scene.ts';
import { startServer } from '../helpers/server.ts';
import { inOneLine } from '../helpers/source-sql.ts';

// Checks the PostgreSQL plan of every statement of every call in one organization, while other organizations contain copies of
// its data. A plan may read only rows of its own organization.

const { DATABASE_URL = '' } = process.env;

/**
 * Number of copies of the organization. Half of them are separate organizations, and half are together in one large
 * organization.
 */
const COPIES = 1_200;
/**
 * Maximum number of rows in one loop of a scan whose condition does not contain the organization. These rows belong to a user,
 * a channel or a group. Values that many organizations contain, such as names, words and numbers, have hundreds of rows.
 */
const MOST_OWN = 80;
/** Maximum number of pages that a scan reads for each of its rows, and for each of its loops. An index has several levels. */
const PAGES_EACH = 8;
/** Additional pages that a scan may read, for list elements that are not found, and for rows deleted since the last VACUUM. */
const PAGES_MORE = 60;

/**
 * Time limit of the test in milliseconds. It copies an organization 1,200 times and makes all calls twice, which takes four and a
 * half minutes on a machine with other work.
 */
const TIMEOUT_MS = 600_000;

/** Statements that concern all organizations, by their beginning, with the reason. No call waits for them. */
const OF_ALL: Readonly<Record<string, string>> = {
  'SELECT t.realm_id AS id FROM message_tally t':
    'The worker that counts messages regularly finds the organizations with many uncounted messages: one index look-up ' +
    'for each organization.',
  'SELECT p.realm_id AS id FROM search_progress p':
    'The worker that indexes messages regularly finds the organizations with many messages without an index entry: two ' +
    'index look-ups for each organization.',
  'SELECT r.id FROM realm r WHERE':
    'Once a minute: the worker that deletes old messages finds the organizations and channels with a retention limit.',
  'SELECT c.realm_id AS id FROM event_counter c':
    'The workers that decide notifications and queue messages with links find the logs with events that they have not ' +
    'read: two index look-ups for each organization.',
  'SELECT DISTINCT p.realm_id AS id FROM identity_provider p':
    'Runs once at the start, and finds the organizations with providers that the environment of the server declares.',
  'SELECT DISTINCT q.realm_id FROM event_queue q':
    'Runs once at the start, and finds the organizations whose queues are notified.',
  'SELECT "public"."api_key"."realm_id", "public"."api_key"."user_id", "public"."api_key"."sealed" FROM "public"."api_key" WHERE 1=1':
    'At the start: checks that SECRET_KEY is the key that sealed the newest API key.',
  'SELECT COUNT(*) AS "_count$_all" FROM (SELECT "public"."realm"."id" FROM "public"."realm" WHERE 1=1':
    'At the start: counts the organizations, for a log line.',
};

/**
 * Statements of background work that concern all organizations like those in `OF_ALL`. They run only if this test takes long
 * enough.
 */
const OF_SWEEP: Readonly<Record<string, string>> = {
  'SELECT c.realm_id, LEAST(':
    'Once a minute: finds the event up to which each log can be pruned, by a few index look-ups for each log.',
  'SELECT c.realm_id, c.pruned_through FROM event_counter c':
    'Once a minute: finds the logs with events to delete, by one index look-up for each log.',
  'DELETE FROM link_preview_progress p WHERE':
    'Once a second: deletes the positions of organizations that have disabled previews, by one index look-up for each position.',
  'DELETE FROM push_device d WHERE NOT d.is_client_device':
    'Once an hour: deletes the devices whose session or API key has ended.',
  'SELECT d.id, d.realm_id AS "organizationId", d.user_id AS "userId" FROM push_device d':
    'Once an hour: finds the apps whose API key has ended.',
  'WITH first AS ( SELECT n.realm_id, n.user_id FROM notification n':
    'The worker that sends push notifications claims the one that is due first. Those of all copied mentions are due.',
  'UPDATE realm SET delete_at =': 'Once a minute: finds the suspended organization whose deletion is due.',
  "UPDATE event_queue SET ended_at = statement_timestamp(), end_reason = 'expired'":
    'Once a minute: ends idle queues, which it finds by the time of their expiry.',
  'SELECT r.id FROM realm r LEFT JOIN digest_progress p':
    'Once a minute: finds the organizations that send digests on this day, by an index of those that send digests.',
  'WITH other AS MATERIALIZED ( SELECT m.realm_id, m.id FROM outgoing_mail m':
    'The worker that sends emails claims the email that is due first. The emails of all copied invitations are due.',
  'SELECT "public"."outgoing_mail"."realm_id", "public"."outgoing_mail"."id" FROM "public"."outgoing_mail" WHERE':
    'The worker that sends emails checks whether an email is due. The emails of all copied invitations are due.',
  'UPDATE outgoing_mail SET body = CASE':
    'Once an hour: erases the text of emails about missed messages that need not be sent again.',
  'DELETE FROM "public"."event" WHERE ("public"."event"."ephemeral" =':
    'Once a minute: deletes expired typing and presence events, which it finds by their age.',
};

/**
 * Texts in statements of the ORM that concern all organizations: at the start, and in background work that can run while this
 * test runs. They are not sent to one server by their organization.
 */
const OF_BACKGROUND: readonly string[] = [
  'FROM "public"."realm" WHERE 1=1',
  '"public"."event_queue"."ended_at" <',
  '"public"."idempotency_record"."created_at" <',
  '"public"."deleted_message"."deleted_at" <',
  '"public"."scheduled_message"."scheduled_at" <',
  '"public"."outgoing_mail"."next_attempt_at" <=',
];

/** Returns a statement without the one around it that collects many rows in columns. @see ../../src/platform/db/by-columns.ts */
const plain = (text: string): string => text.replace(/^SELECT json_agg\(listed\..*? FROM \( /s, '');

/** Values of `plan_cache_mode`: with "auto", PostgreSQL makes a plan for the current values as long as that is worthwhile. */
const MODES = ['auto', 'force_generic_plan'] as const;

/** A node of a plan that `auto_explain` reports. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Recheck Cond'?: string;
  readonly Filter?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly PlanNode[];
}

interface Explained {
  /** The call that executed the statement. */
  readonly call: string;
  readonly text: string;
  readonly plan: PlanNode;
}

/**
 * Returns whether a scan belongs to a search, for which pages are not counted. The index of words contains all organizations,
 * and its entries begin with the organization. A filter checks for each message whether the viewer can see it.
 */
const isSearch = (node: PlanNode) =>
  node['Index Name'] === 'searchable_message_vector' || node.Filter?.includes('search_matches(') === true;

const nodesIn = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesIn)];

/** Returns whether a node scans a table or an index, other than one of the system catalog. */
const isScan = (node: PlanNode) =>
  !(node['Relation Name'] ?? node['Index Name'] ?? '').startsWith('pg_') &&
  (node['Node Type'] === 'Bitmap Index Scan' ||
    (node['Relation Name'] !== undefined && node['Node Type'].endsWith('Scan')));

/** Returns the number of rows or index entries that a node reads in one loop. */
const rowsOf = (node: PlanNode) =>
  node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);

const pagesWithin = (node: PlanNode) => node['Shared Hit Blocks'] + node['Shared Read Blocks'];

/** Returns the number of pages that the node itself reads over all loops, without those of its inner nodes. */
const pagesOf = (node: PlanNode) =>
  (node.Plans ?? []).reduce((pages, inner) => pages - pagesWithin(inner), pagesWithin(node));

const conditionOf = (node: PlanNode) => node['Index Cond'] ?? node['Recheck Cond'] ?? '';

/** Returns whether a node must have read rows of other organizations. */
function readsOthers(node: PlanNode): boolean {
  const [rows, times] = [rowsOf(node), node['Actual Loops']];
  if (rows > MOST_OWN && !conditionOf(node).includes('realm_id = ')) return true;
  // PostgreSQL does not report index entries that it skips internally, so pages are counted as well.
  return !isSearch(node) && pagesOf(node) > PAGES_EACH * (rows + 1) * times + PAGES_MORE;
}

const shown = (node: PlanNode) =>
  [
    node['Node Type'],
    node['Relation Name'],
    node['Index Name'],
    conditionOf(node),
    node.Filter && `filter ${node.Filter}`,
  ]
    .filter(Boolean)
    .join(' ');

describe.skipIf(DATABASE_URL === '')('on PostgreSQL, with the plans of all statements', () => {
  test('no plan of a call reads rows of another organization', { timeout: TIMEOUT_MS }, async () => {
    await using own = new AsyncDisposableStack();
    const explained: Explained[] = [];
    let call = '';
    const database = own.use(await createMigratedDatabase(DATABASE_URL));
    const proxy = own.use(
      await startDatabaseProxy(database.url, (message) => {
        if (!message.startsWith('duration: ')) return;
        const { 'Query Text': text, Plan: plan } = JSON.parse(message.slice(message.indexOf('{')));
        explained.push({ call, text: inOneLine(text).trim(), plan });
      }),
    );
    const server = own.use(
      await startServer({
        env: {
          // The providers of single sign-on are read only if the variable is set.
          OPENID_CONNECT_PROVIDERS: '[]',
          DATABASE_URL: proxy.url,
          SECRET_KEY: randomBytes(32).toString('hex'),
        },
      }),
    );
    const client = own.adopt(new pg.Client({ connectionString: database.url }), (it) => it.end());
    await client.connect();
    await leaveRoomForCopies(client);
    const original = await makeScene({ on: server });
    await fill(original, client);
    // The worker of the service indexes only organizations with many messages, so the test does it here.
    await client.query('SELECT index_messages($1, 1000)', [original.organization.id]);
    await original.owner.ok('PATCH', `/messages/${original.names.messageId}`, { content: 'hello once more' });
    const scenes = [await makeScene({ on: server }), await makeScene({ on: server })];
    await copyOrganization(client, original.organization, {
      copies: COPIES,
      midst: scenes.map(({ organization }) => organization),
    });
    await client.query('VACUUM ANALYZE');
    expect(await tablesWithFew(client)).toEqual([]);

    for (const [i, mode] of MODES.entries()) {
      const scene = scenes[i] as Scene;
      const heard = await scene.owner.receiving();
      await scene.owner.ok('POST', '/users/me/status', { status_text: 'away' });
      await explainFromHereOn(client, mode);
      // After the restart, nothing is cached in the memory of the server.
      call = `the start (${mode})`;
      await server.restart();
      expect(await heard()).not.toEqual([]);
      await client.query('UPDATE scheduled_message SET scheduled_at = now() WHERE realm_id = $1', [
        scene.organization.id,
      ]);
      await makeAllCalls(scene, (what) => {
        call = `${what} (${mode})`;
      });
    }
    expect(explained.length).toBeGreaterThan(10_000);
    // Some of these statements run once a minute.
    const unused = () => Object.keys(OF_ALL).filter((it) => !explained.some(({ text }) => plain(text).startsWith(it)));
    await expect.poll(unused, { timeout: 90_000 }).toEqual([]);
    await server.stop();
    const ofCalls = explained.filter(
      ({ text }) => !Object.keys({ ...OF_ALL, ...OF_SWEEP }).some((beginning) => plain(text).startsWith(beginning)),
    );
    // The recording of platform/routable-statements.test.ts lacks the start, the workers, and statements of functions.
    const names = { tables: await organizationTables(client), hasVariables: true };
    const texts = [...new Set(ofCalls.map(({ text }) => text))].filter(
      (text) => !OF_BACKGROUND.some((part) => text.includes(part)),
    );
    const unroutable = texts.flatMap((text) =>
      unexceptedViolationsOf(asStatement(text), names).map(({ rule, table }) => `${rule}: ${table} in ${text}`),
    );
    expect(unroutable).toEqual([]);
    const scans = ofCalls.flatMap(({ plan, ...made }) =>
      nodesIn(plan)
        .filter(isScan)
        .map((node) => ({ ...made, node })),
    );
    const faults = Map.groupBy(
      scans.filter(({ node }) => readsOthers(node)),
      ({ text, node }) => `${shown(node)}\n  of ${text.slice(0, 300)}`,
    );
    const told = [...faults].map(([what, times]) => {
      const most = times.toSorted((a, b) => rowsOf(b.node) - rowsOf(a.node))[0] as (typeof times)[number];
      return `${rowsOf(most.node)} rows and ${pagesOf(most.node)} pages by ${what}\n  in ${[...new Set(times.map((one) => one.call))].join(', ')}`;
    });
    // The message repeats the value, because the assertion would shorten it.
    expect(told.length, told.join('\n')).toBe(0);
  });
});

/** Adds data that `makeScene` does not create, so that all tables contain rows of other organizations. */
async function fill({ organization, owner, member, guest, names }: Scene, client: pg.Client): Promise<void> {
  const { channelId, messageId, customGroupId, idleGroupId } = names;
  await owner.ok('PATCH', `/messages/${messageId}`, { content: 'hello again' });
  const toChannel = { type: 'channel', to: channelId, content: `hello @**${member.name}** :heart:` };
  for (const topic of ['greetings', 'greetings', 'a topic', 'muted'])
    await owner.ok('POST', '/messages', { ...toChannel, topic });
  const { id } = await owner.ok('POST', '/messages', { ...toChannel, topic: 'gone' });
  await owner.ok('DELETE', `/messages/${id}`);
  const moved = await owner.ok('POST', '/messages', { ...toChannel, topic: 'before' });
  await owner.ok('PATCH', `/messages/${moved.id}`, { topic: 'after', propagate_mode: 'change_all' });
  await owner.ok('POST', `/messages/${messageId}/reactions`, { emoji_name: 'heart' });
  const flag = (op: string, name: string) =>
    member.ok('POST', '/messages/flags', { messages: [messageId], op, flag: name });
  await flag('add', 'starred');
  await member.ok('POST', '/mark_all_as_read');
  await flag('remove', 'read');
  const drafts = [{ type: '', to: [], topic: '', content: 'hello' }];
  for (const person of [owner, member, guest]) {
    await person.ok('POST', '/users/me/presence', { status: 'active', ping_only: true });
    await person.ok('POST', '/users/me/status', { status_text: 'here' });
    await person.ok('POST', '/users/me/alert_words', { alert_words: ['release'] });
    await person.ok('PATCH', '/users/me/profile_data', { data: [{ id: names.profileFieldId, value: 'me' }] });
    await person.ok('POST', '/drafts', { drafts }, { headers: { 'idempotency-key': 'the same' } });
    // A password reset that is requested without credentials begins after the response.
    await client.query(
      `INSERT INTO password_reset (realm_id, user_id, token_hash, created_at, expires_at)
       VALUES ($1, $2::int, sha256($2::int::text::bytea), now(), now() + interval '1 hour')`,
      [organization.id, person.id],
    );
  }
  for (const role of [300, 400]) await owner.ok('PATCH', `/users/${member.id}`, { role });
  await owner.ok('POST', `/user_groups/${customGroupId}/members`, { add: [member.id, guest.id] });
  await owner.ok('POST', `/user_groups/${idleGroupId}/members`, { add: [member.id], add_subgroups: [customGroupId] });
  await owner.ok('PATCH', '/settings', { email: `new.${owner.email}` });
  // The worker deletes the positions of organizations without this setting.
  await owner.ok('PATCH', '/realm', { inline_url_embed_preview: true });
  // Inserts data that would require another server, many messages, or an external sign-in.
  await client.query(
    `WITH call AS (INSERT INTO call_token (realm_id, user_id, sealed, updated_at) VALUES (${organization.id}, ${owner.id}, 'x', now())),
          used AS (INSERT INTO used_token (realm_id, id_hash, expires_at) VALUES (${organization.id}, 'x', now() + interval '1 day')),
          link AS (INSERT INTO linked_identity (realm_id, issuer, subject, user_id, created_at) VALUES (${organization.id}, 'https://identity.example', 'x', ${owner.id}, now())),
          linking AS (INSERT INTO attachment_link (realm_id, message_id, attachment_id)
                      SELECT ${organization.id}, ${messageId}, id FROM attachment WHERE realm_id = ${organization.id} LIMIT 1),
          notified AS (INSERT INTO notification (realm_id, user_id, message_id, transport, reason, created_at)
                       VALUES (${organization.id}, ${owner.id}, ${messageId}, 'push', 'direct', now()) ON CONFLICT DO NOTHING),
          progress AS (INSERT INTO notification_progress (realm_id) VALUES (${organization.id}) ON CONFLICT DO NOTHING),
          digests AS (INSERT INTO digest_progress (realm_id, day, since_day) VALUES (${organization.id}, '2026-01-08', '2026-01-01')),
          factor AS (INSERT INTO second_factor (realm_id, user_id, sealed_secret, created_at) VALUES (${organization.id}, ${owner.id}, 'x', now())),
          recovery AS (INSERT INTO recovery_code (realm_id, user_id, hash) VALUES (${organization.id}, ${owner.id}, 'x')),
          pass AS (INSERT INTO passkey (realm_id, user_id, credential_id, name, public_key, counter, transports, backed_up, created_at)
                   VALUES (${organization.id}, ${owner.id}, 'x', 'x', 'x', 0, '{}', false, now())),
          page AS (INSERT INTO link_preview (realm_id, url_hash, expires_at) VALUES (${organization.id}, sha256('x'), now() + interval '1 day')),
          paging AS (INSERT INTO link_preview_job (realm_id, message_id, next_attempt_at) VALUES (${organization.id}, ${messageId}, now() + interval '1 day')),
          paged AS (INSERT INTO link_preview_progress (realm_id, through_id) VALUES (${organization.id}, 0) ON CONFLICT DO NOTHING),
          object AS (INSERT INTO stored_object (realm_id, id, variant, size, expires_at)
                     VALUES (${organization.id}, gen_random_uuid(), '', 1, now() + interval '1 day')),
          signing AS (INSERT INTO sign_up (realm_id, token_hash, email, role, created_at, expires_at)
                      VALUES (${organization.id}, 'x', 'x@new.example', 400, now(), now() + interval '1 day'))
     INSERT INTO message_count (realm_id, recipient_id, key, through_id, count)
     VALUES (${organization.id}, ${channelId}::bigint * 2, '', ${messageId}, 1)`,
  );
  // Makes the queues receive messages, because such queues are read at each start.
  const types = `'{eventTypes}', '["message"]'`;
  await client.query(
    `UPDATE event_queue SET options = jsonb_set(options, ${types}) WHERE realm_id = ${organization.id}`,
  );
  // Prunes the log, because it would otherwise contain most of the data.
  await client.query(
    'DELETE FROM event e USING event_counter c WHERE e.realm_id = c.realm_id AND e.id < c.last_id - 20',
  );
}

/** Tables with the records of organizations that move, which have a few rows or none. */
const RECORDS_OF_MOVES = ['realm_move', 'realm_move_change', 'realm_arrival'];

/** Returns the tables of organizations, each with its column that contains the organization. */
async function organizationTables(client: pg.Client): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query(
    `SELECT relname FROM pg_class c JOIN pg_attribute ON attrelid = c.oid AND attname = 'realm_id'
     WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> ALL ($1)`,
    [RECORDS_OF_MOVES],
  );
  return new Map([...rows.map(({ relname }) => [relname, 'realm_id'] as const), ['realm', 'id'] as const]);
}

/** Returns the tables of organizations that contain too few rows to detect that rows of other organizations were read. */
async function tablesWithFew(client: pg.Client): Promise<string[]> {
  // Excludes the records of moves: they belong to the database, and nodes read all of these few rows.
  const { rows } = await client.query(
    `SELECT relname FROM pg_class c JOIN pg_attribute ON attrelid = c.oid AND attname = 'realm_id'
     WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND reltuples < $1
       AND relname <> ALL ($2) ORDER BY relname`,
    [5 * MOST_OWN, RECORDS_OF_MOVES],
  );
  return rows.map(({ relname }) => relname);
}

/** Makes PostgreSQL send each plan to the service as a notice, on connections that are opened from now on. */
async function explainFromHereOn(client: pg.Client, mode: string): Promise<void> {
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_buffers': 'on',
    'auto_explain.log_timing': 'off',
    // With this setting, statements of functions, triggers and foreign keys are included.
    'auto_explain.log_nested_statements': 'on',
    'auto_explain.log_format': 'json',
    'auto_explain.log_level': 'notice',
    // The tables are small in this test, so the planner would otherwise prefer sequential scans to indexes.
    enable_seqscan: 'off',
    plan_cache_mode: mode,
  };
  const { rows } = await client.query('SELECT current_database() AS name');
  for (const [name, value] of Object.entries(settings)) {
    await client.query(`ALTER DATABASE ${rows[0].name} SET ${name} = '${value}'`);
  }
}

/** Makes all calls of the service in an organization. @param beginning Called with a description before each part. */
async function makeAllCalls(scene: Scene, beginning: (call: string) => void): Promise<void> {
  beginning('reads');
  await contentsOf(scene);
  beginning('other calls');
  await doMore(scene);
  await doEverything(scene, { payload: true, beginning });
}
