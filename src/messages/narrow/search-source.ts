import { Prisma } from '../../generated/prisma/client.ts';
import { allOf } from '../reading.ts';
import { type CompiledNarrow, isInNarrow, withoutSearch } from './narrow.ts';
import type { Lead } from './narrow-operators.ts';
import type { Search } from './narrow-search.ts';
import { type Source, type Sources, type Stretch, way, within } from './stretch.ts';

const { sql } = Prisma;

/**
 * Builds SQL for the bucket of a message id. A bucket is a range of 16,384 ids, and the index entry of a message contains its
 * bucket. Must match the SQL function `search_vector`.
 */
const bucketOf = (id: Prisma.Sql) => sql`(${id} >> 14)`;
const firstIdOf = (bucket: Prisma.Sql) => sql`(${bucket} << 14)`;

/**
 * Maximum number of buckets read in one step. If matches are rare, long steps are faster. But each index entry that a step
 * reads is compared with all buckets of the step.
 */
const MAX_BUCKETS = 16;

/**
 * Number of messages per bucket, by kind of the sources of the narrow (message filter). If the narrow has at most this number
 * per bucket on average, its messages are compared with the search one by one. If it has more, the index is read.
 *
 * A comparison takes 7 µs. Reading a message from one of several channels and conversations takes up to 20 µs. Reading an index
 * entry takes 0.5 to 1.7 µs. Per bucket, only the index entries with the narrow's conditions are read (see `IndexedCondition`).
 * If the index contains none of these conditions, up to 16,384 entries of a word are read.
 */
const FEW = { ofPlace: 16, inOneIndex: 512, scattered: 64 };

/**
 * Builds the source of the messages that match a search.
 *
 * The source reads the search index in steps, from the start of the page on. The first step covers one bucket (16,384 message
 * ids), and each further step covers twice as many. The steps end when the page is full or the organization has no more
 * messages. So the cost of a common word depends only on the size of the page. A step begins at an existing message, so ranges
 * without messages are skipped.
 *
 * If the narrow has few messages in a step (see `FEW`), these messages are compared with the search and the index is not read.
 * If the narrow names a channel, a topic, a conversation or a sender, only index entries with that property are read. So for a
 * word that is rare in the narrow and common elsewhere, the cost depends only on the number of messages in the narrow.
 *
 * Messages without an index entry, or with an outdated one, are candidates too. The viewer's permissions are checked for each
 * candidate. Then its text is compared with the search, unless the index entry already proves the match.
 *
 * The subquery `found` is used twice. `OFFSET 0` prevents the planner from inlining it, which would run it twice.
 *
 * @param others Sources of the narrow without its search (see `withoutSearch`).
 */
