import { Prisma } from '../../generated/prisma/client.ts';
import { allOf } from '../reading.ts';
import { type CompiledNarrow, isInNarrow } from './narrow.ts';
import type { Search } from './narrow-search.ts';
import { type Source, type Sources, type Stretch, way, within } from './stretch.ts';

const { sql } = Prisma;

/** Bucket of an id. The index entry of a message contains its bucket. Must match the migrations. */
const bucketOf = (id: Prisma.Sql) => sql`(${id} >> 14)`;
const firstIdOf = (bucket: Prisma.Sql) => sql`(${bucket} << 14)`;

/**
 * Maximum number of buckets read in one step. With long steps, fewer are needed if matches are rare. But each entry that a step
 * reads is compared with all its buckets.
 */
const MAX_BUCKETS = 16;

/**
 * Largest average number of the narrow's messages per bucket at which they are compared with the search one by one: if one index
 * returns them (`inOnePlace`), and if several channels or conversations are read (`scattered`). A comparison takes 7 µs, and
 * reading a message from several of them up to 20 µs. The index visits each entry of a word, up to 16,384 in a bucket, at 0.5 to
 * 1.7 µs an entry.
 */
const FEW = { inOnePlace: 512, scattered: 64 };

/**
 * Builds the source of the messages that match a search. The source reads the index bucket by bucket, from the end of the id
 * range where the page begins, until the page is full or the organization has no more messages. So a common word costs no more
 * than the page, and messages of other organizations are not read. The first step is one bucket, and each step is twice as long
 * as the one before it, so that at most about twice the needed messages are found. A step begins at an existing message, so gaps
 * are not read.
 *
 * If the narrow has few messages in a step, they are compared with the search and the index is not read. Otherwise all index
 * entries of a word that is rare in the narrow but common elsewhere would be visited.
 *
 * Messages without an index entry or with a stale entry are candidates as well. For each candidate, the viewer's permissions are
 * checked first. Then the candidate is compared with the search.
 *
 * `OFFSET 0` prevents the planner from inlining the search, which would run it twice, because its result is used twice.
 *
 * @param others The sources of the narrow without the search.
 */
export function fromSearch(narrow: CompiledNarrow, search: Search, others: Sources): Source {
  const { realmId } = narrow.rights;
  // Conditions on the row alone, checked before the viewer's permissions.
  const places = narrow.leads.flatMap((lead) => {
    if (lead.by === 'channel') return [sql`m.channel_id = ${lead.channelId}`];
    if (lead.by === 'conversation') return [sql`m.conversation_id = ${lead.conversationId}`];
    return lead.by === 'sender' ? [sql`m.sender_id = ${lead.userId}`] : [];
  });
  const { topic } = narrow;
  const located = topic === undefined ? places : [...places, sql`topic_key(m.topic) = topic_key(${topic})`];
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
    const most = sql`(${others.areScattered ? FEW.scattered : FEW.inOnePlace} * pass.span)`;
    const few = others.all.map((source) => sql`(${source(inStep(sql`(${most} + 1)`))})`);
    // Reads the message ids of the channels and conversations once per step. Looking up each entry of a common word in the table
    // takes longer. CASE: the planner would join the two, and could read the entries of all their messages instead of those of
    // the word.
    const inPlaces =
      places.length === 0
        ? sql`true`
        : sql`CASE WHEN s.message_id IN (
            SELECT m.id FROM message m WHERE m.realm_id = ${realmId} AND ${allOf(located)} AND m.id BETWEEN ${first} AND ${last})
          THEN true ELSE false END`;
    const areFew = sql`(SELECT count(*) FROM few) <= ${most}`;
    const without = (isOne: Prisma.Sql) => sql`
      SELECT m.id FROM message m
      WHERE m.realm_id = ${realmId} AND m.id BETWEEN ${first} AND ${last} AND ${isOne} AND ${within(sql`m.id`, rest)}`;
    return sql`
      SELECT unnest(read.ids) AS id FROM (
        WITH RECURSIVE indexed AS MATERIALIZED (
          SELECT max(p.from_id) AS low, COALESCE(max(p.through_id), 0) AS high FROM search_progress p
          WHERE p.realm_id = ${realmId}
        ), reading (span, edge, wanted, ids) AS (
          SELECT 1::bigint, ${(newestFirst ? below : above) ?? endOf(stretch)}, ${limit}::bigint, '{}'::bigint[]
          UNION ALL
          SELECT LEAST(pass.span * 2, ${MAX_BUCKETS}::bigint), ${edge}, pass.wanted - cardinality(found.ids), found.ids
          FROM reading pass
          CROSS JOIN LATERAL (
            SELECT m.id FROM message m WHERE m.realm_id = ${realmId} AND ${within(sql`m.id`, rest)}
            ORDER BY m.id ${way(stretch)} LIMIT 1
          ) AS next
          CROSS JOIN LATERAL (SELECT ${low} AS low, ${high} AS high) AS step
          CROSS JOIN LATERAL (
            SELECT ARRAY(
              WITH few AS MATERIALIZED (
                SELECT o.id FROM (${Prisma.join(few, ' UNION ALL ')}) AS o LIMIT ${most} + 1
              ), found AS MATERIALIZED (
                SELECT f.id FROM few f LEFT JOIN LATERAL (
                  SELECT ${search.mayMatch(sql`s.folded`)} AS may_match FROM searchable_message s
                  WHERE s.realm_id = ${realmId} AND s.message_id = f.id LIMIT 1
                ) AS entry ON true
                WHERE ${areFew} AND (COALESCE(entry.may_match, true) OR EXISTS (
                  SELECT FROM search_stale s WHERE s.realm_id = ${realmId} AND s.message_id = f.id))
                UNION
                SELECT entry.id FROM (
                  SELECT s.message_id AS id FROM searchable_message s
                  WHERE ${inPlaces} AND search_vector(s.realm_id, s.message_id, s.folded)
                    @@ (${search.query}::text::tsquery && ${among(sql`step.low`, sql`step.high`)})
                  UNION ALL
                  SELECT s.message_id FROM search_stale s
                  WHERE s.realm_id = ${realmId} AND s.message_id BETWEEN ${first} AND ${last}
                  UNION ALL
                  ${without(sql`m.id > (SELECT i.high FROM indexed i)`)}
                  UNION ALL
                  ${without(sql`m.id < (SELECT i.low FROM indexed i)`)}
                ) AS entry WHERE NOT ${areFew}
              )
              SELECT there.id FROM (
                SELECT f.id FROM found f WHERE ${within(sql`f.id`, rest)} ORDER BY f.id ${way(stretch)}
              ) AS found CROSS JOIN LATERAL (
                SELECT m.id FROM message m
                WHERE m.realm_id = ${realmId} AND m.id = found.id AND ${allOf([...places, isInNarrow(narrow)])} LIMIT 1
              ) AS there
              ORDER BY found.id ${way(stretch)} LIMIT pass.wanted
            ) AS ids OFFSET 0
          ) AS found
          WHERE pass.wanted > 0
        )
        SELECT ids FROM reading
      ) AS read`;
  };

  function among(low: Prisma.Sql, high: Prisma.Sql): Prisma.Sql {
    return sql`(
      SELECT string_agg(''' ' || ${realmId}::int::text || '.' || bucket::text || '''', '|')::tsquery
      FROM generate_series(${low}, ${high}) AS bucket)`;
  }
}

/** Returns a bound beyond every id, at the end from which the range is read. */
const endOf = ({ newestFirst }: Stretch) => (newestFirst ? sql`9223372036854775807::bigint` : sql`0::bigint`);
