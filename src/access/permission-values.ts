import type { Tx } from '../platform/db/client.ts';
import { ConflictError, NotFoundError, ValidationError } from '../platform/errors.ts';
import { isRowId } from '../platform/ids.ts';
import { requireWithin } from '../platform/totals.ts';
import { HoldersMismatchError, SystemGroupRequiredError } from './permission-errors.ts';
import {
  type GroupSetting,
  roleGroup,
  type SystemGroupName,
  type SystemGroups,
  systemGroups,
  type WireGroupSetting,
} from './system-groups.ts';

/** Rule for the groups that can hold a permission. `role:internet` cannot hold any permission. */
export interface GroupRule {
  /** Whether `role:everyone`, the role group of all users including guests, can hold the permission. */
  readonly everyone: boolean;
  /** Whether the permission can be left without a holder. Absent: true. */
  readonly nobody?: boolean;
  /** If set, the permission is held by exactly one of these role groups. Absent: users and other groups can hold it too. */
  readonly only?: readonly SystemGroupName[];
}

type Rules<N extends string> = Readonly<Record<N, GroupRule>>;

/** Holders of permissions, by the name of the permission. Clients send a group's id, or a set of users and groups. */
export type GroupSettingValues<N extends string> = Partial<Record<N, WireGroupSetting>>;
export type GroupSettings<N extends string> = Partial<Record<N, GroupSetting>>;

/** A permission's new value, and the value that the client expects it to have. */
export interface GroupSettingEdit {
  readonly value: WireGroupSetting;
  readonly expected?: WireGroupSetting | undefined;
}

export type GroupSettingEdits<N extends string> = Partial<Record<N, GroupSettingEdit>>;

/**
 * Returns the stored form of permissions that a client sent: ids ascending, each id once. No holders are stored as the empty
 * role group, `role:nobody`.
 *
 * @param rules The rule of each permission, by its name on the wire.
 * @throws TotalReachedError if a value has more users and groups than a permission can have.
 * @throws NotFoundError if a user or group does not exist, or if a user is deactivated.
 * @throws ConflictError if a group is deactivated.
 * @throws ValidationError if a role group cannot hold the permission.
 * @throws SystemGroupRequiredError if only a role group can hold the permission, and another holder was sent.
 */
export async function readGroupSettings<N extends string>(
  tx: Tx,
  organizationId: number,
  rules: Rules<N>,
  values: GroupSettingValues<N>,
): Promise<GroupSettings<N>> {
  const groups = await systemGroups(tx, organizationId);
  const settings = Object.entries<WireGroupSetting>(values as Record<N, WireGroupSetting>).map(
    ([name, value]) => [name as N, canonical(groups, value)] as const,
  );
  await requireUsers(tx, organizationId, new Set(settings.flatMap(([, { members }]) => members)));
  const ids = new Set(settings.flatMap(([, setting]) => setting.groups));
  const others = new Set([...ids].filter((id) => groups.name(id) === undefined));
  await requireGroups(
    tx,
    organizationId,
    others,
    (id) => settings.find(([, setting]) => setting.groups.includes(id))?.[0],
  );
  for (const [name, setting] of settings) requireAllowed(groups, name, rules[name], setting);
  return Object.fromEntries(settings) as GroupSettings<N>;
}

/**
 * Returns the permissions whose new values differ from the current values, in the stored form.
 *
 * @param current Returns the current value of a permission.
 * @throws HoldersMismatchError if a permission does not have the value that the client expects.
 * @throws TotalReachedError if a value has more users and groups than a permission can have.
 * @throws NotFoundError if a user or group does not exist, or if a user is deactivated.
 * @throws ConflictError if a group is deactivated.
 * @throws ValidationError if a role group cannot hold the permission.
 * @throws SystemGroupRequiredError if only a role group can hold the permission, and another holder was sent.
 */
