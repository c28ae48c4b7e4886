import { LRUCache } from 'lru-cache';
import {
  type EventReader,
  ReaderField,
  type ReaderSource,
  type ReaderValue,
} from '../../api/graphql/schema/reader-values.ts';
import type { LogTail } from '../../events/log-tail.ts';
import type { EventPiece } from '../../events/rendering.ts';
import { BatchedReads } from '../../platform/db/batched-reads.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { shareOfHeap } from '../../platform/memory.ts';
import { readUnreadStates, readUnreadStatesIn, type UnreadScope, type UnreadState } from '../flags/unread-state.ts';
import { changesIn, type UnreadStateChange } from './changes.ts';
import { ReaderCounts, type Subscriptions } from './counts.ts';
import { scopeOf } from './scopes.ts';

/**
 * Maximum bytes of the counts of all users of this process. Beyond it, the counts that were used least recently are dropped,
 * and read again when needed.
 */
const MAX_BYTES = shareOfHeap(1 / 16, 128 * 1024 * 1024);
/**
 * Number of changes that are held in memory for users who have not received an event for a while. Beyond twice this number, the
 * oldest changes are dropped, and counts that lack them are read again.
 */
const MAX_CHANGES = 4_096;
/** Weight of a read of all counts of one user, compared with a read of the counts of one channel. */
const WHOLE_WEIGHT = 20;

/** The counts of all users in memory. The value of an entry is a function that removes the counts from their organization. */
const held = new LRUCache<ReaderCounts, () => void>({
  maxSize: MAX_BYTES,
  sizeCalculation: (_drop, { bytes }) => bytes,
  dispose: (drop, _counts, reason) => {
    if (reason === 'evict') drop();
  },
});

/** Minimum time, in milliseconds, between two marks of the same counts as recently used. */
const USE_MS = 1_000;

/** Marks counts as recently used. */
function use(counts: ReaderCounts): void {
  const now = performance.now();
  if (now - counts.usedAt < USE_MS) return;
  counts.usedAt = now;
  held.get(counts);
}

/** The counts of the users of one organization, and the changes of unread state in the log tail. */
class OrganizationCounts implements Subscriptions {
  readonly #tail: LogTail;
  readonly #users = new Map<number, ReaderCounts>();
  /** Changes after `#base`, in the order of the log. */
  #changes: UnreadStateChange[] = [];
  #base: number;
  #through: number;

  constructor(tail: LogTail) {
    this.#tail = tail;
    this.#base = tail.through;
    this.#through = tail.through;
  }

