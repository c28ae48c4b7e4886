import { userSetting } from '../../access/user-settings.ts';
import { timeOfDay } from '../../contract/quiet-hours.ts';
import { topicKey } from '../../contract/topic-key.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { listOf } from '../../platform/db/lists.ts';
import { readRows } from '../../platform/db/rows.ts';
import type { SentPayload } from '../events.ts';
import { FOLLOWED } from '../topic-policies/policies.ts';
import { isQuiet, notificationsOf, type Reason, type Situation, type Transport } from './decision.ts';

/**
 * Time in seconds after the last activity of a user for which the user counts as active. Clients report activity once a minute.
 */
const ACTIVE_SECONDS = 140;

/** A user who is to be notified of a message. */
export interface Notified {
  readonly userId: number;
  readonly messageId: number;
  readonly transport: Transport;
  readonly reason: Reason;
  /** Time until which further messages are collected into the same email, in seconds. 0 for other transports. */
  readonly delaySeconds: number;
}

/** Transports by which the service can deliver notifications. */
export interface Deliverable {
  readonly isEmailSent: boolean;
  /** Kinds of devices to which the service can send push messages. */
  readonly deviceKinds: readonly string[];
}

/** A person to whom a message can be of interest, with the settings on which the decision depends. */
interface CandidateRow {
  /** Index of the message, from 0. */
  readonly place: number;
  readonly id: number;
  readonly settings: Prisma.JsonValue;
  readonly isSubscribed: boolean;
  readonly isMuted: boolean | null;
  readonly pushNotifications: boolean | null;
  readonly emailNotifications: boolean | null;
  readonly wildcardMentionsNotify: boolean | null;
  readonly policy: number | null;
  readonly isActive: boolean;
  readonly hasDevice: boolean;
}

/**
 * Decides which users are notified of new messages, and by which transports. The settings are those at the time of the call.
 *
 * Reads only the recipients to whom a message can be of interest: the members of its conversation, or the subscribers who are
 * mentioned, follow the topic, or want notifications of all messages. One statement, whatever their number.
 *
 * @param messages Payloads of the events of the messages, of one organization.
 */
export async function notifiedOf(
  db: SqlClient,
  organizationId: number,
  messages: readonly SentPayload[],
  { isEmailSent, deviceKinds }: Deliverable,
): Promise<Notified[]> {
  if (messages.length === 0) return [];
  const rows = await readCandidates(db, organizationId, messages, deviceKinds);
  const recipients = messages.map(
    (message): MessageForRecipients => ({
      ...{ id: message.id, channelWildcard: message.channelWildcard, timeIn: timesOfDay(sentAtOf(message)) },
      mentioned: new Set(message.mentioned),
      topicMentioned: new Set(message.topicMentioned),
      readBy: new Set(message.readBy),
    }),
  );
  return rows.flatMap((row) => {
    const message = recipients[row.place];
    if (message === undefined || message.readBy.has(row.id)) return [];
    const situation = situationOf(message, row);
    const { push, email } = notificationsOf(situation);
    const to = { userId: row.id, messageId: message.id };
    const delaySeconds = userSetting(row, 'email_notifications_batching_period_seconds');
    return [
      ...(push !== undefined && row.hasDevice
        ? [{ ...to, transport: 'push' as const, reason: push, delaySeconds: 0 }]
        : []),
      ...(email !== undefined && isEmailSent
        ? [{ ...to, transport: 'email' as const, reason: email, delaySeconds }]
        : []),
    ];
  });
}

/** Returns the time of a message, as precisely as its payload has it. */
const sentAtOf = ({ sentAt, timestamp }: Pick<SentPayload, 'sentAt' | 'timestamp'>): string =>
  sentAt ?? new Date(timestamp * 1000).toISOString();

/** Returns a function that returns the time of day at `at` by time zone. It computes each once, because computing one takes long. */
function timesOfDay(at: string): (timeZone: string) => string {
  const known = new Map<string, string>();
  return (timeZone) => {
    const time = known.get(timeZone) ?? timeOfDay(new Date(at), timeZone);
    known.set(timeZone, time);
    return time;
  };
}

/** The parts of a message on which the decision depends. Sets of users, because they are searched for each candidate. */
interface MessageForRecipients extends Pick<SentPayload, 'id' | 'channelWildcard'> {
  readonly mentioned: ReadonlySet<number>;
  readonly topicMentioned: ReadonlySet<number>;
  readonly readBy: ReadonlySet<number>;
  /** Returns the time of day at which the message was sent, in a time zone. */
  readonly timeIn: (timeZone: string) => string;
}

const situationOf = (
  { mentioned, topicMentioned, channelWildcard, timeIn }: MessageForRecipients,
  row: CandidateRow,
): Situation => ({
  user: row,
  subscription: row.isSubscribed ? { ...row, isMuted: row.isMuted === true } : undefined,
  policy: row.policy,
  isMentioned: mentioned.has(row.id),
  isWildcardMentioned: channelWildcard || topicMentioned.has(row.id),
  isActive: row.isActive,
  isQuiet: isQuiet(row, timeIn),
});

