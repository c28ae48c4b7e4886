import type { Run } from './large-organization.ts';

/**
 * Appends events to an organization's log directly in the database, as if another node had committed them.
 *
 * @param log.count Number of events to append.
 * @param log.of Ids of existing events. The appended events are copies of these, in rotation.
 */
export async function lengthenLog(
  run: Run,
  organizationId: number,
  { count, of }: { count: number; of: readonly number[] },
): Promise<void> {
  await run(
    `WITH counter AS (
       UPDATE event_counter SET last_id = last_id + $2::int WHERE realm_id = $1::int RETURNING last_id - $2::int AS base)
     INSERT INTO event (realm_id, id, type, op, payload, max_role, channel_ids, user_ids, except_user_ids,
                        public_channel_id, width)
     SELECT e.realm_id, counter.base + n, e.type, e.op, e.payload, e.max_role, e.channel_ids, e.user_ids, e.except_user_ids,
            e.public_channel_id, 1
     FROM counter CROSS JOIN generate_series(1, $2::int) AS n
     JOIN event e ON e.realm_id = $1::int AND e.id = ($3::bigint[])[1 + (n - 1) % cardinality($3::bigint[])]`,
    [organizationId, count, of],
  );
}
