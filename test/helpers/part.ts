import { createHash } from 'node:crypto';

/** Of a run: which of the cases it makes. Another each time, unless it is given. */
const SEED = 'TEST_SEED';

const { DATABASE_URL, TEST_WHOLE } = process.env;

/**
 * Whether this run makes every case of the wide matrices: on PostgreSQL, which serves many at once, as in CI; or where
 * `TEST_WHOLE=on` asks for it.
 */
export const IS_WHOLE = (DATABASE_URL !== undefined && DATABASE_URL !== '') || TEST_WHOLE === 'on';

/**
 * Tests of which `npm test` makes a part, each run another, so that all are made in turn; the whole is made on PostgreSQL. By
 * how a test's file and name begin; the longest that fits counts.
 */
const SHARES: Readonly<Record<string, number>> = {
  // Wide matrices, where each test is one case of many that are alike.
  'attacks.test.ts': 1 / 6,
  'bad-input.test.ts': 1 / 16,
  'capabilities.test.ts > each capability alone': 1 / 3,
  'clients/javascript.test.ts': 1 / 6,
  'counter-last.test.ts': 1 / 3,
  'edits-told.test.ts > what an edit tells stays as it is through events that it passes over > on': 1 / 3,
  'entity-events.test.ts': 1 / 4,
  'entity-events.test.ts > what takes reading': 1,
  'hidden-addresses.test.ts': 1 / 3,
  'hidden-things.test.ts': 1 / 16,
  'idempotency.test.ts > every write, three times at once under one key': 1 / 8,
  'interface/1.1-conventions.test.ts': 1 / 8,
  'isolation.test.ts': 1 / 3,
  'parity/': 1 / 8,
  'permission-rules.test.ts > server_supported_permission_settings': 1 / 3,
  'first-screen.test.ts > every field of the root, within a registration > Query': 1 / 3,
  'ordering.test.ts': 1 / 3,
  'rate-limits.test.ts': 1 / 2,
  'messages.test.ts > a narrow': 1 / 3,
  'graphql-http.test.ts > a document': 1 / 2,
  'topics.test.ts': 1 / 2,
  'subscriptions.test.ts > POST /users/me/subscriptions': 1 / 2,
  'channels.test.ts': 1 / 2,
  'profile-fields.test.ts': 1 / 2,
  'jwt.test.ts': 1 / 2,
  'custom-emoji.test.ts': 1 / 2,
  'video-calls.test.ts': 1 / 3,
  'error-codes.test.ts': 1 / 3,
  'settings.test.ts': 1 / 2,
  'sessions.test.ts': 1 / 2,
  'protected-history.test.ts': 1 / 2,
  'attacks.test.ts > on a bare connection': 1 / 8,
  'viewer-can.test.ts': 1 / 2,
  'printed.test.ts > a call of the REST reference': 1 / 12,
  'queries.test.ts > as many queries for many rows as for few': 1 / 4,
  'replay.test.ts': 1 / 14,
  'roles.test.ts > who may': 1 / 4,
  'subscriptions.test.ts > POST /users/me/subscriptions/properties > sets': 1 / 4,
  'totals.test.ts > what a user or an organization can pile up': 1 / 4,
  // Much of something, or long, where others show the same of little.
  'avatars.test.ts > no more than 20 images': 1 / 3,
  'graphql-ws.test.ts > the protocol > closes a socket that never introduces itself': 1 / 3,
  'clients/resume.test.ts': 1 / 6,
  'connections.test.ts > behind a proxy': 1 / 6,
  'connections.test.ts > connections of the process': 1 / 6,
  'data-directory.test.ts > the data directory > that': 1 / 6,
  'resident-memory.test.ts': 1 / 6,
  'deactivation.test.ts > the mail > survives a restart': 1 / 6,
  'deactivation.test.ts > DELETE /users/{user_id} > deletes many messages in parts': 1 / 3,
  'event-queue.test.ts > keeps queues and positions over a stop': 1 / 6,
  'event-queue.test.ts > tells every queue that takes it that the service has started': 1 / 6,
  'event-queue.test.ts > hears heartbeats in silence whose ids rise': 1 / 3,
  'access.test.ts': 1 / 6,
  'faults.test.ts': 1 / 8,
  'full-disk.test.ts > what was acknowledged stays': 1 / 8,
  'interface/4.03-events.test.ts > 4.3 GET /events > sends a heartbeat': 1 / 3,
  'interface/6-events.test.ts > 6 Events > a heartbeat': 1 / 3,
  'persisted-documents.test.ts > the file': 1 / 3,
  'schema.test.ts > node': 1 / 3,
  'sidebar.test.ts > the first screen of a large organisation': 1 / 4,
  'turns.test.ts > refuses whoever waited': 1 / 4,
  'upkeep.test.ts': 1 / 3,
  'first-screen.test.ts > 60 registrations while messages are sent': 1 / 3,
  'fuzz.test.ts': 1 / 3,
  'graphql-http.test.ts > answers documents made at random': 1 / 3,
  'graphql-ws.test.ts > survives whatever is said': 1 / 3,
  'graphql-ws.test.ts > closes the socket of a client that stops reading': 1 / 3,
  'graphql-ws.test.ts > keeps no more than 8 MiB': 1 / 3,
  'html-diff.test.ts > gives back': 1 / 3,
  'idempotency.test.ts > a repetition after the process was killed': 1 / 6,
  'mail.test.ts > mail about people and organizations of hostile names': 1 / 3,
  'message-flags.test.ts > marking as read > everything of very much': 1 / 3,
  'message-flags.test.ts > read state > is the set of what was read': 1 / 3,
  'messages.test.ts > a page of messages ends where 16 MiB do': 1 / 3,
  'pages.test.ts > the start address > is good over a proxy, and over restarts': 1 / 6,
  'pages.test.ts > the start address > is off where the server has a name': 1 / 6,
  'schema.test.ts > connections > give at most a hundred rows': 1 / 6,
  'totals.test.ts > kept replies': 1 / 3,
  'totals.test.ts > queues > of those that ended': 1 / 3,
  'user-groups.test.ts > groups within groups > hold exactly whom a client works out': 1 / 3,
};

