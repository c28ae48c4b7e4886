import type { Tx } from '../platform/db/client.ts';
import { BadRequestError, ExpectationMismatchError } from '../platform/errors.ts';
import { isRowId } from '../platform/ids.ts';
import { requireWithin } from '../platform/totals.ts';
import { SystemGroupRequiredError } from './permission-errors.ts';
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
  /** Whether the role group of all users, including guests, can hold the permission. */
  readonly everyone: boolean;
  /** Whether the permission can be left without a holder. Absent: true. */
  readonly nobody?: boolean;
  /** If set, exactly one of these role groups holds the permission. Absent: other holders are possible too. */
  readonly only?: readonly SystemGroupName[];
}

type Rules<N extends string> = Readonly<Record<N, GroupRule>>;

/** Permissions as clients send them: a group's id, or users and groups. */
export type GroupSettingValues<N extends string> = Partial<Record<N, WireGroupSetting>>;
export type GroupSettings<N extends string> = Partial<Record<N, GroupSetting>>;

/** A permission's new value, and the value that the client expects it to have. */
export interface GroupSettingEdit {
  readonly value: WireGroupSetting;
  readonly expected?: WireGroupSetting | undefined;
}

export type GroupSettingEdits<N extends string> = Partial<Record<N, GroupSettingEdit>>;

/**
 * Returns permissions that a client sent, in the stored form: ids ascending, each id once, an empty set as the empty role
 * group.
 *
 * @param rules The rule of each permission, by its name on the wire.
 * @throws BadRequestError if a user or group does not exist or is deactivated, or if a role group cannot hold the permission.
 * @throws SystemGroupRequiredError if only a role group can hold the permission, and another holder was sent.
 */
export async function readGroupSettings<N extends string>(
  tx: Tx,
  realmId: number,
  rules: Rules<N>,
  values: GroupSettingValues<N>,
): Promise<GroupSettings<N>> {
  const groups = await systemGroups(tx, realmId);
  const settings = Object.entries<WireGroupSetting>(values as Record<N, WireGroupSetting>).map(
    ([name, value]) => [name as N, canonical(groups, value)] as const,
  );
  await requireUsers(tx, realmId, new Set(settings.flatMap(([, { members }]) => members)));
  const ids = new Set(settings.flatMap(([, setting]) => setting.groups));
  await requireGroups(tx, realmId, new Set([...ids].filter((id) => groups.name(id) === undefined)));
  for (const [name, setting] of settings) requireAllowed(groups, name, rules[name], setting);
  return Object.fromEntries(settings) as GroupSettings<N>;
}

/**
 * Returns the sent permissions that change, in the stored form.
 *
 * @param current Returns the current value of a permission.
 * @throws ExpectationMismatchError if a permission does not have the value that the client expects.
 * @throws BadRequestError, SystemGroupRequiredError as `readGroupSettings`.
 */
export async function changedGroupSettings<N extends string>(
  tx: Tx,
  realmId: number,
  rules: Rules<N>,
  edits: GroupSettingEdits<N>,
  current: (name: N) => GroupSetting,
): Promise<GroupSettings<N>> {
  const given = Object.entries<GroupSettingEdit>(edits as Record<N, GroupSettingEdit>) as [N, GroupSettingEdit][];
  if (given.length === 0) return {};
  const values = Object.fromEntries(given.map(([name, { value }]) => [name, value])) as GroupSettingValues<N>;
  const settings = await readGroupSettings(tx, realmId, rules, values);
  const groups = await systemGroups(tx, realmId);
  for (const [name, { expected }] of given) {
    if (expected !== undefined && !isSameSetting(canonical(groups, expected), current(name))) {
      throw new ExpectationMismatchError('old');
    }
  }
  const changed = given.filter(([name]) => !isSameSetting(settings[name] ?? current(name), current(name)));
  return Object.fromEntries(changed.map(([name]) => [name, settings[name]])) as GroupSettings<N>;
}

/**
 * Converts a value from a client to the stored form.
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

async function requireUsers(tx: Tx, realmId: number, ids: ReadonlySet<number>): Promise<void> {
  if (ids.size === 0) return;
  const rows = await tx.$queryRaw<{ id: number }[]>`
    SELECT id FROM user_account
    WHERE realm_id = ${realmId} AND is_active AND NOT is_system AND id = ANY(${[...ids].filter(isRowId)})`;
  const known = new Set(rows.map(({ id }) => id));
  for (const id of ids) if (!known.has(id)) throw new BadRequestError(`Invalid user ID: ${id}`);
}

/**
 * Checks that all groups exist in the organization and are active.
 *
 * @throws BadRequestError if a group does not exist or is deactivated.
 */
export async function requireGroups(tx: Tx, realmId: number, ids: ReadonlySet<number>): Promise<void> {
  if (ids.size === 0) return;
  const rows = await tx.$queryRaw<{ id: number; deactivated: boolean }[]>`
    SELECT id, deactivated_at IS NOT NULL AS deactivated FROM user_group
    WHERE realm_id = ${realmId} AND id = ANY(${[...ids].filter(isRowId)})`;
  if (rows.length < ids.size) throw new BadRequestError('Invalid user group');
  if (rows.some(({ deactivated }) => deactivated)) throw new BadRequestError('User group is deactivated.');
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
  if (refused !== undefined) throw new BadRequestError(`'${name}' setting cannot be set to '${refused}' group.`);
}

/** Returns whether two values contain exactly the same users and groups. Both must be in the stored form. */
export function isSameSetting(a: GroupSetting, b: GroupSetting): boolean {
  return a.members.join() === b.members.join() && a.groups.join() === b.groups.join();
}
