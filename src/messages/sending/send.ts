import { randomFillSync } from 'node:crypto';
import { z } from 'zod';
import { readAccount } from '../../access/accounts.ts';
import { apiEmail } from '../../access/address.ts';
import type { App, Ctx, Runtime, Viewer } from '../../access/context.ts';
import { type KeyedChange, NeedsTransaction } from '../../access/keyed-change.ts';
import { requireActive } from '../../access/sign-in.ts';
import type { ChannelKey } from '../../channels/keys.ts';
import { emptyTopicName } from '../../channels/topic-name.ts';
import { noteCommittedAt } from '../../events/act.ts';
import { retrying } from '../../events/commit.ts';
import { type Emit, publishCommitted, transact } from '../../events/log.ts';
import { topicLinks } from '../../markdown/render.ts';
import { toSnapshot } from '../../people/wire.ts';
import type { Tx } from '../../platform/db/client.ts';
import { isBusy, isCertainlyNotDone } from '../../platform/db/errors.ts';
import { RequestTimeoutError, ValidationError } from '../../platform/errors.ts';
import { requireText } from '../../platform/text.ts';
import { claim } from '../attachments/claims.ts';
import { emitLinksChanged } from '../attachments/events.ts';
import { lockAttachments } from '../attachments/queries.ts';
import { accessMembers, type Recipients } from '../direct.ts';
import type { Unsent } from '../events.ts';
import type { MessageSender } from '../sender.ts';
import { policyFor } from '../topic-policies/automatic.ts';
import { type AutomaticPolicy, FOLLOWED, INHERITED, UNMUTED } from '../topic-policies/policies.ts';
import {
  followByMention,
  hasRoomForAutomaticPolicy,
  setAutomaticPolicy,
  usersToFollow,
} from '../topic-policies/service.ts';
import { normalContent, renderContent } from './content.ts';
import { whoIsMentioned } from './mentions.ts';
import { writeBatched } from './queue.ts';
import { accessTarget, requireTopic } from './target.ts';
import { type MessageToWrite, type Outcome, type PreparedMessage, writeMessages } from './write.ts';

/** Matches names of clients that a person operates, unlike bots and scripts. */
const INTERACTIVE = /web|desktop|electron|mobile|android|ios|flutter|terminal|mozilla/i;

/** A message as requested by its sender. */
export interface NewMessage {
  readonly to: ChannelKey | Recipients;
  /** Topic of a channel message. Ignored for direct messages. */
  readonly topic?: string | undefined;
  /** Flavored Markdown. Truncated to 10,000 code points. */
  readonly content: string;
  /**
   * Whether the message is marked as read for the sender. Absent: true if a person operates the client (see `INTERACTIVE`) and
   * the message is not a note to self.
   */
  readonly readBySender?: boolean | undefined;
  /** Id of the sender's event queue that receives `localId` in the event of the message. */
  readonly queueId?: string | undefined;
  readonly localId?: string | undefined;
}

/** A message that was sent. */
export interface SentMessage {
  readonly id: number;
  /** New visibility policy of the sender for the topic. Undefined if sending did not change it. */
  readonly newPolicy: AutomaticPolicy | undefined;
}

/**
 * Sends a message and notifies its recipients.
 *
 * Reads the state on which the permission to send depends, and then writes the message in one statement, batched with other
 * messages of the organization. The statement checks that this state has not changed. The cost of a send does not grow with the
 * number of subscribers. If the response of the statement is lost, the message is looked up by a random token. So an
 * acknowledged message was sent exactly once.
 *
 * @throws ValidationError, NotFoundError, ConflictError, ForbiddenError, ChannelDoesNotExistError, TopicPolicyError or
 *   WildcardMentionNotAllowedError if `prepareMessage` refuses the message.
 * @throws UserDeactivatedError, OrganizationDeactivatedError if the user or organization was deactivated after the request was
 *   authenticated.
 * @throws RequestTimeoutError if the database could not accept the message in time. Nothing was sent, unless the error says
 *   that the message may have been sent.
 */
