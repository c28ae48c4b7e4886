import { users } from '../../events/audience.ts';
import type { Emit } from '../../events/log.ts';
import type { Realm } from '../../generated/prisma/client.ts';
import { lockKind } from '../../platform/db/advisory-lock.ts';
import type { SqlClient, Tx } from '../../platform/db/client.ts';
import { GUEST } from '../../platform/roles.ts';
import { mutedTopicsChanged } from './events.ts';
import { MUTES_TOPIC } from './policies.ts';
import type { WireMutedTopic } from './wire.ts';

// What clients from before there were policies of topics know: a list of the muted ones, told anew as a whole.

/**
 * Our choice: who mutes more than this is told by registrations alone. Each event holds the whole list, and is logged while
 * the organisation waits: one account that mutes ten thousand and goes on would log gigabytes.
 */
const MAX_TOLD = 500;

interface MutedRow {
  readonly userId: number;
  readonly name: string;
  readonly topic: string;
  readonly lastUpdated: Date;
}

/**
 * The topics that each of these users has muted, in the order they first set them. One query.
 *
 * Of channels that are not archived, and that the user is in or that are open to them: the list has channels by name,
 * and who does not see a channel any more is not to learn what it is called by now.
 */
export async function mutedTopics(
  db: SqlClient,
  realm: Pick<Realm, 'id'>,
  userIds: readonly number[],
): Promise<Map<number, WireMutedTopic[]>> {
  const rows = await db.$queryRaw<MutedRow[]>`
    SELECT t.user_id AS "userId", c.name, t.topic, t.last_updated AS "lastUpdated"
    FROM user_topic t
    JOIN channel c ON c.realm_id = t.realm_id AND c.id = t.channel_id AND NOT c.is_archived
    JOIN user_account u ON u.realm_id = t.realm_id AND u.id = t.user_id
    WHERE t.realm_id = ${realm.id} AND t.user_id = ANY(${[...userIds]}) AND ${MUTES_TOPIC}
      AND (c.is_web_public OR (NOT c.invite_only AND u.role <> ${GUEST})
           OR EXISTS (SELECT FROM subscription s WHERE s.realm_id = t.realm_id AND s.user_id = t.user_id AND s.channel_id = c.id AND s.active))
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
 * Tells users what they have muted, unless it is too much, as part of a change of it. From here to its end no other such change is made in the
 * organisation: each tells the whole list, so they must follow one another.
 */
export async function tellMutedTopics(tx: Tx, emit: Emit, realm: Realm, userIds: readonly number[]): Promise<void> {
  if (userIds.length === 0) return;
  await lockKind(tx, 'muted_topics', realm.id);
  const rows = await tx.$queryRaw<{ user_id: number }[]>`
    SELECT t.user_id FROM user_topic t WHERE t.realm_id = ${realm.id} AND t.user_id = ANY(${[...userIds]}) AND ${MUTES_TOPIC}
    GROUP BY t.user_id HAVING count(*) > ${MAX_TOLD}`;
  const untold = new Set(rows.map((row) => row.user_id));
  const told = userIds.filter((id) => !untold.has(id));
  for (const [userId, list] of await mutedTopics(tx, realm, told)) {
    emit(mutedTopicsChanged(list, realm), users([userId]));
  }
}
