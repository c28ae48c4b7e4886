import { topicKey } from '../../contract/topic-key.ts';
import type { StoredEvent } from '../../events/stored.ts';
import type { DeletedPayload, UpdatedPayload } from '../edits/events.ts';
import type { SentPayload } from '../events.ts';
import type { FlagsPayload } from '../flags/events.ts';
import { channelRecipientId, conversationRecipientId } from '../wire.ts';

/**
 * Change of unread state that an event describes. Users are listed by id; null stands for all users of the organization.
 * Channels and conversations are named by their recipient ids.
 */
export type UnreadStateChange = { readonly id: number; readonly width: number } & (
  | SentChange
  | PlaceChange
  | WholeChange
);

/** A new message. */
export interface SentChange {
  readonly kind: 'sent';
  readonly recipientId: number;
  /** Key of the topic: its name without differences of letter case and Unicode form. Null for a direct message. */
  readonly topic: string | null;
  /** Ids of the members of the conversation. Null for a channel message, which concerns all subscribers of the channel. */
  readonly userIds: readonly number[] | null;
  /** Ids of users for whom the message is marked as read. */
  readonly readBy: readonly number[];
  readonly mentioned: readonly number[];
  readonly topicMentioned: readonly number[];
  /** Whether the message mentions all members of the channel or conversation. */
  readonly isWildcard: boolean;
}

/** A change in channels and conversations, whose counts must be read again. */
export interface PlaceChange {
  readonly kind: 'places';
  readonly userIds: readonly number[] | null;
  readonly recipientIds: readonly number[];
  /**
   * The counts that can change. `any`: every count. `fewer`: every count, but counts can only decrease, so a count of 0 stays
   * 0. `mentions`: counts of mentions, which can only decrease unless the user is in `mentioned`.
   */
  readonly effect: 'any' | 'fewer' | 'mentions';
  /** Whether users can lose mentions, including mentions in messages that they have read. */
  readonly losesMentions: boolean;
  readonly mentioned: readonly number[];
}

/** A change whose channels and conversations are not known, so that all counts must be read again. */
interface WholeChange {
  readonly kind: 'whole';
  readonly userIds: readonly number[] | null;
}

type Change = SentChange | PlaceChange | WholeChange;

const places = (
  userIds: PlaceChange['userIds'],
  recipientIds: readonly number[],
  { effect = 'any', losesMentions = false, mentioned = [] }: Partial<PlaceChange> = {},
): PlaceChange => ({ kind: 'places', userIds, recipientIds, effect, losesMentions, mentioned });

/** Payload of an event `subscription/add`, with only the fields that concern unread state. */
interface SubscriptionsAdded {
  readonly subscribers: readonly {
    readonly user_id: number;
    readonly subscriptions: readonly { readonly stream_id: number }[];
  }[];
}
interface SubscriptionsRemoved {
  readonly channels: readonly { readonly stream_id: number; readonly user_ids: readonly number[] }[];
}
interface OfChannel {
  readonly stream_id: number;
}
interface ChannelUpdated extends OfChannel {
  readonly change: { readonly property: string };
}

// biome-ignore lint/suspicious/noExplicitAny: each function receives only payloads of its own kind of event.
type ChangesIn = (payload: any, event: StoredEvent) => readonly Change[];

/** Names of the settings of a subscription that mute the channel. */
export const MUTING_SETTINGS: readonly string[] = ['is_muted', 'in_home_view'];

