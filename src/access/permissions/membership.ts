import type { Realm, User } from '../../generated/prisma/client.ts';
import { ADMINISTRATOR, isGuest, MEMBER, MODERATOR, OWNER } from '../../platform/roles.ts';
import type { Viewer } from '../context.ts';
import { realmSetting } from '../realm-settings.ts';
import type { GroupSetting, SystemGroupName, SystemGroups } from './system-groups.ts';

/** The groups other than role groups that a user is in, as their row has it. */
export type Memberships = Pick<User, 'groupIds' | 'fullMemberGroupIds'>;

/** What membership depends on; a `Viewer` is one. */
export type Person = Pick<Viewer, 'id' | 'role' | 'realm'> & {
  readonly user: Pick<User, 'joinedAt'> & Memberships;
};

/**
 * Whether the person holds the permission: named by it, or in one of its groups, however deep.
 *
 * @param now The time, for the waiting period of full members.
 * @param guests Whether the permission may be given to everyone: only then can a guest hold it by name or by a group;
 *   otherwise they hold it when everyone does.
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

/** The one place where membership in a group is decided. */
function isMember(groups: SystemGroups, person: Person, groupId: number, now: Date): boolean {
  const name = groups.name(groupId);
  if (name !== undefined) return isInSystemGroup(person, name, now);
  const { groupIds, fullMemberGroupIds } = person.user;
  return (
    groupIds.includes(groupId) ||
    (fullMemberGroupIds.includes(groupId) && isInSystemGroup(person, 'role:fullmembers', now))
  );
}

/** The groups other than role groups that the person is in, however deep. */
export function groupIdsOf(person: Person, now: Date): readonly number[] {
  const { groupIds, fullMemberGroupIds } = person.user;
  if (fullMemberGroupIds.length === 0 || !isInSystemGroup(person, 'role:fullmembers', now)) return groupIds;
  return [...groupIds, ...fullMemberGroupIds];
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

const isPastWaitingPeriod = ({ realm, user }: Person, now: Date): boolean =>
  user.joinedAt.getTime() <= fullMemberSince(realm, now).getTime();

/** The latest time at which a member has joined who is a full member at `now`. */
export function fullMemberSince(realm: Pick<Realm, 'settings'>, now: Date): Date {
  return new Date(now.getTime() - realmSetting(realm, 'waiting_period_threshold') * 86_400_000);
}
