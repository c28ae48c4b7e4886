import type { Db } from '../platform/db/client.ts';
import type { Listener } from './audience.ts';
import type { UserEffect } from './define.ts';
import { readRoleChanges, readStretches, type SubscriptionStretch } from './log-reads.ts';

interface Stretch {
  began: number;
  ended: number | null;
}

/**
 * The roles and subscriptions of one user at every id of the log above `#knownAfter`. They are read from the database once,
 * then updated by each later event of the log. Live delivery and replay both use this object.
 */
export class EventRecipient implements Listener {
  readonly organizationId: number;
  readonly userId: number;
  readonly #stretches = new Map<number, Stretch[]>();
  /** Role changes of the user, ascending by event id. */
  readonly #roleChanges: { id: number; oldRole: number; newRole: number }[] = [];
  #role = 0;
  /** The roles and subscriptions are complete for event ids above this id. */
  #knownAfter = Number.POSITIVE_INFINITY;
  /** Ends of subscriptions that were logged while a read was in progress. The result of the read may lack them. */
  #endings: { channelId: number; id: number }[] = [];
  #loading: Promise<void> = Promise.resolve();

  constructor(organizationId: number, userId: number) {
    this.organizationId = organizationId;
    this.userId = userId;
  }

  /**
   * Loads the roles and subscriptions for every id above `after`. The log tail must hold the recipient before this is called,
   * so that no event that is logged during the read is missed. The tail applies the effects of such events, and the result of
   * the read is merged with them.
   */
  load(db: Db, after: number): Promise<void> {
    this.#loading = this.#loading.catch(() => {}).then(() => this.#read(db, after));
    return this.#loading;
  }

  async #read(db: Db, after: number): Promise<void> {
    if (after >= this.#knownAfter) return;
    // The role is read before the list of role changes. If a change commits between the two reads, the list contains it, and
    // the list takes precedence.
    const { role } = await db.user.findUniqueOrThrow({
      where: { organizationId_id: { organizationId: this.organizationId, id: this.userId } },
      select: { role: true },
    });
    const changes = await readRoleChanges(db, this, after);
    for (const stretch of await readStretches(db, this, after)) this.#mergeStretch(stretch);
    for (const change of changes) this.#mergeRole(change);
    if (this.#roleChanges.length === 0) this.#role = role;
    for (const { channelId, id } of this.#endings) this.#end(channelId, id);
    this.#endings = [];
    this.#knownAfter = after;
  }

  /** Whether the roles and subscriptions at this id of the log have been read. */
  isKnownAt(eventId: number): boolean {
    return eventId > this.#knownAfter;
  }

  roleAt(eventId: number): number {
    const changes = this.#roleChanges;
    if (changes.length === 0) return this.#role;
    return (changes.find(({ id }) => id > eventId)?.oldRole ?? changes.at(-1)?.newRole) as number;
  }

  isSubscribedAt(channelId: number, eventId: number): boolean {
    const stretches = this.#stretches.get(channelId);
    return stretches?.some(({ began, ended }) => began <= eventId && (ended === null || eventId < ended)) ?? false;
  }

  /**
   * Returns the ranges of ids in which the user was subscribed to a channel, if they extend beyond `after`. For reading the
   * log.
   */
  stretchesAfter(after: number): SubscriptionStretch[] {
    return [...this.#stretches].flatMap(([channelId, stretches]) =>
      stretches.filter(({ ended }) => ended === null || ended > after).map((stretch) => ({ channelId, ...stretch })),
    );
  }

  /** Applies the change that event `id` made to this user. Idempotent. */
  apply(id: number, effect: UserEffect): void {
    if (effect.kind === 'role') this.#mergeRole({ id, oldRole: effect.oldRole, newRole: effect.newRole });
    if (effect.kind === 'subscribed') {
      for (const channelId of effect.channelIds) this.#mergeStretch({ channelId, began: id, ended: null });
    }
    if (effect.kind === 'unsubscribed') {
      for (const channelId of effect.channelIds) {
        this.#endings.push({ channelId, id });
        this.#end(channelId, id);
      }
      // Ends are needed only while a read is in progress, so the oldest ones can be dropped.
      if (this.#endings.length > 1000) this.#endings.splice(0, 500);
    }
  }

  #mergeStretch({ channelId, began, ended }: SubscriptionStretch): void {
    const stretches = this.#stretches.get(channelId) ?? [];
    const known = stretches.find((stretch) => stretch.began === began);
    if (known === undefined) stretches.push({ began, ended });
    else known.ended ??= ended;
    this.#stretches.set(channelId, stretches);
  }

  #end(channelId: number, id: number): void {
    for (const stretch of this.#stretches.get(channelId) ?? []) {
      if (stretch.ended === null && stretch.began < id) stretch.ended = id;
    }
  }

  #mergeRole(change: { id: number; oldRole: number; newRole: number }): void {
    if (this.#roleChanges.some(({ id }) => id === change.id)) return;
    this.#roleChanges.push(change);
    this.#roleChanges.sort((a, b) => a.id - b.id);
  }
}
