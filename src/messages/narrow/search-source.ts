import { Prisma } from '../../generated/prisma/client.ts';
import { allOf } from '../reading.ts';
import { type CompiledNarrow, isInNarrow } from './narrow.ts';
import type { Search } from './narrow-search.ts';
import { type Source, type Stretch, way, within } from './stretch.ts';

const { sql } = Prisma;

/**
 * What the message `m` is indexed by: its words, and beside them its organisation and which 16,384 ids its own is among.
 * No word begins with a space. As in the migrations, to the letter.
 */
const INDEXED = sql`(to_tsvector('english', m.topic || ' ' || m.content)
  || array_to_tsvector(ARRAY[' ' || m.realm_id::text || '.' || (m.id >> 14)::text]))`;

/** The bucket of an id, and the first id of a bucket. */
const bucketOf = (id: Prisma.Sql) => sql`(${id} >> 14)`;
const firstIdOf = (bucket: Prisma.Sql) => sql`(${bucket} << 14)`;

/**
 * How many buckets are read in one step at most. Our choice: where there is little, steps are long, so that they are few;
 * and each message found in a step is compared with as many buckets.
 */
const MAX_BUCKETS = 16;

/**
 * What is found by its words, bucket after bucket from the stretch's beginning, until there is enough or the organisation
 * has no more messages: a common word costs no more than the page that is wanted, and what other organisations have is
 * not looked at. The first step is one bucket, and each is twice as long as the one before, so that no more than about as
 * much again is found as is needed. A step begins at a message that there is: where an organisation has none, nothing is read.
 *
 * `OFFSET 0`: else the planner puts the search in both places that speak of what it found, and it is run twice.
 */
export function fromSearch(narrow: CompiledNarrow, { query }: Search): Source {
  const { realmId } = narrow.rights;
  // What needs nothing but the row, before rights are asked for.
  const places = narrow.leads.flatMap((lead) => {
    if (lead.by === 'channel') return [sql`m.channel_id = ${lead.channelId}`];
    if (lead.by === 'conversation') return [sql`m.conversation_id = ${lead.conversationId}`];
    return lead.by === 'sender' ? [sql`m.sender_id = ${lead.userId}`] : [];
  });
  return (stretch) => {
    const { above, below, newestFirst, limit } = stretch;
    const rest: Stretch = newestFirst ? { ...stretch, below: sql`r.edge` } : { ...stretch, above: sql`r.edge` };
    const near = bucketOf(sql`next.id`);
    const [low, high] = newestFirst ? [sql`${near} - r.span + 1`, near] : [near, sql`${near} + r.span - 1`];
    const edge = newestFirst ? firstIdOf(sql`step.low`) : sql`${firstIdOf(sql`(step.high + 1)`)} - 1`;
    return sql`
      SELECT unnest(read.ids) AS id FROM (
        WITH RECURSIVE reading (span, edge, wanted, ids) AS (
          SELECT 1::bigint, ${(newestFirst ? below : above) ?? endOf(stretch)}, ${limit}::bigint, '{}'::bigint[]
          UNION ALL
          SELECT LEAST(r.span * 2, ${MAX_BUCKETS}::bigint), ${edge}, r.wanted - cardinality(found.ids), found.ids
          FROM reading r
          CROSS JOIN LATERAL (
            SELECT m.id FROM message m WHERE m.realm_id = ${realmId} AND ${within(sql`m.id`, rest)}
            ORDER BY m.id ${way(stretch)} LIMIT 1
          ) AS next
          CROSS JOIN LATERAL (SELECT ${low} AS low, ${high} AS high) AS step
          CROSS JOIN LATERAL (
            SELECT ARRAY(
              WITH found AS MATERIALIZED (
                SELECT m.id, m.channel_id, m.conversation_id, m.sender_id FROM message m
                WHERE ${INDEXED} @@ (${query} && ${among(sql`step.low`, sql`step.high`)}))
              SELECT there.id FROM (
                SELECT m.id FROM found m WHERE ${allOf([within(sql`m.id`, rest), ...places])} ORDER BY m.id ${way(stretch)}
              ) AS found CROSS JOIN LATERAL (
                SELECT m.id FROM message m
                WHERE m.realm_id = ${realmId} AND m.id = found.id AND ${isInNarrow(narrow)} LIMIT 1
              ) AS there
              ORDER BY found.id ${way(stretch)} LIMIT r.wanted
            ) AS ids OFFSET 0
          ) AS found
          WHERE r.wanted > 0
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

/** Beyond every id there is, where the stretch begins. */
const endOf = ({ newestFirst }: Stretch) => (newestFirst ? sql`9223372036854775807::bigint` : sql`0::bigint`);
