import type { Ctx, LiveWork } from '../../access/context.ts';
import { readerAccess } from '../../access/sign-in.ts';
import { readOnSnapshot } from '../../access/snapshot.ts';
import { systemGroups } from '../../access/system-groups.ts';
import { type StateGroup, toSnapshot } from '../../api/state-group.ts';
import { requireLive } from '../../events/context.ts';
import { BadEventQueueIdError } from '../../events/errors.ts';
import { readCounter } from '../../events/log-reads.ts';
import { longPoll, type Polled } from '../../events/long-poll.ts';
import { PrunedError, readPage } from '../../events/page.ts';
import { checkPosition, MAX_IDLE_SECONDS } from '../../events/queue.ts';
import { newQueueId } from '../../events/queue-registry.ts';
import type { EventPiece } from '../../events/rendering.ts';
import { piecesFor } from '../../events/stream.ts';
import type { QueueOptions } from '../../events/view.ts';
import { MAX_OPERAND_LENGTH } from '../../messages/narrow/queue-narrow.ts';
import type { Budget } from '../../platform/budget.ts';
import { ForbiddenError, ValidationError } from '../../platform/errors.ts';
import { isGuest, MEMBER } from '../../platform/roles.ts';
import { requireText } from '../../platform/text.ts';
import { noticeFor } from './bot-defaults.ts';
import { pollDelayMs } from './pace.ts';

/** Idle timeout of a queue if the client gives none: ten minutes. */
export const DEFAULT_IDLE_SECONDS = 600;
/** Idle timeout of a queue if the client gives "mobile": twelve hours. */
export const MOBILE_IDLE_SECONDS = 43_200;

/**
 * Operators of a narrow (message filter) that can be evaluated from a message alone, without the database. Only GraphQL uses
 * those with ids. Nodes of the previous version ignore these, so they deliver more messages.
 */
const NARROW_OPERATORS = ['channel', 'channel-id', 'stream', 'topic', 'sender', 'sender-id', 'is'];

/**
 * Limits of the options of a queue: maximum number of event types, maximum number of terms in a narrow, and maximum length of
 * each text. Beyond them, the registration is refused with ValidationError, because the options are stored and compared with
 * every event. No useful queue exceeds them.
 */
const [MAX_EVENT_TYPES, MAX_TERMS, MAX_TEXT_LENGTH] = [200, 20, MAX_OPERAND_LENGTH];
/**
 * Maximum size of all options as JSON: several times the size of a list of all event types. Beyond it, the registration is
 * refused with ValidationError.
 */
const MAX_OPTIONS_BYTES = 16 * 1024;

