import type { Ctx } from '../../access/context.ts';
import { channelActor } from '../../access/permissions/require.ts';
import { Prisma, type Subscription } from '../../generated/prisma/client.ts';
import { accessUser } from '../../people/users.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { fieldsOf } from '../../platform/db/columns.ts';
import { inOrder, isWithin, type Keyset, type SortColumn } from '../../platform/db/keyset.ts';
import { readRows } from '../../platform/db/rows.ts';
import { accessChannel, visibleTo } from '../access.ts';
import { readWholeSubscribers } from '../subscribers.ts';
import { type IncludeSubscribers, toWirePersonal, toWireSubscribers, type WireChannel } from '../wire.ts';
import { toPeopledChannels } from '../wire-channels.ts';

/**
 * Returns the ids of a channel's subscribers, ascending.
 *
 * @throws NotFoundError if the channel does not exist or the viewer cannot see it.
 */
export async function channelSubscriberIds(ctx: Ctx, channelId: number): Promise<readonly number[]> {
  await accessChannel(ctx, channelId);
  const listOf = await readWholeSubscribers(ctx.work.db, ctx.organizationId, [channelId]);
  return listOf(channelId).subscribers;
}

/**
 * Returns whether a user is subscribed to a channel.
 *
 * @throws NotFoundError if the user or channel does not exist or is not visible to the viewer.
 */
export async function isUserSubscribed(ctx: Ctx, userId: number, channelId: number): Promise<boolean> {
  const user = await accessUser(ctx, userId);
  await accessChannel(ctx, channelId);
  const count = await ctx.work.db.subscription.count({
    where: { organizationId: user.organizationId, userId: user.id, channelId, active: true },
  });
  return count > 0;
}

/**
 * Returns a function that returns the ids of the channels to which a user is subscribed, ascending. Leaves out archived
 * channels, and channels that the viewer cannot see. A deactivated user has no channels. Runs one query, regardless of the
 * number of users.
 *
 * @param userIds Users of the viewer's organization.
 */
export async function subscribedChannelIds(
  ctx: Ctx,
  userIds: readonly number[],
): Promise<(userId: number) => readonly number[]> {
  const rows = await ctx.work.db.subscription.findMany({
    where: {
      organizationId: ctx.organizationId,
      userId: { in: [...userIds] },
      active: true,
      user: { isActive: true },
      channel: { AND: [await visibleTo(ctx), { isArchived: false }] },
    },
    select: { userId: true, channelId: true },
    orderBy: { channelId: 'asc' },
  });
  const byUser = Map.groupBy(rows, ({ userId }) => userId);
  return (userId) => (byUser.get(userId) ?? []).map(({ channelId }) => channelId);
}

/**
 * Returns the ids of the channels to which a user is subscribed and that the viewer can see, ascending.
 *
 * @throws NotFoundError if the user does not exist.
 */
export async function channelIdsOfUser(ctx: Ctx, userId: number): Promise<readonly number[]> {
  const user = await accessUser(ctx, userId);
  const idsOf = await subscribedChannelIds(ctx, [user.id]);
  return idsOf(user.id);
}

/** The fields by which lists of subscriptions can be sorted. */
export type SubscriptionField = 'channelId' | 'channelName';

/** A page of the viewer's subscriptions: the bounds, order and size of the page, and the sort field. */
export interface SubscriptionPage extends Keyset {
  readonly field: SubscriptionField;
}

/** A subscription with the channel name, by which lists are sorted. */
export type ListedSubscription = Subscription & { readonly channelName: string };

const SUBSCRIPTION = fieldsOf('s', 'Subscription');
const CHANNEL_ID = Prisma.sql`s.channel_id`;
const COLUMNS: Readonly<Record<SubscriptionField, SortColumn>> = {
  channelId: { key: CHANNEL_ID },
  channelName: { key: Prisma.sql`c.sort_name`, name: Prisma.sql`c.name` },
};

const ownSubscriptions = ({ viewer }: Ctx, includeArchived: boolean): Prisma.Sql => Prisma.sql`
  subscription s JOIN channel c ON c.realm_id = s.realm_id AND c.id = s.channel_id
  WHERE s.realm_id = ${viewer.organization.id} AND s.user_id = ${viewer.id} AND s.active AND (${includeArchived}::boolean OR NOT c.is_archived)`;

/** Reads a page of the viewer's subscriptions, in the order of the page. */
export const readSubscriptionPage = (
  ctx: Ctx,
  includeArchived: boolean,
  { field, ...page }: SubscriptionPage,
): Promise<ListedSubscription[]> =>
  readRows<ListedSubscription>(
    ctx.work.db,
    Prisma.sql`
      SELECT ${SUBSCRIPTION}, c.name AS "channelName" FROM ${ownSubscriptions(ctx, includeArchived)}
        AND ${isWithin(page, COLUMNS[field], CHANNEL_ID)}
      ORDER BY ${inOrder(page, COLUMNS[field], CHANNEL_ID)} LIMIT ${page.limit}::bigint`,
  );

/** Returns the number of the viewer's subscriptions. */
export async function countSubscriptions(ctx: Ctx, includeArchived: boolean): Promise<number> {
  const [row] = await readRows<{ count: number }>(
    ctx.work.db,
    Prisma.sql`SELECT count(*)::int AS count FROM ${ownSubscriptions(ctx, includeArchived)}`,
  );
  return row?.count ?? 0;
}

/** Returns the subscriptions of any of the users to any of the channels. */
export const subscriptionsAmong = (
  db: SqlClient,
  organizationId: number,
  userIds: readonly number[],
  channelIds: readonly number[],
): Promise<Subscription[]> =>
  readRows<Subscription>(
    db,
    Prisma.sql`
      SELECT ${SUBSCRIPTION} FROM subscription s
      WHERE s.realm_id = ${organizationId} AND s.user_id = ANY(${[...userIds]}::int[])
        AND s.channel_id = ANY(${[...channelIds]}::int[]) AND s.active`,
  );

/**
 * Returns the viewer's subscriptions in wire format, sorted by channel name, without archived channels. A notification setting
 * is null if it inherits the user's default.
 */
export async function listSubscriptions({ app, work, viewer }: Ctx, include: IncludeSubscribers) {
  const rows = await work.db.subscription.findMany({
    where: { organizationId: viewer.organization.id, userId: viewer.id, active: true, channel: { isArchived: false } },
    include: { channel: true },
  });
  rows.sort((a, b) => (a.channel.name < b.channel.name ? -1 : 1));
  const channels = rows.map(({ channel }) => channel);
  const actor = await channelActor(work.db, viewer, app.now());
  const { channels: wires, listOf } = await toPeopledChannels(work.db, actor, { channels, include });
  return rows.map((row, i) => ({
    ...(wires[i] as WireChannel),
    ...toWirePersonal(row),
    ...toWireSubscribers(listOf(row.channelId), viewer.id, include),
  }));
}