/** The kinds of events that change unread state, by type and operation. */
const CHANGES: Readonly<Record<string, ChangesIn>> = {
  message: (payload: SentPayload, { audience }) => [
    {
      kind: 'sent',
      recipientId: payload.recipientId,
      topic: payload.channel === null ? null : topicKey(payload.topic),
      userIds: payload.channel === null ? audience.userIds : null,
      readBy: [...(payload.readBySender ? [payload.sender.id] : []), ...(payload.readBy ?? [])],
      mentioned: payload.mentioned,
      topicMentioned: payload.topicMentioned,
      isWildcard: payload.channelWildcard,
    },
  ],
  update_message: inEdit,
  delete_message: (payload: DeletedPayload, { audience }) => {
    const recipientId = recipientIdOf(payload.place?.channelId, payload.conversationId);
    if (recipientId === undefined) return [{ kind: 'whole', userIds: audience.userIds }];
    return [places(null, [recipientId], { effect: 'fewer', losesMentions: true })];
  },
  'update_message_flags/add': (payload: FlagsPayload, event) => inFlags(payload, event, 'fewer'),
  'update_message_flags/remove': (payload: FlagsPayload, event) => inFlags(payload, event, 'any'),
  user_topic: ({ stream_id }: OfChannel, { audience }) => [places(audience.userIds, [channelRecipientId(stream_id)])],
  'subscription/add': ({ subscribers }: SubscriptionsAdded) =>
    subscribers.map(({ user_id, subscriptions }) =>
      places(
        [user_id],
        subscriptions.map(({ stream_id }) => channelRecipientId(stream_id)),
      ),
    ),
  'subscription/remove': ({ channels }: SubscriptionsRemoved) =>
    channels.map(({ stream_id, user_ids }) => places(user_ids, [channelRecipientId(stream_id)])),
  'subscription/update': ({ stream_id, property }: OfChannel & { readonly property: string }, { audience }) =>
    MUTING_SETTINGS.includes(property) ? [places(audience.userIds, [channelRecipientId(stream_id)])] : [],
  'stream/update': ({ stream_id, change }: ChannelUpdated) =>
    change.property === 'is_archived' ? [places(null, [channelRecipientId(stream_id)])] : [],
};

function inEdit(payload: UpdatedPayload, { audience }: StoredEvent): readonly Change[] {
  const { channel, move, content, flags, conversationId } = payload;
  const changes: Change[] = [];
  if (content !== null) {
    const recipientId = recipientIdOf(channel?.id, conversationId);
    const mentioned = [...flags.mentioned, ...flags.topicMentioned];
    const effect = flags.channelWildcard ? 'any' : 'mentions';
    changes.push(
      recipientId === undefined
        ? { kind: 'whole', userIds: audience.userIds }
        : places(null, [recipientId], { effect, mentioned, losesMentions: true }),
    );
  }
  if (move === null || channel === null) return changes;
  const from = channelRecipientId(channel.id);
  changes.push(places(null, [from], { effect: 'fewer', losesMentions: true }));
  if (move.channelId !== null) changes.push(places(null, [channelRecipientId(move.channelId)]));
  return changes;
}

function inFlags({ flag, all, places: concerned }: FlagsPayload, { audience }: StoredEvent, effect: 'any' | 'fewer') {
  const { userIds } = audience;
  if (flag !== 'read') return [];
  // Events of previous versions do not contain the locations.
  if (all === true || concerned === undefined) return [{ kind: 'whole', userIds } as const];
  const recipientIds = [
    ...concerned.topics.map(({ channelId }) => channelRecipientId(channelId)),
    ...concerned.conversationIds.map(conversationRecipientId),
  ];
  return [places(userIds, [...new Set(recipientIds)], { effect })];
}

function recipientIdOf(channelId: number | undefined, conversationId: number | null | undefined): number | undefined {
  if (channelId !== undefined) return channelRecipientId(channelId);
  return conversationId == null ? undefined : conversationRecipientId(conversationId);
}

/**
 * Returns the changes of unread state that an event describes. If the payload was erased, or has an unexpected form, all users
 * may be concerned.
 */
export function changesIn(event: StoredEvent): readonly UnreadStateChange[] {
  const { id, width, type, op, payload } = event;
  const changes = CHANGES[op === null ? type : `${type}/${op}`];
  if (changes === undefined) return [];
  return changesOrAll(changes, payload, event).map((change) => ({ id, width, ...change }));
}

function changesOrAll(changes: ChangesIn, payload: unknown, event: StoredEvent): readonly Change[] {
  try {
    if (Object.keys(payload as object).length > 0) return changes(payload, event);
  } catch {
    // If the payload has an unexpected form, all counts count as changed.
  }
  return [{ kind: 'whole', userIds: null }];
}
