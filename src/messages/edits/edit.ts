import { createHash } from 'node:crypto';
import type { Ctx, Viewer } from '../../access/context.ts';
import { organizationSetting } from '../../access/organization-settings.ts';
import { emptyTopicName, RESOLVED_PREFIX, topicNamed } from '../../channels/topic-name.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ExpectationMismatchError, ForbiddenError, ValidationError } from '../../platform/errors.ts';
import { unprintableAt } from '../../platform/text.ts';
import type { PlacedMessage } from '../access.ts';
import { replaceClaims } from '../attachments/claims.ts';
import { moveTopicDrafts } from '../drafts/move.ts';
import { lockMessages, type PropagateMode } from '../locks.ts';
import { invalidInTopic, requireReadableTopic } from '../sending/target.ts';
import { type ContentEdit, prepareContent, writeFlags } from './content.ts';
import { movePolicies, prepareMove, recordWholeMove, removeInaccessibleFlags, writeMove } from './move.ts';
import { deleteOppositeNotice, sendNotices } from './notices.ts';
import type { MessageMove, RequestedEdit } from './plan.ts';
import { publishEdit } from './publish.ts';
import { recordEdit } from './record.ts';
import { isTooLate } from './time-limits.ts';

/** Changes of a message. Absent properties do not change. */
export interface MessageEdit {
  /** New content as flavored Markdown, truncated to 10,000 code points. White space alone becomes "(deleted)". */
  readonly content?: string | undefined;
  /**
   * Hexadecimal SHA-256 of the Markdown that the client edited. If it differs from the hash of the current content, the edit is
   * refused.
   */
  readonly prevContentSha256?: string | undefined;
  /** Name of the new topic, or a function that returns it for the current name. Truncated to 60 code points. */
  readonly topic?: string | ((current: string) => string) | undefined;
  readonly channelId?: number | undefined;
  /** Determines which other messages of the topic are moved too. */
  readonly propagateMode: PropagateMode;
  /** Whether to send a notice to the old topic that says where the messages moved. */
  readonly notifiesOldTopic: boolean;
  /** Whether to send a notice to the new topic that says where the messages came from. */
  readonly notifiesNewTopic: boolean;
}

/**
 * Edits the content of a message, or moves the message and other messages of its topic to another topic or channel. Users who
 * can read the messages are notified. Users who lose access to them receive the event of a deletion.
 *
 * @throws NotFoundError if the viewer cannot read the message or the target channel, or if one of their channels is archived.
 * @throws ForbiddenError if the viewer is not (or no longer) permitted to edit or move the message, or to post in the target.
 * @throws ValidationError if nothing changes, the changes cannot be combined, or the new content or topic is invalid.
 * @throws ExpectationMismatchError if the content differs from the content that the client edited.
 * @throws MoveMessagesTimeLimitExceededError if some messages of the topic are too old to be moved.
 * @throws TopicPolicyError if the policy of the target channel forbids the topic.
 * @throws WildcardMentionNotAllowedError if the new content has a wildcard mention that the viewer is not permitted to use.
 * @returns Ids of the uploaded files that the message linked before the edit and does not link now.
 */
export async function updateMessage(ctx: Ctx, messageId: number, edit: MessageEdit): Promise<readonly number[]> {
  const { propagateMode: mode, channelId } = edit;
  return transact(ctx, async (tx, emit) => {
    const now = ctx.app.now();
    const { viewer, message, ids } = await lockMessages(tx, ctx, messageId, { mode, channelId });
    const requested = examine(viewer, message, edit, now);
    const move = await prepareMove(tx, viewer, { message, ids, requested, mode }, now);
    const content = await prepareContent(tx, { ...ctx, viewer }, message, requested.content, now);
    return carryOut(tx, emit, { ...ctx, viewer }, { message, move, content, edit });
  });
}

interface Change {
  readonly message: PlacedMessage;
  readonly move: MessageMove | null;
  readonly content: ContentEdit | null;
  readonly edit: MessageEdit;
}

/**
 * Writes an edit that has passed all checks, and then emits its events and sends its notices.
 *
 * @returns Ids of the uploaded files to which the message no longer links.
 */
async function carryOut(
  tx: Tx,
  emit: Emit,
  ctx: Ctx,
  { message, content, edit, ...asked }: Change,
): Promise<readonly number[]> {
  const { app, viewer } = ctx;
  const now = app.now();
  const place = { organization: viewer.organization, now, deleter: viewer };
  const deletedNoticeId = asked.move === null ? undefined : await deleteOppositeNotice(tx, emit, place, asked.move);
  const move =
    asked.move === null ? null : { ...asked.move, ids: asked.move.ids.filter((id) => id !== deletedNoticeId) };
  await recordEdit(tx, { message, move, content, editorId: viewer.id, now });
  if (content !== null) await writeFlags(tx, message, content);
  if (move !== null) {
    await writeMove(tx, message.organizationId, move, now);
    await removeInaccessibleFlags(tx, emit, place, move);
    await recordWholeMove(tx, move);
    await movePolicies(tx, emit, place, move);
  }
  publishEdit(emit, place, { message, move, content, editor: viewer, mode: edit.propagateMode });
  const attachmentIds = content?.rendered.attachmentIds ?? [];
  const isLinking = content !== null && (message.hasAttachment || attachmentIds.length > 0);
  const detached = isLinking ? await replaceClaims(tx, emit, message, attachmentIds, now) : [];
  // Drafts are moved after the event of the move was emitted: on that event, clients move the draft that the user is writing.
  if (move?.isWhole) await moveTopicDrafts(tx, emit, place, move);
  // No notices are sent if only the spelling of the topic changes (letter case, Unicode form).
  if (move === null || move.isSameTopic) return detached;
  const { notifiesOldTopic, notifiesNewTopic } = edit;
  const notices = { oldTopic: notifiesOldTopic, newTopic: notifiesNewTopic, resolution: deletedNoticeId === undefined };
  await sendNotices(tx, emit, { app, organization: viewer.organization }, viewer.user, move, notices);
  return detached;
}

