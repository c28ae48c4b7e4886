import { randomFillSync } from 'node:crypto';
import { z } from 'zod';
import { readAccount } from '../../access/accounts.ts';
import { apiEmail } from '../../access/address.ts';
import type { App, Ctx, Viewer } from '../../access/context.ts';
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
import { BadRequestError, RequestTimeoutError } from '../../platform/errors.ts';
import { requireText } from '../../platform/text.ts';
import { accessMembers, type Recipients } from '../direct.ts';
import type { Unsent } from '../events.ts';
import type { MessageSender } from '../sender.ts';
import { automaticPolicy } from '../topic-policies/automatic.ts';
import { type AutomaticPolicy, FOLLOWED, INHERITED, UNMUTED } from '../topic-policies/policies.ts';
import { hasRoomForAutomaticPolicy, setAutomaticPolicy } from '../topic-policies/service.ts';
import { normalContent, renderContent } from './content.ts';
import { requireMayMention, whoIsMentioned } from './mentions.ts';
import { writeBatched } from './queue.ts';
import { accessTarget, requireTopic } from './target.ts';
import { type MessageToWrite, type Outcome, type PreparedMessage, writeMessages } from './write.ts';

/** Matches names of clients that a person operates, not a program. */
const INTERACTIVE = /web|desktop|electron|mobile|android|ios|flutter|terminal|mozilla/i;

