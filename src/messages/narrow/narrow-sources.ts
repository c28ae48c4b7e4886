import { Prisma } from '../../generated/prisma/client.ts';
import { isUnreadBy } from '../flag-conditions.ts';
import { allOf, PLACE_OF_M, takenUpBy } from '../reading.ts';
import { type CompiledNarrow, isInNarrow, withoutSearch } from './narrow.ts';
import { type Lead, MENTIONED, RESOLVED } from './narrow-operators.ts';
import { fromSearch } from './search-source.ts';
import { firstOf, type Source, type Sources, type Stretch, within } from './stretch.ts';

const one = (source: Source): Sources => ({ all: [source], kind: 'inOneIndex' });
const ofPlace = (source: Source): Sources => ({ all: [source], kind: 'ofPlace' });
const NO_SOURCES: Sources = { all: [], kind: 'inOneIndex' };
const scattered = (all: readonly Source[]): Sources => ({ all, kind: 'scattered' });

const { sql, empty } = Prisma;
const NOWHERE = sql`NULL::int`;

const ID = sql`m.id`;

/**
 * Returns the sources of a narrow's messages. Each source reads them through an index, so the cost depends on the number of
 * requested messages and of channels and conversations that can contain them, not on the number of messages stored.
 */
export function sourcesOf(narrow: CompiledNarrow): Sources {
  const lead = bestLead(narrow);
  switch (lead?.by) {
    case 'nothing':
      return NO_SOURCES;
    case 'id':
      return one(fromIds(narrow, [lead.id]));
    case 'search':
      // A search of common words only matches nothing.
      return lead.search.query === ''
        ? NO_SOURCES
        : one(fromSearch(narrow, lead.search, sourcesOf(withoutSearch(narrow))));
    case 'row':
      return one(fromRows(narrow, lead.userId, lead.isOne));
    case 'mentioned':
      return scattered([fromRows(narrow, narrow.rights.userId, MENTIONED), ...fromReceived(narrow, WITH_WILDCARD)]);
    case 'unread':
      return scattered(unreadSourcesOf(narrow));
    case 'conversation':
      return ofPlace(fromConversation(narrow, lead.conversationId));
    case 'channel':
      return ofPlace(fromChannel(narrow, lead.channelId));
    case 'sender':
      return ofPlace(fromMessages(narrow, sql`m.sender_id = ${lead.userId}`));
    case 'channels':
      return scattered([fromChannels(narrow, lead.isOne)]);
    case 'reaction':
      return scattered([fromReactions(narrow)]);
    case 'resolved':
      return scattered(fromReceived(narrow, { isOne: RESOLVED }));
    default:
      return scattered(fromReceived(narrow, ALL));
  }
}

/** Returns the sources of the messages in a narrow that its viewer has not read. */
export const unreadSourcesOf = (narrow: CompiledNarrow): readonly Source[] =>
  fromReceived(narrow, UNREAD(narrow.rights.userId));

/** Access paths, from the smallest to the largest expected number of messages. */
const BY_REACH: readonly Lead['by'][] = [
  ...(['nothing', 'id', 'search', 'row', 'conversation', 'mentioned', 'unread', 'channel'] as const),
  ...(['direct', 'sender', 'channels', 'resolved', 'reaction'] as const),
];

function bestLead({ leads, readsHistory }: CompiledNarrow): Lead | undefined {
  const usable = leads.filter((lead) => {
    // The viewer may have received few of the messages of a channel, and only old ones.
    if (lead.by === 'channel') return readsHistory && !lead.isGuarded;
    return lead.by !== 'channels' || readsHistory;
  });
  return usable.sort((a, b) => BY_REACH.indexOf(a.by) - BY_REACH.indexOf(b.by))[0];
}

/** Builds the source of given messages. */
export function fromIds(narrow: CompiledNarrow, ids: readonly number[]): Source {
  return (stretch) => sql`
    SELECT m.id FROM message m
    WHERE m.realm_id = ${narrow.rights.realmId} AND m.id = ANY(${[...ids]}::bigint[])
      AND ${within(ID, stretch)} AND ${isInNarrow(narrow)} ${firstOf([ID], stretch)}`;
}

/**
 * Builds the source of the messages that match a condition. Requires an index that returns these messages in the order of ids.
 */
function fromMessages(narrow: CompiledNarrow, isOne: Prisma.Sql): Source {
  return (stretch) => sql`
    SELECT m.id FROM message m
    WHERE ${isOne} AND ${within(ID, stretch)} AND ${checked(isInNarrow(narrow))} ${firstOf([ID], stretch)}`;
}

/**
 * Builds the source of the messages of a channel or conversation whose readers can read all of them, so the permission is checked
 * once.
 *
 * @param isOpen Whether the viewer can read the channel or conversation.
 */
function fromPlace({ ofPlace, ofMessage }: CompiledNarrow, isOne: Prisma.Sql, isOpen: Prisma.Sql): Source {
  const isWanted = checked(allOf([ofPlace(PLACE_OF_M), ofMessage]));
  return (stretch) => sql`
    SELECT there.id FROM (
      SELECT m.id FROM message m WHERE ${isOne} AND ${within(ID, stretch)} AND ${isWanted} ${firstOf([ID], stretch)}
    ) AS there WHERE ${isOpen}`;
}