/** As `SHARES`, of what shares a start: made or left out together, so that what is left out starts nothing. */
const GROUPS = {
  // Whatever takes a browser. The chat's are made by `npm run test:browser` alone.
  'allowed-origins.test.ts > in a browser': 1 / 12,
  'application-policy.test.ts > a page under it': 1 / 12,
  'browser.test.ts': 1 / 12,
  'web/accessibility.test.ts': 0,
  'web/channels.test.ts': 0,
  'web/chat.test.ts': 0,
  'web/composing.test.ts': 0,
  'web/drafts.test.ts': 0,
  'web/groups.test.ts': 0,
  'web/messages.test.ts': 0,
  'web/narrow.test.ts': 0,
  'web/formatting.test.ts': 0,
  'web/people.test.ts': 0,
  'web/sending-later.test.ts': 0,
  'web/sending.test.ts': 0,
  'web/keyboard.test.ts': 0,
  'web/searching.test.ts': 0,
  'web/sidebar.test.ts': 0,
  'web/topics.test.ts': 0,
  'nginx.test.ts': 1 / 6,
  'printed.test.ts > what runs on a demo': 1 / 6,
  'nested-lists.test.ts': 1 / 6,
  'clients/chats.test.ts': 1 / 6,
  'connections.test.ts > connections of one address': 1 / 6,
  'counter-last.test.ts': 1 / 3,
  'edits-told.test.ts > what an edit tells stays as it is': 1 / 3,
  'examples.test.ts': 1 / 6,
  'hidden-addresses.test.ts': 1 / 4,
  'isolation.test.ts': 1 / 3,
  'keys.test.ts > what requests ask': 1 / 4,
  'migrations.test.ts': 1 / 6,
  'password-gate.test.ts > a server that is asked to hash passwords': 1 / 6,
  'socket-places.test.ts': 1 / 6,
  'two-organizations.test.ts': 1 / 4,
} as const satisfies Readonly<Record<string, number>>;

