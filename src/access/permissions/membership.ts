import type { Organization, User } from '../../generated/prisma/client.ts';
import { ADMINISTRATOR, isGuest, MEMBER, MODERATOR, OWNER } from '../../platform/roles.ts';
import type { Viewer } from '../context.ts';
import { organizationSetting } from '../organization-settings.ts';
import type { GroupSetting, SystemGroupName, SystemGroups } from '../system-groups.ts';

/** The groups of a user that are not role groups, as stored in the user's row. */
export type Memberships = Pick<User, 'groupIds' | 'fullMemberGroupIds'>;

/** The data of a user on which membership in groups depends. A `Viewer` contains this data. */
export type Person = Pick<Viewer, 'id' | 'role' | 'organization'> & {
  readonly user: Pick<User, 'joinedAt'> & Memberships;
};

/**
 * Returns whether the user holds the permission, either directly or as a member, at any depth, of a group that holds it.
 *
 * @param now The current time, for the waiting period of full members.
 * @param guests Whether guests can hold the permission directly or as members of any group. If false, a guest holds the
 *   permission only if one of the groups in `setting` is `role:everyone` or `role:internet`.
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

/** Returns whether the user is in a group, directly or through nested groups. */
function isMember(groups: SystemGroups, person: Person, groupId: number, now: Date): boolean {
  const name = groups.name(groupId);
  if (name !== undefined) return isInSystemGroup(person, name, now);
  const { groupIds, fullMemberGroupIds } = person.user;
  return (
    groupIds.includes(groupId) ||
    (fullMemberGroupIds.includes(groupId) && isInSystemGroup(person, 'role:fullmembers', now))
  );
}

/** Returns the ids of the groups in which the user is, directly or through nested groups. Omits role groups. */
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

const isPastWaitingPeriod = ({ organization, user }: Person, now: Date): boolean =>
  user.joinedAt.getTime() <= fullMemberSince(organization, now).getTime();

/** Returns the latest time at which a user can have joined the organization to be a full member at `now`. */
export function fullMemberSince(organization: Pick<Organization, 'settings'>, now: Date): Date {
  return new Date(now.getTime() - organizationSetting(organization, 'waiting_period_threshold') * 86_400_000);
}
