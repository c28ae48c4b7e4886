import { z } from 'zod';
import type { UserGroup } from '../../generated/prisma/client.ts';
import type { Wire } from '../../platform/wire.ts';
import type { SystemGroups } from '../system-groups.ts';
import { GROUP_PERMISSION_NAMES, wirePermissions } from './group-permissions.ts';

/** The holders of a permission, as clients send them: a group's id, or users and groups. */
export const groupSetting = z.union([
  z.int(),
  z.strictObject({ direct_members: z.array(z.int()), direct_subgroups: z.array(z.int()) }),
]);

/** A permission's new value, and the value that the client expects it to have. */
export const groupSettingEdit = z.strictObject({ new: groupSetting, old: groupSetting.optional() });

/** Returns an object with an entry for each permission. All entries have the value `field`. */
export const permissionFields = <N extends string, T>(names: readonly N[], field: T) =>
  Object.fromEntries(names.map((name) => [name, field])) as Record<N, T>;

export const wireUserGroup = z
  .object({
    id: z.int(),
    name: z.string(),
    description: z.string(),
    date_created: z.int().nullable().describe('Time of creation in UNIX seconds.'),
    creator_id: z.int().nullable(),
    members: z.array(z.int()).describe('Ids of the active direct members, ascending.'),
    direct_subgroup_ids: z.array(z.int()),
    is_system_group: z.boolean(),
    deactivated: z.boolean(),
    ...permissionFields(GROUP_PERMISSION_NAMES, groupSetting),
  })
  .meta({ id: 'UserGroup' });
export type WireUserGroup = Wire<typeof wireUserGroup>;

export function toWire(
  groups: SystemGroups,
  group: UserGroup,
  { memberIds, subgroupIds }: { readonly memberIds: readonly number[]; readonly subgroupIds: readonly number[] },
): WireUserGroup {
  const { createdAt } = group;
  return {
    id: group.id,
    name: group.name,
    description: group.description,
    date_created: createdAt === null ? null : Math.floor(createdAt.getTime() / 1000),
    creator_id: group.creatorId,
    members: memberIds,
    direct_subgroup_ids: subgroupIds,
    is_system_group: group.isSystem,
    deactivated: group.deactivatedAt !== null,
    ...wirePermissions(groups, group),
  };
}