export function fromSearch(narrow: CompiledNarrow, search: Search, others: Sources): Source {
  const { organizationId } = narrow.rights;
  const conditions = conditionsIn(narrow);
  // Without lexemes, all entries of the step are read, and most of them are excluded by their folded text.
  const mayMatch = search.query === '' ? sql`AND ${search.mayMatch(sql`s.folded`)}` : sql``;
  const isUnsearched = isInNarrow(withoutSearch(narrow));
  // Scattered sources may read all messages of many channels in a step to find the few that match. If the narrow has an
  // indexed condition, reading the index costs less. Direct messages are an exception: their source reads only the viewer's
  // conversations, which can have few of the organization's direct messages.
  const isCompared = others.kind !== 'scattered' || conditions.length === 0 || narrow.isDirect;
  const entries = conditions.length === 0 ? [sql`''`] : conditions.map(({ entry }) => entry);
  const lexemes = [...(search.query === '' ? [] : [sql`${search.query}::text::tsquery`]), ...entries.map(among)];
  return (stretch) => {
    const { above, below, newestFirst, limit } = stretch;
    const rest: Stretch = newestFirst ? { ...stretch, below: sql`pass.edge` } : { ...stretch, above: sql`pass.edge` };
    const near = bucketOf(sql`next.id`);
    const [low, high] = newestFirst ? [sql`${near} - pass.span + 1`, near] : [near, sql`${near} + pass.span - 1`];
    const [first, last] = [firstIdOf(sql`step.low`), sql`${firstIdOf(sql`(step.high + 1)`)} - 1`];
    const edge = newestFirst ? first : last;
    const inStep = (limit: Prisma.Sql): Stretch => ({
      above: rest.above === undefined ? sql`${first} - 1` : sql`GREATEST(${first} - 1, ${rest.above})`,
      below: rest.below === undefined ? sql`${last} + 1` : sql`LEAST(${last} + 1, ${rest.below})`,
      newestFirst,
      limit,
    });
    const most = sql`(${FEW[others.kind]} * pass.span)`;
    const few = isCompared
      ? others.all.map((source) => sql`(${source(inStep(sql`(${most} + 1)`))})`)
      : [sql`SELECT 0::bigint AS id WHERE false`];
    const areFew = isCompared ? sql`(SELECT count(*) FROM few) <= ${most}` : sql`false`;
    const without = (isOne: Prisma.Sql) => sql`
      SELECT m.id, false FROM message m
      WHERE m.realm_id = ${organizationId} AND m.id BETWEEN ${first} AND ${last} AND ${isOne} AND ${within(sql`m.id`, rest)}`;
    return sql`
      SELECT unnest(read.ids) AS id FROM (
        WITH RECURSIVE indexed AS MATERIALIZED (
          SELECT max(p.from_id) AS low, COALESCE(max(p.through_id), 0) AS high FROM search_progress p
          WHERE p.realm_id = ${organizationId}
        ), reading (span, edge, wanted, ids) AS (
          SELECT 1::bigint, ${(newestFirst ? below : above) ?? endOf(stretch)}, ${limit}::bigint, '{}'::bigint[]
          UNION ALL
          SELECT LEAST(pass.span * 2, ${MAX_BUCKETS}::bigint), ${edge}, pass.wanted - cardinality(found.ids), found.ids
          FROM reading pass
          CROSS JOIN LATERAL (
            SELECT m.id FROM message m WHERE m.realm_id = ${organizationId} AND ${within(sql`m.id`, rest)}
            ORDER BY m.id ${way(stretch)} LIMIT 1
          ) AS next
          CROSS JOIN LATERAL (SELECT ${low} AS low, ${high} AS high) AS step
          CROSS JOIN LATERAL (
            SELECT ARRAY(
              WITH few AS MATERIALIZED (
                SELECT o.id FROM (${Prisma.join(few, ' UNION ALL ')}) AS o LIMIT ${most} + 1
              ), found AS MATERIALIZED (
                SELECT f.id, false AS is_match FROM few f LEFT JOIN LATERAL (
                  SELECT ${search.mayMatch(sql`s.folded`)} AS may_match FROM searchable_message s
                  WHERE s.realm_id = ${organizationId} AND s.message_id = f.id LIMIT 1
                ) AS entry ON true
                WHERE ${areFew} AND (COALESCE(entry.may_match, true) OR f.id IN (
                  SELECT s.message_id FROM search_stale s WHERE s.realm_id = ${organizationId}))
                UNION
                SELECT entry.id, bool_and(entry.is_match) FROM (
                  SELECT s.message_id AS id, ${search.isExact ? sql`true` : sql`false`} AS is_match FROM searchable_message s
                  WHERE search_vector(s.realm_id, s.message_id, s.recipient_id, s.topic_hash, s.sender_id, s.has_mask, s.folded)
                    @@ (${Prisma.join(lexemes, ' && ')}) ${mayMatch}
                  UNION ALL
                  SELECT s.message_id, false FROM search_stale s
                  WHERE s.realm_id = ${organizationId} AND s.message_id BETWEEN ${first} AND ${last}
                  UNION ALL
                  ${without(sql`m.id > (SELECT i.high FROM indexed i)`)}
                  UNION ALL
                  ${without(sql`m.id < (SELECT i.low FROM indexed i)`)}
                ) AS entry WHERE NOT ${areFew} GROUP BY entry.id
              )
              SELECT there.id FROM (
                SELECT f.id, f.is_match FROM found f WHERE ${within(sql`f.id`, rest)} ORDER BY f.id ${way(stretch)}
              ) AS found CROSS JOIN LATERAL (
                SELECT m.id FROM message m
                WHERE m.realm_id = ${organizationId} AND m.id = found.id AND ${allOf([...conditions.map(({ isOne }) => isOne), isUnsearched])}
                  AND (found.is_match OR ${search.matches})
                LIMIT 1
              ) AS there
              ORDER BY found.id ${way(stretch)} LIMIT pass.wanted
            ) AS ids OFFSET 0
          ) AS found
          WHERE pass.wanted > 0
        )
        SELECT ids FROM reading
      ) AS read`;
  };

  /**
   * Builds a `tsquery` that matches the index entries with one condition of the narrow, in any bucket of the current step.
   * `entry` is SQL for the text of the condition (`IndexedCondition.entry`).
   */
  function among(entry: Prisma.Sql): Prisma.Sql {
    return sql`(
      SELECT string_agg(''' ' || ${organizationId}::int::text || '.' || bucket::text || ${entry} || '''', '|')::tsquery
      FROM generate_series(step.low, step.high) AS bucket)`;
  }
}