/** Builds the source of a channel's history. All users who can read the channel can read it. */
function fromChannel(narrow: CompiledNarrow, channelId: number): Source {
  const { rights, topic } = narrow;
  const isTopic = topic === undefined ? empty : sql`AND topic_key(m.topic) = topic_key(${topic})`;
  const isOpen = sql`EXISTS (
    SELECT FROM channel c WHERE c.id = ${channelId} AND c.realm_id = ${rights.realmId} AND ${rights.readsChannel})`;
  return fromPlace(narrow, sql`m.channel_id = ${channelId} ${isTopic}`, isOpen);
}

function fromConversation(narrow: CompiledNarrow, conversationId: number): Source {
  const isOpen = sql`EXISTS (
    SELECT FROM conversation_member cm
    WHERE cm.realm_id = ${narrow.rights.realmId} AND cm.user_id = ${narrow.rights.userId}
      AND cm.conversation_id = ${conversationId})`;
  return fromPlace(narrow, sql`m.conversation_id = ${conversationId}`, isOpen);
}

/**
 * Builds the conditions, the order and the limit of a read of the first messages of a channel, topic or conversation in a range
 * of ids. It reads the index on these columns and the id from one bound to the other.
 *
 * Compares and sorts rows. Between two unknown ids the planner would expect hardly any row, read all of them and then sort. With
 * an additional equality, PostgreSQL would start at the end of the channel instead of the bound.
 *
 * @param column Column of the channel or conversation. If it is `CHANNEL`, the topic of the narrow applies too.
 * @param conditions Further conditions.
 */
function along(
  { topic }: CompiledNarrow,
  column: Prisma.Sql,
  value: Prisma.Sql,
  { above = FIRST, below = LAST }: Pick<Stretch, 'above' | 'below'>,
  conditions: Prisma.Sql,
  stretch: Stretch,
): Prisma.Sql {
  const inTopic = topic !== undefined && column === CHANNEL;
  const columns = inTopic ? [column, sql`topic_key(m.topic)`] : [column];
  const values = list(inTopic ? [value, sql`topic_key(${topic}::text)`] : [value]);
  return sql`
    (${list(columns)}, m.id) > (${values}, ${above}) AND (${list(columns)}, m.id) < (${values}, ${below})
    AND ${column} IS NOT NULL AND ${conditions} ${firstOf([...columns, ID], stretch)}`;
}

const list = (parts: readonly Prisma.Sql[]) => Prisma.join([...parts], ', ');

/** Bounds below and above every id. */
const [FIRST, LAST] = [sql`0::bigint`, sql`9223372036854775807::bigint`];
const [CHANNEL, CONVERSATION] = [sql`m.channel_id`, sql`m.conversation_id`];

/** Hides the selectivity of a condition: the planner assumes that half of the rows match, and so keeps the order of the index. */
const checked = (condition: Prisma.Sql) => sql`CASE WHEN ${condition} THEN true ELSE false END`;

/** Builds the source of messages by the user's rows in `user_message`, which hold the user's flags. */
function fromRows(narrow: CompiledNarrow, userId: number, isOne: Prisma.Sql): Source {
  const id = sql`um.message_id`;
  return (stretch) => sql`
    SELECT m.id FROM user_message um JOIN message m ON m.realm_id = um.realm_id AND m.id = um.message_id
    WHERE um.realm_id = ${narrow.rights.realmId} AND um.user_id = ${userId} AND ${isOne} AND ${within(id, stretch)}
      AND ${isInNarrow(narrow)} ${firstOf([id], stretch)}`;
}

/** Builds the source of the history of all channels of a kind that the viewer can read. */
function fromChannels(narrow: CompiledNarrow, isOne: Prisma.Sql): Source {
  const { rights, ofPlace, ofMessage } = narrow;
  const place = ofPlace({ channelId: sql`c.id`, conversationId: NOWHERE });
  return (stretch) => sql`
    SELECT there.id FROM channel pc JOIN channel c ON c.realm_id = pc.realm_id AND c.id = pc.id AND ${rights.readsChannel}
    CROSS JOIN LATERAL (
      SELECT m.id FROM message m
      WHERE ${along(narrow, CHANNEL, sql`c.id`, stretch, checked(ofMessage), stretch)}
    ) AS there
    WHERE pc.realm_id = ${rights.realmId} AND ${isOne} AND ${place}`;
}

/** Builds the source of messages with a reaction. These are usually few. */
function fromReactions(narrow: CompiledNarrow): Source {
  const { realmId } = narrow.rights;
  return (stretch) => sql`
    SELECT there.id FROM (
      SELECT DISTINCT r.message_id FROM reaction r
      WHERE r.realm_id = ${realmId} AND ${within(sql`r.message_id`, stretch)}
    ) AS reacted CROSS JOIN LATERAL (
      SELECT m.id FROM message m
      WHERE m.realm_id = ${realmId} AND m.id = reacted.message_id AND ${isInNarrow(narrow)} LIMIT 1
    ) AS there ${firstOf([sql`reacted.message_id`], stretch)}`;
}

