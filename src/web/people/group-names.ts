import type { GroupNameFragment, GroupSettingInput, HoldersFragment } from '../generated/graphql.ts';
import type { Named } from './named.ts';

const ROLE_GROUPS: Readonly<Record<string, string>> = {
  'role:internet': 'Everyone on the Internet',
  'role:everyone': 'Everyone, guests included',
  'role:members': 'Members',
  'role:fullmembers': 'Full members',
  'role:moderators': 'Moderators',
  'role:administrators': 'Administrators',
  'role:owners': 'Owners',
  'role:nobody': 'Nobody',
};

/** Returns the display name of a role group, such as `role:members`. */
export const nameOfRoleGroup = (name: string): string => ROLE_GROUPS[name] ?? name;

/** Returns the display name of a group. */
export const nameOfGroup = ({ name, isRoleGroup }: GroupNameFragment): string =>
  isRoleGroup ? nameOfRoleGroup(name) : name;

/** Returns the holders of a permission as short text for the user. */
export function holdersSpoken({ group, directMembers, directSubgroups }: HoldersFragment): string {
  if (group !== null) return nameOfGroup(group);
  const names = [...directSubgroups.map(nameOfGroup), ...directMembers.map(({ fullName }) => fullName)];
  return names.length === 0 ? 'Nobody' : new Intl.ListFormat().format(names);
}

/** Returns the users and groups that hold a permission, as entries of `PeoplePicker`. */
export const namedHolders = ({ group, directMembers, directSubgroups }: HoldersFragment): readonly Named[] => [
  ...(group === null ? directSubgroups : [group]).map((one) => ({
    id: one.id,
    fullName: nameOfGroup(one),
    isGroup: true,
  })),
  ...directMembers,
];

/** Splits chosen users and groups into user IDs and group IDs. */
export const idsOf = (chosen: readonly Named[]) => ({
  people: chosen.filter(({ isGroup }) => isGroup !== true).map(({ id }) => id),
  groups: chosen.filter(({ isGroup }) => isGroup === true).map(({ id }) => id),
});

/** Returns the chosen holders of a permission as input for a mutation. */
export function holdersInput(chosen: readonly Named[]): GroupSettingInput {
  const { people: memberIds, groups: subgroupIds } = idsOf(chosen);
  return { direct: { memberIds, subgroupIds } };
}

/** Returns the current holders of a permission as input for a mutation. */
export const holdersAsIs = (holders: HoldersFragment): GroupSettingInput =>
  holders.group === null ? holdersInput(namedHolders(holders)) : { groupId: holders.group.id };