/**
 * A condition that every message of the narrow meets, and that index entries contain: the channel or conversation, the topic,
 * the sender, that the message is direct, or a part of its content.
 */
interface IndexedCondition {
  /** SQL condition on the columns of the message `m` alone. Checked before the viewer's permissions. */
  readonly isOne: Prisma.Sql;
  /**
   * SQL for the text that represents the condition in an index entry, after the bucket. Must match the SQL function
   * `search_vector`.
   */
  readonly entry: Prisma.Sql;
}

function conditionsIn({ leads, topic, isDirect, has }: CompiledNarrow): IndexedCondition[] {
  const conditions = leads.flatMap((lead): IndexedCondition[] => {
    if (lead.by === 'channel') {
      const channel = sql`'@' || (${lead.channelId}::bigint * 2)::text`;
      const entry = topic === undefined ? channel : sql`${channel} || ':' || topic_hash(${topic}::text)`;
      return [{ isOne: sql`m.channel_id = ${lead.channelId}`, entry }];
    }
    if (lead.by === 'conversation') {
      const entry = sql`'@' || (${lead.conversationId}::bigint * 2 + 1)::text`;
      return [{ isOne: sql`m.conversation_id = ${lead.conversationId}`, entry }];
    }
    if (lead.by === 'sender') {
      return [{ isOne: sql`m.sender_id = ${lead.userId}`, entry: sql`'<' || ${lead.userId}::int::text` }];
    }
    return [];
  });
  const isIn = (kind: Lead['by']) => leads.some(({ by }) => by === kind);
  if (isDirect && !isIn('conversation')) {
    conditions.push({ isOne: sql`m.conversation_id IS NOT NULL`, entry: sql`'@dm'` });
  }
  if (topic !== undefined && !isIn('channel')) {
    const isOne = sql`m.channel_id IS NOT NULL AND topic_key(m.topic) = topic_key(${topic}::text)`;
    conditions.push({ isOne, entry: sql`':' || topic_hash(${topic}::text)` });
  }
  // `isOne` is true here, because `ofMessage` of the narrow already contains the condition that `has` sets.
  return [...conditions, ...has.map((part) => ({ isOne: sql`true`, entry: sql`${`+${part}`}::text` }))];
}

/**
 * Builds SQL for the number at which a search starts if the range has no bound there: above every id if the range is read
 * newest first, else below every id.
 */
const endOf = ({ newestFirst }: Stretch) => (newestFirst ? sql`9223372036854775807::bigint` : sql`0::bigint`);
