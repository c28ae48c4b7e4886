import type { Ctx } from '../../access/context.ts';
import type { Message } from '../../generated/prisma/client.ts';
import { ForbiddenError } from '../../platform/errors.ts';
import { accessMessage } from '../access.ts';
import { type EditableState, type HistoryStep, historyPolicy, historySteps } from '../edit-history.ts';
import { readEdits } from '../stored-edits.ts';

/** State of a message, either when it was sent or after an edit. */
export interface Snapshot {
  readonly at: Date;
  /** Id of the sender, or of the user who made the edit. */
  readonly userId: number;
  readonly state: EditableState;
  /** Change that led to this state. Null for the state in which the message was sent. */
  readonly step: HistoryStep | null;
}

/**
 * Reads the states of a message from its sending to its current version, oldest first. If an old history exceeds the limits in
 * `TOTALS`, some of its edits are omitted.
 *
 * @throws ForbiddenError if the organization does not show edit histories.
 * @throws NotFoundError if the viewer cannot read the message.
 */
export async function readHistory(ctx: Ctx, messageId: number): Promise<Snapshot[]> {
  const { work, viewer, organizationId } = ctx;
  const policy = historyPolicy(viewer.organization);
  if (policy === 'none') throw new ForbiddenError('Message edit history is disabled in this organization');
  const message = await accessMessage(ctx, messageId);
  const edits = await readEdits(work.db, organizationId, [message.id], { readsHtml: true });
  return toSnapshots(message, historySteps(message, edits, policy), policy);
}

/**
 * Returns the states of a message: one for the time when it was sent, and one after each step. If the policy shows only moves,
 * all states have the current content.
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
