import type { Audience } from '../../events/audience.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { type EventReactions, eventReactions } from '../reactions/queries.ts';
import type { UserFlags } from '../wire.ts';

/** Read states of a message for a user. `historical` (read) and `historical_unread` are for users who did not receive it. */
const READ_STATES = ['unread', 'read', 'historical', 'historical_unread'] as const;
type RecipientReadState = (typeof READ_STATES)[number];

/** Flags of a message for all recipients of an event, as JSON. Each list has the ids of the users for whom the flag is set. */
export interface RecipientFlags {
  readonly starred: readonly number[];
  readonly collapsed: readonly number[];
  readonly mentioned: readonly number[];
  readonly topicMentioned: readonly number[];
  readonly alerted: readonly number[];
  /** Whether the message mentions all users who received it. */
  readonly channelWildcard: boolean;
  /** Most frequent read state. It applies to each recipient whom no list in `others` contains. */
  readonly most: RecipientReadState;
  readonly others: { readonly [S in RecipientReadState]?: readonly number[] };
}

/** Returns the flags of the message for one recipient of the event. */
export function flagsOf(flags: RecipientFlags, userId: number): UserFlags {
  const has = (ids: readonly number[]) => ids.includes(userId);
  const readState = READ_STATES.find((one) => has(flags.others[one] ?? [])) ?? flags.most;
  const isHistorical = readState === 'historical' || readState === 'historical_unread';
  return {
    read: readState === 'read' || readState === 'historical',
    starred: has(flags.starred),
    collapsed: has(flags.collapsed),
    mentioned: has(flags.mentioned),
    channelWildcard: flags.channelWildcard && !isHistorical,
    topicWildcard: has(flags.topicMentioned),
    hasAlertWord: has(flags.alerted),
    historical: isHistorical,
  };
}

type IdList = RecipientReadState | 'starred' | 'collapsed' | 'mentioned' | 'topic_mentioned' | 'alerted';
type FlagRow = Readonly<Record<IdList, readonly number[] | null>> & {
  readonly channel_wildcard: boolean;
  readonly reactions: EventReactions;
};

/** Flags of a changed message for all recipients, and the reactions to it. */
interface ChangedFlags {
  readonly flags: RecipientFlags;
  /** Reactions to the message. */
  readonly reactions: EventReactions;
}

/**
 * Reads the flags of a message for all recipients of a change, and the reactions to the message. Used for an event that is
 * about to be logged. The subscriptions of the channels in the audience must be locked.
 *
 * The conditions on access and read state are equivalent to `receivedBy` and `isUnreadBy`, but for many users in one query. The
 * query must be fast, because the organization's event counter is locked while it runs.
 */
export async function readFlagsAndReactions(
  tx: SqlClient,
  organizationId: number,
  messageId: number,
  { channelIds, userIds }: Audience,
): Promise<ChangedFlags> {
  const [row] = await tx.$queryRaw<FlagRow[]>`
    WITH changed AS (
      SELECT sender_id, read_by_sender, sent_channel_id, channel_wildcard,
             COALESCE(2 * sent_channel_id::bigint, 2 * conversation_id::bigint + 1) AS recipient_id
      FROM message WHERE realm_id = ${organizationId} AND id = ${messageId}
    ), recipient AS (
      SELECT user_id AS id FROM subscription
      WHERE realm_id = ${organizationId} AND channel_id = ANY(${[...channelIds]}) AND active
      UNION SELECT unnest(${[...userIds]}::int[])
    ), subscriber AS (
      SELECT DISTINCT user_id AS id FROM subscription_period
      WHERE realm_id = ${organizationId} AND channel_id = (SELECT sent_channel_id FROM changed)
        AND began_message_id < ${messageId}
        AND (ended_message_id IS NULL OR ended_message_id >= ${messageId})
    ), standing AS (
      SELECT h.id, r.received, COALESCE(NOT x.is_read, r.received AND NOT (h.id = c.sender_id AND c.read_by_sender)
               AND COALESCE(k.read_through, 0) < ${messageId}) AS unread
      FROM changed c CROSS JOIN recipient h
      LEFT JOIN subscriber s ON s.id = h.id
      LEFT JOIN read_exception x ON x.realm_id = ${organizationId} AND x.message_id = ${messageId} AND x.user_id = h.id
      LEFT JOIN read_mark k ON k.realm_id = ${organizationId} AND k.user_id = h.id AND k.recipient_id = c.recipient_id
      CROSS JOIN LATERAL (SELECT c.sent_channel_id IS NULL OR h.id = c.sender_id OR s.id IS NOT NULL AS received) AS r
    ), sum AS (
      SELECT array_agg(id) FILTER (WHERE received AND unread) AS unread,
             array_agg(id) FILTER (WHERE received AND NOT unread) AS read,
             array_agg(id) FILTER (WHERE NOT received AND NOT unread) AS historical,
             array_agg(id) FILTER (WHERE NOT received AND unread) AS historical_unread FROM standing
    ), flagged AS (
      SELECT array_agg(user_id) FILTER (WHERE starred) AS starred,
             array_agg(user_id) FILTER (WHERE collapsed) AS collapsed,
             array_agg(user_id) FILTER (WHERE mentioned) AS mentioned,
             array_agg(user_id) FILTER (WHERE topic_wildcard_mentioned) AS topic_mentioned,
             array_agg(user_id) FILTER (WHERE has_alert_word) AS alerted
      FROM user_message WHERE realm_id = ${organizationId} AND message_id = ${messageId}
    )
    SELECT sum.*, flagged.*, changed.channel_wildcard, ${eventReactions(organizationId, messageId)} AS reactions
    FROM sum, flagged, changed`;
  if (row === undefined) throw new Error(`Message ${messageId} does not exist`);
  const count = (one: RecipientReadState) => row[one]?.length ?? 0;
  const most = READ_STATES.reduce<RecipientReadState>((a, b) => (count(b) > count(a) ? b : a), 'unread');
  const rest = READ_STATES.filter((one) => one !== most && count(one) > 0);
  const flags: RecipientFlags = {
    starred: row.starred ?? [],
    collapsed: row.collapsed ?? [],
    mentioned: row.mentioned ?? [],
    topicMentioned: row.topic_mentioned ?? [],
    alerted: row.alerted ?? [],
    channelWildcard: row.channel_wildcard,
    most,
    others: Object.fromEntries(rest.map((one) => [one, row[one] ?? []])),
  };
  return { flags, reactions: row.reactions };
}
