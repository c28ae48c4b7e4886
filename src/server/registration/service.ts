import type { Ctx } from '../../access/context.ts';
import { systemGroups } from '../../access/permissions/system-groups.ts';
import { readerAccess } from '../../access/sign-in.ts';
import { readAtOnce } from '../../access/snapshot.ts';
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
import { BadRequestError } from '../../platform/errors.ts';
import { isGuest } from '../../platform/roles.ts';
import { requireText } from '../../platform/text.ts';
import { STATE_GROUPS } from '../registries/state-groups.ts';

/** Without a wish of the client's. */
export const DEFAULT_IDLE_SECONDS = 600;
/** What "mobile" stands for. */
export const MOBILE_IDLE_SECONDS = 43_200;
/** A longer wish is cut to this. */
const MAX_IDLE_SECONDS = 604_800;

/** Narrow operators that can be judged from a message alone. */
const NARROW_OPERATORS = ['channel', 'stream', 'topic', 'sender', 'is'];

/**
 * Our choice: a queue's options are kept and compared with every event, so they are bounded. No name, topic or address
 * is as long, and there are fewer event types; what is told apart by them takes fewer terms.
 */
const [MAX_EVENT_TYPES, MAX_TERMS, MAX_TEXT_LENGTH] = [200, 20, 300];
/** Our choice, of all options as JSON: several times what naming every event type takes. */
const MAX_OPTIONS_BYTES = 16 * 1024;

/** What a client registers a queue with. */
export interface Registration {
  readonly options: QueueOptions;
  /** Data groups for the snapshot; null: those of the event types, or all. Unknown names are no error. */
  readonly fetchEventTypes: readonly string[] | null;
  /** How far back presence goes in the snapshot; 0: there is none. Absent or null: 14 days. */
  readonly presenceHistoryDays?: number | null;
  /** How long the queue lives with nobody reading, 1 second or more. */
  readonly idleTimeoutSecs: number;
}

/** A fresh queue, and the state of the world its first event follows. */
export interface Registered {
  readonly queueId: string;
  /** The first event has a higher id; everything up to this id is in `state`. */
  readonly lastEventId: number;
  readonly idleTimeoutSecs: number;
  /** The fields of the data groups asked for, in the document's names; some are JSON already, as `JsonBytes`. */
  readonly state: Readonly<Record<string, unknown>>;
}

/**
 * Makes a queue and reads the state it starts from, in one snapshot: the state with the events after `lastEventId` has
 * no gap and no duplicate.
 *
 * @throws BadRequestError for a narrow that events cannot be filtered by, for more or longer event types and terms than
 *   anybody needs, for all public channels as a guest, and for an idle time-out under a second.
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
  return { queueId: id, lastEventId, idleTimeoutSecs: idle, state };
}

/** Without the older of two names for the same, where a client that knows both gives both. */
function withoutReplaced(names: readonly string[] | null): readonly string[] | null {
  const replaced = STATE_GROUPS.filter(({ replacedBy }) => replacedBy !== undefined && names?.includes(replacedBy));
  return names?.filter((name) => !replaced.some((group) => group.name === name)) ?? null;
}

/** The options as they are kept: each event type once, and no half characters. */
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
    throw new BadRequestError('User not authorized to hear all public channels');
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
  return readAtOnce(ctx, async ({ db, position, viewer: readViewer }) => {
    const snapshot = toSnapshot({ app, db, position, ...asked, groups, viewer: await readViewer() });
    const state: Record<string, unknown> = {};
    for (const group of wantedGroups) Object.assign(state, await group.read(snapshot));
    return { lastEventId: position, state };
  });
}

/**
 * The queue's next events for a client that has everything up to `lastEventId`, which this acknowledges.
 *
 * @param lastEventId -1: from the start of the queue; undefined: from what was acknowledged before.
 * @param block False: answers at once, perhaps with nothing.
 * @throws BadEventQueueIdError when the queue or the position in it is lost.
 * @see src/events/README.md#queues
 */
export async function getEvents(
  ctx: Ctx,
  queueId: string,
  { lastEventId, block, signal }: { lastEventId: number | undefined; block: boolean; signal: AbortSignal },
): Promise<readonly EventPiece[]> {
  const queue = await ctx.app.queues.open(ctx, queueId, { claim: false });
  const known = lastEventId === undefined ? queue.acked : await checkPosition(ctx.app, queue, lastEventId);
  return longPoll(ctx.app, queue, { known, block, signal, access: readerAccess(ctx) });
}

/** Some events of a queue, read without taking the queue or acknowledging anything. */
export interface QueuePage {
  readonly pieces: readonly EventPiece[];
  /** The position to read on from. */
  readonly endId: number;
  readonly hasMore: boolean;
}

/**
 * The queue's events after `after`, at once, changing nothing: neither the position nor who reads the queue.
 *
 * @param after -1: the start of the queue; undefined: what was acknowledged.
 * @throws BadEventQueueIdError when the queue or the position in it is lost.
 */
export async function peekEvents(ctx: Ctx, queueId: string, after: number | undefined): Promise<QueuePage> {
  const { app } = ctx;
  const queue = await app.queues.look(ctx, queueId);
  const known = after === undefined ? queue.acked : await checkPosition(app, queue, after);
  const window = await app.hub.window(queue.realmId);
  const recipient = await window.recipient(queue.userId, known);
  try {
    const page = await readPage(app, window, { recipient, options: queue.options, position: known, now: app.now() });
    const pieces = page.events
      .flatMap((event) => piecesFor(app, event, { recipient, queue }))
      .filter(({ id }) => id > known);
    return { pieces, endId: page.through, hasMore: page.through < window.through };
  } catch (error) {
    if (error instanceof PrunedError) throw new BadEventQueueIdError(queueId, 'pruned');
    throw error;
  }
}

/**
 * Acknowledges everything up to `upTo`, on any transport: a later reader that names no position resumes after it.
 *
 * @throws BadEventQueueIdError when the queue is lost, or `from_future` when the log has not come that far.
 */
export async function acknowledgeEvents(ctx: Ctx, queueId: string, upTo: number): Promise<void> {
  const queue = await ctx.app.queues.look(ctx, queueId);
  await ctx.app.queues.acknowledge(queue, await checkPosition(ctx.app, queue, upTo));
}

/**
 * Ends a queue; its reader is answered with what there is.
 *
 * @throws BadEventQueueIdError when it is unknown, another user's, or over already.
 */
export function deleteQueue(ctx: Ctx, queueId: string): Promise<void> {
  return ctx.app.queues.delete(ctx, queueId);
}