export async function sendMessage(ctx: Ctx, input: NewMessage): Promise<SentMessage> {
  const { work } = ctx;
  const { app } = work;
  // A unit of work that only reads has no `app`. The transaction in `sendWithin` refuses it.
  if (app === undefined || work.transaction !== undefined) return sendWithin(ctx, input);
  if (work.keyedChange !== undefined) return sendUnderKey(ctx, app, input, work.keyedChange);
  const token = newToken();
  let isRetry = false;
  let repeated = false;
  const doubt = () => {
    repeated = true;
  };
  return retrying(async () => {
    const prepared = await prepareFor(work.db, ctx, input, isRetry);
    isRetry = true;
    if (!isOneStatement(prepared)) return sendWithin(ctx, input);
    const setsPolicy = prepared.newPolicy !== undefined;
    const written = await writeSurely(app, { prepared, setsPolicy, token, repeated }, doubt);
    if (written === undefined) throw new Error('A message without an idempotency key was not sent');
    publishCommitted(ctx, written.events);
    return { id: written.messageId, newPolicy: prepared.newPolicy };
  });
}

/**
 * Returns whether the message can be sent by one statement. Replacing an existing policy for the topic, policies of mentioned
 * users, and links to uploaded files require a transaction of several statements.
 */
const isOneStatement = ({ newPolicy, followers, target, content }: PreparedMessage): boolean =>
  !content.hasAttachment && followers.length === 0 && (newPolicy === undefined || target?.topicPolicy === INHERITED);

/** Data that is stored with an idempotency key, and from which the response of a repeated request is built. */
const StoredResponse = z.object({
  id: z.int(),
  /** Id of the last event of the message. */
  position: z.int(),
  newPolicy: z.literal([UNMUTED, FOLLOWED]).optional(),
});

/**
 * Sends a message for a request with an idempotency key. The statement that writes the message also stores the data of the
 * response. If the request is repeated, only this data is used.
 */
async function sendUnderKey(ctx: Ctx, app: App, input: NewMessage, change: KeyedChange): Promise<SentMessage> {
  const stored = change.storedData ?? (await makeUnderKey(ctx, app, input, change));
  const { id, position, newPolicy } = StoredResponse.parse(stored);
  noteCommittedAt(position);
  return { id, newPolicy };
}

async function makeUnderKey(ctx: Ctx, app: App, input: NewMessage, change: KeyedChange): Promise<unknown> {
  const prepared = await prepareFor(ctx.work.db, ctx, input, change.isRetried);
  if (!isOneStatement(prepared)) throw new NeedsTransaction();
  const token = newToken();
  const message = { prepared, setsPolicy: prepared.newPolicy !== undefined, token, repeated: false };
  return change.make(async (kept) => {
    const written = await writeSurely(app, { ...message, kept }, () => change.doubt());
    if (written !== undefined) publishCommitted(ctx, written.events);
    return written?.storedData;
  });
}

/**
 * Writes a message through the send queue of the database. If the response of the database is lost, looks for the message and,
 * if it was not written, writes it again.
 *
 * @param doubt Called if it is unknown whether the message was written, before looking for it.
 */
async function writeSurely(app: App, message: MessageToWrite, doubt: () => void): Promise<Outcome> {
  try {
    return await writeBatched(app, message);
  } catch (error) {
    if (!isBusy(error) || (isCertainlyNotDone(error) && !message.repeated)) throw error;
    doubt();
    return confirm(app, message);
  }
}

/**
 * Prepares the message of a request.
 *
 * @param isRetry Whether to read the viewer again, because a change of the viewer's role may have caused the retry.
 */
async function prepareFor(db: Tx, { app, viewer }: Ctx, input: NewMessage, isRetry: boolean): Promise<PreparedMessage> {
  const sender = isRetry ? await asOfNow(db, viewer) : viewer;
  const prepared = await prepareMessage(db, app, sender, input);
  const { newPolicy, target } = prepared;
  if (newPolicy === undefined || target?.topicPolicy !== INHERITED) return prepared;
  return (await hasRoomForAutomaticPolicy(db, sender.user)) ? prepared : { ...prepared, newPolicy: undefined };
}