/**
 * Checks an edit, except for the permissions and time limits of a move. Runs the checks in the order of the API specification.
 * Returns the edit without the values that would change nothing.
 *
 * @throws ForbiddenError if the viewer cannot edit the content.
 * @throws ValidationError if nothing changes, the changes cannot be combined, or the name of the topic is not allowed.
 * @throws ExpectationMismatchError if the content differs from the content that the client edited.
 */
function examine(viewer: Viewer, message: PlacedMessage, edit: MessageEdit, now: Date): RequestedEdit {
  if (edit.content !== undefined) requireMayEditContent(viewer, message, now);
  const asked = (typeof edit.topic === 'function' ? edit.topic(message.topic) : edit.topic)?.trim();
  const named = asked === undefined ? undefined : topicNamed(viewer.organization, asked);
  const requested: RequestedEdit = {
    content: edit.content,
    topic: named === message.topic ? undefined : named,
    channelId: edit.channelId === message.channelId ? undefined : edit.channelId,
  };
  requireSomething(message, requested, edit);
  if (edit.propagateMode !== 'change_one' && requested.topic === undefined && requested.channelId === undefined) {
    throw new ValidationError('Invalid propagate_mode without topic edit', {
      parameter: 'propagate_mode',
      schemaMessage: 'Only a move can include other messages of the topic.',
    });
  }
  if (requested.topic !== undefined) requireTopicName(viewer, asked ?? '', message.topic);
  if (requested.content !== undefined && requested.channelId !== undefined) {
    throw new ValidationError('Cannot change message content while changing channel', { parameter: 'content' });
  }
  requireExpected(message, edit.prevContentSha256);
  return requested;
}

function requireMayEditContent(viewer: Viewer, message: PlacedMessage, now: Date): void {
  const objection = objectionToEditing(viewer, message, now);
  if (objection !== undefined) throw new ForbiddenError(objection, { parameter: 'message_id' });
}

/** Returns the reason why a user cannot edit the content of a message that they can read. Undefined if they can edit it. */
export function objectionToEditing(
  { organization, id }: Pick<Viewer, 'organization' | 'id'>,
  { senderId, sentAt }: Pick<PlacedMessage, 'senderId' | 'sentAt'>,
  now: Date,
): string | undefined {
  if (!organizationSetting(organization, 'allow_message_editing'))
    return 'Your organization has turned off message editing';
  if (senderId !== id) return "You don't have permission to edit this message";
  const isOver = isTooLate(sentAt, organizationSetting(organization, 'message_content_edit_limit_seconds'), now);
  return isOver ? 'The time limit for editing this message has passed' : undefined;
}

/**
 * Checks that an edit changes something, and that it moves no direct message.
 *
 * @throws ValidationError if a check fails.
 */
function requireSomething(
  { channelId: currentChannelId }: PlacedMessage,
  { content, topic, channelId }: RequestedEdit,
  given: Pick<MessageEdit, 'topic' | 'channelId'>,
): void {
  if (content === undefined && topic === undefined && channelId === undefined) {
    const targets = [
      given.topic === undefined ? [] : ['topic'],
      given.channelId === undefined ? [] : ['stream'],
    ].flat();
    throw new ValidationError('Nothing to change', { parameter: targets.length === 1 ? targets[0] : undefined });
  }
  if (currentChannelId !== null) return;
  if (channelId !== undefined) {
    throw new ValidationError('Direct messages cannot be moved to channels.', { parameter: 'stream' });
  }
  if (topic !== undefined) {
    throw new ValidationError('Direct messages cannot have topics.', { parameter: 'topic' });
  }
}

/**
 * Checks the name of the target topic.
 *
 * @param before Name of the current topic. If the new name only adds or removes the prefix of resolved topics, it may contain
 *   unreadable characters.
 * @throws ValidationError if the name is not allowed.
 */
function requireTopicName({ organization }: Viewer, name: string, before: string): void {
  if (name === RESOLVED_PREFIX.trim() || name === RESOLVED_PREFIX + emptyTopicName(organization)) {
    throw new ValidationError('General chat cannot be marked as resolved', { parameter: 'topic' });
  }
  const position = unprintableAt(name);
  if (position !== undefined) throw invalidInTopic(position);
  if (unresolved(name) !== unresolved(before)) requireReadableTopic(name);
}

const unresolved = (topic: string) => (topic.startsWith(RESOLVED_PREFIX) ? topic.slice(RESOLVED_PREFIX.length) : topic);

function requireExpected({ content }: PlacedMessage, sha256: string | undefined): void {
  if (sha256 === undefined) return;
  const current = createHash('sha256').update(content).digest('hex');
  if (sha256.toLowerCase() !== current) throw new ExpectationMismatchError('prev_content_sha256');
}
