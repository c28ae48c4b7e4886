import { Prisma } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { MEMBER } from '../../platform/roles.ts';
import { ROLE_REACH } from '../system-groups.ts';
import type { Memberships } from './membership.ts';

/** A user whose memberships in groups have changed. */
export interface Regrouped {
  readonly id: number;
  readonly role: number;
  readonly joinedAt: Date;
  readonly before: Memberships;
  readonly after: Memberships;
}

interface RegroupedRow extends Memberships, Pick<Regrouped, 'id' | 'role' | 'joinedAt'> {
  readonly oldGroupIds: number[];
  readonly oldFullMemberGroupIds: number[];
}

/** SQL rows of the role groups that have members: the name of the group, and the role with the fewest rights in it. */
const REACH = Prisma.raw([...ROLE_REACH].map(([name, role]) => `('${name}', ${role})`).join(', '));

/**
 * Updates the group ids in the rows of users, so that the ids match the members and subgroups of groups, and the roles of
 * users.
 *
 * Call it after a change of members, subgroups or roles, in the transaction of the change. That transaction must hold the lock
 * of the organization's row. Deactivated groups and users are included, so that their ids are correct when reactivated.
 *
 * @param userIds The users that the change can affect. Null: all users.
 * @returns The users whose groups have changed.
 */
export async function refreshMemberships(
  tx: Tx,
  organizationId: number,
  userIds: readonly number[] | null = null,
): Promise<Regrouped[]> {
  const ids = userIds === null ? null : [...userIds];
  // OFFSET 0 makes the planner find the rows of each group by its id. Without it, the planner overestimates the number of
  // nested groups and reads the subgroups and members of all organizations.
  const rows = await tx.$queryRaw<RegroupedRow[]>`
    WITH RECURSIVE within (top, bottom) AS (
      SELECT id, id FROM user_group WHERE realm_id = ${organizationId} AND NOT is_system
      UNION SELECT w.top, s.subgroup_id
      FROM within w
      CROSS JOIN LATERAL (SELECT subgroup_id FROM user_group_subgroup WHERE realm_id = ${organizationId} AND group_id = w.bottom OFFSET 0) AS s
    ), held AS (
      SELECT m.user_id, w.top, false AS is_later
      FROM within w
      CROSS JOIN LATERAL (SELECT user_id FROM user_group_member WHERE realm_id = ${organizationId} AND group_id = w.bottom OFFSET 0) AS m
      WHERE ${ids}::int[] IS NULL OR m.user_id = ANY(${ids}::int[])
      UNION ALL
      SELECT u.id, w.top, g.name = 'role:fullmembers' AND u.role = ${MEMBER}::int
      FROM within w
      JOIN user_group g ON g.realm_id = ${organizationId} AND g.id = w.bottom AND g.is_system
      JOIN (VALUES ${REACH}) AS reach (name, role) ON reach.name = g.name
      JOIN user_account u ON u.realm_id = ${organizationId} AND NOT u.is_system AND u.role <= reach.role
      WHERE ${ids}::int[] IS NULL OR u.id = ANY(${ids}::int[])
    ), settled AS (
      SELECT user_id, top, bool_and(is_later) AS is_later FROM held GROUP BY user_id, top
    ), fresh AS (
      SELECT u.id, u.group_ids AS old_ids, u.full_member_group_ids AS old_later_ids,
             COALESCE(array_agg(s.top ORDER BY s.top) FILTER (WHERE NOT s.is_later), '{}') AS ids,
             COALESCE(array_agg(s.top ORDER BY s.top) FILTER (WHERE s.is_later), '{}') AS later_ids
      FROM user_account u LEFT JOIN settled s ON s.user_id = u.id
      WHERE u.realm_id = ${organizationId} AND (${ids}::int[] IS NULL OR u.id = ANY(${ids}::int[]))
      GROUP BY u.realm_id, u.id
    )
    UPDATE user_account u SET group_ids = fresh.ids, full_member_group_ids = fresh.later_ids
    FROM fresh
    WHERE u.realm_id = ${organizationId} AND u.id = fresh.id AND (fresh.old_ids <> fresh.ids OR fresh.old_later_ids <> fresh.later_ids)
    RETURNING u.id, u.role, u.joined_at AS "joinedAt", fresh.old_ids AS "oldGroupIds",
              fresh.old_later_ids AS "oldFullMemberGroupIds", u.group_ids AS "groupIds",
              u.full_member_group_ids AS "fullMemberGroupIds"`;
  return rows.map(({ id, role, joinedAt, oldGroupIds, oldFullMemberGroupIds, groupIds, fullMemberGroupIds }) => ({
    id,
    role,
    joinedAt,
    before: { groupIds: oldGroupIds, fullMemberGroupIds: oldFullMemberGroupIds },
    after: { groupIds, fullMemberGroupIds },
  }));
}
