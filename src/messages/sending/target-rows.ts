import type { Guarded } from '../../channels/access.ts';
import type { ChannelKey } from '../../channels/keys.ts';
import { type Channel, Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { readByTurn } from '../../platform/db/read-by-turn.ts';
import { readRows } from '../../platform/db/rows.ts';
import { isRowId } from '../../platform/ids.ts';
import type { MessageSender } from '../sender.ts';

export type TargetChannel = Guarded &
  Pick<Channel, 'id' | 'name' | 'isArchived' | 'historyPublicToSubscribers' | 'topicsPolicy'>;

/**
 * Stored data of the channel and topic to which a message is sent. Versions are the `xmin` of database rows. If a row does not
 * exist, for example the sender's subscription, its fields are null.
 */
export interface TargetRow extends TargetChannel {
  readonly version: string;
  readonly subscription_version: string | null;
  readonly is_muted: boolean | null;
  readonly owner_subscription_version: string | null;
  readonly topic_policy: number | null;
  readonly last_in_topic: bigint | null;
}

/** A request for a target: the sender, and the channel and topic of their message. */
interface TargetRequest {
  readonly realm_id: number;
  readonly sender_id: number;
  readonly owner_id: number | null;
  /** Id of the channel, or its name if the target is read by name. */
  readonly channel: number | string;
  readonly topic: string;
}

/**
 * Maximum number of targets in one query. Further targets are read by further queries. Usually far fewer are requested in one
 * turn of the event loop.
 */
const MAX_TARGETS = 100;

/** `byId` reads targets by channel id, `byName` by channel name, ignoring case. */
const byId = (db: SqlClient, wanted: readonly TargetRequest[]) =>
  readTargets(db, wanted, Prisma.sql`c.id = w.channel::int`);
const byName = (db: SqlClient, wanted: readonly TargetRequest[]) =>
  readTargets(db, wanted, Prisma.sql`lower(c.name) = lower(w.channel)`);
// Sign-ins are batched in the same way. So requests whose sign-ins were batched continue in the same turn of the event loop,
// and their targets are batched too.
const byIdAndTurn = readByTurn(byId, MAX_TARGETS);
const byNameAndTurn = readByTurn(byName, MAX_TARGETS);

/**
 * Reads the channel and topic to which a message is sent. Undefined if the channel does not exist. Concurrent calls outside
 * transactions share one query.
 */
export async function readTarget(
  db: SqlClient,
  { id, organization, user }: Pick<MessageSender, 'id' | 'organization' | 'user'>,
  reference: ChannelKey,
  topic: string,
): Promise<TargetRow | undefined> {
  const isById = 'id' in reference;
  if (isById ? !isRowId(reference.id) : reference.name.includes('\0')) return undefined;
  const channel = isById ? reference.id : reference.name.trim().toWellFormed();
  const wanted = { realm_id: organization.id, sender_id: id, owner_id: user.botOwnerId, channel, topic };
  // A transaction belongs to one sender, so its reads are not batched with those of other senders.
  if (!('$transaction' in db)) return (await (isById ? byId : byName)(db, [wanted]))[0];
  return (isById ? byIdAndTurn : byNameAndTurn)(db, wanted);
}

/**
 * Reads targets by index lookups, so that the cost does not depend on the size of the tables. `LIMIT 1` makes the planner look
 * up each target separately.
 */
async function readTargets(
  db: SqlClient,
  wanted: readonly TargetRequest[],
  isChannel: Prisma.Sql,
): Promise<(TargetRow | undefined)[]> {
  const rows = await readRows<TargetRow & { readonly place: bigint }>(
    db,
    Prisma.sql`
    SELECT w.place, c.id, c.name, c.invite_only AS "inviteOnly", c.is_web_public AS "isWebPublic",
           c.is_archived AS "isArchived", c.history_public_to_subscribers AS "historyPublicToSubscribers",
           c.topics_policy AS "topicsPolicy", c.permissions, c.creator_id AS "creatorId", c.xmin::text AS version,
           s.version AS subscription_version, s.is_muted, o.version AS owner_subscription_version,
           t.policy AS topic_policy,
           (SELECT m.id FROM message m
            WHERE m.realm_id = w.realm_id AND m.channel_id = c.id AND topic_key(m.topic) = topic_key(w.topic)
            ORDER BY m.id DESC LIMIT 1) AS last_in_topic
    FROM ROWS FROM (
      jsonb_to_recordset(${JSON.stringify(wanted)}::jsonb)
        AS (realm_id int, sender_id int, owner_id int, channel text, topic text)
    ) WITH ORDINALITY AS w(realm_id, sender_id, owner_id, channel, topic, place)
    JOIN LATERAL (SELECT c.*, c.xmin FROM channel c WHERE c.realm_id = w.realm_id AND ${isChannel} LIMIT 1) AS c ON true
    LEFT JOIN LATERAL (SELECT s.xmin::text AS version, s.is_muted FROM subscription s
      WHERE s.realm_id = w.realm_id AND s.channel_id = c.id AND s.user_id = w.sender_id AND s.active LIMIT 1) AS s ON true
    LEFT JOIN LATERAL (SELECT o.xmin::text AS version FROM subscription o
      WHERE o.realm_id = w.realm_id AND o.channel_id = c.id AND o.user_id = w.owner_id AND o.active LIMIT 1) AS o ON true
    LEFT JOIN LATERAL (SELECT t.policy FROM user_topic t
      WHERE t.realm_id = w.realm_id AND t.user_id = w.sender_id AND t.channel_id = c.id AND topic_key(t.topic) = topic_key(w.topic) LIMIT 1) AS t ON true`,
  );
  const byPlace = new Map(rows.map(({ place, ...row }) => [Number(place), row]));
  return wanted.map((_, i) => byPlace.get(i + 1));
}