  /** Returns the counts of a user, with all changes of the log tail applied. Undefined if none are in memory. */
  find(userId: number): ReaderCounts | undefined {
    const counts = this.#users.get(userId);
    if (counts === undefined) return undefined;
    use(counts);
    this.#takeIn();
    if (counts.through < this.#through) this.#applyTo(counts);
    return counts;
  }

  /**
   * Returns the counts of a user. If none are in memory, creates an empty object, whose counts must be read before they are
   * used.
   */
  findOrCreate(userId: number): ReaderCounts {
    const known = this.find(userId);
    if (known !== undefined) return known;
    const counts = new ReaderCounts(userId);
    this.#takeIn();
    counts.through = this.#through;
    this.#users.set(userId, counts);
    return counts;
  }

  /**
   * Replaces counts of a user by counts that were read from the database. If the changes after this read are no longer in
   * memory, all counts must be read again.
   *
   * @param state The counts that were read.
   * @param scope Channels, topics and conversations whose counts were read. Undefined: all.
   */
  store(counts: ReaderCounts, state: UnreadState, scope?: UnreadScope): void {
    this.#takeIn();
    this.#applyTo(counts);
    if (state.position < this.#base) counts.reset();
    else if (scope === undefined) {
      counts.replaceAll(state);
      this.#applyAfter(state.position, counts);
    } else this.#applyAfter(state.position, counts, counts.replace(state, scope));
    // The size is computed when the counts are added.
    held.delete(counts);
    held.set(counts, () => {
      if (this.#users.get(counts.userId) === counts) this.#users.delete(counts.userId);
    });
  }

  /** Reads the changes of the events that were added to the log tail. */
  #takeIn(): void {
    const { through } = this.#tail;
    if (through === this.#through) return;
    if (!this.#tail.covers(this.#through)) {
      this.#changes = [];
      this.#base = through;
    } else {
      for (const event of this.#tail.after(this.#through)) this.#changes.push(...changesIn(event));
      if (this.#changes.length > 2 * MAX_CHANGES) {
        const dropped = this.#changes.splice(0, this.#changes.length - MAX_CHANGES);
        this.#base = dropped.at(-1)?.id ?? this.#base;
      }
    }
    this.#through = through;
  }

  #applyTo(counts: ReaderCounts): void {
    if (counts.through < this.#base) counts.reset();
    this.#applyAfter(counts.through, counts);
    counts.through = Math.max(counts.through, this.#through);
  }

  /**
   * Applies the changes of the events after `position` to the counts of a user.
   *
   * @param only Recipient ids of the channels and conversations to which the changes are applied. Undefined: all.
   */
  #applyAfter(position: number, counts: ReaderCounts, only?: ReadonlySet<number>): void {
    const changes = this.#changes;
    let at = changes.length;
    while (at > 0 && (changes[at - 1] as UnreadStateChange).id > position) at--;
    for (; at < changes.length; at++) counts.apply(changes[at] as UnreadStateChange, this, only);
  }

  isSubscribed(userId: number, channelId: number, eventId: number): boolean {
    const recipient = this.#tail.knownRecipient(userId);
    // If the subscriptions are not in memory, the user may be subscribed to any channel.
    return recipient?.isKnownAt(eventId) !== true || recipient.isSubscribedAt(channelId, eventId);
  }
}

interface WantedState {
  readonly userId: number;
  /** Channels, topics and conversations whose counts are read. Undefined: all counts. */
  readonly scope: UnreadScope | undefined;
}

/** Reads the unread states that are missing in memory. One statement serves all users who need the same parts. */
async function readWanted(
  db: SqlClient,
  organizationId: number,
  wanted: readonly WantedState[],
): Promise<readonly UnreadState[]> {
  const alike = Map.groupBy(wanted, ({ scope }) => JSON.stringify(scope));
  const found = new Map<string | undefined, Map<number, UnreadState>>();
  for (const [key, some] of alike) {
    const userIds = [...new Set(some.map(({ userId }) => userId))];
    const scope = some[0]?.scope;
    const states =
      scope === undefined
        ? await readUnreadStates(db, organizationId, userIds)
        : await readUnreadStatesIn(db, organizationId, userIds, scope);
    found.set(key, new Map(userIds.map((id, i) => [id, states[i] as UnreadState])));
  }
  return wanted.map(({ userId, scope }) => found.get(JSON.stringify(scope))?.get(userId) as UnreadState);
}

/**
 * The unread counts of the users who are connected to this node. They follow the log of events, so that most events can be sent
 * with the counts of their recipients without a read.
 */
class LiveCounts implements ReaderSource<ReaderCounts> {
  readonly #organizations = new WeakMap<LogTail, OrganizationCounts>();
  readonly #reads = new BatchedReads<WantedState, UnreadState>(
    ({ db, organizationId }, wanted) => readWanted(db, organizationId, wanted),
    ({ scope }) => (scope === undefined ? WHOLE_WEIGHT : 1 + scope.channelIds.length + scope.topics.length),
  );
  current({ app, organizationId, userId }: EventReader, piece: EventPiece): ReaderCounts | undefined {
    const tail = app.hub.openedTail(organizationId);
    if (tail === undefined) return undefined;
    const counts = this.#of(tail).find(userId);
    return counts?.has(piece.id, scopeOf(piece)) === true ? counts : undefined;
  }

  async load(reader: EventReader, piece: EventPiece): Promise<void> {
    const organization = await this.#opened(reader);
    const counts = organization.findOrCreate(reader.userId);
    const { isWhole, channelIds, topics, conversationIds } = counts.missing(piece.id, scopeOf(piece));
    if (isWhole) await this.#read(reader, organization, counts);
    if (channelIds.length + conversationIds.length > 0)
      await this.#read(reader, organization, counts, { channelIds, topics, conversationIds });
  }

  async loadAhead(reader: EventReader): Promise<void> {
    const organization = await this.#opened(reader);
    const counts = organization.findOrCreate(reader.userId);
    if (!counts.isRead) await this.#read(reader, organization, counts);
  }

  /**
   * Reads unread counts of a user from the database into memory.
   *
   * @param scope Channels, topics and conversations whose counts are read. Undefined: all counts.
   */
  async #read(
    { app, organizationId, userId }: EventReader,
    organization: OrganizationCounts,
    counts: ReaderCounts,
    scope?: UnreadScope,
  ): Promise<void> {
    const [state] = await this.#reads.of({ db: app.db, organizationId }, [{ userId, scope }]);
    if (state !== undefined) organization.store(counts, state, scope);
  }

  async #opened({ app, organizationId }: EventReader): Promise<OrganizationCounts> {
    return this.#of(await app.hub.tail(organizationId));
  }

  shapeOf(counts: ReaderCounts, piece: EventPiece): string {
    let shape = '';
    for (const id of scopeOf(piece).channelIds) shape += counts.isSubscribed(id) ? '1' : '0';
    return shape;
  }

  #of(tail: LogTail): OrganizationCounts {
    let counts = this.#organizations.get(tail);
    if (counts === undefined) {
      counts = new OrganizationCounts(tail);
      this.#organizations.set(tail, counts);
    }
    return counts;
  }
}

export const liveCounts = new LiveCounts();

/** Returns a field whose value is taken from the unread counts of each reader. */
export const ofReader = <V>(of: (value: V) => (counts: ReaderCounts) => ReaderValue) => new ReaderField(liveCounts, of);
