import DataLoader from 'dataloader';
import { signedIn } from '../../access/context.ts';
import { systemGroups } from '../../access/system-groups.ts';
import { perOperation } from '../../api/graphql/loading/context.ts';
import { sharedLoads } from '../../api/graphql/loading/shared-loads.ts';
import type { UserPage } from '../../people/user-pages.ts';
import { visibleTo } from './access.ts';
import { areGroupMembers, type MembershipQuestion } from './membership-reads.ts';
import { countMembers, readMemberPages, readSubgroupIds } from './reads.ts';

/** Whether only direct members and subgroups count. */
interface Depth {
  readonly direct: boolean;
}

/** Loads pages of groups' members. */
export const memberPages = sharedLoads(
  async ({ app, work, viewer }, groupIds: readonly number[], page: UserPage & Depth) =>
    groupIds.map(await readMemberPages(work.db, viewer.organization, app.now(), groupIds, page)),
);

/** Loads the number of members of a group. */
export const memberCounts = sharedLoads(async ({ app, work, viewer }, groupIds: readonly number[], { direct }: Depth) =>
  groupIds.map(await countMembers(work.db, viewer.organization, app.now(), groupIds, direct)),
);

/**
 * Loads whether users are members of groups: direct members or, if `direct` is false, also members of subgroups at any depth.
 * The caller must have checked that the viewer can see the groups.
 */
export const memberships = perOperation(
  (ctx) =>
    new DataLoader<MembershipQuestion, boolean, string>((asked) => areGroupMembers(signedIn(ctx), asked), {
      cacheKeyFn: ({ groupId, userId, direct }) => `${groupId} ${userId} ${direct}`,
    }),
);

/**
 * Loads the subgroups of groups: the direct subgroups and, if `direct` is false, also the subgroups of these groups at any
 * depth.
 */
export const subgroups = sharedLoads(async (ctx, groupIds: readonly number[], depth: Depth) => {
  const { db } = ctx.work;
  const idsOf = await readSubgroupIds(db, await systemGroups(db, ctx.organizationId), groupIds, depth);
  const ids = [...new Set(groupIds.flatMap(idsOf))];
  const where = { AND: [visibleTo(ctx), { id: { in: ids } }] };
  const rows = ids.length === 0 ? [] : await db.userGroup.findMany({ where });
  const groups = new Map(rows.map((group) => [group.id, group]));
  return groupIds.map((groupId) => idsOf(groupId).flatMap((id) => groups.get(id) ?? []));
});
