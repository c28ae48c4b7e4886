import { randomBytes } from 'node:crypto';
import { readAccount } from '../../access/accounts.ts';
import { apiEmail } from '../../access/address.ts';
import type { App, Ctx, Viewer } from '../../access/context.ts';
import { requireActive } from '../../access/sign-in.ts';
import { emptyTopicName } from '../../channels/topic-name.ts';
import type { Appended } from '../../events/append.ts';
import { subscribersOf, users } from '../../events/audience.ts';
import { retrying } from '../../events/commit.ts';
import { type Emit, publishCommitted, transact } from '../../events/log.ts';
import type { StoredEvent } from '../../events/stored.ts';
import { topicLinks } from '../../markdown/render.ts';
import { toFacts } from '../../people/wire.ts';
import type { SqlClient, Tx } from '../../platform/db/client.ts';
import { isBusy, isCertainlyNotDone } from '../../platform/db/errors.ts';
import { BadRequestError, RequestTimeoutError } from '../../platform/errors.ts';
import { requireText } from '../../platform/text.ts';
import { messageSent, type SentPayload, type Unsent } from '../events.ts';
import { automaticPolicy } from '../topic-policies/automatic.ts';
import type { AutomaticPolicy } from '../topic-policies/policies.ts';
import { setAutomaticPolicy } from '../topic-policies/service.ts';
import { normalContent, type RenderedContent, renderContent } from './content.ts';
import { accessMembers, type Recipients } from './direct.ts';
import { requireMayMention, whoIsMentioned } from './mentions.ts';
import { isInteractive, type Sender } from './sender.ts';
import { accessTarget, type ChannelReference, requireTopic, type Target } from './target.ts';

/** A message as its sender gives it. */
export interface NewMessage {
  readonly to: ChannelReference | Recipients;
  /** Of a channel message; means nothing otherwise. */
  readonly topic?: string | undefined;
  /** Flavoured Markdown. Cut to 10,000 code points. */
  readonly content: string;
  /** Absent: whether an interactive client sends to somebody else. */
  readonly readBySender?: boolean | undefined;
  /** The sender's queue that is to hear `localId` with the message. */
  readonly queueId?: string | undefined;
  readonly localId?: string | undefined;
}

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

/** A message that was sent. */
export interface SentMessage {
  readonly id: number;
  /** What became of the sender's policy for the topic; undefined when nothing did. */
  readonly newPolicy: AutomaticPolicy | undefined;
}

/**
 * Sends a message, and tells everyone who receives it.
 *
 * Reads what the right to send depends on, then writes in one statement, which makes sure that none of it has changed
 * and whose cost does not grow with the channel. What a lost answer leaves in doubt is found out by the message's
 * token: what is acknowledged was sent, once, and what is refused was not.
 *
 * @throws BadRequestError, ChannelDoesNotExistError, TopicPolicyError, WildcardMentionNotAllowedError as
 *   `prepareMessage`.
 * @throws UserDeactivatedError, RealmDeactivatedError when the viewer was signed out meanwhile.
 * @throws RequestTimeoutError when the database could not take it in time; nothing was sent.
 */
export async function sendMessage(ctx: Ctx, input: NewMessage): Promise<SentMessage> {
  const { app, realmId } = ctx;
  if (app.transaction !== undefined) return sendWithin(ctx, input);
  const prepare = preparing(ctx, input);
  const token = newToken();
  let repeated = false;
  const sent = await retrying(async () => {
    const prepared = { ...(await prepare(app.db)), token };
    // Two acts, that must be one change.
    if (prepared.newPolicy !== undefined) return sendWithin(ctx, input);
    try {
      return await writeInTurn(app, realmId, prepared, { repeated });
    } catch (error) {
      if (!isBusy(error) || (isCertainlyNotDone(error) && !repeated)) throw error;
      repeated = true;
      return confirm(app, realmId, prepared);
    }
  });
  if (!('events' in sent)) return sent;
  publishCommitted(ctx, sent.events);
  return { id: sent.messageId, newPolicy: undefined };
}

/**
 * What is tried anew, after others were quicker, is the viewer's as they are by then: their role may be what changed. A
 * request that is to have its effect once is made anew as a whole, and does not know whether it is the first try.
 */
