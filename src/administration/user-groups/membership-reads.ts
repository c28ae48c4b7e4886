import type { Ctx } from '../../access/context.ts';
import { systemGroups } from '../../access/system-groups.ts';
import type { UserGroup } from '../../generated/prisma/client.ts';
import { noSuchUser, visibleTo } from '../../people/users.ts';
import { NotFoundError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { accessUserGroup, requireActiveGroup } from './access.ts';
import { readMemberIds, readSubgroupIds } from './reads.ts';

/**
 * The option that determines how far nested groups count. If `direct` is true, only direct members or subgroups count. If
 * false, members or subgroups of nested groups count too.
 */
interface Depth {
  readonly direct: boolean;
}

/**
 * Returns the ids of the group's active members.
 *
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 * @throws NotFoundError if the group does not exist.
 * @throws ConflictError if the group is deactivated.
 */
export async function listMemberIds(ctx: Ctx, groupId: number, { direct }: Depth): Promise<readonly number[]> {
  const { id } = await accessReadable(ctx, groupId);
  const { app, work, viewer } = ctx;
  return (await readMemberIds(work.db, viewer.organization, app.now(), [id], { direct }))(id);
}

/**
 * Returns whether a user is a member of the group. False for a deactivated user.
 *
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 * @throws NotFoundError if the group or user does not exist.
 * @throws ConflictError if the group is deactivated.
 */
export async function isGroupMember(ctx: Ctx, groupId: number, userId: number, { direct }: Depth): Promise<boolean> {
  const { id } = await accessReadable(ctx, groupId);
  const [answer = false] = await areGroupMembers(ctx, [{ groupId: id, userId, direct }]);
  if (answer instanceof NotFoundError) throw answer;
  return answer;
}

/** A membership to check: of a user, in a group that the viewer can see. */
export interface MembershipQuestion extends Depth {
  readonly groupId: number;
  readonly userId: number;
}

/**
 * Returns whether users are members of groups. False for a deactivated user. Runs one query for the users, and one for each
 * pair of user and `direct`.
 *
 * @returns Results in the order of the questions. If a user does not exist, the result is a NotFoundError, which is not thrown.
 */
export async function areGroupMembers(
  { app, work, viewer }: Ctx,
  questions: readonly MembershipQuestion[],
): Promise<(boolean | NotFoundError)[]> {
  const ids = [...new Set(questions.map(({ userId }) => userId))].filter(isRowId);
  const rows = await work.db.user.findMany({ where: { ...visibleTo(viewer), id: { in: ids } }, select: { id: true } });
  const known = new Set(rows.map(({ id }) => id));
  const answers = new Map<MembershipQuestion, boolean>();
  for (const alike of Map.groupBy(questions, ({ userId, direct }) => `${userId} ${direct}`).values()) {
    const [{ userId, direct } = { userId: 0, direct: true }] = alike;
    if (!known.has(userId)) continue;
    const groupIds = alike.map(({ groupId }) => groupId);
    const only = { direct, only: userId };
    const membersOf = await readMemberIds(work.db, viewer.organization, app.now(), groupIds, only);
    for (const question of alike) answers.set(question, membersOf(question.groupId).length > 0);
  }
  return questions.map((question) => answers.get(question) ?? noSuchUser(question.userId));
}

/**
 * Returns the ids of the group's subgroups.
 *
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 * @throws NotFoundError if the group does not exist.
 * @throws ConflictError if the group is deactivated.
 */
export async function listSubgroupIds(ctx: Ctx, groupId: number, { direct }: Depth): Promise<readonly number[]> {
  const { id } = await accessReadable(ctx, groupId);
  const { work, organizationId } = ctx;
  return (await readSubgroupIds(work.db, await systemGroups(work.db, organizationId), [id], { direct }))(id);
}

async function accessReadable(ctx: Ctx, groupId: number): Promise<UserGroup> {
  const group = await accessUserGroup(ctx, groupId);
  requireActiveGroup(group);
  return group;
}
