import { METADATA_PERMISSIONS } from '../../access/permissions/channel-permissions.ts';
import type { Memberships, Person } from '../../access/permissions/membership.ts';
import type { Regrouped } from '../../access/permissions/memberships.ts';
import { systemGroups } from '../../access/system-groups.ts';
import { seesChannel } from '../../channels/access.ts';
import { channelsDeleted } from '../../channels/events.ts';
import { publishAccessChange } from '../../channels/hooks.ts';
import type { SubscriptionChangeContext } from '../../channels/subscriptions/membership.ts';
import { showChannels } from '../../channels/visibility.ts';
import { users } from '../../events/audience.ts';
import type { Emit } from '../../events/log.ts';
import type { Channel, Organization, User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';

// All functions of this file must run in a transaction that holds the lock of the organization's row, so that no channel
// changes. The number of queries depends on the number of affected channels, not on the number of users.

/**
 * Notifies users of the channels that become visible or invisible to them, after a change of the users' groups.
 *
 * @param changed Users whose groups have changed.
 */
export async function groupChangeEffects(
  tx: Tx,
  emit: Emit,
  context: SubscriptionChangeContext,
  changed: readonly Regrouped[],
): Promise<void> {
  const { organization } = context;
  const channels = await channelsShownTo(tx, organization.id, [...new Set(changed.flatMap(difference))]);
  const changes = changed.map(({ id, role, joinedAt, before, after }) => {
    const as = (memberships: Memberships) => ({ id, role, organization, user: { joinedAt, ...memberships } });
    return { before: as(before), after: as(after) };
  });
  await publishVisibility(tx, emit, context, channels, changes);
}

/**
 * Notifies users of the channels that become visible or invisible to them, after a change of the waiting period.
 *
 * @param members The members who become full members, or are no longer full members.
 */
export async function waitingPeriodEffects(
  tx: Tx,
  emit: Emit,
  { before, after, now }: { readonly before: Organization; readonly after: Organization; readonly now: Date },
  members: readonly User[],
): Promise<void> {
  if (members.length === 0) return;
  const full = (await systemGroups(tx, after.id)).id('role:fullmembers');
  const groupIds = new Set([full, ...members.flatMap(({ fullMemberGroupIds }) => fullMemberGroupIds)]);
  const channels = await channelsShownTo(tx, after.id, [...groupIds]);
  const changes = members.map((user) => {
    const as = (organization: Organization) => ({ id: user.id, role: user.role, organization, user });
    return { before: as(before), after: as(after) };
  });
  await publishVisibility(tx, emit, { organization: after, now }, channels, changes);
}

/** A user before and after a change. */
interface PersonChange {
  readonly before: Person;
  readonly after: Person;
}

async function publishVisibility(
  tx: Tx,
  emit: Emit,
  { organization, now }: SubscriptionChangeContext,
  channels: readonly Channel[],
  changes: readonly PersonChange[],
): Promise<void> {
  if (channels.length === 0) return;
  const groups = await systemGroups(tx, organization.id);
  const subscribed = await subscriptionsOf(tx, organization.id, channels, changes);
  const sees = (channel: Channel, person: Person) =>
    seesChannel({ person, groups, now }, channel, subscribed.has(`${channel.id} ${person.id}`));
  for (const channel of channels) {
    const moved = changes.filter(({ before, after }) => sees(channel, before) !== sees(channel, after));
    const gained = moved.filter(({ after }) => sees(channel, after)).map(({ after }) => after.id);
    const lost = moved.filter(({ before }) => sees(channel, before)).map(({ before }) => before.id);
    if (lost.length > 0) emit(channelsDeleted([channel]), users(lost));
    if (gained.length > 0) await showChannels(tx, emit, { organization, now }, [channel], gained);
  }
  const channelIds = channels.map(({ id }) => id);
  await publishAccessChange(
    tx,
    emit,
    { organization, now },
    { channelIds, userIds: changes.map(({ after }) => after.id) },
  );
}

/** Returns the ids of the groups that the user joined or left. */
function difference({ before, after }: Regrouped): number[] {
  return [
    ...changedIds(before.groupIds, after.groupIds),
    ...changedIds(before.fullMemberGroupIds, after.fullMemberGroupIds),
  ];
}

const changedIds = (before: readonly number[], after: readonly number[]): number[] => [
  ...before.filter((id) => !after.includes(id)),
  ...after.filter((id) => !before.includes(id)),
];

/** Returns the private channels that members of the given groups can see because of the channels' permissions. */
async function channelsShownTo(tx: Tx, organizationId: number, groupIds: readonly number[]): Promise<Channel[]> {
  if (groupIds.length === 0) return [];
  const holders = METADATA_PERMISSIONS.flatMap((name) =>
    groupIds.map((id) => ({ permissions: { path: [name, 'groups'], array_contains: [id] } })),
  );
  return tx.channel.findMany({
    where: { organizationId, inviteOnly: true, isWebPublic: false, OR: holders },
    orderBy: { id: 'asc' },
  });
}

async function subscriptionsOf(
  tx: Tx,
  organizationId: number,
  channels: readonly Channel[],
  changes: readonly PersonChange[],
) {
  const userIds = changes.map(({ after }) => after.id);
  const rows = await tx.$queryRaw<{ user_id: number; channel_id: number }[]>`
    SELECT user_id, channel_id FROM subscription
    WHERE realm_id = ${organizationId} AND active AND channel_id = ANY(${channels.map(({ id }) => id)}) AND user_id = ANY(${userIds})`;
  return new Set(rows.map(({ user_id, channel_id }) => `${channel_id} ${user_id}`));
}
