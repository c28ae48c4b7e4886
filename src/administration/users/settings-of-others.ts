import type { Ctx } from '../../access/context.ts';
import { requireGroups } from '../../access/permission-values.ts';
import { isInGroup } from '../../access/permissions/membership.ts';
import { requireAdministrator } from '../../access/roles.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { systemGroups } from '../../access/system-groups.ts';
import { hasEdited, USER_SETTINGS, type UserSettingName } from '../../access/user-settings.ts';
import { transact } from '../../events/log.ts';
import type { User } from '../../generated/prisma/client.ts';
import { lockRealm } from '../../people/locks.ts';
import { writeSettings } from '../../people/settings-write.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { requireSettings } from '../../platform/setting.ts';

/**
 * Maximum number of people per request: more than an organization of the intended size has, few enough for a transaction.
 */
const MAX_TARGETS = 2_000;

const { email_address_visibility: _own, ...others } = USER_SETTINGS;

/**
 * Settings that administrators can change for other users. The visibility of the email address is left out, because users can
 * hide it from administrators too.
 */
export const SETTINGS_OF_OTHERS = others;

/** The users whose settings an administrator changes. */
export interface SettingsTargets {
  readonly userIds?: readonly number[] | undefined;
  /** Ids of groups whose members are included, also members of nested groups. */
  readonly groupIds?: readonly number[] | undefined;
  /** If true, settings that a user has changed themselves stay unchanged. */
  readonly skipsEdited?: boolean | undefined;
}

/**
 * Changes settings of other people, and notifies each of them. If one change is refused, none is made.
 *
 * @param given Values as sent by the client, by name on the wire.
 * @returns The ids of all selected people, including those whose settings did not change.
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator.
 * @throws BadRequestError if the viewer is a bot, or if a value is invalid.
 * @throws BadRequestError if a user is not an active person of the organization, or a group does not exist.
 * @throws BadRequestError if there are too many people.
 */
export async function updateSettingsOf(
  ctx: Ctx,
  targets: SettingsTargets,
  given: Partial<Record<keyof typeof SETTINGS_OF_OTHERS, unknown>>,
): Promise<number[]> {
  if (ctx.viewer.user.botType !== null) throw new BadRequestError('This endpoint does not accept bot requests.');
  requireAdministrator(ctx);
  const values = requireSettings(SETTINGS_OF_OTHERS, given);
  return transact(ctx, async (tx, emit) => {
    await lockRealm(tx, ctx.realmId);
    requireAdministrator(await asOfNow(tx, ctx));
    const people = await lockTargets(tx, ctx, targets);
    for (const person of people) {
      const edits = Object.entries(values).filter(
        ([name]) => targets.skipsEdited !== true || !hasEdited(person, name as UserSettingName),
      );
      await writeSettings(tx, emit, person, Object.fromEntries(edits), { now: ctx.app.now(), isOwn: false });
    }
    return people.map(({ id }) => id);
  });
}

/**
 * Locks the rows of the selected people and returns them, ascending by id: every change of several users locks in this order.
 */
async function lockTargets(
  tx: Tx,
  { app, realmId, viewer: { realm } }: Ctx,
  { userIds = [], groupIds = [] }: SettingsTargets,
): Promise<User[]> {
  const groups = await systemGroups(tx, realmId);
  await requireGroups(tx, realmId, new Set(groupIds.filter((id) => groups.name(id) === undefined)));
  const active = await tx.user.findMany({ where: { realmId, isActive: true, botType: null, isSystem: false } });
  const known = new Set(active.map(({ id }) => id));
  const stranger = userIds.find((id) => !known.has(id));
  if (stranger !== undefined) throw new BadRequestError(`Invalid user ID: ${stranger}`);
  const now = app.now();
  const named = new Set(userIds);
  const isTarget = (user: User) =>
    named.has(user.id) ||
    isInGroup(groups, { id: user.id, role: user.role, realm, user }, { members: [], groups: groupIds }, now, {
      guests: true,
    });
  const ids = active.filter(isTarget).map(({ id }) => id);
  if (ids.length > MAX_TARGETS) throw new BadRequestError(`Too many users (limit: ${MAX_TARGETS})`);
  await tx.$queryRaw`SELECT 1 AS held FROM user_account WHERE realm_id = ${realm.id} AND id = ANY(${ids})
    ORDER BY id FOR NO KEY UPDATE`;
  return tx.user.findMany({ where: { realmId: realm.id, id: { in: ids } }, orderBy: { id: 'asc' } });
}
