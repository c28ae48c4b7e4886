import type { Prisma } from '../generated/prisma/client.ts';
import { ADMINISTRATOR, GUEST, MEMBER, MODERATOR, OWNER } from '../platform/roles.ts';

/** Name of a role group: a group of users by role that exists in every organization. */
export type SystemGroupName =
  | 'role:internet'
  | 'role:everyone'
  | 'role:members'
  | 'role:fullmembers'
  | 'role:moderators'
  | 'role:administrators'
  | 'role:owners'
  | 'role:nobody';

/** The role groups and their descriptions. Each group contains the next one, except the empty `role:nobody`. */
export const SYSTEM_GROUPS: readonly { readonly name: SystemGroupName; readonly description: string }[] = [
  { name: 'role:internet', description: 'Everyone on the Internet' },
  { name: 'role:everyone', description: 'Everyone in this organization, including guests' },
  { name: 'role:members', description: 'Members of this organization, not including guests' },
  { name: 'role:fullmembers', description: 'Members of this organization, not including new accounts and guests' },
  { name: 'role:moderators', description: 'Moderators of this organization, including administrators' },
  { name: 'role:administrators', description: 'Administrators of this organization, including owners' },
  { name: 'role:owners', description: 'Owners of this organization' },
  { name: 'role:nobody', description: 'Nobody' },
];

/**
 * The role groups that have members, by name. The value is the role with the fewest rights in the group: users with that role,
 * or with a role with more rights, are members.
 */
export const ROLE_REACH: ReadonlyMap<SystemGroupName, number> = new Map<SystemGroupName, number>([
  ['role:internet', GUEST],
  ['role:everyone', GUEST],
  ['role:members', MEMBER],
  // Contains only the members whose waiting period is over.
  ['role:fullmembers', MEMBER],
  ['role:moderators', MODERATOR],
  ['role:administrators', ADMINISTRATOR],
  ['role:owners', OWNER],
]);

/** The role group that belongs to each role. */
export const GROUP_OF_ROLE: ReadonlyMap<number, SystemGroupName> = new Map<number, SystemGroupName>([
  [OWNER, 'role:owners'],
  [ADMINISTRATOR, 'role:administrators'],
  [MODERATOR, 'role:moderators'],
  [MEMBER, 'role:members'],
  [GUEST, 'role:everyone'],
]);

/**
 * Returns the role groups within a role group, the widest first. Each group is the only direct subgroup of the group before it.
 */
export function roleGroupsWithin(name: SystemGroupName): readonly SystemGroupName[] {
  const nested = [...ROLE_REACH.keys()];
  return name === 'role:nobody' ? [] : nested.slice(nested.indexOf(name) + 1);
}

/** The role groups of one organization. Their ids never change. */
export interface SystemGroups {
  readonly organizationId: number;
  id(name: SystemGroupName): number;
  /** Returns the name of a role group. Undefined for the id of any other group. */
  name(id: number): SystemGroupName | undefined;
}

export interface GroupReader {
  readonly userGroup: Pick<Prisma.TransactionClient['userGroup'], 'findMany'>;
}

/**
 * Cached role groups by database client, so that two services in one process never share ids. Transactions have their own
 * clients.
 */
const known = new WeakMap<GroupReader, Map<number, Promise<SystemGroups>>>();

/** Returns the organization's role groups. Reads them once per client, that is, once per process or transaction. */
export function systemGroups(db: GroupReader, organizationId: number): Promise<SystemGroups> {
  const byOrganization = known.get(db) ?? new Map<number, Promise<SystemGroups>>();
  known.set(db, byOrganization);
  let groups = byOrganization.get(organizationId);
  if (groups === undefined) {
    groups = readSystemGroups(db, organizationId);
    byOrganization.set(organizationId, groups);
    groups.catch(() => byOrganization.delete(organizationId));
  }
  return groups;
}

async function readSystemGroups(db: GroupReader, organizationId: number): Promise<SystemGroups> {
  const rows = await db.userGroup.findMany({
    where: { organizationId, isSystem: true },
    select: { id: true, name: true },
  });
  return toSystemGroups(organizationId, rows);
}

function toSystemGroups(organizationId: number, rows: readonly { id: number; name: string }[]): SystemGroups {
  const ids = new Map<string, number>(rows.map(({ id, name }) => [name, id]));
  const names = new Map(rows.map(({ id, name }) => [id, name as SystemGroupName]));
  return {
    organizationId,
    id(name) {
      const id = ids.get(name);
      if (id === undefined) throw new Error(`The organization has no group ${name}`);
      return id;
    },
    name: (id) => names.get(id),
  };
}

/** Creates the role groups of a new organization. */
export async function createSystemGroups(
  tx: Prisma.TransactionClient,
  organizationId: number,
  now: Date,
): Promise<void> {
  await tx.userGroup.createMany({
    data: SYSTEM_GROUPS.map((group) => ({ ...group, organizationId, isSystem: true, createdAt: now })),
  });
}

/** The holders of a permission, in the stored form: these users, and the members of these groups. */
export interface GroupSetting {
  readonly members: readonly number[];
  readonly groups: readonly number[];
}

/** The holders of a permission, in the wire format. */
export type WireGroupSetting =
  | number
  | { readonly direct_members: readonly number[]; readonly direct_subgroups: readonly number[] };

/** Returns the stored form of a permission whose only holder is a role group. */
export const roleGroup = (groups: SystemGroups, name: SystemGroupName): GroupSetting => ({
  members: [],
  groups: [groups.id(name)],
});

/**
 * Converts the holders of a permission to the wire format: the group's id for a single group, the id of `role:nobody` for no
 * holders, an object otherwise.
 */
export function toWireGroupSetting(groups: SystemGroups, { members, groups: ids }: GroupSetting): WireGroupSetting {
  const [only] = ids;
  if (members.length === 0 && ids.length <= 1) return only ?? groups.id('role:nobody');
  return { direct_members: [...members], direct_subgroups: [...ids] };
}
