import { toGlobalId } from '../../api/graphql/schema/global-ids.ts';
import { MAX_UNREAD } from '../flags/unread.ts';
import { MAX_MENTIONS } from '../flags/unread-mentions.ts';
import type { UnreadPart, UnreadScope, UnreadState } from '../flags/unread-state.ts';
import { INHERITED, MUTED, type TopicPolicy } from '../topic-policies/policies.ts';
import { channelRecipientId, conversationRecipientId } from '../wire.ts';
import type { PlaceChange, SentChange, UnreadStateChange } from './changes.ts';

/** The subscriptions of the users of an organization. */
export interface Subscriptions {
  /** Returns whether a user was subscribed to a channel when an event happened. True if that is not known. */
  isSubscribed(userId: number, channelId: number, eventId: number): boolean;
}

/** The parts of a user's unread state that must be read from the database. */
export interface Missing extends UnreadScope {
  /**
   * Whether all counts must be read. If true, the caller first reads all counts, and then those of the listed channels and
   * conversations.
   */
  readonly isWhole: boolean;
}

/** A range of events whose effect is not in the counts yet: the ids of the first and the last event. */
interface Gap {
  readonly first: number;
  readonly last: number;
}

const hasGapAt = (gap: Gap | undefined, position: number): boolean => gap !== undefined && gap.first <= position;

function withGap(gap: Gap | undefined, { id, width }: UnreadStateChange): Gap {
  // The ids of an event end at `id`. Clients can receive the first of them before the others.
  return { first: gap?.first ?? id - width + 1, last: id };
}

/** If the counts of more channels and conversations than this are outdated, all counts are read. */
const MANY_PLACES = 50;

/** Approximate bytes that a user, a channel or conversation, and the subscription to a channel take in memory. */
const [USER_BYTES, PLACE_BYTES, SUBSCRIPTION_BYTES] = [1_000, 200, 1_000];

/** The unread state of a user in one channel or conversation. */
class LocationCounts {
  readonly recipientId: number;
  /** Id of the last event whose effect the counts contained when they were read. */
  readonly at: number;
  unmuted = 0;
  muted = 0;
  /** Numbers of unread mentions, by the key of the topic. The key is "" in a conversation. */
  readonly mentions = new Map<string, number>();
  /** The subscription to a channel. Undefined until it is read. Always undefined for a conversation. */
  subscription: SubscriptionState | undefined;
  gap: Gap | undefined;

  constructor(recipientId: number, at: number) {
    this.recipientId = recipientId;
    this.at = at;
  }

  get isChannel(): boolean {
    return this.recipientId % 2 === 0;
  }

  /** Id of the channel or conversation. */
  get id(): number {
    return Math.floor(this.recipientId / 2);
  }

  get mentionCount(): number {
    let sum = 0;
    if (this.mentions.size === 0) return sum;
    for (const count of this.mentions.values()) sum += count;
    return sum;
  }

  get isEmpty(): boolean {
    return this.unmuted + this.muted === 0 && this.mentions.size === 0;
  }
}

/** The state of a user's subscription to a channel. */
interface SubscriptionState {
  readonly isSubscribed: boolean;
  /** Whether messages of the channel are counted: the user is subscribed, and the channel is not archived. */
  readonly isCounted: boolean;
  readonly isMuted: boolean;
  /** The user's visibility policies for topics, by topic key. */
  readonly policies: ReadonlyMap<string, number>;
  /** Topics whose unread messages were counted, by topic key. */
  readonly topics: Map<string, TopicCount>;
}

/** Number of unread messages in a topic. */
interface TopicCount {
  /**
   * Id of the last event whose effect the count contained when this object was created. It is created when the count is read
   * from the database, and again when the other counts of its channel are replaced.
   */
  readonly at: number;
  messages: number;
}

/**
 * Maximum number of topics of one channel whose counts stay in memory when the other counts of the channel are replaced. If the
 * channel has more counted topics, the counts of all of them are dropped.
 */
