import type { Appended } from '../../events/append.ts';
import { subscribersOf, users } from '../../events/audience.ts';
import type { StoredEvent } from '../../events/stored.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { messageSent, type SentPayload, type Unsent } from '../events.ts';
import type { AutomaticPolicy } from '../topic-policies/policies.ts';
import type { RenderedContent } from './content.ts';
import type { Sender } from './sender.ts';
import type { Target } from './target.ts';

/** A message that may be sent, checked and rendered, but for what only the database can tell. */
export interface PreparedMessage {
  readonly sender: Sender;
  readonly target: Target | null;
  /** Ascending; null for a channel message. */
  readonly memberIds: readonly number[] | null;
  readonly content: RenderedContent;
  readonly payload: Unsent;
  /** What sending makes of the sender's policy for the topic; undefined leaves it. */
  readonly newPolicy: AutomaticPolicy | undefined;
  readonly sentAt: Date;
  /** Random, so that the message is found again when the answer to its sending was lost. */
  readonly token: bigint;
}

/** A message on its way to the database. */
export interface MessageToWrite {
  readonly prepared: PreparedMessage;
  /** Whether an earlier attempt may have come through without our having heard of it: it is looked for then. */
  readonly repeated: boolean;
}

/** A message that was written, with its event. */
export interface WrittenMessage extends Appended {
  readonly messageId: number;
}

/** What `send_message` returns for one of the messages. */
interface WrittenRow {
  /** Of the message among those written, from 1. */
  readonly place: bigint;
  readonly message_id: bigint;
  readonly event_id: bigint;
  readonly recipient_id: bigint;
  readonly xid: string;
}

/**
 * The one statement that sends messages of one organisation: all of them, in this order, or none. On its own it is a
 * transaction.
 *
 * @throws What loses a race (40001) when what one of them was prepared from has changed.
 */
export async function writeMessages(
  db: SqlClient,
  realmId: number,
  messages: readonly MessageToWrite[],
): Promise<WrittenMessage[]> {
  const rows = await db.$queryRaw<WrittenRow[]>`
    SELECT p.place, sent.* FROM ROWS FROM (jsonb_to_recordset(${JSON.stringify(messages.map(argumentsOf))}::jsonb) AS (
      payload jsonb, channel_id int, member_ids int[], public_channel_id int, channel_version text, subscriber_id int,
      subscription_version text, sender_role smallint, mentioned int[], topic_mentioned int[], alerted int[],
      read_by_sender boolean, channel_wildcard boolean, has_link boolean, has_image boolean, has_attachment boolean,
      sent_at timestamptz, send_token bigint, repeated boolean
    )) WITH ORDINALITY AS p(
      payload, channel_id, member_ids, public_channel_id, channel_version, subscriber_id,
      subscription_version, sender_role, mentioned, topic_mentioned, alerted,
      read_by_sender, channel_wildcard, has_link, has_image, has_attachment,
      sent_at, send_token, repeated, place
    ), LATERAL send_message(
      p_realm_id => ${realmId}::int,
      p_payload => p.payload,
      p_channel_id => p.channel_id,
      p_member_ids => p.member_ids,
      p_public_channel_id => p.public_channel_id,
      p_channel_version => p.channel_version,
      p_subscriber_id => p.subscriber_id,
      p_subscription_version => p.subscription_version,
      p_sender_role => p.sender_role,
      p_mentioned => p.mentioned,
      p_topic_mentioned => p.topic_mentioned,
      p_alerted => p.alerted,
      p_read_by_sender => p.read_by_sender,
      p_channel_wildcard => p.channel_wildcard,
      p_has_link => p.has_link,
      p_has_image => p.has_image,
      p_has_attachment => p.has_attachment,
      p_sent_at => p.sent_at,
      p_send_token => p.send_token,
      p_repeated => p.repeated) AS sent`;
  const byPlace = new Map(rows.map((row) => [Number(row.place), row]));
  return messages.map(({ prepared }, i) => {
    const row = byPlace.get(i + 1);
    if (row === undefined) throw new Error('send_message returns one row');
    return writtenOf(prepared, row);
  });
}

const publicChannelId = ({ target }: PreparedMessage): number | null =>
  target === null || target.channel.inviteOnly ? null : target.channel.id;

function argumentsOf({ prepared, repeated }: MessageToWrite) {
  const { sender, target, memberIds, content, payload, sentAt, token } = prepared;
  return {
    payload,
    channel_id: target?.channel.id ?? null,
    member_ids: memberIds,
    public_channel_id: publicChannelId(prepared),
    channel_version: target?.channelVersion ?? null,
    subscriber_id: target?.subscription?.userId ?? null,
    subscription_version: target?.subscription?.version ?? null,
    sender_role: sender.role,
    mentioned: payload.mentioned,
    topic_mentioned: payload.topicMentioned,
    alerted: payload.alerted,
    read_by_sender: payload.readBySender,
    channel_wildcard: content.channelWildcard,
    has_link: content.hasLink,
    has_image: content.hasImage,
    has_attachment: content.hasAttachment,
    sent_at: sentAt,
    // As text: it is greater than what a number of JSON holds exactly.
    send_token: String(token),
    repeated,
  };
}

function writtenOf(prepared: PreparedMessage, row: WrittenRow): WrittenMessage {
  const { sender, target, memberIds, payload, sentAt } = prepared;
  const messageId = Number(row.message_id);
  const complete: SentPayload = { ...payload, id: messageId, recipientId: Number(row.recipient_id) };
  const json = JSON.stringify(complete);
  const event: StoredEvent = {
    id: Number(row.event_id),
    type: messageSent.type,
    op: null,
    payload: JSON.parse(json) as unknown,
    audience:
      target === null
        ? users(memberIds ?? [])
        : {
            ...subscribersOf(target.channel.id),
            userIds: [sender.id],
            publicChannelId: publicChannelId(prepared),
          },
    width: 1,
    ephemeral: false,
    createdAt: sentAt,
    bytes: json.length,
  };
  return { messageId, events: [event], xid: row.xid };
}
