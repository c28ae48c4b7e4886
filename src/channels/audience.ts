import { organizationSetting } from '../access/organization-settings.ts';
import { channelPermission, METADATA_PERMISSIONS } from '../access/permissions/channel-permissions.ts';
import { fullMemberSince, type Memberships } from '../access/permissions/membership.ts';
import { type SystemGroupName, systemGroups } from '../access/system-groups.ts';
import { type Audience, either, everyone, roleAtMost, subscribersOf, users } from '../events/audience.ts';
import { type Channel, type Organization, Prisma, type User } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { ADMINISTRATOR, GUEST, MEMBER, MODERATOR } from '../platform/roles.ts';
import { readsChannel, seesChannel } from './access.ts';

/** The id and settings of an organization, as read in the transaction of a change. */
export type OrganizationSettingsOf = Pick<Organization, 'id' | 'settings'>;

/**
 * Returns the recipients of the channel's events: the users who can see the channel. They are selected by role and
 * subscription, if possible. Users who see a private channel only through its permissions are looked up now and listed by id.
 */
export async function channelAudience(
  tx: Tx,
  organization: OrganizationSettingsOf,
  channel: Channel,
  now: Date,
): Promise<Audience> {
  if (channel.isWebPublic) return everyone();
  const subscribers = subscribersOf(channel.id);
  if (!channel.inviteOnly) return either(roleAtMost(MEMBER), subscribers);
  const { maxRole, userIds } = await grantedVisibility(tx, organization, channel, now);
  return either(either(roleAtMost(maxRole), subscribers), users(userIds));
}

/**
 * Returns the users who can see a private channel without a subscription: all users whose role number is at most `maxRole`, and
 * the users in `userIds`.
 */
async function grantedVisibility(tx: Tx, organization: OrganizationSettingsOf, channel: Channel, now: Date) {
  const groups = await systemGroups(tx, organization.id);
  const granted = METADATA_PERMISSIONS.map((name) => channelPermission(groups, channel, name));
  const named = [...new Set(granted.flatMap(({ members }) => members))];
  const ids = [...new Set(granted.flatMap((setting) => setting.groups))];
  const waitingDays = organizationSetting(organization, 'waiting_period_threshold');
  const names = ids.map((id) => groups.name(id));
  const full = waitingDays > 0 && names.includes('role:fullmembers');
  const custom = ids.filter((id) => groups.name(id) === undefined);
  const joinedBefore = { joinedAt: { lte: fullMemberSince(organization, now) } };
  // Guests see a private channel only if they are subscribed, regardless of its permissions.
  const rows = await tx.user.findMany({
    where: {
      organizationId: organization.id,
      role: { lt: GUEST },
      OR: [
        { id: { in: named } },
        ...(full ? [joinedBefore] : []),
        ...(custom.length === 0
          ? []
          : [{ groupIds: { hasSome: custom } }, { fullMemberGroupIds: { hasSome: custom }, ...joinedBefore }]),
      ],
    },
    select: { id: true },
  });
  return {
    maxRole: Math.max(...names.map((name) => reachOf(name, waitingDays)), ADMINISTRATOR),
    userIds: rows.map(({ id }) => id),
  };
}

/**
 * Returns the highest role number R such that all users with a role number of at most R (the same or more rights) can see a
 * channel in which the group holds a metadata permission. The result is at least `ADMINISTRATOR`, because administrators see
 * every channel. If there is a waiting period, full members are not covered: the caller lists them by id.
 *
 * @param name Name of the group if it is a role group, otherwise undefined.
 * @param waitingDays Waiting period in days, after which members become full members.
 */
function reachOf(name: SystemGroupName | undefined, waitingDays: number): number {
  if (name === 'role:members') return MEMBER;
  if (name === 'role:fullmembers') return waitingDays === 0 ? MEMBER : MODERATOR;
  return name === 'role:moderators' ? MODERATOR : ADMINISTRATOR;
}

interface PersonRow extends Memberships, Pick<User, 'id' | 'role' | 'joinedAt'> {
  readonly subscribed: boolean;
}

const COLUMNS = Prisma.sql`u.id, u.role, u.joined_at AS "joinedAt", u.group_ids AS "groupIds",
  u.full_member_group_ids AS "fullMemberGroupIds"`;

/**
 * Returns the ids of the users who can see a channel with the properties in `channel`. Callers compare the results for a
 * channel before and after a change, to find the users for whom its visibility changes.
 */
export async function userIdsSeeing(
  tx: Tx,
  organization: Organization,
  channel: Channel,
  now: Date,
): Promise<Set<number>> {
  const groups = await systemGroups(tx, organization.id);
  const people = await tx.$queryRaw<PersonRow[]>`
    SELECT ${COLUMNS}, s.user_id IS NOT NULL AS subscribed
    FROM user_account u LEFT JOIN subscription s ON s.realm_id = u.realm_id AND s.user_id = u.id AND s.channel_id = ${channel.id} AND s.active
    WHERE u.realm_id = ${organization.id}`;
  const seeing = people.filter(({ subscribed, ...user }) =>
    seesChannel({ person: { id: user.id, role: user.role, organization, user }, groups, now }, channel, subscribed),
  );
  return new Set(seeing.map(({ id }) => id));
}

/** Returns the ids in `userIds` of users who can read the channel's messages, in ascending order. */
export async function userIdsReading(
  tx: Tx,
  organization: Organization,
  channel: Channel,
  userIds: readonly number[],
  now: Date,
): Promise<number[]> {
  const groups = await systemGroups(tx, organization.id);
  const people = await tx.$queryRaw<PersonRow[]>`
    SELECT ${COLUMNS}, s.user_id IS NOT NULL AS subscribed
    FROM user_account u LEFT JOIN subscription s ON s.realm_id = u.realm_id AND s.user_id = u.id AND s.channel_id = ${channel.id} AND s.active
    WHERE u.realm_id = ${organization.id} AND u.id = ANY(${[...userIds]}) ORDER BY u.id`;
  const reading = people.filter(({ subscribed, ...user }) =>
    readsChannel({ person: { id: user.id, role: user.role, organization, user }, groups, now }, channel, subscribed),
  );
  return reading.map(({ id }) => id);
}