/** A request to register a queue. */
export interface Registration {
  readonly options: QueueOptions;
  /**
   * Names of the state groups to return. Unknown names are ignored. Null: the groups whose names are in the event types of the
   * queue, or all groups if the queue receives all event types.
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
 * Registers an event queue. Returns the state at the start of the queue, which is read in one snapshot. Together, the state and
 * the events after `lastEventId` contain each change exactly once.
 *
 * @throws ValidationError if the narrow has an unsupported operator, if event types or terms are too many or too long, or if
 *   the idle timeout is under a second.
 * @throws ForbiddenError if a guest requests all public channels.
 */
export async function registerQueue(
  ctx: Ctx,
  { options: asked, fetchEventTypes, presenceHistoryDays = null, idleTimeoutSecs }: Registration,
): Promise<Registered> {
  const options = checkedOptions(ctx, asked);
  const fetched = fetchEventTypes && boundedTexts('fetch_event_types', fetchEventTypes, MAX_EVENT_TYPES);
  if (idleTimeoutSecs < 1) {
    throw new ValidationError('idle_queue_timeout is too small', {
      ...{ parameter: 'idle_queue_timeout', minimum: 1, value: idleTimeoutSecs },
    });
  }
  const groups = await stateGroups();
  const wanted = withoutReplaced(groups, fetched ?? options.eventTypes);
  const wantedGroups = groups.filter(
    ({ name, besides = name }) => wanted === null || (wanted.includes(name) && wanted.includes(besides)),
  );
  const { lastEventId, state } = await readState(ctx, { options, presenceHistoryDays }, wantedGroups);
  // Longer timeouts are reduced.
  const idle = Math.min(idleTimeoutSecs, MAX_IDLE_SECONDS);
  const queueOptions = { ...options, eventTypes: withoutReplaced(groups, options.eventTypes) };
  const id = newQueueId();
  const queue = { id, options: queueOptions, idleTimeoutSecs: idle, startId: lastEventId };
  const { snapshot } = ctx.work;
  const register = ({ app }: LiveWork) => app.queues.register(ctx, queue);
  if (snapshot === undefined) await register(requireLive(ctx.work));
  else snapshot.afterwards(register);
  return { queueId: id, lastEventId, idleTimeoutSecs: idle, state, notice: await noticeFor(ctx, queueOptions) };
}

/** Returns the state groups of all features. The import is dynamic, because the list of features contains this folder. */
const stateGroups = async (): Promise<readonly StateGroup[]> =>
  (await import('../registries/features.ts')).STATE_GROUPS;

/** Returns the names of the state groups to fetch. Omits a group if `names` also contains the newer group that replaces it. */
function withoutReplaced(groups: readonly StateGroup[], names: readonly string[] | null): readonly string[] | null {
  const replaced = groups.filter(({ replacedBy }) => replacedBy !== undefined && names?.includes(replacedBy));
  return names?.filter((name) => !replaced.some((group) => group.name === name)) ?? null;
}

/**
 * Validates the options of a queue, and returns them in the form in which they are stored: without duplicate event types and
 * without lone surrogates.
 */
function checkedOptions({ viewer }: Ctx, options: QueueOptions): QueueOptions {
  const { allPublicChannels } = options;
  const eventTypes = options.eventTypes && [
    ...new Set(boundedTexts('event_types', options.eventTypes, MAX_EVENT_TYPES)),
  ];
  requireFew('narrow', options.narrow, MAX_TERMS);
  const narrow = options.narrow.map(
    ([operator, operand], i) =>
      [boundedText('narrow', operator, `narrow[${i}]`), boundedText('narrow', operand, `narrow[${i}]`)] as const,
  );
  if (allPublicChannels && isGuest(viewer.role)) {
    const details = { role: MEMBER, parameter: 'all_public_streams' } as const;
    throw new ForbiddenError('User not authorized to receive messages of all public channels', details);
  }
  for (const [i, [operator, operand]] of narrow.entries()) {
    if (!NARROW_OPERATORS.includes(operator) || (operator === 'is' && operand === 'followed')) {
      throw new ValidationError(`Operator ${operator} is not supported in the narrow of a queue`, {
        ...{ parameter: `narrow[${i}]`, value: operator },
      });
    }
  }
  const kept = { ...options, eventTypes, narrow };
  if (Buffer.byteLength(JSON.stringify(kept)) > MAX_OPTIONS_BYTES) {
    // In GraphQL, event types are an enum, so that only a narrow can be this long.
    const message = `The options of a queue are too long (limit: ${MAX_OPTIONS_BYTES} bytes)`;
    throw new ValidationError(message, { parameter: 'narrow' });
  }
  return kept;
}

function requireFew(name: string, items: readonly unknown[], max: number): void {
  if (items.length > max) throw new ValidationError(`${name} is too long`, { parameter: name, maximum: max });
}

const boundedText = (name: string, text: string, parameter: string): string =>
  requireText(name, text, { max: MAX_TEXT_LENGTH, parameter });

function boundedTexts(name: string, texts: readonly string[], max: number): string[] {
  requireFew(name, texts, max);
  return texts.map((text, i) => boundedText(name, text, `${name}[${i}]`));
}

async function readState(
  ctx: Ctx,
  asked: { readonly options: QueueOptions; readonly presenceHistoryDays: number | null },
  wantedGroups: readonly StateGroup[],
): Promise<{ lastEventId: number; state: Record<string, unknown> }> {
  const { app, work, viewer } = ctx;
  if (wantedGroups.length === 0) {
    const lastEventId = work.snapshot?.position ?? (await readCounter(work.db, viewer.organization.id)).lastId;
    return { lastEventId, state: {} };
  }
  const groups = await systemGroups(work.db, viewer.organization.id);
  return readOnSnapshot(ctx, async ({ db, position, viewer: readViewer }) => {
    const snapshot = toSnapshot({ app, db, position, ...asked, groups, viewer: await readViewer() });
    const state: Record<string, unknown> = {};
    for (const group of wantedGroups) Object.assign(state, await group.read(snapshot));
    return { lastEventId: position, state };
  });
}

/**
 * Returns the next events of a queue after `lastEventId`, in id order, and acknowledges all events up to `lastEventId`. Returns
 * none if a newer reader takes the queue while this call waits.
 *
 * @param lastEventId -1: the start of the queue. Undefined: the last acknowledged position.
 * @param block If false, the result is returned immediately, even without events.
 * @param budget Requests that the account has left. If few are left, a blocking poll waits before it reads.
 * @throws BadEventQueueIdError if the queue does not exist or has ended, or if the log does not contain the events after the
 *    position.
 * @see src/events/README.md#queues
 */
export async function getEvents(
  ctx: Ctx,
  queueId: string,
  { lastEventId, block, signal, budget }: Poll,
): Promise<Polled> {
  const { app } = requireLive(ctx.work);
  const queue = await app.queues.open(ctx, queueId, { claim: false });
  const known = lastEventId === undefined ? queue.acked : await checkPosition(app, queue, lastEventId);
  if (block) await pause(pollDelayMs(budget, Date.now()), signal);
  return longPoll(app, queue, { known, block, signal, access: readerAccess(ctx) });
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
  const { app } = requireLive(ctx.work);
  const queue = await app.queues.look(ctx, queueId);
  const known = after === undefined ? queue.acked : await checkPosition(app, queue, after);
  const tail = await app.hub.tail(queue.organizationId);
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
 * Acknowledges all events of a queue up to the id `upTo`. If a later reader sends no position, over any transport, it continues
 * after `upTo`.
 *
 * @throws BadEventQueueIdError if the queue does not exist or has ended, or (`from_future`) if the log has not reached `upTo`.
 */
export async function acknowledgeEvents(ctx: Ctx, queueId: string, upTo: number): Promise<void> {
  const { app } = requireLive(ctx.work);
  const queue = await app.queues.look(ctx, queueId);
  await app.queues.acknowledge(queue, await checkPosition(app, queue, upTo));
}

/**
 * Ends a queue. A poll that is waiting for its events returns without events.
 *
 * @throws BadEventQueueIdError if the queue does not exist, belongs to another user, or has already ended.
 */
export async function deleteQueue(ctx: Ctx, queueId: string): Promise<void> {
  await requireLive(ctx.work).app.queues.delete(ctx, queueId);
}
