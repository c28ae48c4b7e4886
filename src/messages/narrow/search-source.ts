import { Prisma } from '../../generated/prisma/client.ts';
import { allOf } from '../reading.ts';
import { type CompiledNarrow, isInNarrow } from './narrow.ts';
import type { Lead } from './narrow-operators.ts';
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
 * Largest average number of the narrow's messages per bucket at which they are compared with the search one by one. A comparison
 * takes 7 µs, and reading a message from one of several channels and conversations up to 20 µs. The index visits the entries of
 * the place, or up to 16,384 entries of a word per bucket if the narrow has no place, at 0.5 to 1.7 µs an entry.
 */
const FEW = { ofPlace: 16, inOneIndex: 512, scattered: 64 };

/**
 * Builds the source of the messages that match a search. The source reads the index bucket by bucket, from the end of the id
 * range where the page begins, until the page is full or the organization has no more messages. So the cost of a common word
 * depends only on the size of the page, and messages of other organizations are not read. The first step is one bucket, and
 * each step is twice as long as the one before it, so that at most about twice the needed messages are found. A step begins at
 * an existing message, so gaps are not read.
 *
 * If the narrow has few messages in a step, they are compared with the search and the index is not read. If it names a channel,
 * a topic of it, a conversation or a sender, only index entries with that place are visited. So for a word that is rare in the
 * narrow and common elsewhere, the cost depends only on the number of messages in the narrow.
 *
 * Messages without an index entry or with a stale entry are candidates as well. For each candidate, the viewer's permissions
 * are checked first. Then the candidate is compared with the search.
 *
 * `OFFSET 0` prevents the planner from inlining the search, which would run it twice, because its result is used twice.
 *
 * @param others The sources of the narrow without the search.
 */
export function fromSearch(narrow: CompiledNarrow, search: Search, others: Sources): Source {
  const { realmId } = narrow.rights;
  const places = placesIn(narrow);
  // The sources of many channels may read all of their messages in a step to find the few that match. With a place, the index
  // reads fewer entries. But the viewer can have few of the organization's direct messages, and their source reads only those.
  const isCompared = others.kind !== 'scattered' || places.length === 0 || narrow.isDirect;
  const entries = places.length === 0 ? [sql`''`] : places.map(({ entry }) => entry);
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
      : [sql`SELECT m.id FROM message m WHERE false`];
    const areFew = isCompared ? sql`(SELECT count(*) FROM few) <= ${most}` : sql`false`;
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
                  WHERE search_vector(s.realm_id, s.message_id, s.recipient_id, s.topic_hash, s.sender_id, s.has_mask, s.folded)
                    @@ (${search.query}::text::tsquery && ${Prisma.join(entries.map(among), ' && ')})
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
                WHERE m.realm_id = ${realmId} AND m.id = found.id AND ${allOf([...places.map(({ isOne }) => isOne), isInNarrow(narrow)])} LIMIT 1
              ) AS there
              ORDER BY found.id ${way(stretch)} LIMIT pass.wanted
            ) AS ids OFFSET 0
          ) AS found
          WHERE pass.wanted > 0
        )
        SELECT ids FROM reading
      ) AS read`;
  };

  /** Builds the `tsquery` of the entries with a place in the buckets of the step. */
  function among(place: Prisma.Sql): Prisma.Sql {
    return sql`(
      SELECT string_agg(''' ' || ${realmId}::int::text || '.' || bucket::text || ${place} || '''', '|')::tsquery
      FROM generate_series(step.low, step.high) AS bucket)`;
  }
}

/** A property that each message of a narrow has: its location, its sender, or a part of its content. */
interface Place {
  /** Condition on the row of the message `m` alone. Checked before the viewer's permissions. */
  readonly isOne: Prisma.Sql;
  /** The text that follows the bucket in index entries. Must match the SQL function `search_vector`. */
  readonly entry: Prisma.Sql;
}

function placesIn({ leads, topic, isDirect, has }: CompiledNarrow): Place[] {
  const places = leads.flatMap((lead): Place[] => {
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
    places.push({ isOne: sql`m.conversation_id IS NOT NULL`, entry: sql`'@dm'` });
  }
  if (topic !== undefined && !isIn('channel')) {
    const isOne = sql`m.channel_id IS NOT NULL AND topic_key(m.topic) = topic_key(${topic}::text)`;
    places.push({ isOne, entry: sql`':' || topic_hash(${topic}::text)` });
  }
  // The narrow itself has the condition on the part.
  return [...places, ...has.map((part) => ({ isOne: sql`true`, entry: sql`${`+${part}`}::text` }))];
}

/** Returns a bound that no id reaches, on the side from which the range is searched. */
const endOf = ({ newestFirst }: Stretch) => (newestFirst ? sql`9223372036854775807::bigint` : sql`0::bigint`);