async function asOfNow(db: Tx, viewer: Viewer): Promise<Viewer> {
  const account = await readAccount(db, viewer.organization.id, viewer.id);
  requireActive(account);
  return { ...viewer, ...account, role: account.user.role };
}

/** Sends a message with its side effects in one transaction of several statements. */
function sendWithin(ctx: Ctx, input: NewMessage): Promise<SentMessage> {
  return transact(ctx, async (tx, emit) => {
    const prepared = await prepareFor(tx, ctx, input, true);
    await lockAttachments(tx, prepared.sender.organization.id, prepared.content.attachmentIds);
    const sent: { id: number; newPolicy: SentMessage['newPolicy'] } = { id: 0, newPolicy: undefined };
    emitMessage(emit, prepared, (id) => {
      sent.id = id;
    });
    sent.newPolicy = await setPoliciesOf(tx, emit, prepared);
    return sent;
  });
}

/**
 * Sets the topic policies that result from a channel message in the transaction of `emit`: of the sender, and of the users whom
 * it mentions.
 *
 * @returns The new policy of the sender. Undefined if it did not change.
 */
export async function setPoliciesOf(
  tx: Tx,
  emit: Emit,
  { newPolicy, followers, target, sender, sentAt }: PreparedMessage,
): Promise<AutomaticPolicy | undefined> {
  if (target === null) return undefined;
  const key = { channelId: target.channel.id, topic: target.topic };
  const { organization } = sender;
  const follow = (userIds: readonly number[]) => followByMention(tx, emit, { organization, now: sentAt }, key, userIds);
  // Policies are written in the order of the users' ids, so that two messages that mention each other's senders cause no deadlock.
  await follow(followers.filter((id) => id < sender.id));
  const place = { organization, userId: sender.id, now: sentAt };
  const isSet = newPolicy !== undefined && (await setAutomaticPolicy(tx, emit, place, { ...key, policy: newPolicy }));
  await follow(followers.filter((id) => id > sender.id));
  return isSet ? newPolicy : undefined;
}

/** Maximum time, in milliseconds, for which `confirm` repeats its attempts. Afterwards it throws RequestTimeoutError. */
const CONFIRMATION_MS = 10_000;

/**
 * Sends a message again that may have been sent already. The statement waits for the lock of an attempt in progress. Then it
 * looks for the message, and writes the message only if it does not exist.
 *
 * @throws RequestTimeoutError if the outcome is still unknown after `CONFIRMATION_MS`.
 */
