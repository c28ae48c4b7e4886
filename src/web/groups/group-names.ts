import type { GroupNameFragment, GroupSettingInput, HoldersFragment } from '../generated/graphql.ts';
import type { Named } from '../people/named.ts';

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

/** What a group is called: a role group by whom it holds. */
export const nameOfGroup = ({ name, isRoleGroup }: GroupNameFragment): string =>
  (isRoleGroup ? ROLE_GROUPS[name] : undefined) ?? name;

/** Who holds a permission, in a few words. */
export function holdersSpoken({ group, directMembers, directSubgroups }: HoldersFragment): string {
  if (group !== null) return nameOfGroup(group);
  const names = [...directSubgroups.map(nameOfGroup), ...directMembers.map(({ fullName }) => fullName)];
  return names.length === 0 ? 'Nobody' : new Intl.ListFormat().format(names);
}

/** The people and groups that hold a permission by name. */
export const namedHolders = ({ group, directMembers, directSubgroups }: HoldersFragment): readonly Named[] => [
  ...[...(group === null ? [] : [group]), ...directSubgroups].map((one) => ({
    id: one.id,
    fullName: nameOfGroup(one),
    isGroup: true,
  })),
  ...directMembers,
];

/** The ids of what was chosen: people apart from groups. */
export const idsOf = (chosen: readonly Named[]) => ({
  people: chosen.filter(({ isGroup }) => isGroup !== true).map(({ id }) => id),
  groups: chosen.filter(({ isGroup }) => isGroup === true).map(({ id }) => id),
});

/** As the service takes it. */
export function holdersInput(chosen: readonly Named[]): GroupSettingInput {
  const { people: memberIds, groups: subgroupIds } = idsOf(chosen);
  return { direct: { memberIds, subgroupIds } };
}

/** Who holds a permission, as the service takes it. */
export const holdersAsIs = (holders: HoldersFragment): GroupSettingInput =>
  holders.group === null ? holdersInput(namedHolders(holders)) : { groupId: holders.group.id };