const MAX_TOPICS = 100;

const isMutedIn = ({ isMuted, policies }: SubscriptionState, topic: string): boolean => {
  const policy = policies.get(topic);
  return policy === undefined ? isMuted : policy === MUTED;
};

const NOT_SUBSCRIBED = { isSubscribed: false, isCounted: false, isMuted: false, policies: new Map<string, number>() };

/**
 * The unread counts of one user. They are read from the database once. Afterwards a new message changes them without a read.
 * Any other change of unread state marks the counts of a channel or conversation, or all counts, as outdated. They are read
 * again when they are needed.
 */
export class ReaderCounts {
  readonly userId: number;
  /** Global id of the user's unread counts. */
  readonly id: string;
  /** Id of the last event that was applied. */
  through = 0;
  /** Time at which the counts were marked as recently used, on the clock of `performance`. */
  usedAt = 0;
  /**
   * Id of the last event whose effect the counts contained when all of them were read. Undefined if all must be read: at first,
   * and after `reset`.
   */
  #at: number | undefined;
  readonly #places = new Map<number, LocationCounts>();
  /** Channels and conversations whose counts are outdated: they lack the effect of some events. */
  readonly #outdated = new Set<LocationCounts>();
  #gap: Gap | undefined;
  #unmutedInChannels = 0;
  #muted = 0;
  #inConversations = 0;
  #mentions = 0;
  /**
   * Number of messages that mention the user by name, through a group or through @topic. If there are more than `MAX_MENTIONS`,
   * a change of one of them can change which others are counted.
   */
  #named = 0;
  #subscriptions = 0;
  readonly #subscriptionIds = new Map<number, string>();

  constructor(userId: number) {
    this.userId = userId;
    this.id = toGlobalId('UnreadCounts', userId);
  }

  /** Whether all counts were read at least once. Some of them can be outdated. */
  get isRead(): boolean {
    return this.#at !== undefined;
  }

  get total(): number {
    return this.#unmutedInChannels + this.#inConversations;
  }

  get inChannels(): number {
    return this.#unmutedInChannels;
  }

  get inConversations(): number {
    return this.#inConversations;
  }

  get mentions(): number {
    return this.#mentions;
  }

  get hasOlder(): boolean {
    return this.total + this.#muted > MAX_UNREAD;
  }

  /** Approximate memory use of the counts, in bytes. */
  get bytes(): number {
    return USER_BYTES + PLACE_BYTES * this.#places.size + SUBSCRIPTION_BYTES * this.#subscriptions;
  }

  /** Whether the user is subscribed to a channel. */
  isSubscribed(channelId: number): boolean {
    return this.#channel(channelId)?.subscription?.isSubscribed ?? false;
  }

  /** Returns the global id of the user's subscription to a channel. */
  subscriptionId(channelId: number): string {
    let id = this.#subscriptionIds.get(channelId);
    if (id === undefined) {
      id = toGlobalId('ChannelSubscription', `${this.userId}:${channelId}`);
      this.#subscriptionIds.set(channelId, id);
    }
    return id;
  }

  /** Returns the number of unread messages in a channel, in a topic of it, or in a conversation. */
  messagesIn(recipientId: number, topic?: string): number {
    const place = this.#places.get(recipientId);
    if (place === undefined) return 0;
    if (topic === undefined) return place.unmuted + place.muted;
    return place.subscription?.topics.get(topic)?.messages ?? 0;
  }

  /** Returns the number of unread messages in a channel or conversation that are not muted. */
  unmutedIn(recipientId: number): number {
    return this.#places.get(recipientId)?.unmuted ?? 0;
  }

  /** Returns the number of unread mentions in a channel, in a topic of it, or in a conversation. */
  mentionsIn(recipientId: number, topic?: string): number {
    const place = this.#places.get(recipientId);
    if (place === undefined || place.mentions.size === 0) return 0;
    return topic === undefined ? place.mentionCount : (place.mentions.get(topic) ?? 0);
  }

