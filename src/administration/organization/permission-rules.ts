import { ORGANIZATION_GROUP_SETTINGS } from '../../access/organization-settings.ts';
import type { GroupRule } from '../../access/permission-values.ts';
import { CHANNEL_PERMISSIONS } from '../../access/permissions/channel-permissions.ts';
import { GROUP_PERMISSIONS } from '../../access/permissions/group-permissions.ts';
import type { SystemGroupName } from '../../access/system-groups.ts';

/** The rule of a permission, as sent to clients: the groups that can hold the permission, and the initial holder. */
interface WirePermissionRule {
  readonly require_system_group: boolean;
  readonly allow_internet_group: boolean;
  readonly allow_nobody_group: boolean;
  readonly allow_everyone_group: boolean;
  /**
   * Initial holder: the name of a role group, or "creator", "channel_creator" or "group_creator" for the creator of the object.
   */
  readonly default_group_name: string;
  /**
   * Initial holder of the permission if the object is a role group. Null for permissions of channels and of the organization.
   */
  readonly default_for_system_groups: SystemGroupName | null;
  /** Role groups that can hold the permission. Empty: all role groups that the flags of the rule permit. */
  readonly allowed_system_groups: readonly SystemGroupName[];
}

type Rules = Readonly<Record<string, GroupRule & { readonly initial: SystemGroupName | 'creator' }>>;

const toWire = (rules: Rules, creator: string, forRoles: SystemGroupName | null): Record<string, WirePermissionRule> =>
  Object.fromEntries(
    Object.entries(rules).map(([name, { everyone, nobody = true, only, initial }]) => [
      name,
      {
        require_system_group: only !== undefined,
        allow_internet_group: false,
        allow_nobody_group: nobody,
        allow_everyone_group: everyone,
        default_group_name: initial === 'creator' ? creator : initial,
        default_for_system_groups: forRoles,
        allowed_system_groups: only ?? [],
      },
    ]),
  );

/** Value of `server_supported_permission_settings`: the permission rules of the organization, channels and groups. */
export const PERMISSION_RULES = {
  realm: toWire(ORGANIZATION_GROUP_SETTINGS, 'creator', null),
  stream: toWire(CHANNEL_PERMISSIONS, 'channel_creator', null),
  group: toWire(GROUP_PERMISSIONS, 'group_creator', 'role:nobody'),
};
