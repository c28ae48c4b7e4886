import type { GroupSettingEdit } from '../../access/permissions/permission-values.ts';
import type { WireGroupSetting } from '../../access/permissions/system-groups.ts';
import { builder, type Types } from './builder.ts';
import { refersTo } from './refs.ts';
import { toFieldName } from './setting-fields.ts';

// How the permissions of groups, channels and organisations look in GraphQL: all are held by users and groups.

/** `can_send_message_group` as GraphQL names it. */
export const permissionFieldName = (name: string): string => toFieldName(name.replace(/_group$/, ''));

/** Its fields stand beside the type of groups. */
export const GroupSetting = builder.objectRef<WireGroupSetting>('GroupSetting').implement({
  description: 'Who holds a permission: users, and the members of groups.',
});

const DirectHoldersInput = builder.inputType('DirectHoldersInput', {
  description: 'Users and groups that are to hold a permission; nobody, if all is left out.',
  fields: (t) => ({
    memberIds: t.idList({
      ...refersTo('User'),
      required: false,
      description: 'Users who are to hold it themselves. Absent: none.',
    }),
    subgroupIds: t.idList({
      ...refersTo('UserGroup'),
      required: false,
      description: 'Groups whose members are to hold it. Absent: none.',
    }),
  }),
});

export const GroupSettingInput = builder.inputType('GroupSettingInput', {
  isOneOf: true,
  description: 'Who is to hold a permission.',
  fields: (t) => ({
    groupId: t.id({ ...refersTo('UserGroup'), required: false, description: 'One group, and nobody else.' }),
    direct: t.field({ type: DirectHoldersInput, required: false, description: 'Users and groups, each by itself.' }),
  }),
});

export const toWireSetting = ({ groupId, direct }: typeof GroupSettingInput.$inferInput): WireGroupSetting =>
  groupId ?? { direct_members: direct.memberIds ?? [], direct_subgroups: direct.subgroupIds ?? [] };

const GroupSettingEditInput = builder.inputType('GroupSettingEditInput', {
  description: 'A change of who holds a permission.',
  fields: (t) => ({
    new: t.field({ type: GroupSettingInput, description: 'Who is to hold it from now on.' }),
    old: t.field({
      type: GroupSettingInput,
      required: false,
      description: 'What the client believes it is; if it is not, nothing is changed.',
    }),
  }),
});

/** What each permission allows, by its name on the wire. */
type Meanings<N extends string> = Readonly<Record<N, string>>;

const namesOf = <N extends string>(meanings: Meanings<N>) => Object.keys(meanings) as N[];

/** Adds the type of an object that tells who holds each of several permissions. */
export function permissionsType<N extends string>(name: string, description: string, meanings: Meanings<N>) {
  return builder.objectRef<Record<N, WireGroupSetting>>(name).implement({
    description,
    fields: (t) =>
      Object.fromEntries(
        namesOf(meanings).map((permission) => [
          permissionFieldName(permission),
          t.field({
            type: GroupSetting,
            description: meanings[permission],
            resolve: (permissions) => permissions[permission],
          }),
        ]),
      ),
  });
}

type InputFields = PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>;

const inputOf = <N extends string>(name: string, description: string, meanings: Meanings<N>, type: object) =>
  builder.inputType(name, {
    description,
    fields: (t: InputFields) =>
      Object.fromEntries(
        namesOf(meanings).map((permission) => [
          permissionFieldName(permission),
          t.field({ type: type as typeof GroupSettingInput, required: false, description: meanings[permission] }),
        ]),
      ),
  });

/** Adds an input type that gives some of the permissions. */
export const permissionsInput = <N extends string>(name: string, description: string, meanings: Meanings<N>) =>
  inputOf(name, description, meanings, GroupSettingInput);

/** Adds an input type that changes some of the permissions. */
export const permissionEditsInput = <N extends string>(name: string, description: string, meanings: Meanings<N>) =>
  inputOf(name, description, meanings, GroupSettingEditInput);

/** What is given of the permissions, by their names on the wire. */
export function permissionsGiven<N extends string, T, R>(
  names: readonly N[],
  input: object | null | undefined,
  read: (value: T) => R,
): Partial<Record<N, R>> {
  const values = (input ?? {}) as Readonly<Record<string, T | null | undefined>>;
  const entries = names.flatMap((name) => {
    const value = values[permissionFieldName(name)];
    return value == null ? [] : [[name, read(value)] as const];
  });
  return Object.fromEntries(entries) as Partial<Record<N, R>>;
}

/** As `permissionsGiven`, of an input from `permissionEditsInput`. */
export const permissionEditsGiven = <N extends string>(names: readonly N[], input: object | null | undefined) =>
  permissionsGiven<N, typeof GroupSettingEditInput.$inferInput, GroupSettingEdit>(names, input, (change) => ({
    value: toWireSetting(change.new),
    expected: change.old == null ? undefined : toWireSetting(change.old),
  }));
