import type { Realm, User } from '../../generated/prisma/client.ts';
import { ADMINISTRATOR, isGuest, MEMBER, MODERATOR, OWNER } from '../../platform/roles.ts';
import type { Viewer } from '../context.ts';
import { realmSetting } from '../realm-settings.ts';
import type { GroupSetting, SystemGroupName, SystemGroups } from '../system-groups.ts';

/** The groups of a user that are not role groups, as stored in the user's row. */
export type Memberships = Pick<User, 'groupIds' | 'fullMemberGroupIds'>;

/** The data that membership depends on. A `Viewer` contains it. */
export type Person = Pick<Viewer, 'id' | 'role' | 'realm'> & {
  readonly user: Pick<User, 'joinedAt'> & Memberships;
};

/**
 * Returns whether the user holds the permission, either directly or as a member of one of its groups at any depth.
 *
 * @param now The current time, for the waiting period of full members.
 * @param guests Whether the permission can be given to everyone. If so, a guest can also hold it directly or by another group.
 * Otherwise a guest holds it only if it is given to everyone.
 */
export function isInGroup(
  groups: SystemGroups,
  person: Person,
  setting: GroupSetting,
  now: Date,
  { guests = false } = {},
): boolean {
  if (isGuest(person.role) && !guests) return setting.groups.some((id) => isEveryone(groups.name(id)));
  return setting.members.includes(person.id) || setting.groups.some((id) => isMember(groups, person, id, now));
}

const isEveryone = (name: SystemGroupName | undefined) => name === 'role:everyone' || name === 'role:internet';

/** Returns whether the user is in a group, at any depth. */
function isMember(groups: SystemGroups, person: Person, groupId: number, now: Date): boolean {
  const name = groups.name(groupId);
  if (name !== undefined) return isInSystemGroup(person, name, now);
  const { groupIds, fullMemberGroupIds } = person.user;
  return (
    groupIds.includes(groupId) ||
    (fullMemberGroupIds.includes(groupId) && isInSystemGroup(person, 'role:fullmembers', now))
  );
}

/** Returns the groups other than role groups that the user is in, at any depth. */
export function groupIdsOf(person: Person, now: Date): readonly number[] {
  const { groupIds, fullMemberGroupIds } = person.user;
  if (fullMemberGroupIds.length === 0 || !isInSystemGroup(person, 'role:fullmembers', now)) return groupIds;
  return [...groupIds, ...fullMemberGroupIds];
}

/** Returns whether the user's role makes them a member of a role group, directly or through groups within it. */
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

const isPastWaitingPeriod = ({ realm, user }: Person, now: Date): boolean =>
  user.joinedAt.getTime() <= fullMemberSince(realm, now).getTime();

/** Returns the time until which a member must have joined to be a full member at `now`. */
export function fullMemberSince(realm: Pick<Realm, 'settings'>, now: Date): Date {
  return new Date(now.getTime() - realmSetting(realm, 'waiting_period_threshold') * 86_400_000);
}
