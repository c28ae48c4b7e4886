import type { Ctx } from '../../access/context.ts';
import { readerAccess } from '../../access/sign-in.ts';
import { readOnSnapshot } from '../../access/snapshot.ts';
import { systemGroups } from '../../access/system-groups.ts';
import { toSnapshot } from '../../api/state-group.ts';
import { BadEventQueueIdError } from '../../events/errors.ts';
import { readCounter } from '../../events/log-reads.ts';
import { longPoll } from '../../events/long-poll.ts';
import { PrunedError, readPage } from '../../events/page.ts';
import { checkPosition } from '../../events/queue.ts';
import { newQueueId } from '../../events/queue-registry.ts';
import type { EventPiece } from '../../events/rendering.ts';
import { piecesFor } from '../../events/stream.ts';
import type { QueueOptions } from '../../events/view.ts';
import type { Budget } from '../../platform/budget.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { isGuest } from '../../platform/roles.ts';
import { requireText } from '../../platform/text.ts';
import { noticeFor } from './bot-defaults.ts';
import { pollDelayMs } from './pace.ts';
import { STATE_GROUPS } from './state-groups.ts';

/** Idle timeout of a queue if the client gives none: ten minutes. */
export const DEFAULT_IDLE_SECONDS = 600;
/** Idle timeout of a queue if the client gives "mobile": twelve hours. */
export const MOBILE_IDLE_SECONDS = 43_200;
/** Maximum idle timeout: a week. Longer timeouts are reduced to it. */
const MAX_IDLE_SECONDS = 604_800;

/** Operators of a narrow (a filter for messages) that can be evaluated from a message alone, without the database. */
const NARROW_OPERATORS = ['channel', 'stream', 'topic', 'sender', 'is'];

/**
 * Limits of the options of a queue, which are stored and compared with every event. They restrict no useful queue: every name,
 * topic and email address is shorter than `MAX_TEXT_LENGTH`, there are fewer than `MAX_EVENT_TYPES` types, and a useful narrow
 * has fewer than `MAX_TERMS` terms.
 */
const [MAX_EVENT_TYPES, MAX_TERMS, MAX_TEXT_LENGTH] = [200, 20, 300];
/** Limit of the size of all options as JSON: several times the size of a list of all event types. */
const MAX_OPTIONS_BYTES = 16 * 1024;

/** A request to register a queue. */
export interface Registration {
  readonly options: QueueOptions;
  /**
   * Names of the state groups to return. Null: the groups named in the event types of the queue, or all if it has no such
   * filter. Unknown names are ignored.
   */
  readonly fetchEventTypes: readonly string[] | null;
  /** Maximum age of the presences to return, in days. 0: no presence. Absent or null: 14 days. */
  readonly presenceHistoryDays?: number | null;
  /** Seconds after which the queue expires if no client reads it, at least 1. */
  readonly idleTimeoutSecs: number;
}

/** A registered queue, and the state before its first event. */
export interface Registered {
  readonly queueId: string;
  /** Id of the last event that is included in `state`. The first event of the queue has a higher id. */
  readonly lastEventId: number;
  readonly idleTimeoutSecs: number;
  /**
   * Fields of the requested state groups, named as in the REST documentation. Some values are serialized JSON already
   * (`JsonBytes`).
   */
  readonly state: Readonly<Record<string, unknown>>;
  /** Message for the client about the queue. Undefined if there is none. */
  readonly notice: string | undefined;
}

/**
 * Registers a queue, and reads the state at its start in one snapshot. Together, the state and the events after `lastEventId`
 * contain each change exactly once.
 *
 * @throws BadRequestError if the narrow has an unsupported operator, if event types or terms are too many or too long, if a
 *   guest requests all public channels, or if the idle timeout is under a second.
 */