function preparing({ app, viewer }: Ctx, input: NewMessage): (db: Tx) => Promise<PreparedMessage> {
  let isFirst = app.transaction === undefined;
  return async (db) => {
    const sender = isFirst ? viewer : await asOfNow(db, viewer);
    isFirst = false;
    return prepareMessage(db, app, sender, input);
  };
}

async function asOfNow(db: Tx, viewer: Viewer): Promise<Viewer> {
  const account = await readAccount(db, viewer.id);
  requireActive(account);
  return { ...viewer, ...account, role: account.user.role };
}

/** A message and what goes with it, in one transaction of several statements. */
function sendWithin(ctx: Ctx, input: NewMessage): Promise<SentMessage> {
  const prepare = preparing(ctx, input);
  return transact(ctx, async (tx, emit) => {
    const prepared = await prepare(tx);
    const { newPolicy, target, sender, sentAt } = prepared;
    const sent: { id: number; newPolicy: SentMessage['newPolicy'] } = { id: 0, newPolicy: undefined };
    emitMessage(emit, prepared, (id) => {
      sent.id = id;
    });
    if (newPolicy !== undefined && target !== null) {
      const { channel, topic } = target;
      const place = { realm: sender.realm, userId: sender.id, now: sentAt };
      const isSet = await setAutomaticPolicy(tx, emit, place, { channelId: channel.id, topic, policy: newPolicy });
      if (isSet) sent.newPolicy = newPolicy;
    }
    return sent;
  });
}

/** Our choice: how long a send whose answer was lost is asked after. */
const CONFIRMATION_MS = 10_000;

/**
 * Sends again what may have been sent already: the statement first looks for the message, behind the lock that an attempt
 * under way would still hold.
 */