async function confirm(app: App, message: MessageToWrite): Promise<Outcome> {
  const deadline = performance.now() + CONFIRMATION_MS;
  for (let pauseMs = 200; ; pauseMs += 200) {
    try {
      return await writeBatched(app, { ...message, repeated: true });
    } catch (error) {
      if (!isBusy(error) && !(error instanceof RequestTimeoutError)) throw error;
      // The message may have been sent, so the error must not say that it was refused.
      if (performance.now() + pauseMs > deadline)
        throw new RequestTimeoutError(
          'The service is unavailable; the message may have been sent, check before sending again',
        );
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/**
 * Sends a prepared message in the transaction of `emit`. The event of the message is logged after the events that were emitted
 * before this call. If the message links to uploaded files, the caller has locked them.
 *
 * @param onSent Called with the message's id, inside the transaction.
 */
export function emitMessage(emit: Emit, prepared: PreparedMessage, onSent?: (id: number) => unknown): void {
  const { content, sender } = prepared;
  const organizationId = sender.organization.id;
  emit.writing(async (tx) => {
    const message = { prepared, token: newToken(), setsPolicy: false, repeated: false };
    const [outcomes] = await writeMessages(tx, [{ organizationId, messages: [message] }]);
    const written = outcomes?.[0];
    if (written === undefined) throw new Error('The message was not written');
    if (content.hasAttachment) await claim(tx, organizationId, written.messageId, content.attachmentIds);
    await onSent?.(written.messageId);
    return written;
  });
  emitLinksChanged(emit, organizationId, content.attachmentIds);
}

/**
 * Checks a message completely, in the order of the API specification, renders it, and finds the users that it mentions.
 *
 * @param db Database client or transaction.
 * @throws ValidationError if the content is empty or cannot be rendered, or if recipients or the topic are missing or invalid.
 * @throws NotFoundError if a recipient does not exist.
 * @throws ConflictError if a recipient is deactivated, or the channel is archived.
 * @throws ForbiddenError if the sender is not permitted to send the message.
 * @throws ChannelDoesNotExistError if the channel does not exist or the sender cannot see it.
 * @throws TopicPolicyError if the channel's policy forbids the topic.
 * @throws WildcardMentionNotAllowedError if a wildcard mention requires a permission that the sender does not have.
 */
export async function prepareMessage(
  db: Tx,
  app: Runtime,
  sender: MessageSender,
  input: NewMessage,
): Promise<PreparedMessage> {
  const now = app.now();
  const source = normalContent(input.content);
  const { to } = input;
  const isDirect = 'userIds' in to || 'emails' in to;
  if (!isDirect && input.topic === undefined) {
    throw new ValidationError('Missing topic', { parameter: 'topic' });
  }
  const topic = isDirect ? '' : requireTopic(sender.organization, input.topic ?? '');
  const target = isDirect ? null : await accessTarget(db, sender, to, topic, now);
  const members = isDirect ? await accessMembers(db, sender, to, now) : null;
  const content = await renderContent(db, app, sender, source);
  const memberIds = members?.map(({ id }) => id) ?? null;
  const named = await whoIsMentioned(db, sender, { target, memberIds }, content, now);
  const isNoteToSelf = memberIds?.length === 1;
  const mentioned = named.mentioned.filter((id) => id !== sender.id && content.mentionedUserIds.includes(id));
  return {
    sender,
    target,
    memberIds,
    content,
    followers:
      target === null || mentioned.length === 0
        ? []
        : await usersToFollow(db, sender.organization.id, { channelId: target.channel.id, topic }, mentioned),
    payload: {
      sender: toSnapshot(sender.user),
      realm: sender.organization.subdomain,
      client: sender.clientName,
      timestamp: Math.floor(now.getTime() / 1000),
      sentAt: now.toISOString(),
      channel: target === null ? null : { id: target.channel.id, name: target.channel.name },
      members: (members ?? []).map((user) => ({ id: user.id, email: apiEmail(user), fullName: user.fullName })),
      topic,
      topicLinks: topic === '' ? [] : topicLinks(topic),
      content: source,
      renderedContent: content.html,
      emptyTopicName: emptyTopicName(sender.organization),
      // A message is never unread for a sender who is not subscribed to the channel.
      readBySender:
        target?.isSubscribed === false ||
        (input.readBySender ?? (INTERACTIVE.test(sender.clientName) && !isNoteToSelf)),
      channelWildcard: content.channelWildcard,
      ...named,
      ...(input.queueId !== undefined && input.localId !== undefined && localOf(input.queueId, input.localId)),
    },
    newPolicy:
      target === null ? undefined : policyFor(sender.user, target.topicIsKnown ? 'sends' : 'initiates', target),
    sentAt: now,
  };
}

/**
 * Maximum length of `queueId` and `localId`, in code points. Longer ones are refused with `ValidationError`. Queue ids and the
 * local ids of known clients are shorter.
 */
const MAX_LOCAL_LENGTH = 100;

/**
 * Checks `queueId` and `localId`, and returns them for the payload of the event. Only the sender's own queue receives
 * `localId`.
 *
 * @throws ValidationError if one of them is longer than `MAX_LOCAL_LENGTH` or contains a null byte.
 */
function localOf(queueId: string, localId: string): Pick<Unsent, 'queueId' | 'localId'> {
  const rules = { max: MAX_LOCAL_LENGTH };
  return { queueId: requireText('queue_id', queueId, rules), localId: requireText('local_id', localId, rules) };
}

/** Buffer of random message tokens. Generating 256 tokens in one call takes hardly longer than generating one. */
const tokens = new BigInt64Array(256);
let used = tokens.length;

function newToken(): bigint {
  if (used === tokens.length) {
    randomFillSync(tokens);
    used = 0;
  }
  return tokens[used++] as bigint;
}