  /** Returns the user's visibility policy for a topic of a channel. `INHERITED` if the user is not subscribed. */
  policyIn(recipientId: number, topic: string): TopicPolicy {
    const policy = this.#places.get(recipientId)?.subscription?.policies.get(topic);
    return (policy ?? INHERITED) as TopicPolicy;
  }

  #channel(channelId: number): LocationCounts | undefined {
    return this.#places.get(channelRecipientId(channelId));
  }

  /**
   * Returns whether the counts contain the effects of all events up to a position, and all parts that are to be shown.
   *
   * @param shown Topics, channels and conversations whose counts are to be shown.
   */
  has(position: number, { channelIds, topics }: UnreadScope): boolean {
    if (this.#at === undefined || hasGapAt(this.#gap, position)) return false;
    if (this.#outdated.size > 0) for (const { gap } of this.#outdated) if (hasGapAt(gap, position)) return false;
    for (const id of channelIds) if (this.#channel(id)?.subscription === undefined) return false;
    for (const { channelId, key } of topics)
      if (this.#channel(channelId)?.subscription?.topics.has(key) !== true) return false;
    return true;
  }

  /** Returns the parts that must be read, so that `has` returns true. */
  missing(position: number, { channelIds, topics }: UnreadScope): Missing {
    const outdated = [...this.#outdated].filter(({ gap }) => hasGapAt(gap, position));
    const isWhole = this.#at === undefined || hasGapAt(this.#gap, position) || outdated.length > MANY_PLACES;
    const again = isWhole ? [] : outdated;
    const isMissing = (id: number) => isWhole || this.#channel(id)?.subscription === undefined;
    const ofTopics = topics.filter(
      ({ channelId, key }) => isMissing(channelId) || this.#channel(channelId)?.subscription?.topics.has(key) !== true,
    );
    const missingIds = [...channelIds.filter(isMissing), ...ofTopics.map(({ channelId }) => channelId)];
    const readIds = new Set([...again.filter(({ isChannel }) => isChannel).map(({ id }) => id), ...missingIds]);
    return {
      isWhole,
      channelIds: [...readIds].sort((a, b) => a - b),
      // The counts of all topics that are shown in a channel are read with the channel.
      topics: topics.filter(({ channelId }) => readIds.has(channelId)),
      conversationIds: again.filter(({ isChannel }) => !isChannel).map(({ id }) => id),
    };
  }

  /**
   * Replaces all counts by counts that were read from the database. Does nothing if a later read has already replaced them. The
   * caller then applies the changes that were logged after the position of this read.
   */
  replaceAll({ position, parts }: UnreadState): void {
    if (this.#at !== undefined && position < this.#at) return;
    this.#at = position;
    this.through = Math.max(this.through, position);
    this.#gap = undefined;
    this.#places.clear();
    this.#outdated.clear();
    this.#unmutedInChannels = 0;
    this.#muted = 0;
    this.#inConversations = 0;
    this.#mentions = 0;
    this.#subscriptions = 0;
    for (const part of parts) {
      if (part.kind === 'named') this.#named = part.count;
      else addTo(this.#place(recipientIdOf(part)), part);
    }
    for (const place of this.#places.values()) this.#count(place, 1);
  }

  /**
   * Replaces the counts of channels and conversations by counts that were read from the database. The caller then applies the
   * changes that were logged after the position of the read.
   *
   * @returns Recipient ids of the channels and conversations whose counts were replaced.
   */
  replace({ position, parts }: UnreadState, scope: UnreadScope): ReadonlySet<number> {
    const replaced = new Map<number, LocationCounts>();
    if (this.#at === undefined || position < this.#at) return new Set();
    const recipientIds = [
      ...scope.channelIds.map(channelRecipientId),
      ...scope.conversationIds.map(conversationRecipientId),
    ];
    for (const recipientId of recipientIds) {
      if (position >= (this.#places.get(recipientId)?.at ?? 0))
        replaced.set(recipientId, new LocationCounts(recipientId, position));
    }
    for (const place of replaced.values()) {
      if (place.isChannel) place.subscription = { ...NOT_SUBSCRIBED, topics: this.#topicsKept(place.recipientId) };
    }
    for (const { channelId, key } of scope.topics)
      replaced.get(channelRecipientId(channelId))?.subscription?.topics.set(key, { at: position, messages: 0 });
    for (const part of parts) {
      if (part.kind === 'named') continue;
      const place = replaced.get(recipientIdOf(part));
      if (place !== undefined) addTo(place, part);
    }
    for (const place of replaced.values()) this.#put(place);
    return new Set(replaced.keys());
  }

  /**
   * Returns the counts of topics that stay in memory when the other counts of the channel are replaced. Empty if they lack the
   * effect of events, or if there are more than `MAX_TOPICS`.
   */
  #topicsKept(recipientId: number): Map<string, TopicCount> {
    const { gap, subscription } = this.#places.get(recipientId) ?? {};
    const kept = new Map<string, TopicCount>();
    if (gap !== undefined || subscription === undefined || subscription.topics.size > MAX_TOPICS) return kept;
    for (const [key, { messages }] of subscription.topics) kept.set(key, { at: this.through, messages });
    return kept;
  }

  #put(place: LocationCounts): void {
    const before = this.#places.get(place.recipientId);
    if (before !== undefined) {
      this.#count(before, -1);
      this.#outdated.delete(before);
    }
    if (place.isChannel && before?.subscription === undefined) this.#subscriptions++;
    this.#places.set(place.recipientId, place);
    this.#count(place, 1);
  }

  /** Adds the counts of a channel or conversation to the totals, or subtracts them. */
  #count(place: LocationCounts, sign: 1 | -1): void {
    if (place.isChannel) this.#unmutedInChannels += sign * place.unmuted;
    else this.#inConversations += sign * place.unmuted;
    this.#muted += sign * place.muted;
    this.#mentions += sign * place.mentionCount;
  }

  #place(recipientId: number): LocationCounts {
    let place = this.#places.get(recipientId);
    if (place === undefined) {
      place = new LocationCounts(recipientId, this.#at ?? 0);
      this.#places.set(recipientId, place);
    }
    return place;
  }

  /** Marks all counts as outdated, because changes are missing. */
  reset(): void {
    this.#at = undefined;
  }

  /**
   * Applies a change.
   *
   * @param only Recipient ids of the channels and conversations to which the change is applied. Undefined: all.
   */
  apply(change: UnreadStateChange, subscriptions: Subscriptions, only?: ReadonlySet<number>): void {
    if (this.#at === undefined || change.id <= this.#at) return;
    if (change.userIds !== null && !change.userIds.includes(this.userId)) return;
    if (change.kind === 'sent') this.#applySent(change, subscriptions, only);
    else if (change.kind === 'places') this.#applyPlaces(change, subscriptions, only);
    else if (only === undefined) this.#gap = withGap(this.#gap, change);
  }

  #applySent(
    change: SentChange & UnreadStateChange,
    subscriptions: Subscriptions,
    only: ReadonlySet<number> | undefined,
  ): void {
    const { id, recipientId, topic, readBy, mentioned, topicMentioned, isWildcard } = change;
    const { userId } = this;
    const isNamed = mentioned.includes(userId) || topicMentioned.includes(userId);
    if (isNamed && only === undefined) this.#addNamed(change);
    if ((only !== undefined && !only.has(recipientId)) || readBy.includes(userId)) return;
    const known = this.#places.get(recipientId);
    if (topic !== null && known?.subscription === undefined && !subscriptions.isSubscribed(userId, recipientId / 2, id))
      return;
    const place = known ?? this.#place(recipientId);
    const isNew = id > place.at;
    const { subscription } = place;
    const isUnknown = place.gap !== undefined || (topic !== null && subscription === undefined);
    if (subscription?.isCounted === false && !isUnknown) return;
    const isMuted = topic !== null && subscription !== undefined && isMutedIn(subscription, topic);
    const isMention = mentioned.includes(userId) || (!isMuted && (isWildcard || topicMentioned.includes(userId)));
    // A mention can change which older mentions are counted (see `MAX_MENTIONS`), so the counts of its channel or conversation
    // are outdated.
    if (isNew && (isUnknown || isMention)) {
      this.#outdate(place, change);
      return;
    }
    const count = subscription?.topics.get(topic ?? '');
    if (count !== undefined && id > count.at) count.messages++;
    if (isNew) this.#addMessage(place, isMuted);
  }

  #addMessage(place: LocationCounts, isMuted: boolean): void {
    if (isMuted) {
      place.muted++;
      this.#muted++;
    } else {
      place.unmuted++;
      if (place.isChannel) this.#unmutedInChannels++;
      else this.#inConversations++;
    }
  }

  #applyPlaces(
    change: PlaceChange & UnreadStateChange,
    subscriptions: Subscriptions,
    only: ReadonlySet<number> | undefined,
  ): void {
    const { id, userIds, recipientIds, effect, mentioned, losesMentions } = change;
    const isNamed = mentioned.includes(this.userId);
    if (only === undefined && isNamed) this.#addNamed(change);
    if (only === undefined && losesMentions && this.#named > MAX_MENTIONS) this.#gap = withGap(this.#gap, change);
    for (const recipientId of recipientIds) {
      if (only !== undefined && !only.has(recipientId)) continue;
      const known = this.#places.get(recipientId);
      if (known !== undefined && id <= known.at) continue;
      if (known?.gap === undefined) {
        if (effect === 'fewer' && (known === undefined || known.isEmpty)) continue;
        if (effect === 'mentions' && !isNamed && (known?.mentions.size ?? 0) === 0) continue;
        const isChannelOfAll = userIds === null && recipientId % 2 === 0;
        const isOwn =
          known?.subscription?.isSubscribed ??
          (known !== undefined || subscriptions.isSubscribed(this.userId, recipientId / 2, id));
        if (isChannelOfAll && !isOwn) continue;
      }
      this.#outdate(known ?? this.#place(recipientId), change);
    }
  }

  #addNamed(change: UnreadStateChange): void {
    this.#named++;
    if (this.#named > MAX_MENTIONS) this.#gap = withGap(this.#gap, change);
  }

  #outdate(place: LocationCounts, change: UnreadStateChange): void {
    place.gap = withGap(place.gap, change);
    this.#outdated.add(place);
  }
}

type PlacedPart = Exclude<UnreadPart, { readonly kind: 'named' }>;

const recipientIdOf = ({ channelId, conversationId }: PlacedPart): number =>
  channelId === null ? conversationRecipientId(conversationId ?? 0) : channelRecipientId(channelId);

function addTo(place: LocationCounts, part: PlacedPart): void {
  switch (part.kind) {
    case 'messages':
      if (part.isMuted) place.muted += part.count;
      else place.unmuted += part.count;
      break;
    case 'mentions':
      place.mentions.set(part.topic, part.count);
      break;
    case 'topic':
      place.subscription?.topics.set(part.topic, { at: place.at, messages: part.count });
      break;
    case 'subscription': {
      const { isMuted, isArchived, policies } = part;
      const topics = place.subscription?.topics ?? new Map<string, TopicCount>();
      const ofTopics = new Map(Object.entries(policies ?? {}));
      place.subscription = { isSubscribed: true, isCounted: !isArchived, isMuted, policies: ofTopics, topics };
      break;
    }
  }
}