async function confirm(app: App, realmId: number, prepared: PreparedMessage): Promise<Written> {
  const deadline = performance.now() + CONFIRMATION_MS;
  for (let pauseMs = 200; ; pauseMs += 200) {
    try {
      return await writeInTurn(app, realmId, prepared, { repeated: true });
    } catch (error) {
      if (!isBusy(error) && !(error instanceof RequestTimeoutError)) throw error;
      // It may have come through: that is no refusal, and the client must not take it for one.
      if (performance.now() + pauseMs > deadline)
        throw new RequestTimeoutError('The service is busy; the message may have been sent');
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

const writeInTurn = ({ database, db }: App, realmId: number, ...message: MessageToWrite): Promise<Written> =>
  database.turns.take(realmId, () => write(db, realmId, ...message));

type MessageToWrite = [prepared: PreparedMessage, how: { readonly repeated: boolean }];

/**
 * Sends a prepared message as part of a change, in its turn among the change's events.
 *
 * @param onSent Called with the message's id, inside the transaction.
 */
export function emitMessage(emit: Emit, prepared: PreparedMessage, onSent?: (id: number) => unknown): void {
  emit.writing(async (tx) => {
    const written = await write(tx, prepared.sender.realm.id, prepared, { repeated: false });
    await onSent?.(written.messageId);
    return written;
  });
}

/**
 * The complete check of a message, in the order of the document; then its rendering, and whom it names.
 *
 * @param db The client, or the transaction of a change.
 * @throws BadRequestError when the content is empty or cannot be rendered, when recipients are missing, not there or
 *   deactivated, or when the sender may not send this there.
 * @throws ChannelDoesNotExistError, TopicPolicyError, WildcardMentionNotAllowedError
 */
export async function prepareMessage(db: Tx, app: App, sender: Sender, input: NewMessage): Promise<PreparedMessage> {
  const now = app.now();
  const source = normalContent(input.content);
  const { to } = input;
  const isDirect = 'userIds' in to || 'emails' in to;
  if (!isDirect && input.topic === undefined) throw new BadRequestError('Missing topic');
  const topic = isDirect ? '' : requireTopic(sender.realm, input.topic ?? '');
  const target = isDirect ? null : await accessTarget(db, sender, to, topic, now);
  const members = isDirect ? await accessMembers(db, sender, to, now) : null;
  const content = await renderContent(db, app, sender, source);
  await requireMayMention(db, sender, target, content, now);
  const memberIds = members?.map(({ id }) => id) ?? null;
  const named = await whoIsMentioned(db, sender, { target, memberIds }, content, now);
  const isNoteToSelf = memberIds?.length === 1;
  return {
    sender,
    target,
    memberIds,
    content,
    payload: {
      sender: toFacts(sender.user),
      realm: sender.realm.subdomain,
      client: sender.clientName,
      timestamp: Math.floor(now.getTime() / 1000),
      sentAt: now.toISOString(),
      channel: target === null ? null : { id: target.channel.id, name: target.channel.name },
      members: (members ?? []).map((user) => ({ id: user.id, email: apiEmail(user), fullName: user.fullName })),
      topic,
      topicLinks: topic === '' ? [] : topicLinks(topic),
      content: source,
      renderedContent: content.html,
      emptyTopicName: emptyTopicName(sender.realm),
      // Where the sender is not subscribed nothing is shown to them as unread: nor is this.
      readBySender:
        target?.isSubscribed === false || (input.readBySender ?? (isInteractive(sender.clientName) && !isNoteToSelf)),
      channelWildcard: content.channelWildcard,
      ...named,
      ...localOf(input),
    },
    newPolicy: target === null ? undefined : automaticPolicy(sender.user, target),
    sentAt: now,
    token: newToken(),
  };
}

/** Our choice: longer than the id of any queue, and of anything a client counts. */
const MAX_LOCAL_LENGTH = 100;

/** What the sender's own queue is told besides. */
function localOf({ queueId, localId }: NewMessage): Pick<Unsent, 'queueId' | 'localId'> {
  if (queueId === undefined || localId === undefined) return {};
  const rules = { max: MAX_LOCAL_LENGTH };
  return { queueId: requireText('queue_id', queueId, rules), localId: requireText('local_id', localId, rules) };
}

const newToken = (): bigint => randomBytes(8).readBigInt64BE();

interface Written extends Appended {
  readonly messageId: number;
}

/** The one statement that sends a message. On its own it is a transaction. */
async function write(
  db: SqlClient,
  realmId: number,
  { sender, target, memberIds, content, payload, sentAt, token }: PreparedMessage,
  { repeated }: { repeated: boolean },
): Promise<Written> {
  const isPublic = target !== null && !target.channel.inviteOnly;
  const json = JSON.stringify(payload);
  const [row] = await db.$queryRaw<{ message_id: bigint; event_id: bigint; recipient_id: bigint; xid: string }[]>`
    SELECT * FROM send_message(
      p_realm_id => ${realmId}::int,
      p_payload => ${json}::jsonb,
      p_channel_id => ${target?.channel.id ?? null}::int,
      p_member_ids => ${memberIds}::int[],
      p_public_channel_id => ${isPublic ? target.channel.id : null}::int,
      p_channel_version => ${target?.channelVersion ?? null}::text,
      p_subscriber_id => ${target?.subscription?.userId ?? null}::int,
      p_subscription_version => ${target?.subscription?.version ?? null}::text,
      p_sender_role => ${sender.role}::smallint,
      p_mentioned => ${payload.mentioned}::int[],
      p_topic_mentioned => ${payload.topicMentioned}::int[],
      p_alerted => ${payload.alerted}::int[],
      p_read_by_sender => ${payload.readBySender}::boolean,
      p_channel_wildcard => ${content.channelWildcard}::boolean,
      p_has_link => ${content.hasLink}::boolean,
      p_has_image => ${content.hasImage}::boolean,
      p_has_attachment => ${content.hasAttachment}::boolean,
      p_sent_at => ${sentAt}::timestamptz,
      p_send_token => ${token}::bigint,
      p_repeated => ${repeated}::boolean)`;
  if (row === undefined) throw new Error('send_message returns one row');
  const messageId = Number(row.message_id);
  const complete: SentPayload = { ...payload, id: messageId, recipientId: Number(row.recipient_id) };
  const event: StoredEvent = {
    id: Number(row.event_id),
    type: messageSent.type,
    op: null,
    payload: JSON.parse(JSON.stringify(complete)) as unknown,
    audience:
      target === null
        ? users(memberIds ?? [])
        : {
            ...subscribersOf(target.channel.id),
            userIds: [sender.id],
            publicChannelId: isPublic ? target.channel.id : null,
          },
    width: 1,
    ephemeral: false,
    createdAt: sentAt,
    bytes: json.length,
  };
  return { messageId, events: [event], xid: row.xid };
}