/** A message as requested by its sender. */
export interface NewMessage {
  readonly to: ChannelKey | Recipients;
  /** Topic of a channel message. Ignored for direct messages. */
  readonly topic?: string | undefined;
  /** Flavored Markdown. Truncated to 10,000 code points. */
  readonly content: string;
  /**
   * Whether the message is marked as read for the sender. Absent: true if an interactive client sends it (see `INTERACTIVE`),
   * unless it is a note to self.
   */
  readonly readBySender?: boolean | undefined;
  /** Id of the sender's event queue that receives `localId` with the message. */
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
 * Reads the state on which the permission depends, then writes in one statement, batched with other messages of the
 * organization. The statement checks that this state has not changed. Its cost does not grow with the number of subscribers. If
 * its response is lost, the message is looked up by its token, so an acknowledged message was sent exactly once.
 *
 * @throws BadRequestError, ChannelDoesNotExistError, TopicPolicyError, WildcardMentionNotAllowedError as in `prepareMessage`.
 * @throws UserDeactivatedError, RealmDeactivatedError if the viewer was deactivated in the meantime.
 * @throws RequestTimeoutError if the database could not accept the message in time. Nothing was sent, unless the error says
 * that the message may have been sent.
 */
export async function sendMessage(ctx: Ctx, input: NewMessage): Promise<SentMessage> {
  const { app } = ctx;
  if (app.transaction !== undefined) return sendWithin(ctx, input);
  if (app.keyedChange !== undefined) return sendUnderKey(ctx, input, app.keyedChange);
  const token = newToken();
  let isRetry = false;
  let repeated = false;
  const doubt = () => {
    repeated = true;
  };
  return retrying(async () => {
    const prepared = await prepareFor(app.db, ctx, input, isRetry);
    isRetry = true;
    if (!isOneStatement(prepared)) return sendWithin(ctx, input);
    const written = await writeSurely(ctx, { ...toWrite(prepared), token, repeated }, doubt);
    if (written === undefined) throw new Error('A message without an idempotency key was not sent');
    publishCommitted(ctx, written.events);
    return { id: written.messageId, newPolicy: prepared.newPolicy };
  });
}

/**
 * Returns whether one statement can send the message. Replacing an existing topic policy requires a transaction of several
 * statements.
 */
const isOneStatement = ({ newPolicy, target }: PreparedMessage): boolean =>
  newPolicy === undefined || target?.topicPolicy === INHERITED;

const toWrite = (prepared: PreparedMessage) => ({ prepared, setsPolicy: prepared.newPolicy !== undefined });

/** The stored facts of a message that was sent under an idempotency key. */
const SentFacts = z.object({
  id: z.int(),
  /** Id of the last event of the message. */
  position: z.int(),
  newPolicy: z.literal([UNMUTED, FOLLOWED]).optional(),
});

/**
 * Sends a message for a request with an idempotency key. The same statement stores the facts of the message. For a repeated
 * request, only the stored facts are used.
 */
async function sendUnderKey(ctx: Ctx, input: NewMessage, change: KeyedChange): Promise<SentMessage> {
  const facts = change.facts ?? (await makeUnderKey(ctx, input, change));
  const { id, position, newPolicy } = SentFacts.parse(facts);
  noteCommittedAt(position);
  return { id, newPolicy };
}

async function makeUnderKey(ctx: Ctx, input: NewMessage, change: KeyedChange): Promise<unknown> {
  const prepared = await prepareFor(ctx.app.db, ctx, input, change.isRetried);
  if (!isOneStatement(prepared)) throw new NeedsTransaction();
  const token = newToken();
  return change.make(async (kept) => {
    const written = await writeSurely(ctx, { ...toWrite(prepared), token, repeated: false, kept }, () =>
      change.doubt(),
    );
    if (written !== undefined) publishCommitted(ctx, written.events);
    return written?.facts;
  });
}

/**
 * Writes a message by the queue of the database's sends. If the response of the database is lost, looks up whether the
 * message was written.
 *
 * @param doubt Called before the look-up, because the message may already have been written.
 */
async function writeSurely({ app, realmId }: Ctx, message: MessageToWrite, doubt: () => void): Promise<Outcome> {
  try {
    return await writeBatched(app, realmId, message);
  } catch (error) {
    if (!isBusy(error) || (isCertainlyNotDone(error) && !message.repeated)) throw error;
    doubt();
    return confirm(app, realmId, message);
  }
}

/**
 * Prepares the message of a request.
 *
 * @param isRetry Whether to read the viewer again, because a change of their role may have caused the retry.
 */
async function prepareFor(db: Tx, { app, viewer }: Ctx, input: NewMessage, isRetry: boolean): Promise<PreparedMessage> {
  const sender = isRetry ? await asOfNow(db, viewer) : viewer;
  const prepared = await prepareMessage(db, app, sender, input);
  const { newPolicy, target } = prepared;
  if (newPolicy === undefined || target?.topicPolicy !== INHERITED) return prepared;
  return (await hasRoomForAutomaticPolicy(db, sender.user)) ? prepared : { ...prepared, newPolicy: undefined };
}

async function asOfNow(db: Tx, viewer: Viewer): Promise<Viewer> {
  const account = await readAccount(db, viewer.realm.id, viewer.id);
  requireActive(account);
  return { ...viewer, ...account, role: account.user.role };
}

/** Sends a message with its side effects in one transaction of several statements. */
function sendWithin(ctx: Ctx, input: NewMessage): Promise<SentMessage> {
  return transact(ctx, async (tx, emit) => {
    const prepared = await prepareFor(tx, ctx, input, true);
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

/** Time in milliseconds for which a send is looked up after its response was lost. */
const CONFIRMATION_MS = 10_000;

/**
 * Sends a message again that may have been sent already. The statement waits for the lock of an attempt in progress, and then
 * looks for the message before it writes.
 */
async function confirm(app: App, realmId: number, message: MessageToWrite): Promise<Outcome> {
  const deadline = performance.now() + CONFIRMATION_MS;
  for (let pauseMs = 200; ; pauseMs += 200) {
    try {
      return await writeBatched(app, realmId, { ...message, repeated: true });
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
 * Sends a prepared message as part of a change. Its event is logged at this position among the events of the change.
 *
 * @param onSent Called with the message's id, inside the transaction.
 */
export function emitMessage(emit: Emit, prepared: PreparedMessage, onSent?: (id: number) => unknown): void {
  emit.writing(async (tx) => {
    const message = { prepared, token: newToken(), setsPolicy: false, repeated: false };
    const [outcomes] = await writeMessages(tx, [{ realmId: prepared.sender.realm.id, messages: [message] }]);
    const written = outcomes?.[0];
    if (written === undefined) throw new Error('The message was not written');
    await onSent?.(written.messageId);
    return written;
  });
}

/**
 * Checks a message completely, in the order of the API specification, renders it, and finds the users that it mentions.
 *
 * @param db Database client or transaction.
 * @throws BadRequestError if the content is empty or cannot be rendered, or if recipients are missing, unknown or deactivated.
 * @throws BadRequestError if the sender is not permitted to send the message.
 * @throws ChannelDoesNotExistError if the channel does not exist or the sender cannot see it.
 * @throws TopicPolicyError if the channel's policy forbids the topic.
 * @throws WildcardMentionNotAllowedError if a wildcard mention requires a permission that the sender does not have.
 */
export async function prepareMessage(
  db: Tx,
  app: App,
  sender: MessageSender,
  input: NewMessage,
): Promise<PreparedMessage> {
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
      sender: toSnapshot(sender.user),
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
      // A message is never unread for a sender who is not subscribed to the channel.
      readBySender:
        target?.isSubscribed === false ||
        (input.readBySender ?? (INTERACTIVE.test(sender.clientName) && !isNoteToSelf)),
      channelWildcard: content.channelWildcard,
      ...named,
      ...(input.queueId !== undefined && input.localId !== undefined && localOf(input.queueId, input.localId)),
    },
    newPolicy: target === null ? undefined : automaticPolicy(sender.user, target),
    sentAt: now,
  };
}

/** Maximum length of `queueId` and `localId`. Queue ids and the local ids of known clients are shorter. */
const MAX_LOCAL_LENGTH = 100;

/**
 * Checks `queueId` and `localId` for the payload. Only the sender's own queue receives `localId`.
 *
 * @throws BadRequestError if one is too long.
 */
function localOf(queueId: string, localId: string): Pick<Unsent, 'queueId' | 'localId'> {
  const rules = { max: MAX_LOCAL_LENGTH };
  return { queueId: requireText('queue_id', queueId, rules), localId: requireText('local_id', localId, rules) };
}

/** Buffer of random tokens of messages. Generating 256 tokens in one call takes hardly longer than generating one. */
const tokens = new BigInt64Array(256);
let used = tokens.length;

function newToken(): bigint {
  if (used === tokens.length) {
    randomFillSync(tokens);
    used = 0;
  }
  return tokens[used++] as bigint;
}
