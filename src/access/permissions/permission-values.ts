import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError, ExpectationMismatchError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { SystemGroupRequiredError } from './errors.ts';
import {
  type GroupSetting,
  roleGroup,
  type SystemGroupName,
  type SystemGroups,
  systemGroups,
  type WireGroupSetting,
} from './system-groups.ts';

/** Which role groups may hold a permission. None may be given to the whole Internet. */
export interface GroupRule {
  /** Whether it may be given to everyone, guests included. */
  readonly everyone: boolean;
  /** Whether it may be given to nobody; it may when this is absent. */
  readonly nobody?: boolean;
  /** The only role groups it may be given to, for a permission that takes one of these and nothing else. */
  readonly only?: readonly SystemGroupName[];
}

type Rules<N extends string> = Readonly<Record<N, GroupRule>>;

/** Permissions as clients give them: a group's id, or users and groups. */
export type GroupSettingValues<N extends string> = Partial<Record<N, WireGroupSetting>>;
export type GroupSettings<N extends string> = Partial<Record<N, GroupSetting>>;

/** A permission's new value, and the one the client believes it has. */
export interface GroupSettingEdit {
  readonly value: WireGroupSetting;
  readonly expected?: WireGroupSetting | undefined;
}

export type GroupSettingEdits<N extends string> = Partial<Record<N, GroupSettingEdit>>;

/**
 * Permissions as they are stored, from what a client gave: in order, each id once, nobody at all as role:nobody.
 *
 * @param rules Of each permission, by its name on the wire.
 * @throws BadRequestError for a user or group that is not there or deactivated, and for a role group that may not hold
 *   the permission.
 * @throws SystemGroupRequiredError for a permission that only a role group may hold.
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
 * Those of the permissions given that are to change, as they are stored.
 *
 * @param current What each is now.
 * @throws ExpectationMismatchError when one is not what the client believes.
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

/** What a client gave, in the stored form. */
function canonical(groups: SystemGroups, value: WireGroupSetting): GroupSetting {
  const { direct_members: members, direct_subgroups: ids } =
    typeof value === 'number' ? { direct_members: [], direct_subgroups: [value] } : value;
  if (members.length === 0 && ids.length === 0) return roleGroup(groups, 'role:nobody');
  return { members: inOrder(members), groups: inOrder(ids) };
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

/** @throws BadRequestError when one is not a group of the organisation, or deactivated. */
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

/** Whether both name the same users and groups; both in the stored form. */
export function isSameSetting(a: GroupSetting, b: GroupSetting): boolean {
  return a.members.join() === b.members.join() && a.groups.join() === b.groups.join();
}