/** Builds the columns of the candidate with the aliases `u` (user) and `p` (presence). */
const candidate = (organizationId: number, deviceKinds: readonly string[]): Prisma.Sql => Prisma.sql`
  sent.place, u.id, u.settings, p.active_at IS NOT NULL AND p.active_at > sent.at - make_interval(secs => ${ACTIVE_SECONDS}) AS "isActive",
  EXISTS (SELECT FROM push_device d WHERE d.realm_id = ${organizationId} AND d.user_id = u.id
    AND d.kind = ANY (${listOf('text', deviceKinds)}) OFFSET 0) AS "hasDevice"`;

/** Condition that the account `u` belongs to a person who can sign in. */
export const IS_PERSON = Prisma.sql`
  u.is_active AND u.bot_type IS NULL AND NOT u.is_system AND NOT u.is_placeholder AND NOT u.is_imported_stub`;

/**
 * Returns the number of members or subscribers of the conversation or channel of each message, in the same order. It bounds the
 * work of `notifiedOf`.
 */
export async function audienceSizes(
  db: SqlClient,
  organizationId: number,
  messages: readonly SentPayload[],
): Promise<number[]> {
  const channelIds = [...new Set(messages.flatMap(({ channel }) => channel?.id ?? []))];
  const rows =
    channelIds.length === 0
      ? []
      : await readRows<{ channelId: number; count: number }>(
          db,
          Prisma.sql`
    SELECT s.channel_id AS "channelId", count(*)::int AS count FROM subscription s
    WHERE s.realm_id = ${organizationId} AND s.active AND s.channel_id = ANY (${listOf('int', channelIds)}) GROUP BY s.channel_id`,
        );
  const counts = new Map(rows.map(({ channelId, count }) => [channelId, count]));
  return messages.map(({ channel, members }) => (channel === null ? members.length : (counts.get(channel.id) ?? 0)));
}

function readCandidates(
  db: SqlClient,
  organizationId: number,
  messages: readonly SentPayload[],
  deviceKinds: readonly string[],
): Promise<CandidateRow[]> {
  const sent = messages.map(({ sender, channel, members, topic, ...message }, place) => ({
    ...{ place, sender_id: sender.id, channel_id: channel?.id ?? null },
    at: sentAtOf(message),
    topic_key: topicKey(topic),
    member_ids: channel === null ? members.map(({ id }) => id) : [],
    mentioned: [...message.mentioned, ...message.topicMentioned],
    wildcard: message.channelWildcard,
  }));
  return readRows<CandidateRow>(
    db,
    Prisma.sql`
    WITH sent AS MATERIALIZED (
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(sent)}::jsonb) AS m(
        place int, sender_id int, channel_id int, at timestamptz, topic_key text, member_ids int[], mentioned int[], wildcard boolean)
    ), mention AS MATERIALIZED (
      SELECT DISTINCT sent.place, unnest(sent.mentioned) AS user_id FROM sent
    ), subscriber AS MATERIALIZED (
      -- Once for each channel, however many of the messages it has.
      SELECT s.channel_id, s.user_id, s.is_muted, s.push_notifications, s.email_notifications, s.wildcard_mentions_notify,
             COALESCE(s.push_notifications, (u.settings->>'enable_stream_push_notifications')::boolean, false)
               OR COALESCE(s.email_notifications, (u.settings->>'enable_stream_email_notifications')::boolean, false)
               AS notified_of_all
      FROM subscription s JOIN user_account u ON u.realm_id = s.realm_id AND u.id = s.user_id
      WHERE s.realm_id = ${organizationId} AND s.active AND ${IS_PERSON}
        AND s.channel_id = ANY (ARRAY(SELECT DISTINCT sent.channel_id FROM sent WHERE sent.channel_id IS NOT NULL))
    )
    SELECT ${candidate(organizationId, deviceKinds)}, true AS "isSubscribed", s.is_muted AS "isMuted", s.push_notifications AS "pushNotifications",
           s.email_notifications AS "emailNotifications", s.wildcard_mentions_notify AS "wildcardMentionsNotify", t.policy
    FROM sent JOIN subscriber s ON s.channel_id = sent.channel_id AND s.user_id <> sent.sender_id
    LEFT JOIN mention n ON n.place = sent.place AND n.user_id = s.user_id
    LEFT JOIN user_topic t ON t.realm_id = ${organizationId} AND t.user_id = s.user_id AND t.channel_id = sent.channel_id
      AND topic_key(t.topic) = sent.topic_key
    JOIN user_account u ON u.realm_id = ${organizationId} AND u.id = s.user_id
    LEFT JOIN presence p ON p.realm_id = ${organizationId} AND p.user_id = u.id
    WHERE s.notified_of_all OR sent.wildcard OR n.user_id IS NOT NULL OR t.policy = ${FOLLOWED}
    UNION ALL
    SELECT ${candidate(organizationId, deviceKinds)}, false, NULL, NULL, NULL, NULL, NULL
    FROM sent CROSS JOIN LATERAL unnest(sent.member_ids) AS member(id)
    JOIN user_account u ON u.realm_id = ${organizationId} AND u.id = member.id AND u.id <> sent.sender_id
    LEFT JOIN presence p ON p.realm_id = ${organizationId} AND p.user_id = u.id
    WHERE ${IS_PERSON}`,
  );
}
