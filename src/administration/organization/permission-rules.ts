import { CHANNEL_PERMISSIONS } from '../../access/permissions/channel-permissions.ts';
import { GROUP_PERMISSIONS } from '../../access/permissions/group-permissions.ts';
import type { GroupRule } from '../../access/permissions/permission-values.ts';
import type { SystemGroupName } from '../../access/permissions/system-groups.ts';
import { REALM_GROUP_SETTINGS } from '../../access/realm-settings.ts';

/** What clients are told of a permission: to whom it may be given, and who holds it in the beginning. */
interface WirePermissionRule {
  readonly require_system_group: boolean;
  readonly allow_internet_group: boolean;
  readonly allow_nobody_group: boolean;
  readonly allow_everyone_group: boolean;
  /** A role group, or a word for who made the thing. */
  readonly default_group_name: string;
  /** For groups of roles; null for what is no permission of groups. */
  readonly default_for_system_groups: SystemGroupName | null;
  /** The only role groups that may hold it; empty: whichever the flags let. */
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

/** `server_supported_permission_settings`: of the organisation, of channels and of groups, as the rules have them. */
export const PERMISSION_RULES = {
  realm: toWire(REALM_GROUP_SETTINGS, 'creator', null),
  stream: toWire(CHANNEL_PERMISSIONS, 'channel_creator', null),
  group: toWire(GROUP_PERMISSIONS, 'group_creator', 'role:nobody'),
};
