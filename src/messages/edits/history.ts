import type { Ctx } from '../../access/context.ts';
import type { Message } from '../../generated/prisma/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { accessMessage } from '../access.ts';
import { type EditableState, type HistoryStep, historyPolicy, historySteps } from '../edit-history.ts';
import { readEdits } from '../stored-edits.ts';

/** State of a message when it was sent or after an edit. */
export interface Snapshot {
  readonly at: Date;
  /** Id of the sender, or of the user who made the edit. */
  readonly userId: number;
  readonly state: EditableState;
  /** Change that the edit made. Null for the state in which the message was sent. */
  readonly step: HistoryStep | null;
}

/**
 * Reads the states of a message from its sending to its current version, oldest first. Includes all stored edits, except of old
 * histories that exceed the limits of `readEdits`.
 *
 * @throws BadRequestError if the organization does not show edit histories, or if the viewer cannot read the message.
 */
export async function readHistory(ctx: Ctx, messageId: number): Promise<Snapshot[]> {
  const { app, viewer, realmId } = ctx;
  const policy = historyPolicy(viewer.realm);
  if (policy === 'none') throw new BadRequestError('Message edit history is disabled in this organization');
  const message = await accessMessage(ctx, messageId);
  const edits = await readEdits(app.db, realmId, [message.id], { readsHtml: true });
  return toSnapshots(message, historySteps(message, edits, policy), policy);
}

/**
 * Returns the states of a message when it was sent and after each step. If the policy shows only moves, all states have the
 * current content.
 */
export function toSnapshots(
  message: Pick<Message, 'sentAt' | 'senderId' | 'topic' | 'channelId' | 'content' | 'renderedContent'>,
  steps: readonly HistoryStep[],
  policy: 'all' | 'moves' | 'none',
): Snapshot[] {
  const { content, renderedContent } = message;
  const seen = (state: EditableState) => (policy === 'all' ? state : { ...state, content, renderedContent });
  const first = steps[0]?.before ?? message;
  return [
    { at: message.sentAt, userId: message.senderId, state: seen(first), step: null },
    ...steps.map((step) => ({ at: step.editedAt, userId: step.editorId, state: seen(step.after), step })),
  ];
}
