import type { Ctx } from '../../access/context.ts';
import { channelActor } from '../../access/permissions/require.ts';
import { users } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import { TABLE_COLUMNS } from '../../generated/columns.ts';
import { type Channel, Prisma, type Subscription } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { invalidChannelId, readBy } from '../access.ts';
import { type SubscriptionChange, subscriptionUpdated } from '../events.ts';
import { holdRoles, shareChannels } from '../locks.ts';
import { requireColor } from './colors.ts';

/** One setting of one subscription, as sent by a client. */
export interface SettingChange {
  readonly channelId: number;
  /** The name on the wire: "is_muted", "color", … */
  readonly property: string;
  /** The new value: "#rgb" or "#rrggbb" for `color`, a boolean for all other settings. */
  readonly value: unknown;
}

/** The columns that a subscriber can set. */
type Column = Exclude<keyof Subscription, 'realmId' | 'userId' | 'channelId' | 'active'>;

/** The column of each boolean property. `in_home_view` is an old name for the opposite of `is_muted`. */
const COLUMNS: Readonly<Record<string, Column>> = {
  is_muted: 'isMuted',
  in_home_view: 'isMuted',
  pin_to_top: 'pinToTop',
  desktop_notifications: 'desktopNotifications',
  audible_notifications: 'audibleNotifications',
  push_notifications: 'pushNotifications',
  email_notifications: 'emailNotifications',
  wildcard_mentions_notify: 'wildcardMentionsNotify',
};

/** A valid change, with its column and the value to store. */
interface Checked {
  readonly channelId: number;
  readonly property: string;
  readonly column: Column;
  readonly value: boolean | string;
}

/**
 * Changes settings of the viewer's own subscriptions. If one change is refused, none is made. Unchanged values produce no
 * event. A change of muting produces two events, one for each name of the setting.
 *
 * @returns The named subscriptions after the change, each once, in the order of the changes.
 * @throws BadRequestError for an unknown property or a value of the wrong type, before any other check.
 * @throws BadRequestError for a channel that the viewer cannot read or is not subscribed to.
 */
export async function updateSubscriptionSettings(
  ctx: Ctx,
  changes: readonly SettingChange[],
): Promise<readonly Subscription[]> {
  const checked = changes.map(checkChange);
  return transact(ctx, async (tx, emit) => {
    const before = await lockSubscriptions(tx, ctx, checked);
    const after = new Map(before);
    for (const change of checked) apply(emit, after, change);
    await save(
      tx,
      ctx.realmId,
      [...after.values()].filter((row) => row !== before.get(row.channelId)),
    );
    return [...new Set(changes.map(({ channelId }) => channelId))].flatMap((id) => after.get(id) ?? []);
  });
}

function checkChange({ channelId, property, value }: SettingChange): Checked {
  if (property === 'color') {
    if (typeof value !== 'string') throw new BadRequestError('color is not a string', 'color');
    return { channelId, property, column: 'color', value: requireColor(value) };
  }
  const column = Object.hasOwn(COLUMNS, property) ? COLUMNS[property] : undefined;
  if (column === undefined) throw new BadRequestError(`Unknown subscription property: ${property.slice(0, 60)}`);
  if (typeof value !== 'boolean') throw new BadRequestError(`${property} is not a boolean`, property);
  return { channelId, property, column, value: property === 'in_home_view' ? !value : value };
}

type Subscribed = Subscription & { readonly channel: Pick<Channel, 'id' | 'isArchived'> };

/** Locks and returns the viewer's subscriptions of the channels, by channel id. */
async function lockSubscriptions(
  tx: Tx,
  { app, viewer, realmId }: Ctx,
  changes: readonly Checked[],
): Promise<Map<number, Subscribed>> {
  const ids = [...new Set(changes.map(({ channelId }) => channelId))];
  await holdRoles(tx, realmId);
  await shareChannels(tx, realmId, ids.filter(isRowId));
  const where = { AND: [readBy(await channelActor(tx, viewer, app.now())), { id: { in: ids.filter(isRowId) } }] };
  const readable = await tx.channel.findMany({ where, select: { id: true } });
  await tx.$queryRaw`
    SELECT 1 AS held FROM subscription
    WHERE realm_id = ${viewer.realm.id} AND user_id = ${viewer.id} AND channel_id = ANY(${ids.filter(isRowId)})
    ORDER BY channel_id FOR NO KEY UPDATE`;
  const rows = await tx.subscription.findMany({
    where: {
      realmId: viewer.realm.id,
      userId: viewer.id,
      active: true,
      channelId: { in: readable.map(({ id }) => id) },
    },
    include: { channel: { select: { id: true, isArchived: true } } },
  });
  const subscriptions = new Map(rows.map((row) => [row.channelId, row]));
  for (const id of ids) {
    if (!readable.some((channel) => channel.id === id)) throw invalidChannelId();
    if (!subscriptions.has(id)) throw new BadRequestError(`Not subscribed to channel ID ${id}`);
  }
  return subscriptions;
}

/** Applies one change in memory, and emits its events. */
function apply(emit: Emit, subscriptions: Map<number, Subscribed>, change: Checked): void {
  const { channelId, column, value } = change;
  const subscription = subscriptions.get(channelId);
  if (subscription === undefined || subscription[column] === value) return;
  subscriptions.set(channelId, { ...subscription, [column]: value });
  for (const told of tellings(change))
    emit(subscriptionUpdated(subscription.channel, told), users([subscription.userId]));
}

/** The PostgreSQL type of each column. */
const TYPES = {
  color: 'text',
  isMuted: 'boolean',
  pinToTop: 'boolean',
  desktopNotifications: 'boolean',
  audibleNotifications: 'boolean',
  pushNotifications: 'boolean',
  emailNotifications: 'boolean',
  wildcardMentionsNotify: 'boolean',
} as const satisfies Record<Column, string>;

const SETTABLE = Object.keys(TYPES) as Column[];
const ASSIGNMENTS = Prisma.raw(
  SETTABLE.map((name) => `"${TABLE_COLUMNS.Subscription[name]}" = r."${name}"`).join(', '),
);
const DEFINITIONS = Prisma.raw(SETTABLE.map((name) => `"${name}" ${TYPES[name]}`).join(', '));

/**
 * Writes all rows in one statement. The condition on user ids is redundant, but without it the planner reads all users'
 * subscriptions.
 */
async function save(tx: Tx, realmId: number, rows: readonly Subscribed[]): Promise<void> {
  if (rows.length === 0) return;
  const userIds = [...new Set(rows.map(({ userId }) => userId))];
  await tx.$executeRaw`
    UPDATE subscription s SET ${ASSIGNMENTS}
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS r("userId" int, "channelId" int, ${DEFINITIONS})
    WHERE s.realm_id = ${realmId} AND s.user_id = r."userId" AND s.channel_id = r."channelId"
      AND s.user_id = ANY(${userIds})`;
}

/** Returns the changes to emit. A change of muting is published under both names of the setting. */
function tellings({ property, column, value }: Checked): SubscriptionChange[] {
  if (column !== 'isMuted') return [{ property, value }];
  return [
    { property: 'in_home_view', value: value === false },
    { property: 'is_muted', value: value === true },
  ];
}
