import type { Viewer } from '../app.ts';
import { ADMINISTRATOR, GUEST, MEMBER, MODERATOR, OWNER } from '../auth/roles.ts';
import { realmSetting } from '../realm/settings.ts';
import type { SystemGroupName, SystemGroups } from './system-groups.ts';

/** Who holds a permission, as stored: these users, and the members of these groups. */
export interface GroupSetting {
  readonly members: readonly number[];
  readonly groups: readonly number[];
}

/** Who holds a permission, as on the wire. @see endpoints companion C.3 */
export type WireGroupSetting =
  | number
  | { readonly direct_members: readonly number[]; readonly direct_subgroups: readonly number[] };

/** What membership depends on; a `Viewer` is one. */
export type Person = Pick<Viewer, 'id' | 'role' | 'realm'> & { readonly user: Pick<Viewer['user'], 'joinedAt'> };

/** The setting that names one role group. */
export const roleGroup = (groups: SystemGroups, name: SystemGroupName): GroupSetting => ({
  members: [],
  groups: [groups.id(name)],
});

/** An integer for one group, an object for any other set; nobody at all is role:nobody. */
export function toWireGroupSetting(groups: SystemGroups, { members, groups: ids }: GroupSetting): WireGroupSetting {
  const [only] = ids;
  if (members.length === 0 && ids.length <= 1) return only ?? groups.id('role:nobody');
  return { direct_members: [...members], direct_subgroups: [...ids] };
}

/**
 * Whether the person holds the permission: named by it, or in one of its groups, however deep.
 *
 * A guest holds it only when it is given to everyone.
 *
 * @param now The time, for the waiting period of full members.
 * @see endpoints companion C.1, C.2, C.3
 */
export function isInGroup(groups: SystemGroups, person: Person, setting: GroupSetting, now: Date): boolean {
  if (person.role >= GUEST) return setting.groups.some((id) => isEveryone(groups.name(id)));
  return setting.members.includes(person.id) || setting.groups.some((id) => isMember(groups, person, id, now));
}

const isEveryone = (name: SystemGroupName | undefined) => name === 'role:everyone' || name === 'role:internet';

/** The one place where membership in a group is decided. Groups other than the role groups have no members here. */
function isMember(groups: SystemGroups, person: Person, groupId: number, now: Date): boolean {
  const name = groups.name(groupId);
  return name !== undefined && isInSystemGroup(person, name, now);
}

/** Whether the person's role puts them into the group, through groups within it as well. */
export function isInSystemGroup(person: Person, name: SystemGroupName, now: Date): boolean {
  switch (name) {
    case 'role:internet':
    case 'role:everyone':
      return true;
    case 'role:members':
      return person.role <= MEMBER;
    case 'role:fullmembers':
      return person.role <= MODERATOR || (person.role <= MEMBER && isPastWaitingPeriod(person, now));
    case 'role:moderators':
      return person.role <= MODERATOR;
    case 'role:administrators':
      return person.role <= ADMINISTRATOR;
    case 'role:owners':
      return person.role <= OWNER;
    case 'role:nobody':
      return false;
  }
}

function isPastWaitingPeriod({ realm, user }: Person, now: Date): boolean {
  const days = realmSetting(realm, 'waiting_period_threshold');
  return now.getTime() - user.joinedAt.getTime() >= days * 86_400_000;
}
