import type { KeyToUse } from '../../access/keyed-change.ts';
import type { Appended } from '../../events/append.ts';
import { type Audience, subscribersOf, users } from '../../events/audience.ts';
import type { StoredEvent } from '../../events/stored.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { readRows } from '../../platform/db/rows.ts';
import { messageSent, type SentPayload, type Unsent } from '../events.ts';
import type { MessageSender } from '../sender.ts';
import { topicPolicyChanged } from '../topic-policies/events.ts';
import type { AutomaticPolicy } from '../topic-policies/policies.ts';
import type { RenderedContent } from './content.ts';
import type { Target } from './target.ts';

/**
 * A message that was checked and rendered. The statement that writes it only checks that the data on which the checks were
 * based has not changed.
 */
export interface PreparedMessage {
  readonly sender: MessageSender;
  readonly target: Target | null;
  /** Members of the conversation, ascending by id. Null for a channel message. */
  readonly memberIds: readonly number[] | null;
  readonly content: RenderedContent;
  readonly payload: Unsent;
  /** New visibility policy of the sender for the topic. Undefined if the policy does not change. */
  readonly newPolicy: AutomaticPolicy | undefined;
  /** Ids of the mentioned users who will follow the topic. */
  readonly followers: readonly number[];
  readonly sentAt: Date;
}

/** A prepared message, with the options of one attempt to write it. */
export interface MessageToWrite {
  readonly prepared: PreparedMessage;
  /**
   * Random number by which the message is found if the response of its statement is lost. All attempts to write the message use
   * the same number.
   */
  readonly token: bigint;
  /**
   * Whether an earlier attempt may have written the message although its response was lost. If true, the statement looks for
   * the message first.
   */
  readonly repeated: boolean;
  /** Whether the statement sets `newPolicy`. True only if the sender has no policy for the topic yet. */
  readonly setsPolicy: boolean;
  /** Idempotency key under which the data of the response is stored. Undefined if the request has no key. */
  readonly kept?: KeyToUse;
}

/** Result for a message that was written: its id, its events, and the data stored with the request's idempotency key. */
export interface WrittenMessage extends Appended {
  readonly messageId: number;
  /** Data from which the response to a repeated request is rendered. Undefined if the request has no idempotency key. */
  readonly storedData: unknown;
}

/**
 * Result of writing a message. Undefined if nothing was written, because the idempotency key of the request was used before or
 * is in use.
 */
export type Outcome = WrittenMessage | undefined;

/** A row that the SQL function `write_messages` returns: the result for one message. */
interface WrittenRow {
  readonly realm_id: number;
  /** Position of the message in the batch, from 1. */
  readonly place: number;
  readonly message_id: bigint;
  readonly event_id: bigint;
  readonly recipient_id: bigint;
  readonly policy_event_id: bigint | null;
  /** Data from which the response to a repeated request is rendered, as JSON. Null if the request has no idempotency key. */
  readonly reply: string | null;
  readonly xid: string;
}

/** Messages of one organization that are written in one statement, in this order. */
export interface Batch {
  readonly organizationId: number;
  readonly messages: readonly MessageToWrite[];
}

/**
 * Writes messages in one statement. The messages of one organization are either all written, in the given order, or none of
 * them is. Outside of a transaction, the statement is a transaction of its own.
 *
 * If there are several organizations, the statement skips locked event counters and waits at most 10 ms for any other lock. It
 * omits an organization if another change of the organization is in progress, or if one of its messages cannot be written as
 * prepared.
 *
 * @returns For each organization, the outcomes of its messages in the given order. Undefined if the organization was omitted.
 * @throws A serialization failure (40001) if there is one organization, and data from which a message was prepared has changed.
 */
