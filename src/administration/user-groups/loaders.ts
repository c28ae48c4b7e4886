import DataLoader from 'dataloader';
import { signedIn } from '../../access/context.ts';
import { systemGroups } from '../../access/permissions/system-groups.ts';
import { perOperation } from '../../api/graphql/context.ts';
import type { User, UserGroup } from '../../generated/prisma/client.ts';
import { visibleTo } from './access.ts';
import { areGroupMembers, type MembershipQuestion } from './membership-reads.ts';
import { type MemberPage, readMemberIds, readSubgroupIds } from './reads.ts';

/** A page of one group's members. */
interface PageKey extends MemberPage {
  readonly groupId: number;
}

const placeOf = ({ groupId: _, ...page }: PageKey) => JSON.stringify(page);

/** Pages of groups' members: two queries for all that lie at the same place. */
export const memberPages = perOperation(
  (ctx) =>
    new DataLoader<PageKey, User[], string>(
      async (keys) => {
        const { app, viewer } = signedIn(ctx);
        const found = new Map<PageKey, readonly number[]>();
        for (const alike of Map.groupBy(keys, placeOf).values()) {
          const [page = { groupId: 0, direct: true }] = alike;
          const groupIds = alike.map(({ groupId }) => groupId);
          const idsOf = await readMemberIds(app.db, viewer.realm, app.now(), groupIds, page);
          for (const key of alike) found.set(key, idsOf(key.groupId));
        }
        const ids = [...new Set([...found.values()].flat())];
        const rows = ids.length === 0 ? [] : await app.db.user.findMany({ where: { id: { in: ids } } });
        const users = new Map(rows.map((user) => [user.id, user]));
        return keys.map((key) => (found.get(key) ?? []).flatMap((id) => users.get(id) ?? []));
      },
      { cacheKeyFn: (key) => `${key.groupId} ${placeOf(key)}` },
    ),
);

/** Whether users are in groups; the viewer must be one who may read these. */
export const memberships = perOperation(
  (ctx) =>
    new DataLoader<MembershipQuestion, boolean, string>((asked) => areGroupMembers(signedIn(ctx), asked), {
      cacheKeyFn: ({ groupId, userId, direct }) => `${groupId} ${userId} ${direct}`,
    }),
);

/** The groups within a group by id, directly or however deep. */
export const subgroups = perOperation(
  (ctx) =>
    new DataLoader<{ readonly groupId: number; readonly direct: boolean }, UserGroup[], string>(
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
