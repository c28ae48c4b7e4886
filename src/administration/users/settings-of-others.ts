import type { Ctx } from '../../access/context.ts';
import { requireGroups } from '../../access/permission-values.ts';
import { isInGroup } from '../../access/permissions/membership.ts';
import { requireAdministrator, requirePerson } from '../../access/roles.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { systemGroups } from '../../access/system-groups.ts';
import { hasEdited, USER_SETTINGS, type UserSettingName } from '../../access/user-settings.ts';
import { transact } from '../../events/log.ts';
import type { User } from '../../generated/prisma/client.ts';
import { lockOrganization } from '../../people/locks.ts';
import { writeSettings } from '../../people/settings-write.ts';
import type { Tx } from '../../platform/db/client.ts';
import { NotFoundError, ValidationError } from '../../platform/errors.ts';
import { requireSettings } from '../../platform/setting.ts';

/**
 * Maximum number of people whose settings one request changes. A request for more people is refused with `ValidationError`.
 * The number is small enough for one transaction, and larger than an organization of the intended size.
 */
const MAX_TARGETS = 2_000;

const { email_address_visibility: _own, ...others } = USER_SETTINGS;

/**
 * Settings that administrators can change for other users. The visibility of email addresses is not one of these settings,
 * because users can hide their address from administrators too.
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
 * @throws ForbiddenError if the viewer is a bot.
 * @throws ValidationError if a value is invalid, or if more than 2,000 people are selected.
 * @throws NotFoundError if a user is not an active person of the organization, or a group does not exist.
 * @throws ConflictError if a group is deactivated.
 */
export async function updateSettingsOf(
  ctx: Ctx,
  targets: SettingsTargets,
  given: Partial<Record<keyof typeof SETTINGS_OF_OTHERS, unknown>>,
): Promise<number[]> {
  requirePerson(ctx);
  requireAdministrator(ctx);
  const values = requireSettings(SETTINGS_OF_OTHERS, given);
  return transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, ctx.organizationId);
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
 * Locks the rows of the selected people and returns these rows, ascending by id. Every change of several users locks their rows
 * in this order, to prevent deadlocks.
 */
async function lockTargets(
  tx: Tx,
  { app, organizationId, viewer: { organization } }: Ctx,
  { userIds = [], groupIds = [] }: SettingsTargets,
): Promise<User[]> {
  const groups = await systemGroups(tx, organizationId);
  const others = new Set(groupIds.filter((id) => groups.name(id) === undefined));
  await requireGroups(tx, organizationId, others, (id) => `group_ids[${groupIds.indexOf(id)}]`);
  const active = await tx.user.findMany({ where: { organizationId, isActive: true, botType: null, isSystem: false } });
  const known = new Set(active.map(({ id }) => id));
  const stranger = userIds.find((id) => !known.has(id));
  if (stranger !== undefined) throw new NotFoundError(`Invalid user ID: ${stranger}`, { type: 'User', id: stranger });
  const now = app.now();
  const named = new Set(userIds);
  const isTarget = (user: User) =>
    named.has(user.id) ||
    isInGroup(groups, { id: user.id, role: user.role, organization, user }, { members: [], groups: groupIds }, now, {
      guests: true,
    });
  const ids = active.filter(isTarget).map(({ id }) => id);
  if (ids.length > MAX_TARGETS) {
    const parameter = named.size > MAX_TARGETS ? 'user_ids' : 'group_ids';
    throw new ValidationError(`Too many users (limit: ${MAX_TARGETS})`, { parameter, maximum: MAX_TARGETS });
  }
  await tx.$queryRaw`SELECT 1 AS held FROM user_account WHERE realm_id = ${organization.id} AND id = ANY(${ids})
    ORDER BY id FOR NO KEY UPDATE`;
  return tx.user.findMany({ where: { organizationId: organization.id, id: { in: ids } }, orderBy: { id: 'asc' } });
}
