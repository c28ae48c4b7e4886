import type { Ctx } from '../../access/context.ts';
import { systemGroups } from '../../access/system-groups.ts';
import type { UserGroup } from '../../generated/prisma/client.ts';
import { visibleTo } from '../../people/users.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { accessUserGroup, requireActiveGroup } from './access.ts';
import { readMemberIds, readSubgroupIds } from './reads.ts';

/**
 * If true, members are only the direct ones, and subgroups only the direct ones. If false, those of nested groups are included.
 */
interface Depth {
  readonly direct: boolean;
}

/**
 * Returns the ids of the group's active members.
 *
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 * @throws BadRequestError if the group does not exist or is deactivated.
 */
export async function listMemberIds(ctx: Ctx, groupId: number, { direct }: Depth): Promise<readonly number[]> {
  const { id } = await accessReadable(ctx, groupId);
  const { app, viewer } = ctx;
  return (await readMemberIds(app.db, viewer.realm, app.now(), [id], { direct }))(id);
}

/**
 * Returns whether a user is a member of the group. False for a deactivated user.
 *
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 * @throws BadRequestError if the group or user does not exist, or the group is deactivated.
 */
export async function isGroupMember(ctx: Ctx, groupId: number, userId: number, { direct }: Depth): Promise<boolean> {
  const { id } = await accessReadable(ctx, groupId);
  const [answer = false] = await areGroupMembers(ctx, [{ groupId: id, userId, direct }]);
  if (answer instanceof BadRequestError) throw answer;
  return answer;
}

/** A membership to check, of a user in a group that the viewer can read. */
export interface MembershipQuestion extends Depth {
  readonly groupId: number;
  readonly userId: number;
}

/**
 * Checks many memberships like `isGroupMember`, with one query for the users, and one for each pair of user and depth.
 *
 * @returns Results in the order of the questions. If a user does not exist, the result is the error.
 */
export async function areGroupMembers(
  { app, viewer }: Ctx,
  questions: readonly MembershipQuestion[],
): Promise<(boolean | BadRequestError)[]> {
  const ids = [...new Set(questions.map(({ userId }) => userId))].filter(isRowId);
  const rows = await app.db.user.findMany({ where: { ...visibleTo(viewer), id: { in: ids } }, select: { id: true } });
  const known = new Set(rows.map(({ id }) => id));
  const answers = new Map<MembershipQuestion, boolean>();
  for (const alike of Map.groupBy(questions, ({ userId, direct }) => `${userId} ${direct}`).values()) {
    const [{ userId, direct } = { userId: 0, direct: true }] = alike;
    if (!known.has(userId)) continue;
    const groupIds = alike.map(({ groupId }) => groupId);
    const only = { direct, only: userId };
    const membersOf = await readMemberIds(app.db, viewer.realm, app.now(), groupIds, only);
    for (const question of alike) answers.set(question, membersOf(question.groupId).length > 0);
  }
  return questions.map((question) => answers.get(question) ?? new BadRequestError('No such user'));
}

/**
 * Returns the ids of the group's subgroups.
 *
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 * @throws BadRequestError if the group does not exist or is deactivated.
 */
export async function listSubgroupIds(ctx: Ctx, groupId: number, { direct }: Depth): Promise<readonly number[]> {
  const { id } = await accessReadable(ctx, groupId);
  const { app, realmId } = ctx;
  return (await readSubgroupIds(app.db, await systemGroups(app.db, realmId), [id], { direct }))(id);
}

async function accessReadable(ctx: Ctx, groupId: number): Promise<UserGroup> {
  const group = await accessUserGroup(ctx, groupId);
  requireActiveGroup(group);
  return group;
}