export async function writeMessages(
  db: SqlClient,
  batches: readonly Batch[],
): Promise<(readonly Outcome[] | undefined)[]> {
  const input = batches.map(({ organizationId, messages }) => ({
    realm_id: organizationId,
    messages: messages.map(argumentsOf),
  }));
  const rows = await readRows<WrittenRow>(
    db,
    Prisma.sql`SELECT * FROM write_messages(${JSON.stringify(input)}::jsonb)`,
  );
  const byOrganization = Map.groupBy(rows, (row) => row.realm_id);
  return batches.map(({ organizationId, messages }) => {
    const written = byOrganization.get(organizationId);
    return written === undefined && batches.length > 1 ? undefined : outcomesOf(messages, written ?? []);
  });
}

function outcomesOf(messages: readonly MessageToWrite[], rows: readonly WrittenRow[]): Outcome[] {
  const byPlace = new Map(rows.map((row) => [row.place, row]));
  return messages.map((message, i) => {
    const row = byPlace.get(i + 1);
    if (row === undefined && message.kept === undefined)
      throw new Error('write_messages returned no row for a message');
    return row === undefined ? undefined : writtenOf(message, row);
  });
}

const publicChannelId = ({ target }: PreparedMessage): number | null =>
  target === null || target.channel.inviteOnly ? null : target.channel.id;

function argumentsOf(message: MessageToWrite) {
  const { prepared, token, setsPolicy, repeated, kept } = message;
  const { sender, target, memberIds, content, payload, sentAt } = prepared;
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
    // Encoded as a string, because the token can exceed the integers that JSON numbers represent exactly.
    send_token: String(token),
    repeated,
    policy: setsPolicy ? policyToSet(prepared) : undefined,
    kept: kept && {
      ...{ user_id: kept.userId, key: kept.key, lock: kept.lock, input_hash: kept.inputHash },
      facts: { newPolicy: prepared.newPolicy },
    },
  };
}

function policyToSet(prepared: PreparedMessage) {
  const { sender, target, newPolicy } = prepared;
  if (target === null || newPolicy === undefined) return undefined;
  const { type, payload } = policyEvent(prepared, target, newPolicy);
  return { user_id: sender.id, topic: target.topic, policy: newPolicy, event_type: type, payload };
}

const policyEvent = ({ sender, sentAt }: PreparedMessage, { channel, topic }: Target, policy: AutomaticPolicy) =>
  topicPolicyChanged({ channelId: channel.id, topic, policy, lastUpdated: sentAt }, sender.organization);

function writtenOf({ prepared, token }: MessageToWrite, row: WrittenRow): WrittenMessage {
  const { sender, target, memberIds, payload, sentAt, newPolicy } = prepared;
  const messageId = Number(row.message_id);
  const complete: SentPayload = { ...payload, id: messageId, recipientId: Number(row.recipient_id) };
  const audience =
    target === null
      ? users(memberIds ?? [])
      : { ...subscribersOf(target.channel.id), userIds: [sender.id], publicChannelId: publicChannelId(prepared) };
  const events = [storedEvent(row.event_id, messageSent.type, complete, audience, sentAt)];
  if (row.policy_event_id !== null && target !== null && newPolicy !== undefined) {
    const { type, payload } = policyEvent(prepared, target, newPolicy);
    events.push(storedEvent(row.policy_event_id, type, payload, users([sender.id]), sentAt));
  }
  const written = Prisma.sql`
    SELECT 1 AS found FROM message WHERE realm_id = ${sender.organization.id} AND id = ${messageId} AND send_token = ${token}`;
  const storedData: unknown = row.reply === null ? undefined : JSON.parse(row.reply);
  return { messageId, events, trace: { xid: row.xid, row: written }, storedData };
}

function storedEvent(id: bigint, type: string, complete: object, audience: Audience, createdAt: Date): StoredEvent {
  const json = JSON.stringify(complete);
  return {
    id: Number(id),
    type,
    op: null,
    payload: JSON.parse(json) as unknown,
    audience,
    width: 1,
    ephemeral: false,
    createdAt,
    actorId: null,
    bytes: json.length,
  };
}
