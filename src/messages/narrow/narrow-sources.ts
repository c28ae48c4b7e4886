import { Prisma } from '../../generated/prisma/client.ts';
import { allOf, PLACE_OF_M, takenUpBy } from '../reading.ts';
import { isUnreadBy } from '../user-flags.ts';
import { type CompiledNarrow, isInNarrow } from './narrow.ts';
import { type Lead, MENTIONED, RESOLVED } from './narrow-operators.ts';
import { fromSearch } from './search-source.ts';
import { firstOf, type Source, type Stretch, within } from './stretch.ts';

/** The sources that together hold all of a narrow's messages. */
export interface Sources {
  readonly all: readonly Source[];
  /** Whether there are many places to look in, each of which may have as many as are wanted of all. */
  readonly areScattered: boolean;
}

const one = (source: Source): Sources => ({ all: [source], areScattered: false });
const scattered = (all: readonly Source[]): Sources => ({ all, areScattered: true });

const { sql, empty } = Prisma;
const NOWHERE = sql`NULL::int`;

const ID = sql`m.id`;

/**
 * Where a narrow's messages are found, each source through an index that leads to them: what it costs hangs on how much
 * is wanted, and on how many places it may be in, not on how much there is.
 */
export function sourcesOf(narrow: CompiledNarrow): Sources {
  const lead = bestLead(narrow);
  switch (lead?.by) {
    case 'nothing':
      return { all: [], areScattered: false };
    case 'id':
      return one(fromIds(narrow, [lead.id]));
    case 'search':
      return one(fromSearch(narrow, lead.search));
    case 'row':
      return one(fromRows(narrow, lead.userId, lead.isOne));
    case 'mentioned':
      return scattered([fromRows(narrow, narrow.rights.userId, MENTIONED), ...fromReceived(narrow, WITH_WILDCARD)]);
    case 'unread':
      return scattered(unreadSourcesOf(narrow));
    case 'conversation':
      return one(fromConversation(narrow, lead.conversationId));
    case 'channel':
      return one(fromChannel(narrow, lead.channelId));
    case 'sender':
      return one(fromMessages(narrow, sql`m.sender_id = ${lead.userId}`));
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

/** What is unread in a narrow for its viewer. */
export const unreadSourcesOf = (narrow: CompiledNarrow): readonly Source[] =>
  fromReceived(narrow, UNREAD(narrow.rights.userId));

/** From the one that leads to the fewest messages to the one that leads to the most. */
const BY_REACH: readonly Lead['by'][] = [
  ...(['nothing', 'id', 'search', 'row', 'conversation', 'mentioned', 'unread', 'channel'] as const),
  ...(['direct', 'sender', 'channels', 'resolved', 'reaction'] as const),
];

function bestLead({ leads, readsHistory }: CompiledNarrow): Lead | undefined {
  const usable = leads.filter((lead) => {
    // What was received in a channel may be little of it, and lie far back.
    if (lead.by === 'channel') return readsHistory && !lead.isGuarded;
    if (lead.by === 'channels') return readsHistory;
    return lead.by !== 'search' || lead.search.lexemes.length > 0;
  });
  return usable.sort((a, b) => BY_REACH.indexOf(a.by) - BY_REACH.indexOf(b.by))[0];
}

/** Certain messages. */
export function fromIds(narrow: CompiledNarrow, ids: readonly number[]): Source {
  return (stretch) => sql`
    SELECT m.id FROM message m
    WHERE m.realm_id = ${narrow.rights.realmId} AND m.id = ANY(${[...ids]}::bigint[])
      AND ${within(ID, stretch)} AND ${isInNarrow(narrow)} ${firstOf(ID, stretch)}`;
}

/** The messages a condition leads to, which an index answers in the order of ids. */
function fromMessages(narrow: CompiledNarrow, isOne: Prisma.Sql): Source {
  return (stretch) => sql`
    SELECT m.id FROM message m
    WHERE ${isOne} AND ${within(ID, stretch)} AND ${checked(isInNarrow(narrow))} ${firstOf(ID, stretch)}`;
}

/** The same where nobody reads any of the messages, or everybody all: the right is asked for once. */
function fromPlace({ ofPlace, ofMessage }: CompiledNarrow, isOne: Prisma.Sql, isOpen: Prisma.Sql): Source {
  const isWanted = checked(allOf([ofPlace(PLACE_OF_M), ofMessage]));
  return (stretch) => sql`
    SELECT there.id FROM (
      SELECT m.id FROM message m WHERE ${isOne} AND ${within(ID, stretch)} AND ${isWanted} ${firstOf(ID, stretch)}
    ) AS there WHERE ${isOpen}`;
}

/** The history of a channel, which all who read the channel may read. */
function fromChannel(narrow: CompiledNarrow, channelId: number): Source {
  const { rights, topic } = narrow;
  const isTopic = topic === undefined ? empty : sql`AND lower(m.topic) = lower(${topic})`;
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
 * Whether the message `m` is of one of many places and in the stretch, as SQL that an index on the place and the id, or on
 * channel, topic and id, answers in the order of ids.
 *
 * Rows are compared, and not ids alone, because the planner takes next to nothing to lie between two ids that it does not
 * know, and would read all that does before it put it in order.
 */
function along(
  { topic }: CompiledNarrow,
  column: Prisma.Sql,
  value: Prisma.Sql,
  { above = FIRST, below = LAST }: Pick<Stretch, 'above' | 'below'>,
): Prisma.Sql {
  if (topic === undefined || column !== CHANNEL) {
    return sql`${column} = ${value} AND (${column}, m.id) > (${value}, ${above}) AND (${column}, m.id) < (${value}, ${below})`;
  }
  const [row, name] = [sql`${column}, lower(m.topic)`, sql`lower(${topic}::text)`];
  return sql`${column} = ${value} AND lower(m.topic) = ${name}
    AND (${row}, m.id) > (${value}, ${name}, ${above}) AND (${row}, m.id) < (${value}, ${name}, ${below})`;
}

/** Below and above every id. */
const [FIRST, LAST] = [sql`0::bigint`, sql`9223372036854775807::bigint`];
const [CHANNEL, SENT_CHANNEL] = [sql`m.channel_id`, sql`m.sent_channel_id`];
const [CONVERSATION, SENDER] = [sql`m.conversation_id`, sql`m.sender_id`];

/** The same condition, of which the planner takes half of all to pass: it must not give up the order to find the few. */
const checked = (condition: Prisma.Sql) => sql`CASE WHEN ${condition} THEN true ELSE false END`;

/** The messages that a user has something with. */
function fromRows(narrow: CompiledNarrow, userId: number, isOne: Prisma.Sql): Source {
  const id = sql`um.message_id`;
  return (stretch) => sql`
    SELECT m.id FROM user_message um JOIN message m ON m.realm_id = um.realm_id AND m.id = um.message_id
    WHERE um.realm_id = ${narrow.rights.realmId} AND um.user_id = ${userId} AND ${isOne} AND ${within(id, stretch)}
      AND ${isInNarrow(narrow)} ${firstOf(id, stretch)}`;
}

/** The history of all channels of a kind that are open to the viewer. */
function fromChannels(narrow: CompiledNarrow, isOne: Prisma.Sql): Source {
  const { rights, ofPlace, ofMessage } = narrow;
  const place = ofPlace({ channelId: sql`c.id`, conversationId: NOWHERE });
  return (stretch) => sql`
    SELECT there.id FROM channel pc JOIN channel c ON c.realm_id = pc.realm_id AND c.id = pc.id AND ${rights.readsChannel}
    CROSS JOIN LATERAL (
      SELECT m.id FROM message m
      WHERE ${along(narrow, CHANNEL, sql`c.id`, stretch)} AND ${checked(ofMessage)} ${firstOf(ID, stretch)}
    ) AS there
    WHERE pc.realm_id = ${rights.realmId} AND ${isOne} AND ${place}`;
}

/** What has a reaction. Seldom much of all there is. */
function fromReactions(narrow: CompiledNarrow): Source {
  const { realmId } = narrow.rights;
  return (stretch) => sql`
    SELECT there.id FROM (
      SELECT DISTINCT r.message_id FROM reaction r
      WHERE r.realm_id = ${realmId} AND ${within(sql`r.message_id`, stretch)}
    ) AS reacted CROSS JOIN LATERAL (
      SELECT m.id FROM message m
      WHERE m.realm_id = ${realmId} AND m.id = reacted.message_id AND ${isInNarrow(narrow)} LIMIT 1
    ) AS there ${firstOf(sql`reacted.message_id`, stretch)}`;
}

/** A part of what a user received. */
interface Part {
  /** What is asked of the message `m`, as an index may answer it. */
  readonly isOne: Prisma.Sql;
  /** What else is asked of it. */
  readonly also?: Prisma.Sql;
  /** Whether what lies before the user's marks is left out, but for what was marked unread. */
  readonly afterMarks?: boolean;
}

const ALL: Part = { isOne: sql`true` };
const WITH_WILDCARD: Part = { isOne: sql`m.channel_wildcard` };
const UNREAD = (userId: number): Part => ({ isOne: sql`true`, also: isUnreadBy(userId), afterMarks: true });

/**
 * What the user received, and may read today: `receivedBy` of access.ts taken apart, so that each part has an index that
 * leads to it in the order of ids.
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
  // Where there is no mark its part is null, and counts for nothing.
  const afterMark = (above = FIRST) => (afterMarks ? sql`GREATEST(${above}, r.read_through)` : above);
  const inPeriod = ({ above, below = LAST }: Stretch) => ({
    above: sql`GREATEST(${afterMark(above)}, p.began_message_id)`,
    below: sql`LEAST(${below}, p.ended_message_id + 1)`,
  });
  return [
    // Where it was sent.
    (stretch) => sql`
      SELECT sent.id FROM subscription_period p
      JOIN channel c ON c.realm_id = ${realmId} AND c.id = p.channel_id AND ${rights.readsChannel} ${channelMarks}
      CROSS JOIN LATERAL (
        SELECT m.id FROM message m
        WHERE ${along(narrow, CHANNEL, sql`p.channel_id`, inPeriod(stretch))}
          AND ${checked(sql`m.sent_channel_id = m.channel_id`)} AND ${there} ${firstOf(ID, stretch)}
      ) AS sent
      WHERE p.realm_id = ${realmId} AND p.user_id = ${userId} AND ${ofPlace({ channelId: sql`p.channel_id`, conversationId: NOWHERE })}`,
    (stretch) => sql`
      SELECT direct.id FROM conversation_member cm ${marks(sql`cm.conversation_id::bigint * 2 + 1`)}
      CROSS JOIN LATERAL (
        SELECT m.id FROM message m
        WHERE ${along(narrow, CONVERSATION, sql`cm.conversation_id`, { ...stretch, above: afterMark(stretch.above) })}
          AND ${there} ${firstOf(ID, stretch)}
      ) AS direct
      WHERE cm.realm_id = ${realmId} AND cm.user_id = ${userId}
        AND ${ofPlace({ channelId: NOWHERE, conversationId: sql`cm.conversation_id` })}`,
    // What may be where the user never was: moved away, sent by themselves, or taken up. Seldom much.
    (stretch) => sql`
      SELECT there.id FROM (
        SELECT moved.id FROM subscription_period p ${channelMarks} CROSS JOIN LATERAL (
          SELECT m.id FROM message m
          WHERE ${along(narrow, SENT_CHANNEL, sql`p.channel_id`, inPeriod(stretch))} AND m.channel_id <> m.sent_channel_id
          OFFSET 0
        ) AS moved WHERE p.realm_id = ${realmId} AND p.user_id = ${userId}
        UNION ALL
        SELECT m.id FROM message m
        WHERE ${along(narrow, SENDER, sql`${userId}::int`, stretch)} ${afterMarks ? sql`AND NOT m.read_by_sender` : empty}
        UNION ALL
        SELECT taken.message_id FROM (${takenUpBy(realmId, userId)}) AS taken WHERE ${within(sql`taken.message_id`, stretch)}
      ) AS other CROSS JOIN LATERAL (
        SELECT m.id FROM message m
        WHERE m.realm_id = ${realmId} AND m.id = other.id AND ${isOne}
          AND ${allOf([rights.mayRead, ofPlace(PLACE_OF_M), ofMessage, also])} LIMIT 1
      ) AS there`,
  ];
}
