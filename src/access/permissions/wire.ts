import { z } from 'zod';
import type { UserGroup } from '../../generated/prisma/client.ts';
import { type GroupPermissionName, wirePermissions } from './group-permissions.ts';
import type { SystemGroups, WireGroupSetting } from './system-groups.ts';

/** Who holds a permission, as clients write it: a group's id, or users and groups. */
export const groupSetting = z.union([
  z.int(),
  z.strictObject({ direct_members: z.array(z.int()), direct_subgroups: z.array(z.int()) }),
]);

/** A permission's new value, and the one the client believes it has. */
export const groupSettingEdit = z.strictObject({ new: groupSetting, old: groupSetting.optional() });

export interface WireUserGroup extends Readonly<Record<GroupPermissionName, WireGroupSetting>> {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  /** UNIX seconds. */
  readonly date_created: number | null;
  readonly creator_id: number | null;
  /** Active users in the group itself, ascending. */
  readonly members: readonly number[];
  readonly direct_subgroup_ids: readonly number[];
  readonly is_system_group: boolean;
  readonly deactivated: boolean;
}

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
