import { fullMemberSince } from '../../access/permissions/membership.ts';
import { toWire, type WireUserGroup } from '../../access/permissions/wire.ts';
import { GROUP_OF_ROLE, ROLE_REACH, roleGroupsWithin, type SystemGroups } from '../../access/system-groups.ts';
import { type Organization, Prisma, type UserGroup } from '../../generated/prisma/client.ts';
import { isUserWithin, type UserPage, userKey, usersInOrder } from '../../people/user-pages.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { type FetchedRowKey, type RowKey, rowKeyOf, type SortColumn } from '../../platform/db/keyset.ts';
import { isNamed } from '../../platform/db/named.ts';
import type { ListedRows } from '../../platform/db/places.ts';
import { MEMBER } from '../../platform/roles.ts';

type OrganizationSettingsOf = Pick<Organization, 'id' | 'settings'>;

/** Selection of the members that a query reads from each group. */
export interface MemberPage {
  /** Whether to return only direct members, and not members of nested groups. */
  readonly direct: boolean;
  /** Id of a user. If set, the query reads no other members than this user. */
  readonly only?: number;
}

const values = (pairs: Iterable<readonly [string, number]>) =>
  Prisma.raw([...pairs].map(([name, role]) => `('${name}', ${role})`).join(', '));

const OWN_ROLE = values([...GROUP_OF_ROLE].map(([role, name]) => [name, role] as const));
const REACH = values(ROLE_REACH);

/**
 * Reads the active members of groups. Runs one query, regardless of the number of groups.
 *
 * @param page The members to select. Applies to each group.
 * @returns A function that returns the ids of a group's members, ascending.
 */
export async function readMemberIds(
  db: SqlClient,
  organization: OrganizationSettingsOf,
  now: Date,
  groupIds: readonly number[],
  { direct, only }: MemberPage,
): Promise<(groupId: number) => readonly number[]> {
  const rows = await db.$queryRaw<{ group_id: number; user_ids: number[] }[]>`
    SELECT m.group_id, array_agg(u.id ORDER BY u.id) AS user_ids
    FROM (${membersOf(organization, now, groupIds, direct)}) AS m
    JOIN user_account u ON u.realm_id = ${organization.id} AND u.id = m.user_id
    WHERE u.is_active AND NOT u.is_system AND ${only === undefined ? Prisma.sql`true` : Prisma.sql`u.id = ${only}::int`}
    GROUP BY m.group_id`;
  const lists = new Map(rows.map(({ group_id, user_ids }) => [group_id, user_ids]));
  return (groupId) => lists.get(groupId) ?? [];
}

/**
 * Loads a page of each group's active members with one query. All pages have the same bounds and order. Returns a function that
 * returns a group's page by the group's id.
 */
export async function readMemberPages(
  db: SqlClient,
  organization: OrganizationSettingsOf,
  now: Date,
  groupIds: readonly number[],
  { direct, ...page }: UserPage & { readonly direct: boolean },
): Promise<(groupId: number) => readonly RowKey[]> {
  const rows = await db.$queryRaw<(FetchedRowKey & { readonly group_id: number })[]>`
    SELECT group_id, id, key FROM (
      SELECT m.group_id, u.id, ${userKey(page)} AS key,
        row_number() OVER (PARTITION BY m.group_id ORDER BY ${usersInOrder(page)}) AS place
      FROM (${membersOf(organization, now, groupIds, direct)}) AS m
    JOIN user_account u ON u.realm_id = ${organization.id} AND u.id = m.user_id
      WHERE u.is_active AND NOT u.is_system AND ${isUserWithin(page)}
    ) AS placed
    WHERE place <= ${page.limit}::bigint ORDER BY place`;
  const pages = Map.groupBy(rows, ({ group_id }) => group_id);
  return (groupId) => (pages.get(groupId) ?? []).map(rowKeyOf);
}

/** Counts the active members of groups with one query. Returns a function that returns the number of a group's members. */
export async function countMembers(
  db: SqlClient,
  organization: OrganizationSettingsOf,
  now: Date,
  groupIds: readonly number[],
  direct: boolean,
): Promise<(groupId: number) => number> {
  const rows = await db.$queryRaw<{ group_id: number; count: number }[]>`
    SELECT m.group_id, count(*)::int AS count
    FROM (${membersOf(organization, now, groupIds, direct)}) AS m
    JOIN user_account u ON u.realm_id = ${organization.id} AND u.id = m.user_id
    WHERE u.is_active AND NOT u.is_system GROUP BY m.group_id`;
  const counts = new Map(rows.map(({ group_id, count }) => [group_id, count]));
  return (groupId) => counts.get(groupId) ?? 0;
}

function membersOf(
  organization: OrganizationSettingsOf,
  now: Date,
  groupIds: readonly number[],
  direct: boolean,
): Prisma.Sql {
  const [ids, joined] = [[...groupIds], fullMemberSince(organization, now)];
  return direct ? directMembers(organization.id, ids, joined) : membersHoweverDeep(organization.id, ids, joined);
}

const directMembers = (organizationId: number, ids: number[], joined: Date) => Prisma.sql`
  SELECT group_id, user_id FROM user_group_member
  WHERE realm_id = ${organizationId} AND group_id = ANY(${ids})
  UNION ALL
  SELECT g.id, u.id FROM user_group g
  LEFT JOIN (VALUES ${OWN_ROLE}) AS own (name, role) ON own.name = g.name
  JOIN user_account u ON u.realm_id = g.realm_id AND (
    u.role = own.role OR (g.name = 'role:fullmembers' AND u.role = ${MEMBER}::int AND u.joined_at <= ${joined}))
  WHERE g.realm_id = ${organizationId} AND g.id = ANY(${ids}) AND g.is_system`;

