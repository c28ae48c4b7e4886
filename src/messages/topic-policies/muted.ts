import { users } from '../../events/audience.ts';
import type { Emit } from '../../events/log.ts';
import type { Organization } from '../../generated/prisma/client.ts';
import { lockKind } from '../../platform/db/advisory-lock.ts';
import type { SqlClient, Tx } from '../../platform/db/client.ts';
import { GUEST } from '../../platform/roles.ts';
import { mutedTopicsChanged } from './events.ts';
import { MUTES_TOPIC } from './policies.ts';
import type { WireMutedTopic } from './wire.ts';

// This file sends the event `muted_topics`, for clients without support for topic policies. The event contains all muted topics
// of a user.

/**
 * Maximum number of muted topics of a user who receives the event `muted_topics`. Users with more muted topics receive their
 * list only when they register a queue. Each event contains the whole list, and is logged while the organization's event
 * counter is locked. Without this limit, an account that mutes ten thousand topics one by one would log gigabytes.
 */
const MAX_IN_EVENT = 500;

interface MutedRow {
  readonly userId: number;
  readonly name: string;
  readonly topic: string;
  readonly lastUpdated: Date;
}

/**
 * Reads the topics that each user has muted, by user id, with one query. A user's topics are in the order in which the user
 * first set a policy for them.
 *
 * Excludes topics of archived channels, and of channels that the user can no longer read. The list contains names of channels,
 * and users who cannot see a channel must not receive its current name.
 */
export async function mutedTopics(
  db: SqlClient,
  organization: Pick<Organization, 'id'>,
  userIds: readonly number[],
): Promise<Map<number, WireMutedTopic[]>> {
  const rows = await db.$queryRaw<MutedRow[]>`
    SELECT t.user_id AS "userId", c.name, t.topic, t.last_updated AS "lastUpdated"
    FROM user_topic t
    JOIN channel c ON c.realm_id = t.realm_id AND c.id = t.channel_id AND NOT c.is_archived
    JOIN user_account u ON u.realm_id = t.realm_id AND u.id = t.user_id
    WHERE t.realm_id = ${organization.id} AND t.user_id = ANY(${[...userIds]}) AND ${MUTES_TOPIC}
      AND (c.is_web_public OR (NOT c.invite_only AND u.role <> ${GUEST})
           OR EXISTS (
             SELECT FROM subscription s
             WHERE s.realm_id = ${organization.id} AND s.user_id = t.user_id AND s.channel_id = c.id AND s.active))
    ORDER BY t.id`;
  const byUser = Map.groupBy(rows, ({ userId }) => userId);
  return new Map(userIds.map((id) => [id, (byUser.get(id) ?? []).map(toWireMuted)]));
}

const toWireMuted = ({ name, topic, lastUpdated }: MutedRow): WireMutedTopic => [
  name,
  topic,
  Math.floor(lastUpdated.getTime() / 1000),
];

/**
 * Sends users the lists of their muted topics, in the caller's transaction. Lists of more than `MAX_IN_EVENT` topics are not
 * sent. Each event contains the whole list, so the events must be in order. Therefore an advisory lock serializes the
 * transactions of the organization that send such lists.
 */
export async function publishMutedTopics(
  tx: Tx,
  emit: Emit,
  organization: Organization,
  userIds: readonly number[],
): Promise<void> {
  if (userIds.length === 0) return;
  await lockKind(tx, 'muted_topics', organization.id);
  const rows = await tx.$queryRaw<{ user_id: number }[]>`
    SELECT t.user_id FROM user_topic t WHERE t.realm_id = ${organization.id} AND t.user_id = ANY(${[...userIds]}) AND ${MUTES_TOPIC}
    GROUP BY t.user_id HAVING count(*) > ${MAX_IN_EVENT}`;
  const skipped = new Set(rows.map((row) => row.user_id));
  const recipientIds = userIds.filter((id) => !skipped.has(id));
  for (const [userId, list] of await mutedTopics(tx, organization, recipientIds)) {
    emit(mutedTopicsChanged(list, organization), users([userId]));
  }
}
