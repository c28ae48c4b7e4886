import type { Ctx, Viewer } from '../../access/context.ts';
import { users } from '../../events/audience.ts';
import { requireLive } from '../../events/context.ts';
import { transact } from '../../events/log.ts';
import type { Prisma, ScheduledMessage } from '../../generated/prisma/client.ts';
import { lockUser } from '../../people/locks.ts';
import { notificationBot } from '../../people/system-bot.ts';
import { NotFoundError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { MAX_REMINDER_NOTE_LENGTH } from '../../platform/limits.ts';
import { requireText } from '../../platform/text.ts';
import { accessMessage } from '../access.ts';
import { authorOf, reminderOf } from '../scheduled/reminder-content.ts';
import { reminderAdded, reminderRemoved } from '../scheduled/reminder-events.ts';
import { IN_ORDER, requireFuture } from '../scheduled/service.ts';
import { requireWaitingWithin } from '../scheduled/totals.ts';
import { senderFor } from '../sender.ts';
import { renderContent } from '../sending/content.ts';

/** Input of `createReminder`. */
export interface NewReminder {
  readonly messageId: number;
  /** Time of the delivery, in UNIX seconds. Fractions are allowed. */
  readonly timestamp: number;
  /** Plain text by the owner, at most 500 code points. If the text is blank, the reminder has no note. */
  readonly note?: string | undefined;
}

type Owner = Pick<Viewer, 'id' | 'organization'>;

const own = ({ id, organization }: Owner) => ({ organizationId: organization.id, ownerId: id, kind: 'reminder' });

/** Returns the filter for all of the viewer's reminders, including delivered ones. */
export const visibleTo = ({ viewer }: Ctx): Prisma.ScheduledMessageWhereInput => own(viewer);

/** Returns the filter for the user's reminders that are scheduled or failed. */
export const undelivered = (viewer: Owner): Prisma.ScheduledMessageWhereInput => ({
  ...own(viewer),
  state: { not: 'delivered' },
});

const noSuchReminder = (id: number): NotFoundError =>
  new NotFoundError('Reminder does not exist', { type: 'Reminder', id, parameter: 'reminder_id', status: 404 });

/**
 * Reads one of the viewer's reminders. Delivered reminders can be read until 30 days after their scheduled time.
 *
 * @throws NotFoundError if no reminder has this id, or it belongs to another user.
 */
export async function accessReminder({ work, viewer }: Ctx, id: number): Promise<ScheduledMessage> {
  const row = isRowId(id) ? await work.db.scheduledMessage.findFirst({ where: { id, ...own(viewer) } }) : null;
  if (row === null) throw noSuchReminder(id);
  return row;
}

/** Reads the viewer's reminders that are scheduled or failed, earliest first. */
export async function listReminders({ work, viewer }: Ctx): Promise<ScheduledMessage[]> {
  return work.db.scheduledMessage.findMany({ where: undelivered(viewer), orderBy: IN_ORDER });
}

/**
 * Creates a reminder of a message. At the given time, the notification bot sends the viewer a link to the message and a
 * quote of it.
 *
 * @returns Id of the reminder.
 * @throws ValidationError if the time is not in the future, or the note is too long.
 * @throws NotFoundError if the viewer cannot read the message.
 * @throws TotalReachedError if the viewer's undelivered reminders would be too many, or too long in total.
 */
export async function createReminder(ctx: Ctx, { messageId, timestamp, note = '' }: NewReminder): Promise<number> {
  const { app, work, viewer } = ctx;
  const scheduledAt = requireFuture(app.now(), timestamp);
  const words = requireText('note', note, { strip: true, max: MAX_REMINDER_NOTE_LENGTH });
  const message = await accessMessage(ctx, messageId);
  const content = reminderOf(message, await authorOf(work.db, message), words);
  const bot = senderFor(viewer.organization, await notificationBot(work.db, viewer.organization.id), viewer.clientName);
  const { html } = await renderContent(work.db, app, bot, content);
  const id = await transact(ctx, async (tx, emit) => {
    await lockUser(tx, viewer.user);
    const saved = await tx.scheduledMessage.create({
      data: {
        kind: 'reminder',
        recipientIds: [viewer.id],
        reminderTargetId: message.id,
        content,
        renderedContent: html,
        scheduledAt,
        createdAt: app.now(),
        organizationId: viewer.organization.id,
        ownerId: viewer.id,
        clientName: viewer.clientName,
      },
    });
    await requireWaitingWithin(tx, viewer, 'reminder', 'added');
    emit(reminderAdded(saved), users([viewer.id]));
    return saved.id;
  });
  requireLive(work).deliveries.wake(scheduledAt);
  return id;
}

/**
 * Deletes one of the viewer's reminders that is scheduled or failed, and notifies the viewer's clients.
 *
 * @throws NotFoundError if no reminder has this id, it belongs to another user, or it was delivered.
 */
export async function deleteReminder(ctx: Ctx, id: number): Promise<void> {
  if (!isRowId(id)) throw noSuchReminder(id);
  await transact(ctx, async (tx, emit) => {
    const { count } = await tx.scheduledMessage.deleteMany({ where: { id, ...undelivered(ctx.viewer) } });
    if (count === 0) throw noSuchReminder(id);
    emit(reminderRemoved(id), users([ctx.viewer.id]));
  });
}
