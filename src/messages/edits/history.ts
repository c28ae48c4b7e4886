import type { Ctx } from '../../access/context.ts';
import type { Message } from '../../generated/prisma/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { accessMessage } from '../access.ts';
import { type EditableState, type HistoryStep, historyPolicy, historySteps } from '../edit-history.ts';

/** A message as it was sent, or as an edit left it. */
export interface Snapshot {
  readonly at: Date;
  /** Who sent or edited it. */
  readonly userId: number;
  readonly state: EditableState;
  /** What the edit changed; null for the message as it was sent. */
  readonly step: HistoryStep | null;
}

/**
 * What a message was from its sending on, the oldest snapshot first: the last is the message as it is.
 *
 * @throws BadRequestError when the organisation does not show edit histories, or the viewer may not read the message.
 */
export async function readHistory(ctx: Ctx, messageId: number): Promise<Snapshot[]> {
  const { app, viewer, realmId } = ctx;
  const policy = historyPolicy(viewer.realm);
  if (policy === 'none') throw new BadRequestError('Message edit history is disabled in this organization');
  const message = await accessMessage(ctx, messageId);
  const edits = await app.db.messageEdit.findMany({ where: { realmId, messageId: message.id } });
  return toSnapshots(message, historySteps(message, edits, policy), policy);
}

/**
 * The message as it was sent, and after each step. Where only moves may be seen, what it says today stands for what it
 * said at any time.
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
