import type { Ctx } from '../../access/context.ts';
import { channelActor } from '../../access/permissions/require.ts';
import { users } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import { TABLE_COLUMNS } from '../../generated/columns.ts';
import { type Channel, Prisma, type Subscription } from '../../generated/prisma/client.ts';
import { parameterAt } from '../../people/parameter.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError, ValidationError } from '../../platform/errors.ts';
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
  /** Path of the change in the request, such as `subscription_data[0]`. Undefined if the request contains one change only. */
  readonly place?: string | undefined;
}

/** The columns of a subscription that its subscriber can set. */
type Column = Exclude<keyof Subscription, 'organizationId' | 'userId' | 'channelId' | 'active'>;

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

/** A validated change of one setting, with the column and the value to store in it. */
interface Checked {
  readonly channelId: number;
  readonly place: string | undefined;
  readonly property: string;
  readonly column: Column;
  readonly value: boolean | string;
}

/**
 * Changes settings of the viewer's own subscriptions. If one change is refused, none is made. Unchanged values produce no
 * event. A change of muting produces two events: for `is_muted`, and for its old opposite `in_home_view`.
 *
 * @returns The subscriptions that `changes` names, after the change. Each occurs once, in the order of `changes`.
 * @throws ValidationError for an unknown property or a value of the wrong type, before any other check.
 * @throws NotFoundError for a channel that the viewer cannot read.
 * @throws ConflictError for a channel that the viewer is not subscribed to.
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
      ctx.organizationId,
      [...after.values()].filter((row) => row !== before.get(row.channelId)),
    );
    return [...new Set(changes.map(({ channelId }) => channelId))].flatMap((id) => after.get(id) ?? []);
  });
}

function checkChange({ channelId, property, value, place }: SettingChange): Checked {
  const parameter = parameterAt(place, property);
  if (property === 'color') {
    if (typeof value !== 'string') throw new ValidationError('color is not a string', { parameter });
    return { channelId, place, property, column: 'color', value: requireColor(value, parameter) };
  }
  const column = Object.hasOwn(COLUMNS, property) ? COLUMNS[property] : undefined;
  if (column === undefined) {
    const name = property.slice(0, 60);
    throw new ValidationError(`Unknown subscription property: ${name}`, {
      parameter: parameterAt(place, 'property'),
      value: name,
    });
  }
  if (typeof value !== 'boolean') throw new ValidationError(`${property} is not a boolean`, { parameter });
  return { channelId, place, property, column, value: property === 'in_home_view' ? !value : value };
}

type Subscribed = Subscription & { readonly channel: Pick<Channel, 'id' | 'isArchived'> };

/**
 * Locks the viewer's subscriptions to the channels, and returns them by channel id.
 *
 * @throws NotFoundError if the viewer cannot read a channel.
 * @throws ConflictError if the viewer is not subscribed to a channel.
 */
async function lockSubscriptions(
  tx: Tx,
  { app, viewer, organizationId }: Ctx,
  changes: readonly Checked[],
): Promise<Map<number, Subscribed>> {
  const ids = [...new Set(changes.map(({ channelId }) => channelId))];
  await holdRoles(tx, organizationId);
  await shareChannels(tx, organizationId, ids.filter(isRowId));
  const where = { AND: [readBy(await channelActor(tx, viewer, app.now())), { id: { in: ids.filter(isRowId) } }] };
  const readable = await tx.channel.findMany({ where, select: { id: true } });
  await tx.$queryRaw`
    SELECT 1 AS held FROM subscription
    WHERE realm_id = ${viewer.organization.id} AND user_id = ${viewer.id} AND channel_id = ANY(${ids.filter(isRowId)})
    ORDER BY channel_id FOR NO KEY UPDATE`;
  const rows = await tx.subscription.findMany({
    where: {
      organizationId: viewer.organization.id,
      userId: viewer.id,
      active: true,
      channelId: { in: readable.map(({ id }) => id) },
    },
    include: { channel: { select: { id: true, isArchived: true } } },
  });
  const subscriptions = new Map(rows.map((row) => [row.channelId, row]));
  for (const { channelId: id, place } of changes) {
    if (!readable.some((channel) => channel.id === id)) throw invalidChannelId(id);
    if (!subscriptions.has(id)) {
      throw new ConflictError(`Not subscribed to channel ID ${id}`, {
        parameter: parameterAt(place, 'stream_id'),
        schemaMessage: 'You are not subscribed to the channel',
      });
    }
  }
  return subscriptions;
}

/** Applies one change to the viewer's subscription in `subscriptions`, and emits the events of this change. */
function apply(emit: Emit, subscriptions: Map<number, Subscribed>, change: Checked): void {
  const { channelId, column, value } = change;
  const subscription = subscriptions.get(channelId);
  if (subscription === undefined || subscription[column] === value) return;
  subscriptions.set(channelId, { ...subscription, [column]: value });
  for (const published of publishedChanges(change))
    emit(subscriptionUpdated(subscription.channel, published), users([subscription.userId]));
}

/** The PostgreSQL type of each column that a subscriber can set. */
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
 * Writes the changed subscriptions in one statement. The condition on user ids is redundant, but without it the planner reads
 * all users' subscriptions.
 */
async function save(tx: Tx, organizationId: number, rows: readonly Subscribed[]): Promise<void> {
  if (rows.length === 0) return;
  const userIds = [...new Set(rows.map(({ userId }) => userId))];
  await tx.$executeRaw`
    UPDATE subscription s SET ${ASSIGNMENTS}
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS r("userId" int, "channelId" int, ${DEFINITIONS})
    WHERE s.realm_id = ${organizationId} AND s.user_id = r."userId" AND s.channel_id = r."channelId"
      AND s.user_id = ANY(${userIds})`;
}

/**
 * Returns the changes of one setting that are emitted as events. A change of muting is published under both names of the
 * setting.
 */
function publishedChanges({ property, column, value }: Checked): SubscriptionChange[] {
  if (column !== 'isMuted') return [{ property, value }];
  return [
    { property: 'in_home_view', value: value === false },
    { property: 'is_muted', value: value === true },
  ];
}
