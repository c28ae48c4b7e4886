import { randomFillSync } from 'node:crypto';
import { readAccount } from '../../access/accounts.ts';
import { apiEmail } from '../../access/address.ts';
import type { App, Ctx, Viewer } from '../../access/context.ts';
import { NeedsTransaction, type ReplyFirst } from '../../access/reply-first.ts';
import { requireActive } from '../../access/sign-in.ts';
import type { ChannelKey } from '../../channels/keys.ts';
import { emptyTopicName } from '../../channels/topic-name.ts';
import { retrying } from '../../events/commit.ts';
import { type Emit, publishCommitted, transact } from '../../events/log.ts';
import { topicLinks } from '../../markdown/render.ts';
import { toFacts } from '../../people/wire.ts';
import type { Tx } from '../../platform/db/client.ts';
import { isBusy, isCertainlyNotDone } from '../../platform/db/errors.ts';
import { BadRequestError, RequestTimeoutError } from '../../platform/errors.ts';
import { requireText } from '../../platform/text.ts';
import type { Unsent } from '../events.ts';
import { automaticPolicy } from '../topic-policies/automatic.ts';
import { type AutomaticPolicy, INHERITED } from '../topic-policies/policies.ts';
import { hasRoomForAutomaticPolicy, setAutomaticPolicy } from '../topic-policies/service.ts';
import { normalContent, renderContent } from './content.ts';
import { accessMembers, type Recipients } from './direct.ts';
import { writeTogether } from './lanes.ts';
import { requireMayMention, whoIsMentioned } from './mentions.ts';
import { isInteractive, type Sender } from './sender.ts';
import { accessTarget, requireTopic } from './target.ts';
import { isWritten, type MessageToWrite, type Outcome, type PreparedMessage, writeMessages } from './write.ts';