/** A selection of the messages that a user received. */
interface Part {
  /** Condition on the message `m` that an index can answer. */
  readonly isOne: Prisma.Sql;
  /** Further condition on the message `m`. */
  readonly also?: Prisma.Sql;
  /** Whether messages before the user's read marks are skipped, except those marked unread. */
  readonly afterMarks?: boolean;
}

const ALL: Part = { isOne: sql`true` };
const WITH_WILDCARD: Part = { isOne: sql`m.channel_wildcard` };
const UNREAD = (userId: number): Part => ({ isOne: sql`true`, also: isUnreadBy(userId), afterMarks: true });

/**
 * Returns the sources of the messages that the user received and can read now. They split the condition `receivedBy` of
 * access.ts, so that an index returns the messages of each part in the order of ids.
 */
function fromReceived(
  narrow: CompiledNarrow,
  { isOne, also = sql`true`, afterMarks = false }: Part,
): readonly Source[] {
  const { rights, ofPlace, ofMessage } = narrow;
  const { userId, realmId } = rights;
  const there = sql`${isOne} AND ${checked(allOf([ofMessage, also]))}`;
  const marks = (recipientId: Prisma.Sql) =>
    afterMarks
      ? sql`LEFT JOIN read_mark r ON r.realm_id = ${realmId} AND r.user_id = ${userId} AND r.recipient_id = ${recipientId}`
      : empty;
  const channelMarks = marks(sql`p.channel_id::bigint * 2`);
  // Without a mark, `read_through` is null and GREATEST ignores it.
  const afterMark = (above = FIRST) => (afterMarks ? sql`GREATEST(${above}, r.read_through)` : above);
  const inPeriod = ({ above, below = LAST }: Stretch) => ({
    above: sql`GREATEST(${afterMark(above)}, p.began_message_id)`,
    below: sql`LEAST(${below}, p.ended_message_id + 1)`,
  });
  const sources: Record<'sent' | 'direct' | 'other', Source> = {
    // Messages still in the channel in which they were sent.
    sent: (stretch) => sql`
      SELECT sent.id FROM subscription_period p
      JOIN channel c ON c.realm_id = ${realmId} AND c.id = p.channel_id AND ${rights.readsChannel} ${channelMarks}
      CROSS JOIN LATERAL (
        SELECT m.id FROM message m
        WHERE ${along(narrow, CHANNEL, sql`p.channel_id`, inPeriod(stretch), sql`${checked(sql`m.sent_channel_id = m.channel_id`)} AND ${there}`, stretch)}
      ) AS sent
      WHERE p.realm_id = ${realmId} AND p.user_id = ${userId} AND ${ofPlace({ channelId: sql`p.channel_id`, conversationId: NOWHERE })}`,
    direct: (stretch) => sql`
      SELECT direct.id FROM conversation_member cm ${marks(sql`cm.conversation_id::bigint * 2 + 1`)}
      CROSS JOIN LATERAL (
        SELECT m.id FROM message m
        WHERE ${along(narrow, CONVERSATION, sql`cm.conversation_id`, { ...stretch, above: afterMark(stretch.above) }, there, stretch)}
      ) AS direct
      WHERE cm.realm_id = ${realmId} AND cm.user_id = ${userId}
        AND ${ofPlace({ channelId: NOWHERE, conversationId: sql`cm.conversation_id` })}`,
    // Other channel messages, which are few: moved, sent by the user, starred without having been received, or marked unread.
    other: (stretch) => sql`
      SELECT there.id FROM (
        SELECT moved.id FROM subscription_period p ${channelMarks} CROSS JOIN LATERAL (
          SELECT m.id FROM message m
          WHERE m.sent_channel_id = p.channel_id AND m.channel_id <> m.sent_channel_id AND ${within(ID, inPeriod(stretch))}
          OFFSET 0
        ) AS moved WHERE p.realm_id = ${realmId} AND p.user_id = ${userId}
        UNION ALL
        SELECT m.id FROM message m
        WHERE m.sender_id = ${userId}::int AND ${within(ID, stretch)} ${afterMarks ? sql`AND NOT m.read_by_sender` : empty}
        UNION ALL
        SELECT taken.message_id FROM (${takenUpBy(realmId, userId)}) AS taken WHERE ${within(sql`taken.message_id`, stretch)}
      ) AS other CROSS JOIN LATERAL (
        SELECT m.id FROM message m
        WHERE m.realm_id = ${realmId} AND m.id = other.id AND ${isOne}
          AND ${allOf([rights.mayRead, ofPlace(PLACE_OF_M), ofMessage, also])} LIMIT 1
      ) AS there`,
  };
  // The user is a member of the conversation of every direct message that they can read. But a message that they marked as unread
  // can lie before the read mark, where `direct` does not look.
  return narrow.isDirect && !afterMarks ? [sources.direct] : [sources.sent, sources.direct, sources.other];
}