export async function registerQueue(
  ctx: Ctx,
  { options: asked, fetchEventTypes, presenceHistoryDays = null, idleTimeoutSecs }: Registration,
): Promise<Registered> {
  const options = checkedOptions(ctx, asked);
  const fetched = fetchEventTypes && boundedTexts('fetch_event_types', fetchEventTypes, MAX_EVENT_TYPES);
  if (idleTimeoutSecs < 1) throw new BadRequestError('idle_queue_timeout is too small', 'idle_queue_timeout');
  const wanted = withoutReplaced(fetched ?? options.eventTypes);
  const { lastEventId, state } = await readState(ctx, { options, presenceHistoryDays }, wanted);
  const idle = Math.min(idleTimeoutSecs, MAX_IDLE_SECONDS);
  const heard = { ...options, eventTypes: withoutReplaced(options.eventTypes) };
  const id = newQueueId();
  const queue = { id, options: heard, idleTimeoutSecs: idle, startId: lastEventId };
  const { app } = ctx;
  if (app.snapshot === undefined) await app.queues.register(ctx, queue);
  else app.snapshot.afterwards(({ queues }) => queues.register(ctx, queue));
  return { queueId: id, lastEventId, idleTimeoutSecs: idle, state, notice: await noticeFor(ctx, heard) };
}

/** Returns the names. Omits a state group if the names also contain the newer group that replaces it. */
function withoutReplaced(names: readonly string[] | null): readonly string[] | null {
  const replaced = STATE_GROUPS.filter(({ replacedBy }) => replacedBy !== undefined && names?.includes(replacedBy));
  return names?.filter((name) => !replaced.some((group) => group.name === name)) ?? null;
}

/** Validates the options, and returns them as they are stored: without duplicate event types and without lone surrogates. */
function checkedOptions({ viewer }: Ctx, options: QueueOptions): QueueOptions {
  const { allPublicChannels } = options;
  const eventTypes = options.eventTypes && [
    ...new Set(boundedTexts('event_types', options.eventTypes, MAX_EVENT_TYPES)),
  ];
  requireFew('narrow', options.narrow, MAX_TERMS);
  const narrow = options.narrow.map(
    ([operator, operand]) => [boundedText('narrow', operator), boundedText('narrow', operand)] as const,
  );
  if (allPublicChannels && isGuest(viewer.role)) {
    throw new BadRequestError('User not authorized to receive messages of all public channels');
  }
  for (const [operator, operand] of narrow) {
    if (!NARROW_OPERATORS.includes(operator) || (operator === 'is' && operand === 'followed')) {
      throw new BadRequestError(`Operator ${operator} is not supported in the narrow of a queue`);
    }
  }
  const kept = { ...options, eventTypes, narrow };
  if (Buffer.byteLength(JSON.stringify(kept)) > MAX_OPTIONS_BYTES) {
    throw new BadRequestError(`The options of a queue are too long (limit: ${MAX_OPTIONS_BYTES} bytes)`);
  }
  return kept;
}

function requireFew(name: string, items: readonly unknown[], max: number): void {
  if (items.length > max) throw new BadRequestError(`${name} is too long`, name);
}

const boundedText = (name: string, text: string): string => requireText(name, text, { max: MAX_TEXT_LENGTH });

function boundedTexts(name: string, texts: readonly string[], max: number): string[] {
  requireFew(name, texts, max);
  return texts.map((text) => boundedText(name, text));
}

async function readState(
  ctx: Ctx,
  asked: { readonly options: QueueOptions; readonly presenceHistoryDays: number | null },
  wanted: readonly string[] | null,
): Promise<{ lastEventId: number; state: Record<string, unknown> }> {
  const wantedGroups = STATE_GROUPS.filter(
    ({ name, besides = name }) => wanted === null || (wanted.includes(name) && wanted.includes(besides)),
  );
  const { app, viewer } = ctx;
  if (wantedGroups.length === 0) {
    const lastEventId = app.snapshot?.position ?? (await readCounter(app.db, viewer.realm.id)).lastId;
    return { lastEventId, state: {} };
  }
  const groups = await systemGroups(app.db, viewer.realm.id);
  return readOnSnapshot(ctx, async ({ db, position, viewer: readViewer }) => {
    const snapshot = toSnapshot({ app, db, position, ...asked, groups, viewer: await readViewer() });
    const state: Record<string, unknown> = {};
    for (const group of wantedGroups) Object.assign(state, await group.read(snapshot));
    return { lastEventId: position, state };
  });
}

