import { Prisma } from '../../generated/prisma/client.ts';
import { isUnreadBy } from '../flag-conditions.ts';
import { allOf, PLACE_OF_M, type ReadingRights, takenUpBy } from '../reading.ts';
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
 * Returns the sources of the messages of a narrow (message filter). Each source reads messages through an index. So the cost
 * does not depend on the number of stored messages. It depends on the number of requested messages, and on the number of
 * channels and conversations that can contain them.
 */
export function sourcesOf(narrow: CompiledNarrow): Sources {
  const lead = bestLead(narrow);
  switch (lead?.by) {
    case 'nothing':
      return NO_SOURCES;
    case 'id':
      return one(fromIds(narrow, [lead.id]));
    case 'search':
      // A search that contains only common words matches no message.
      return lead.search.isEmpty ? NO_SOURCES : one(fromSearch(narrow, lead.search, sourcesOf(withoutSearch(narrow))));
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

/** Returns the sources of those messages of a narrow that its viewer has not read. */
export const unreadSourcesOf = (narrow: CompiledNarrow): readonly Source[] =>
  fromReceived(narrow, UNREAD(narrow.rights));

/** Access paths, ordered by the number of messages that they are expected to return, smallest first. */
const BY_REACH: readonly Lead['by'][] = [
  ...(['nothing', 'id', 'search', 'row', 'conversation', 'mentioned', 'unread', 'channel'] as const),
  ...(['direct', 'sender', 'channels', 'resolved', 'reaction'] as const),
];

function bestLead({ leads, readsHistory }: CompiledNarrow): Lead | undefined {
  const usable = leads.filter((lead) => {
    // If the narrow includes only received messages, the index of the channel is unsuitable: the viewer may have received only
    // few and old messages of the channel.
    if (lead.by === 'channel') return readsHistory && !lead.isGuarded;
    return lead.by !== 'channels' || readsHistory;
  });
  return usable.sort((a, b) => BY_REACH.indexOf(a.by) - BY_REACH.indexOf(b.by))[0];
}

/** Builds a source that returns those of the messages `ids` that match the narrow. */
export function fromIds(narrow: CompiledNarrow, ids: readonly number[]): Source {
  return (stretch) => sql`
    SELECT m.id FROM message m
    WHERE m.realm_id = ${narrow.rights.organizationId} AND m.id = ANY(${[...ids]}::bigint[])
      AND ${within(ID, stretch)} AND ${isInNarrow(narrow)} ${firstOf([ID], stretch)}`;
}

/**
 * Builds a source that returns the messages that meet the condition `isOne`. Requires an index that returns these messages in
 * the order of ids.
 */
function fromMessages(narrow: CompiledNarrow, isOne: Prisma.Sql): Source {
  return (stretch) => sql`
    SELECT m.id FROM message m
    WHERE m.realm_id = ${narrow.rights.organizationId} AND ${isOne}
      AND ${within(ID, stretch)} AND ${checked(isInNarrow(narrow))} ${firstOf([ID], stretch)}`;
}

/**
 * Builds a source that returns the messages of one channel or conversation. Each of its readers must be permitted to read all
 * of its messages, because the permission is checked only once.
 *
 * @param isOne SQL condition that the message `m` is in the channel or conversation.
 * @param isOpen SQL condition that the viewer can read the channel or conversation.
 */
function fromPlace({ rights, ofPlace, ofMessage }: CompiledNarrow, isOne: Prisma.Sql, isOpen: Prisma.Sql): Source {
  const isWanted = checked(allOf([ofPlace(PLACE_OF_M), ofMessage]));
  return (stretch) => sql`
    SELECT there.id FROM (
      SELECT m.id FROM message m
      WHERE m.realm_id = ${rights.organizationId} AND ${isOne} AND ${within(ID, stretch)} AND ${isWanted} ${firstOf([ID], stretch)}
    ) AS there WHERE ${isOpen}`;
}

/**
 * Builds a source that returns the messages of a channel. Every reader of the channel must be permitted to read all of its
 * messages.
 */
function fromChannel(narrow: CompiledNarrow, channelId: number): Source {
  const { rights, topic } = narrow;
  const isTopic = topic === undefined ? empty : sql`AND topic_key(m.topic) = topic_key(${topic})`;
  const isOpen = sql`EXISTS (
    SELECT FROM channel c WHERE c.id = ${channelId} AND c.realm_id = ${rights.organizationId} AND ${rights.readsChannel})`;
  return fromPlace(narrow, sql`m.channel_id = ${channelId} ${isTopic}`, isOpen);
}

function fromConversation(narrow: CompiledNarrow, conversationId: number): Source {
  const isOpen = sql`EXISTS (
    SELECT FROM conversation_member cm
    WHERE cm.realm_id = ${narrow.rights.organizationId} AND cm.user_id = ${narrow.rights.userId}
      AND cm.conversation_id = ${conversationId})`;
  return fromPlace(narrow, sql`m.conversation_id = ${conversationId}`, isOpen);
}

/**
 * Builds the WHERE conditions, ORDER BY and LIMIT that read the first messages of a channel, topic or conversation in a range
 * of ids. PostgreSQL then reads the index on the compared columns from one bound to the other.
 *
 * Compares and sorts row values such as `(channel_id, id)`. If only ids were compared, the planner would expect hardly any row
 * between the bounds, and would read all rows before sorting them. With an additional equality condition on the column,
 * PostgreSQL would start at the end of the channel instead of the bound. An equality condition on the organization has no such
 * effect, because this column comes first in the index.
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

/** SQL bounds of message ids: `FIRST` is below every id, `LAST` is above every id. */
const [FIRST, LAST] = [sql`0::bigint`, sql`9223372036854775807::bigint`];
const [CHANNEL, CONVERSATION] = [sql`m.channel_id`, sql`m.conversation_id`];

/**
 * Hides from the planner how selective a condition is. The planner then assumes that half of the rows match, and therefore
 * reads rows in the order of the index.
 */
const checked = (condition: Prisma.Sql) => sql`CASE WHEN ${condition} THEN true ELSE false END`;

/**
 * Builds a source that returns the messages for which the user's row in `user_message` meets the condition `isOne`. Such a row
 * contains the user's flags for one message.
 */
function fromRows(narrow: CompiledNarrow, userId: number, isOne: Prisma.Sql): Source {
  const id = sql`um.message_id`;
  return (stretch) => sql`
    SELECT m.id FROM user_message um JOIN message m ON m.realm_id = um.realm_id AND m.id = um.message_id
    WHERE um.realm_id = ${narrow.rights.organizationId} AND um.user_id = ${userId} AND ${isOne} AND ${within(id, stretch)}
      AND ${isInNarrow(narrow)} ${firstOf([id], stretch)}`;
}

/** Builds a source that returns the messages of all channels that meet the condition `isOne` and that the viewer can read. */
function fromChannels(narrow: CompiledNarrow, isOne: Prisma.Sql): Source {
  const { rights, ofPlace, ofMessage } = narrow;
  const place = ofPlace({ channelId: sql`c.id`, conversationId: NOWHERE });
  return (stretch) => sql`
    SELECT there.id FROM channel pc JOIN channel c ON c.realm_id = pc.realm_id AND c.id = pc.id AND ${rights.readsChannel}
    CROSS JOIN LATERAL (
      SELECT m.id FROM message m
      WHERE m.realm_id = ${rights.organizationId} AND ${along(narrow, CHANNEL, sql`c.id`, stretch, checked(ofMessage), stretch)}
    ) AS there
    WHERE pc.realm_id = ${rights.organizationId} AND ${isOne} AND ${place}`;
}

/** Builds a source that returns the messages that have a reaction. Usually, few messages have a reaction. */
function fromReactions(narrow: CompiledNarrow): Source {
  const { organizationId } = narrow.rights;
  return (stretch) => sql`
    SELECT there.id FROM (
      SELECT DISTINCT r.message_id FROM reaction r
      WHERE r.realm_id = ${organizationId} AND ${within(sql`r.message_id`, stretch)}
    ) AS reacted CROSS JOIN LATERAL (
      SELECT m.id FROM message m
      WHERE m.realm_id = ${organizationId} AND m.id = reacted.message_id AND ${isInNarrow(narrow)} LIMIT 1
    ) AS there ${firstOf([sql`reacted.message_id`], stretch)}`;
}

/** Restrictions on the messages that `fromReceived` returns. */
interface ReceivedFilter {
  /** SQL condition on the message `m` that an index can answer. */
  readonly isOne: Prisma.Sql;
  /** Further SQL condition on the message `m`. */
  readonly also?: Prisma.Sql;
  /**
   * Whether to skip messages up to the user's read mark, except those that the user marked as unread. A read mark is the id up
   * to which the user has read a channel or conversation.
   */
  readonly afterMarks?: boolean;
}

const ALL: ReceivedFilter = { isOne: sql`true` };
const WITH_WILDCARD: ReceivedFilter = { isOne: sql`m.channel_wildcard` };
const UNREAD = ({ organizationId, userId }: ReadingRights): ReceivedFilter => ({
  isOne: sql`true`,
  also: isUnreadBy(organizationId, userId),
  afterMarks: true,
});

/**
 * Returns the sources of the messages that the user received and can read now, and of those in `takenUpBy`. Each source covers
 * a part of the condition `holds` of `ReadingRights` that an index can answer in the order of ids.
 */
function fromReceived(
  narrow: CompiledNarrow,
  { isOne, also = sql`true`, afterMarks = false }: ReceivedFilter,
): readonly Source[] {
  const { rights, ofPlace, ofMessage } = narrow;
  const { userId, organizationId } = rights;
  const there = sql`${isOne} AND ${checked(allOf([ofMessage, also]))}`;
  const marks = (recipientId: Prisma.Sql) =>
    afterMarks
      ? sql`LEFT JOIN read_mark r ON r.realm_id = ${organizationId} AND r.user_id = ${userId} AND r.recipient_id = ${recipientId}`
      : empty;
  const channelMarks = marks(sql`p.channel_id::bigint * 2`);
  // If the user has no read mark, `read_through` is null and GREATEST ignores it.
  const afterMark = (above = FIRST) => (afterMarks ? sql`GREATEST(${above}, r.read_through)` : above);
  const inPeriod = ({ above, below = LAST }: Stretch) => ({
    above: sql`GREATEST(${afterMark(above)}, p.began_message_id)`,
    below: sql`LEAST(${below}, p.ended_message_id + 1)`,
  });
  const sources: Record<'sent' | 'direct' | 'other', Source> = {
    // Messages still in the channel in which they were sent.
    sent: (stretch) => sql`
      SELECT sent.id FROM subscription_period p
      JOIN channel c ON c.realm_id = ${organizationId} AND c.id = p.channel_id AND ${rights.readsChannel} ${channelMarks}
      CROSS JOIN LATERAL (
        SELECT m.id FROM message m
        WHERE m.realm_id = ${organizationId} AND ${along(narrow, CHANNEL, sql`p.channel_id`, inPeriod(stretch), sql`${checked(sql`m.sent_channel_id = m.channel_id`)} AND ${there}`, stretch)}
      ) AS sent
      WHERE p.realm_id = ${organizationId} AND p.user_id = ${userId} AND ${ofPlace({ channelId: sql`p.channel_id`, conversationId: NOWHERE })}`,
    direct: (stretch) => sql`
      SELECT direct.id FROM conversation_member cm ${marks(sql`cm.conversation_id::bigint * 2 + 1`)}
      CROSS JOIN LATERAL (
        SELECT m.id FROM message m
        WHERE m.realm_id = ${organizationId} AND ${along(narrow, CONVERSATION, sql`cm.conversation_id`, { ...stretch, above: afterMark(stretch.above) }, there, stretch)}
      ) AS direct
      WHERE cm.realm_id = ${organizationId} AND cm.user_id = ${userId}
        AND ${ofPlace({ channelId: NOWHERE, conversationId: sql`cm.conversation_id` })}`,
    // All other messages, which are few: messages that were moved, sent by the user, starred without having been received, or
    // marked as unread.
    other: (stretch) => sql`
      SELECT there.id FROM (
        SELECT moved.id FROM subscription_period p ${channelMarks} CROSS JOIN LATERAL (
          SELECT m.id FROM message m
          WHERE m.realm_id = ${organizationId} AND m.sent_channel_id = p.channel_id AND m.channel_id <> m.sent_channel_id AND ${within(ID, inPeriod(stretch))}
          OFFSET 0
        ) AS moved WHERE p.realm_id = ${organizationId} AND p.user_id = ${userId}
        UNION ALL
        SELECT m.id FROM message m
        WHERE m.realm_id = ${organizationId} AND m.sender_id = ${userId}::int AND ${within(ID, stretch)} ${afterMarks ? sql`AND NOT m.read_by_sender` : empty}
        UNION ALL
        SELECT taken.message_id FROM (${takenUpBy(organizationId, userId)}) AS taken WHERE ${within(sql`taken.message_id`, stretch)}
      ) AS other CROSS JOIN LATERAL (
        SELECT m.id FROM message m
        WHERE m.realm_id = ${organizationId} AND m.id = other.id AND ${isOne}
          AND ${allOf([rights.mayRead, ofPlace(PLACE_OF_M), ofMessage, also])} LIMIT 1
      ) AS there`,
  };
  // Without `afterMarks`, `direct` finds all direct messages that the user can read. With `afterMarks`, it skips messages
  // before the read mark, and the user may have marked some of them as unread. `other` finds these.
  return narrow.isDirect && !afterMarks ? [sources.direct] : [sources.sent, sources.direct, sources.other];
}