/** A message as its sender gives it. */
export interface NewMessage {
  readonly to: ChannelKey | Recipients;
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

/** A message that was sent. */
export interface SentMessage {
  readonly id: number;
  /** What became of the sender's policy for the topic; undefined when nothing did. */
  readonly newPolicy: AutomaticPolicy | undefined;
}

/**
 * Sends a message, and tells everyone who receives it.
 *
 * Reads what the right to send depends on, then writes in one statement, with what others of the organisation send
 * meanwhile, which makes sure that none of it has changed and whose cost does not grow with the channel. What a lost answer leaves in doubt is found out by the message's
 * token: what is acknowledged was sent, once, and what is refused was not.
 *
 * @throws BadRequestError, ChannelDoesNotExistError, TopicPolicyError, WildcardMentionNotAllowedError as
 *   `prepareMessage`.
 * @throws UserDeactivatedError, RealmDeactivatedError when the viewer was signed out meanwhile.
 * @throws RequestTimeoutError when the database could not take it in time; nothing was sent.
 */
export async function sendMessage(ctx: Ctx, input: NewMessage): Promise<SentMessage> {
  const { app } = ctx;
  if (app.transaction !== undefined) return sendWithin(ctx, input);
  if (app.replyFirst !== undefined) return sendBehindReply(ctx, input, app.replyFirst);
  const prepare = preparing(ctx, input);
  let token: bigint | undefined;
  let repeated = false;
  const doubt = () => {
    repeated = true;
  };
  return retrying(async () => {
    const latest = await prepare(app.db);
    token ??= latest.token;
    const prepared = { ...latest, token };
    if (!isOneStatement(prepared)) return sendWithin(ctx, input);
    const written = await writeSurely(ctx, { ...toWrite(prepared), repeated }, doubt);
    if (!isWritten(written)) throw new Error('What has no key is sent');
    publishCommitted(ctx, written.events);
    return { id: written.messageId, newPolicy: prepared.newPolicy };
  });
}

/** Whether one statement does all there is to do: a policy that takes the place of another is a change of its own. */
const isOneStatement = ({ newPolicy, target }: PreparedMessage): boolean =>
  newPolicy === undefined || target?.topicPolicy === INHERITED;

const toWrite = (prepared: PreparedMessage) => ({ prepared, setsPolicy: prepared.newPolicy !== undefined });

/** Sends a message whose sender is answered under an idempotency key, together with that answer. */
async function sendBehindReply(ctx: Ctx, input: NewMessage, replyFirst: ReplyFirst): Promise<SentMessage> {
  const prepared = await preparing(ctx, input)(ctx.app.db);
  if (!isOneStatement(prepared)) throw new NeedsTransaction();
  replyFirst.change(async (kept) => {
    const message = { ...toWrite(prepared), repeated: false, kept };
    const written = await writeSurely(ctx, message, () => replyFirst.doubt());
    if (isWritten(written)) publishCommitted(ctx, written.events);
    return written?.reply ?? null;
  });
  return { id: replyFirst.id, newPolicy: prepared.newPolicy };
}

/**
 * Writes a message in its organisation's turn. What a lost answer leaves in doubt is found out.
 *
 * @param doubt Called when it may have been sent without our having heard of it.
 */
async function writeSurely({ app, realmId }: Ctx, message: MessageToWrite, doubt: () => void): Promise<Outcome> {
  try {
    return await writeTogether(app, realmId, message);
  } catch (error) {
    if (!isBusy(error) || (isCertainlyNotDone(error) && !message.repeated)) throw error;
    doubt();
    return confirm(app, realmId, message);
  }
}

/**
 * What is tried anew, after others were quicker, is the viewer's as they are by then: their role may be what changed. A
 * request that is to have its effect once is made anew as a whole, and does not know whether it is the first try.
 */
function preparing({ app, viewer }: Ctx, input: NewMessage): (db: Tx) => Promise<PreparedMessage> {
  let isFirst = app.transaction === undefined && app.replyFirst?.isRetried !== true;
  return async (db) => {
    const sender = isFirst ? viewer : await asOfNow(db, viewer);
    isFirst = false;
    const prepared = await prepareMessage(db, app, sender, input);
    const { newPolicy, target } = prepared;
    if (newPolicy === undefined || target?.topicPolicy !== INHERITED) return prepared;
    return (await hasRoomForAutomaticPolicy(db, sender.user)) ? prepared : { ...prepared, newPolicy: undefined };
  };
}

async function asOfNow(db: Tx, viewer: Viewer): Promise<Viewer> {
  const account = await readAccount(db, viewer.realm.id, viewer.id);
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
async function confirm(app: App, realmId: number, message: MessageToWrite): Promise<Outcome> {
  const deadline = performance.now() + CONFIRMATION_MS;
  for (let pauseMs = 200; ; pauseMs += 200) {
    try {
      return await writeTogether(app, realmId, { ...message, repeated: true });
    } catch (error) {
      if (!isBusy(error) && !(error instanceof RequestTimeoutError)) throw error;
      // It may have come through: that is no refusal, and the client must not take it for one.
      if (performance.now() + pauseMs > deadline)
        throw new RequestTimeoutError('The service is busy; the message may have been sent');
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/**
 * Sends a prepared message as part of a change, in its turn among the change's events.
 *
 * @param onSent Called with the message's id, inside the transaction.
 */
export function emitMessage(emit: Emit, prepared: PreparedMessage, onSent?: (id: number) => unknown): void {
  emit.writing(async (tx) => {
    const [written] = await writeMessages(tx, prepared.sender.realm.id, [{ prepared, repeated: false }]);
    if (!isWritten(written)) throw new Error('One message is written');
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

/** Drawn many at a time, which takes hardly longer than one. */
const tokens = new BigInt64Array(256);
let used = tokens.length;

function newToken(): bigint {
  if (used === tokens.length) {
    randomFillSync(tokens);
    used = 0;
  }
  return tokens[used++] as bigint;
}
