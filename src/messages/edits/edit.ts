import { createHash } from 'node:crypto';
import type { Ctx, Viewer } from '../../access/context.ts';
import { realmSetting } from '../../access/realm-settings.ts';
import { emptyTopicName, RESOLVED_PREFIX, topicNamed } from '../../channels/topic-name.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError, ExpectationMismatchError } from '../../platform/errors.ts';
import { unprintableAt } from '../../platform/text.ts';
import type { PlacedMessage } from '../access.ts';
import { type ContentEdit, prepareContent, writeFlags } from './content.ts';
import type { PropagateMode } from './events.ts';
import { lockMessages } from './locks.ts';
import { dropWhatIsGone, prepareMove, takePoliciesAlong, writeMove } from './move.ts';
import { sendNotices, takeBackNotice } from './notices.ts';
import type { MessageMove, RequestedEdit } from './plan.ts';
import { recordEdit } from './record.ts';
import { tellOfEdit } from './tell.ts';
import { isTooLate } from './time-limits.ts';

/** What is to become of a message. What is absent stays. */
export interface MessageEdit {
  /** Flavoured Markdown. Cut to 10,000 code points; white space alone becomes "(deleted)". */
  readonly content?: string | undefined;
  /** SHA-256, in hex, of the source text that the client saw. */
  readonly prevContentSha256?: string | undefined;
  /** Cut to 60 code points. */
  readonly topic?: string | undefined;
  readonly channelId?: number | undefined;
  /** How far a move reaches from the message. */
  readonly propagateMode: PropagateMode;
  /** Whether the old topic is told where messages went. */
  readonly notifiesOldTopic: boolean;
  /** Whether the new topic is told where messages came from. */
  readonly notifiesNewTopic: boolean;
}

/**
 * Edits a message's content, or moves it, and others of its topic with it, to another topic or channel; and tells
 * everybody who may read them. To those who may not any more, they are gone.
 *
 * @throws BadRequestError when the viewer may not read the message, or it stands in an archived channel; when nothing is
 *   to change, or not together; when it is not the viewer's to edit or move, or not any more; when the channel or topic
 *   does not take it.
 * @throws ExpectationMismatchError when the content is not what the client saw.
 * @throws MoveMessagesTimeLimitExceededError when some of a topic's messages are too old to be moved.
 * @throws TopicPolicyError, WildcardMentionNotAllowedError as sending.
 */
export async function updateMessage(ctx: Ctx, messageId: number, edit: MessageEdit): Promise<void> {
  const { propagateMode: mode, channelId } = edit;
  await transact(ctx, async (tx, emit) => {
    const now = ctx.app.now();
    const { viewer, message, ids } = await lockMessages(tx, ctx, messageId, { mode, channelId });
    const requested = examine(viewer, message, edit, now);
    const move = await prepareMove(tx, viewer, { message, ids, requested, mode }, now);
    const content = await prepareContent(tx, { ...ctx, viewer }, message, requested.content, now);
    await carryOut(tx, emit, { ...ctx, viewer }, { message, move, content, edit });
  });
}

interface Change {
  readonly message: PlacedMessage;
  readonly move: MessageMove | null;
  readonly content: ContentEdit | null;
  readonly edit: MessageEdit;
}

/** Rows first; then what they are to everyone. */
async function carryOut(tx: Tx, emit: Emit, ctx: Ctx, { message, content, edit, ...asked }: Change): Promise<void> {
  const { app, viewer } = ctx;
  const now = app.now();
  const place = { realm: viewer.realm, now, deleter: viewer };
  const taken = asked.move === null ? undefined : await takeBackNotice(tx, emit, place, asked.move);
  const move = asked.move === null ? null : { ...asked.move, ids: asked.move.ids.filter((id) => id !== taken) };
  await recordEdit(tx, { message, move, content, editorId: viewer.id, now });
  if (content !== null) await writeFlags(tx, message, content);
  if (move !== null) {
    await writeMove(tx, message.realmId, move, now);
    await dropWhatIsGone(tx, place, move);
    await takePoliciesAlong(tx, emit, place, move);
  }
  tellOfEdit(emit, place, { message, move, content, editor: viewer, mode: edit.propagateMode });
  if (move === null) return;
  const { notifiesOldTopic, notifiesNewTopic } = edit;
  const tells = { oldTopic: notifiesOldTopic, newTopic: notifiesNewTopic, resolution: taken === undefined };
  await sendNotices(tx, emit, { app, realm: viewer.realm }, viewer.user, move, tells);
}

/** What can be said of an edit without looking at where the message is to go, in the order of the document. */
function examine(viewer: Viewer, message: PlacedMessage, edit: MessageEdit, now: Date): RequestedEdit {
  if (edit.content !== undefined) requireMayEditContent(viewer, message, now);
  const named = edit.topic === undefined ? undefined : topicNamed(viewer.realm, edit.topic.trim());
  const requested: RequestedEdit = {
    content: edit.content,
    topic: named === message.topic ? undefined : named,
    channelId: edit.channelId === message.channelId ? undefined : edit.channelId,
  };
  requireSomething(message, requested);
  if (edit.propagateMode !== 'change_one' && requested.topic === undefined && requested.channelId === undefined) {
    throw new BadRequestError('Invalid propagate_mode without topic edit');
  }
  if (requested.topic !== undefined) requireTopicName(viewer, edit.topic?.trim() ?? '');
  if (requested.content !== undefined && requested.channelId !== undefined) {
    throw new BadRequestError('Cannot change message content while changing channel');
  }
  requireExpected(message, edit.prevContentSha256);
  return requested;
}

function requireMayEditContent(viewer: Viewer, message: PlacedMessage, now: Date): void {
  const objection = objectionToEditing(viewer, message, now);
  if (objection !== undefined) throw new BadRequestError(objection);
}

/** What keeps somebody from editing the content of a message that they may read. */
export function objectionToEditing(
  { realm, id }: Pick<Viewer, 'realm' | 'id'>,
  { senderId, sentAt }: Pick<PlacedMessage, 'senderId' | 'sentAt'>,
  now: Date,
): string | undefined {
  if (!realmSetting(realm, 'allow_message_editing')) return 'Your organization has turned off message editing';
  if (senderId !== id) return "You don't have permission to edit this message";
  const isOver = isTooLate(sentAt, realmSetting(realm, 'message_content_edit_limit_seconds'), now);
  return isOver ? 'The time limit for editing this message has passed' : undefined;
}

function requireSomething({ channelId: standsIn }: PlacedMessage, { content, topic, channelId }: RequestedEdit): void {
  if (content === undefined && topic === undefined && channelId === undefined) {
    throw new BadRequestError('Nothing to change');
  }
  if (standsIn !== null) return;
  if (channelId !== undefined) throw new BadRequestError('Direct messages cannot be moved to channels.');
  if (topic !== undefined) throw new BadRequestError('Direct messages cannot have topics.');
}

function requireTopicName({ realm }: Viewer, name: string): void {
  if (name === RESOLVED_PREFIX.trim() || name === RESOLVED_PREFIX + emptyTopicName(realm)) {
    throw new BadRequestError('General chat cannot be marked as resolved');
  }
  const position = unprintableAt(name);
  if (position !== undefined) throw new BadRequestError(`Invalid character in topic, at position ${position}!`);
}

function requireExpected({ content }: PlacedMessage, sha256: string | undefined): void {
  if (sha256 === undefined) return;
  const current = createHash('sha256').update(content).digest('hex');
  if (sha256.toLowerCase() !== current) throw new ExpectationMismatchError('prev_content_sha256');
}