/**
 * Files of which `npm test` makes each in one of eight runs, by chance: long ones, most with a service of their own, which a
 * test that is left out would still start. Those that take longest come first: of each eight that follow one another a run makes
 * one, so that every run takes about as long.
 */
const IN_TURN: readonly string[] = [
  'faults',
  'operator-mistakes',
  'replay',
  'printed',
  'cut-off',
  'log-epoch',
  'hidden-addresses',
  'attacks',
  'idempotency',
  'deactivation',
  'full-disk',
  'connections',
  'nested-lists',
  'entity-events',
  'event-queue',
  'pages',
  'sends-cut',
  'request-log',
  'graphql-ws',
  'data-directory',
  'first-screen',
  'positions',
  'window-memory',
  'password-gate',
  'messages',
  'mail',
  'persisted-documents',
  'unread',
  'sends-by-sets',
  'totals',
  'rate-limits',
  'embedded-database',
  'scheduled-messages',
  'isolation',
  'edits-told',
  'counter-last',
  'nginx',
  'sessions',
  'fuzz',
  'long-logs',
  'message-flags',
  'operator',
  'hidden-things',
  'two-organizations',
  'avatars',
  'topics',
  'clocks',
  'resume',
  'queries',
  'unread-counts',
  'message-edits',
  'custom-emoji',
  'user-groups',
  'newest-received',
  'permission-rules',
  'search-pages',
  'upkeep',
  'exposure',
  'viewer-can',
  'log-went-back',
  'sends-together',
  'retention',
  'reminders',
  'email-changes',
  'protected-history',
  'turns',
].map((name) => `${name}.test.ts`);

/** The files that a run leaves out. @param arguments_ Of its command: whoever names files gets them. */
export function filesLeftOut(arguments_: readonly string[]): string[] {
  const isNamed = arguments_.some((one) => !one.startsWith('-') && one !== 'run' && !one.endsWith('vitest.config.ts'));
  chooseSeed();
  return IS_WHOLE || isNamed ? [] : IN_TURN.filter((_, i) => i % 8 !== drawnOf(Math.floor(i / 8)));
}

/** Chooses the seed of a run, for all its processes. */
export function chooseSeed(): string {
  process.env[SEED] ??= String(Date.now() % 1_000_000);
  return process.env[SEED];
}

/**
 * Whether a run that does not make every case makes this one.
 *
 * @param file Below `test/`.
 * @param name Of the test, with those of what it stands in, as "outer > inner > test".
 */
export function isPicked(file: string, name: string): boolean {
  const share = shareOf(`${file} > ${name}`);
  if (IS_WHOLE || share === undefined) return true;
  return isDrawn(`${file} ${name}`, share);
}

/** Whether a run makes a group of tests: `describe.runIf` of it. */
export const isGroupPicked = (group: keyof typeof GROUPS): boolean => IS_WHOLE || isDrawn(group, GROUPS[group]);

const isDrawn = (what: string, share: number): boolean => chance(what) < share * 2 ** 32;

/** Which of eight files. */
const drawnOf = (eight: number): number => chance(`eight ${eight}`) % 8;

/** By chance, and the same in all processes of a run. @returns Less than 2^32. */
const chance = (what: string): number =>
  createHash('sha256').update(`${process.env[SEED]} ${what}`).digest().readUInt32BE();

const beginnings = Object.keys(SHARES).toSorted((a, b) => b.length - a.length);

function shareOf(test: string): number | undefined {
  const beginning = beginnings.find((known) => test.startsWith(known));
  return beginning === undefined ? undefined : SHARES[beginning];
}

/**
 * Cases of a wide matrix within one test, spread evenly.
 *
 * @param every One of so many is tried where not all are: always the same ones, so that a failure can be repeated.
 */
export function sample<T>(cases: readonly T[], every: number): readonly T[] {
  return IS_WHOLE ? cases : cases.filter((_, i) => i % every === 0);
}
