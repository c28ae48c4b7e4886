import DataLoader from 'dataloader';
import { signedIn } from '../../access/context.ts';
import { systemGroups } from '../../access/system-groups.ts';
import { perOperation } from '../../api/graphql/loading/context.ts';
import type { UserGroup } from '../../generated/prisma/client.ts';
import type { UserPage } from '../../people/user-pages.ts';
import type { Place } from '../../platform/db/keyset.ts';
import { visibleTo } from './access.ts';
import { areGroupMembers, type MembershipQuestion } from './membership-reads.ts';
import { countMembers, readMemberPages, readSubgroupIds } from './reads.ts';

/** Key of a page of a group's members. */
interface PageKey extends UserPage {
  readonly groupId: number;
  readonly direct: boolean;
}

const pageOf = ({ groupId: _, ...page }: PageKey) => JSON.stringify(page);

/** Loads pages of groups' members. Pages that differ only in the group share one query. */
export const memberPages = perOperation(
  (ctx) =>
    new DataLoader<PageKey, readonly Place[], string>(
      async (keys) => {
        const { app, viewer } = signedIn(ctx);
        const found = new Map<PageKey, readonly Place[]>();
        for (const [page, ...others] of Map.groupBy(keys, pageOf).values()) {
          if (page === undefined) continue;
          const alike = [page, ...others];
          const groupIds = alike.map(({ groupId }) => groupId);
          const placesOf = await readMemberPages(app.db, viewer.realm, app.now(), groupIds, page);
          for (const key of alike) found.set(key, placesOf(key.groupId));
        }
        return keys.map((key) => found.get(key) ?? []);
      },
      { cacheKeyFn: (key) => `${key.groupId} ${pageOf(key)}` },
    ),
);

/** A group, and whether only its direct members and subgroups count. */
type GroupAtDepth = Pick<PageKey, 'groupId' | 'direct'>;

/** Loads the number of members of groups. Groups with the same depth share one query. */
export const memberCounts = perOperation(
  (ctx) =>
    new DataLoader<GroupAtDepth, number, string>(
      async (keys) => {
        const { app, viewer } = signedIn(ctx);
        const counts = new Map<GroupAtDepth, number>();
        for (const [direct, alike] of Map.groupBy(keys, (key) => key.direct)) {
          const ids = alike.map(({ groupId }) => groupId);
          const countOf = await countMembers(app.db, viewer.realm, app.now(), ids, direct);
          for (const key of alike) counts.set(key, countOf(key.groupId));
        }
        return keys.map((key) => counts.get(key) ?? 0);
      },
      { cacheKeyFn: ({ groupId, direct }) => `${groupId} ${direct}` },
    ),
);

/** Loads whether users are members of groups. The viewer must be allowed to read these groups. */
export const memberships = perOperation(
  (ctx) =>
    new DataLoader<MembershipQuestion, boolean, string>((asked) => areGroupMembers(signedIn(ctx), asked), {
      cacheKeyFn: ({ groupId, userId, direct }) => `${groupId} ${userId} ${direct}`,
    }),
);

/** Loads the subgroups of a group, by the group's id: only direct ones, or of any depth. */
export const subgroups = perOperation(
  (ctx) =>
    new DataLoader<GroupAtDepth, UserGroup[], string>(
      async (keys) => {
        const { app, realmId, viewer } = signedIn(ctx);
        const roleGroups = await systemGroups(app.db, realmId);
        const within = new Map<(typeof keys)[number], readonly number[]>();
        for (const [direct, alike] of Map.groupBy(keys, (key) => key.direct)) {
          const ids = alike.map(({ groupId }) => groupId);
          const idsOf = await readSubgroupIds(app.db, roleGroups, ids, { direct });
          for (const key of alike) within.set(key, idsOf(key.groupId));
        }
        const ids = [...new Set([...within.values()].flat())];
        const where = { AND: [visibleTo({ app, realmId, viewer }), { id: { in: ids } }] };
        const rows = ids.length === 0 ? [] : await app.db.userGroup.findMany({ where });
        const groups = new Map(rows.map((group) => [group.id, group]));
        return keys.map((key) => (within.get(key) ?? []).flatMap((id) => groups.get(id) ?? []));
      },
      { cacheKeyFn: ({ groupId, direct }) => `${groupId} ${direct}` },
    ),
);
