import type { GroupSettingEdit } from '../../../access/permission-values.ts';
import type { WireGroupSetting } from '../../../access/system-groups.ts';
import { builder, type Types } from './builder.ts';
import { refersTo } from './refs.ts';
import { permissionFieldName } from './setting-fields.ts';

// GraphQL types for the permissions of groups, channels and organizations. The holders of a permission are users and groups.

/** The type for the holders of a permission. The feature of user groups defines its fields. */
export const GroupSetting = builder.objectRef<WireGroupSetting>('GroupSetting').implement({
  description: 'Holders of a permission: users, and the members of groups.',
});

const DirectHoldersInput = builder.inputType('DirectHoldersInput', {
  description: 'Users and groups that hold a permission. If both fields are absent, the permission has no holders.',
  fields: (t) => ({
    memberIds: t.idList({
      ...refersTo('User'),
      required: false,
      description: 'Users who hold the permission directly. Absent: none.',
    }),
    subgroupIds: t.idList({
      ...refersTo('UserGroup'),
      required: false,
      description: 'Groups whose members hold the permission. Absent: none.',
    }),
  }),
});

export const GroupSettingInput = builder.inputType('GroupSettingInput', {
  isOneOf: true,
  description: 'Holders of a permission: one group, or a set of users and groups.',
  fields: (t) => ({
    groupId: t.id({
      ...refersTo('UserGroup'),
      required: false,
      description: 'The only group whose members hold the permission.',
    }),
    direct: t.field({
      type: DirectHoldersInput,
      required: false,
      description: 'Users and groups that hold the permission.',
    }),
  }),
});

export const toWireSetting = ({ groupId, direct }: typeof GroupSettingInput.$inferInput): WireGroupSetting =>
  groupId ?? { direct_members: direct.memberIds ?? [], direct_subgroups: direct.subgroupIds ?? [] };

const GroupSettingEditInput = builder.inputType('GroupSettingEditInput', {
  description: 'A change of the holders of a permission.',
  fields: (t) => ({
    new: t.field({ type: GroupSettingInput, description: 'New holders of the permission.' }),
    old: t.field({
      type: GroupSettingInput,
      required: false,
      description: 'Holders that the client expects. If the current holders differ, nothing is changed.',
    }),
  }),
});

/** The description of each permission, by REST name. */
type Meanings<N extends string> = Readonly<Record<N, string>>;

const namesOf = <N extends string>(meanings: Meanings<N>) => Object.keys(meanings) as N[];

/** Adds an object type with a field for each permission. The value of a field is the holders of the permission. */
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

/** Adds an input type that sets the holders of permissions. It has an optional field for each permission. */
export const permissionsInput = <N extends string>(name: string, description: string, meanings: Meanings<N>) =>
  inputOf(name, description, meanings, GroupSettingInput);

/**
 * Adds an input type that changes the holders of permissions. Each optional field contains the new holders, and can contain the
 * holders that the client expects.
 */
export const permissionEditsInput = <N extends string>(name: string, description: string, meanings: Meanings<N>) =>
  inputOf(name, description, meanings, GroupSettingEditInput);

/** Returns the values of the permissions that an input contains, by REST name. @param read Converts a value of the input. */
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

/** Returns the changes in an input of `permissionEditsInput`, by REST name of the permission. */
export const permissionEditsGiven = <N extends string>(names: readonly N[], input: object | null | undefined) =>
  permissionsGiven<N, typeof GroupSettingEditInput.$inferInput, GroupSettingEdit>(names, input, (change) => ({
    value: toWireSetting(change.new),
    expected: change.old == null ? undefined : toWireSetting(change.old),
  }));