const membersHoweverDeep = (organizationId: number, ids: number[], joined: Date) => Prisma.sql`
  SELECT g.id AS group_id, u.id AS user_id FROM unnest(${ids}::int[]) AS g (id)
  JOIN user_account u ON u.realm_id = ${organizationId} AND u.group_ids <> '{}' AND u.group_ids @> ARRAY[g.id]
  UNION ALL
  SELECT g.id, u.id FROM unnest(${ids}::int[]) AS g (id)
  JOIN user_account u ON u.realm_id = ${organizationId} AND u.full_member_group_ids <> '{}'
    AND u.full_member_group_ids @> ARRAY[g.id] AND u.joined_at <= ${joined}
  UNION ALL
  SELECT g.id, u.id FROM user_group g
  JOIN (VALUES ${REACH}) AS reach (name, role) ON reach.name = g.name
  JOIN user_account u ON u.realm_id = g.realm_id AND u.role <= reach.role
    AND (g.name <> 'role:fullmembers' OR u.role < ${MEMBER}::int OR u.joined_at <= ${joined})
  WHERE g.realm_id = ${organizationId} AND g.id = ANY(${ids}) AND g.is_system`;

/** Reads the subgroups of groups with one query. Returns a function that returns the ids of a group's subgroups, ascending. */
export async function readSubgroupIds(
  db: SqlClient,
  groups: SystemGroups,
  groupIds: readonly number[],
  { direct }: { readonly direct: boolean },
): Promise<(groupId: number) => readonly number[]> {
  const ids = [...groupIds];
  // OFFSET 0 forces a lookup by group id. Without it, the planner overestimates the number of nested groups and reads the
  // whole table.
  const rows = await db.$queryRaw<{ top: number; bottom: number }[]>`
    WITH RECURSIVE within (top, bottom) AS (
      SELECT group_id, subgroup_id FROM user_group_subgroup
      WHERE realm_id = ${groups.organizationId} AND group_id = ANY(${ids})
      UNION SELECT w.top, s.subgroup_id
      FROM within w
      CROSS JOIN LATERAL (
        SELECT subgroup_id FROM user_group_subgroup
        WHERE realm_id = ${groups.organizationId} AND group_id = w.bottom OFFSET 0) AS s
      WHERE ${!direct}::boolean
    ) SELECT top, bottom FROM within`;
  const below = Map.groupBy(rows, ({ top }) => top);
  return (groupId) => {
    const stored = (below.get(groupId) ?? []).map(({ bottom }) => bottom);
    const nested = direct
      ? withinRoleGroup(groups, groupId).slice(0, 1)
      : [groupId, ...stored].flatMap((id) => withinRoleGroup(groups, id));
    return [...new Set([...stored, ...nested])].sort((a, b) => a - b);
  };
}

function withinRoleGroup(groups: SystemGroups, groupId: number): number[] {
  const name = groups.name(groupId);
  return name === undefined ? [] : roleGroupsWithin(name).map((within) => groups.id(within));
}

/** Converts groups to wire format, with their direct members and subgroups. Runs two queries for all groups. */
export async function toWireGroups(
  db: SqlClient,
  groups: SystemGroups,
  { organization, now }: { readonly organization: OrganizationSettingsOf; readonly now: Date },
  rows: readonly UserGroup[],
): Promise<WireUserGroup[]> {
  const ids = rows.map(({ id }) => id);
  const membersOf = await readMemberIds(db, organization, now, ids, { direct: true });
  const subgroupsOf = await readSubgroupIds(db, groups, ids, { direct: true });
  return rows.map((row) => toWire(groups, row, { memberIds: membersOf(row.id), subgroupIds: subgroupsOf(row.id) }));
}

/** The fields by which lists of groups can be sorted. */
export type GroupField = 'id' | 'name' | 'createdAt';

/** Filter of a list of groups. */
export interface GroupFilter {
  /**
   * Text that the name must contain, ignoring case and accents. A name also matches if each word of the text begins a word of
   * the name.
   */
  readonly nameContains?: string | null | undefined;
  readonly includeDeactivated?: boolean | null | undefined;
}

/** The column `id` of `user_group AS g`. */
export const GROUP_ID = Prisma.sql`g.id`;

export const GROUP_COLUMNS: Readonly<Record<GroupField, SortColumn>> = {
  id: { key: GROUP_ID },
  name: { key: Prisma.sql`g.sort_name`, name: Prisma.sql`g.name` },
  createdAt: { key: Prisma.sql`COALESCE(milliseconds(g.created_at), 0)` },
};

/** Returns the organization's groups that match the filter. */
export function listedGroups(organizationId: number, { nameContains, includeDeactivated }: GroupFilter): ListedRows {
  const isActive = includeDeactivated === true ? Prisma.sql`true` : Prisma.sql`g.deactivated_at IS NULL`;
  const columns = { name: Prisma.sql`g.name`, words: Prisma.sql`g.name_words` };
  const matches = nameContains == null ? Prisma.sql`true` : isNamed(nameContains, columns);
  return {
    from: Prisma.sql`user_group g`,
    where: Prisma.sql`g.realm_id = ${organizationId} AND ${isActive} AND ${matches}`,
  };
}
