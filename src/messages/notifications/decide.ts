import type { App } from '../../access/context.ts';
import type { BackgroundReader, LogRange, LogRead } from '../../events/background-reader.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { readRows } from '../../platform/db/rows.ts';
import type { SentPayload } from '../events.ts';
import { audienceSizes, type Notified, notifiedOf } from './candidates.ts';
import { deviceKindsOf } from './phone-tokens.ts';
import { withdraw } from './withdraw.ts';

/** Maximum number of events that one transaction reads. */
const AT_ONCE = 200;
/**
 * Maximum number of pairs of a message and a member of its channel or conversation in one transaction. A single message can have
 * more.
 */
const MAX_PAIRS = 20_000;
/** Age, in milliseconds, from which messages notify no user. They were sent during an outage or a suspension. */
const STALE_MS = 86_400_000;

/** Types of events from which notifications are decided or withdrawn. */
const TYPES = ['message', 'update_message_flags', 'update_message', 'delete_message', 'subscription'];

/** An event as it is read from the log, with the parts of its payload that are needed. */
interface LoggedEvent {
  readonly id: bigint;
  readonly type: string;
  readonly op: string | null;
  readonly userIds: readonly number[];
  readonly payload: unknown;
}

/** The parts of the service that decide and deliver notifications. */
export type NotificationApp = Pick<App, 'config' | 'database' | 'db' | 'keys' | 'log' | 'now' | 'phones' | 'work'>;

/** Returns the reader that decides notifications: each message is decided exactly once. */
export const decisionReader = (app: NotificationApp): BackgroundReader => ({
  table: 'notification_progress',
  start: () => Prisma.sql`0`,
  atOnce: AT_ONCE,
  failure: 'notifications of an organization could not be decided, retrying',
  read: (tx, range) => decideNext(app, tx, range),
});

/** Decides the notifications of the messages of the next events. `isDue`: a push notification can now be delivered. */
async function decideNext(app: NotificationApp, tx: Tx, range: LogRange): Promise<LogRead> {
  const { organizationId, lastId, atOnce } = range;
  const read = await readEvents(tx, range);
  const events = await firstWithin(tx, organizationId, read, MAX_PAIRS);
  const isMore = read.length === atOnce || events.length < read.length;
  const oldest = app.now().getTime() - STALE_MS;
  const messages = messagesIn(events).filter(({ timestamp }) => timestamp * 1000 > oldest);
  const notified = await notifiedOf(tx, organizationId, messages, {
    isEmailSent: app.config.smtpUrl !== undefined,
    deviceKinds: deviceKindsOf(app.config),
  });
  await store(tx, organizationId, notified, app.now());
  const isWithdrawn = await withdraw(tx, app, organizationId, touchedBy(events));
  return {
    throughId: isMore ? (events.at(-1)?.id ?? lastId) : lastId,
    isDue: isWithdrawn || notified.some(({ transport }) => transport === 'push'),
  };
}

const messagesIn = (events: readonly LoggedEvent[]): SentPayload[] =>
  events.flatMap(({ type, payload }) => (type === 'message' ? [payload as SentPayload] : []));

/** Returns the first events whose messages have at most `maxPairs` recipients in total. At least one event, if there is one. */
async function firstWithin(
  tx: Tx,
  organizationId: number,
  events: readonly LoggedEvent[],
  maxPairs: number,
): Promise<readonly LoggedEvent[]> {
  const messages = messagesIn(events);
  const sizes = await audienceSizes(tx, organizationId, messages);
  let [place, pairs] = [0, 0];
  const end = events.findIndex(({ type }, i) => {
    if (type === 'message') pairs += sizes[place++] ?? 0;
    return i > 0 && pairs > maxPairs;
  });
  return end < 0 ? events : events.slice(0, end);
}

/** Reads the first events of a range, at most `atOnce`. */
function readEvents(tx: Tx, { organizationId, throughId, lastId, atOnce }: LogRange): Promise<LoggedEvent[]> {
  // The texts of messages are long, and the decision does not depend on them.
  return readRows<LoggedEvent>(
    tx,
    Prisma.sql`
    SELECT e.id, e.type, e.op, e.user_ids AS "userIds", CASE e.type
      WHEN 'message' THEN e.payload - '{content,renderedContent,topicLinks}'::text[]
      WHEN 'update_message_flags' THEN jsonb_build_object('flag', e.payload->'flag')
      WHEN 'update_message' THEN jsonb_build_object('ids', e.payload->'ids')
      WHEN 'delete_message' THEN jsonb_build_object('ids', e.payload->'ids')
      ELSE '{}'::jsonb END AS payload
    FROM event e
    WHERE e.realm_id = ${organizationId} AND e.id > ${throughId} AND e.id <= ${lastId} AND e.type = ANY (${TYPES}::text[])
    ORDER BY e.id LIMIT ${atOnce}`,
  );
}

/** Returns the users and messages whose notifications can have become obsolete by events. */
function touchedBy(events: readonly LoggedEvent[]): { readonly userIds: number[]; readonly messageIds: number[] } {
  const userIds = new Set<number>();
  const messageIds = new Set<number>();
  for (const { type, op, userIds: recipients, payload } of events) {
    const { flag, ids = [] } = payload as { readonly flag?: string; readonly ids?: readonly number[] };
    if (type === 'delete_message' || type === 'update_message') for (const id of ids) messageIds.add(id);
    const isRead = type === 'update_message_flags' && op === 'add' && flag === 'read';
    if (isRead || (type === 'subscription' && op === 'remove')) for (const id of recipients) userIds.add(id);
  }
  return { userIds: [...userIds], messageIds: [...messageIds] };
}

/** Adds notifications to the outbox. A notification that was added before stays. */
async function store(tx: Tx, organizationId: number, notified: readonly Notified[], now: Date): Promise<void> {
  if (notified.length === 0) return;
  const rows = notified.map(({ userId, messageId, delaySeconds, ...rest }) => ({
    ...rest,
    user_id: userId,
    message_id: messageId,
    next_attempt_at: new Date(now.getTime() + delaySeconds * 1000),
  }));
  await tx.$executeRaw`
    INSERT INTO notification (realm_id, user_id, message_id, transport, reason, created_at, next_attempt_at)
    SELECT ${organizationId}, n.user_id, n.message_id, n.transport, n.reason, ${now}::timestamptz, n.next_attempt_at
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      AS n(user_id int, message_id bigint, transport text, reason text, next_attempt_at timestamptz)
    ON CONFLICT DO NOTHING`;
}