/**
 * Returns the next events of a queue after `lastEventId`, in id order, and acknowledges all events up to `lastEventId`.
 *
 * @param lastEventId -1: the start of the queue. Undefined: the last acknowledged position.
 * @param block If false, the result is returned immediately, even without events.
 * @param budget Requests that the account has left. If few are left, a blocking poll waits before it reads.
 * @throws BadEventQueueIdError if the queue does not exist or has ended, or if the log does not contain the events after the
 *   position.
 * @see src/events/README.md#queues
 */
export async function getEvents(
  ctx: Ctx,
  queueId: string,
  { lastEventId, block, signal, budget }: Poll,
): Promise<readonly EventPiece[]> {
  const queue = await ctx.app.queues.open(ctx, queueId, { claim: false });
  const known = lastEventId === undefined ? queue.acked : await checkPosition(ctx.app, queue, lastEventId);
  if (block) await pause(pollDelayMs(budget, Date.now()), signal);
  return longPoll(ctx.app, queue, { known, block, signal, access: readerAccess(ctx) });
}

/** Parameters of `getEvents`. `signal` is aborted if the client disconnects. */
interface Poll {
  readonly lastEventId: number | undefined;
  readonly block: boolean;
  readonly signal: AbortSignal;
  readonly budget: Budget | undefined;
}

/** Waits for `ms` milliseconds, or until the client disconnects. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms === 0 || signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const leave = () => resolve();
  signal.addEventListener('abort', leave, { once: true });
  await promise;
  clearTimeout(timer);
  signal.removeEventListener('abort', leave);
}

/** Events of a queue, read by `peekEvents`. */
export interface QueuePage {
  readonly pieces: readonly EventPiece[];
  /** The position up to which the page is complete. The next page starts after it. */
  readonly endId: number;
  readonly hasMore: boolean;
}

/**
 * Returns the next events of a queue after a position, without waiting for events. Acknowledges nothing, and does not end the
 * current reader of the queue.
 *
 * @param after -1: the start of the queue. Undefined: the last acknowledged position.
 * @throws BadEventQueueIdError if the queue does not exist or has ended, or if the log does not contain the events after the
 *   position.
 */
export async function peekEvents(ctx: Ctx, queueId: string, after: number | undefined): Promise<QueuePage> {
  const { app } = ctx;
  const queue = await app.queues.look(ctx, queueId);
  const known = after === undefined ? queue.acked : await checkPosition(app, queue, after);
  const tail = await app.hub.tail(queue.realmId);
  const recipient = await tail.recipient(queue.userId, known);
  try {
    const page = await readPage(app, tail, { recipient, options: queue.options, position: known, now: app.now() });
    const pieces = page.events
      .flatMap((event) => piecesFor(app, event, { recipient, queue }))
      .filter(({ id }) => id > known);
    return { pieces, endId: page.through, hasMore: page.through < tail.through };
  } catch (error) {
    if (error instanceof PrunedError) throw new BadEventQueueIdError(queueId, 'pruned');
    throw error;
  }
}

/**
 * Acknowledges all events of a queue up to the id `upTo`. A later reader without a position, over any transport, continues
 * after it.
 *
 * @throws BadEventQueueIdError if the queue does not exist or has ended, or (`from_future`) if the log has not reached `upTo`.
 */
export async function acknowledgeEvents(ctx: Ctx, queueId: string, upTo: number): Promise<void> {
  const queue = await ctx.app.queues.look(ctx, queueId);
  await ctx.app.queues.acknowledge(queue, await checkPosition(ctx.app, queue, upTo));
}

/**
 * Ends a queue. A poll that is waiting for its events returns without events.
 *
 * @throws BadEventQueueIdError if the queue does not exist, belongs to another user, or has already ended.
 */
export function deleteQueue(ctx: Ctx, queueId: string): Promise<void> {
  return ctx.app.queues.delete(ctx, queueId);
}