export async function changedGroupSettings<N extends string>(
  tx: Tx,
  organizationId: number,
  rules: Rules<N>,
  edits: GroupSettingEdits<N>,
  current: (name: N) => GroupSetting,
): Promise<GroupSettings<N>> {
  const given = Object.entries<GroupSettingEdit>(edits as Record<N, GroupSettingEdit>) as [N, GroupSettingEdit][];
  if (given.length === 0) return {};
  const values = Object.fromEntries(given.map(([name, { value }]) => [name, value])) as GroupSettingValues<N>;
  const settings = await readGroupSettings(tx, organizationId, rules, values);
  const groups = await systemGroups(tx, organizationId);
  for (const [name, { expected }] of given) {
    if (expected !== undefined && !isSameSetting(canonical(groups, expected), current(name))) {
      throw new HoldersMismatchError(name);
    }
  }
  const changed = given.filter(([name]) => !isSameSetting(settings[name] ?? current(name), current(name)));
  return Object.fromEntries(changed.map(([name]) => [name, settings[name]])) as GroupSettings<N>;
}

/**
 * Converts the holders of a permission, as a client sent them, to the stored form.
 *
 * @throws TotalReachedError if the value has more users and groups than a permission can have.
 */
function canonical(groups: SystemGroups, value: WireGroupSetting): GroupSetting {
  const { direct_members: members, direct_subgroups: ids } =
    typeof value === 'number' ? { direct_members: [], direct_subgroups: [value] } : value;
  if (members.length === 0 && ids.length === 0) return roleGroup(groups, 'role:nobody');
  const setting = { members: inOrder(members), groups: inOrder(ids) };
  requireWithin('holders_per_permission', setting.members.length + setting.groups.length);
  return setting;
}

const inOrder = (ids: readonly number[]) => [...new Set(ids)].sort((a, b) => a - b);

async function requireUsers(tx: Tx, organizationId: number, ids: ReadonlySet<number>): Promise<void> {
  if (ids.size === 0) return;
  const rows = await tx.$queryRaw<{ id: number }[]>`
    SELECT id FROM user_account
    WHERE realm_id = ${organizationId} AND is_active AND NOT is_system AND id = ANY(${[...ids].filter(isRowId)})`;
  const known = new Set(rows.map(({ id }) => id));
  for (const id of ids) if (!known.has(id)) throw new NotFoundError(`Invalid user ID: ${id}`, { type: 'User', id });
}

/**
 * Checks that all groups exist in the organization and are active.
 *
 * @param parameterOf Returns the name of the parameter that contains a group's id.
 * @throws NotFoundError if a group does not exist.
 * @throws ConflictError if a group is deactivated.
 */
export async function requireGroups(
  tx: Tx,
  organizationId: number,
  ids: ReadonlySet<number>,
  parameterOf: (id: number) => string | undefined,
): Promise<void> {
  if (ids.size === 0) return;
  const rows = await tx.$queryRaw<{ id: number; deactivated: boolean }[]>`
    SELECT id, deactivated_at IS NOT NULL AS deactivated FROM user_group
    WHERE realm_id = ${organizationId} AND id = ANY(${[...ids].filter(isRowId)})`;
  const known = new Set(rows.map(({ id }) => id));
  for (const id of ids) {
    if (!known.has(id)) {
      throw new NotFoundError('Invalid user group', { type: 'UserGroup', id, parameter: parameterOf(id) });
    }
  }
  const deactivated = rows.find((row) => row.deactivated);
  if (deactivated !== undefined) {
    throw new ConflictError('User group is deactivated.', { parameter: parameterOf(deactivated.id) });
  }
}

function requireAllowed(
  groups: SystemGroups,
  name: string,
  { everyone, nobody = true, only }: GroupRule,
  setting: GroupSetting,
): void {
  const names = setting.groups.map((id) => groups.name(id));
  if (only !== undefined && (setting.members.length > 0 || names.length !== 1 || names[0] === undefined)) {
    throw new SystemGroupRequiredError(name);
  }
  const refused = names.find(
    (group) =>
      group === 'role:internet' ||
      (group === 'role:everyone' && !everyone) ||
      (group === 'role:nobody' && !nobody) ||
      (group !== undefined && only?.includes(group) === false),
  );
  if (refused !== undefined) {
    throw new ValidationError(`'${name}' setting cannot be set to '${refused}' group.`, {
      parameter: name,
      value: refused,
      schemaMessage: `The role group "${refused}" cannot hold this permission.`,
    });
  }
}

/**
 * Returns whether two values of a permission contain exactly the same users and groups. Both values must be in the stored form.
 */
export function isSameSetting(a: GroupSetting, b: GroupSetting): boolean {
  return a.members.join() === b.members.join() && a.groups.join() === b.groups.join();
}
