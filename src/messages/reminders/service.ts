import type { Ctx, Viewer } from '../../access/context.ts';
import { users } from '../../events/audience.ts';
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
  /** Plain text by the owner, at most 500 code points. A blank text counts as no note. */
  readonly note?: string | undefined;
}

type Owner = Pick<Viewer, 'id' | 'realm'>;

const own = ({ id, realm }: Owner) => ({ realmId: realm.id, ownerId: id, kind: 'reminder' });

/** Returns the filter for all of the viewer's reminders, including delivered ones. */
export const visibleTo = ({ viewer }: Ctx): Prisma.ScheduledMessageWhereInput => own(viewer);

/** Returns the filter for the user's reminders that are scheduled or failed. */
export const undelivered = (viewer: Owner): Prisma.ScheduledMessageWhereInput => ({
  ...own(viewer),
  state: { not: 'delivered' },
});

const noSuchReminder = () => new NotFoundError('Reminder does not exist');

/**
 * Reads one of the viewer's reminders. Delivered reminders can be read for some weeks.
 *
 * @throws NotFoundError if no reminder has this id, or it belongs to another user.
 */
export async function accessReminder({ app, viewer }: Ctx, id: number): Promise<ScheduledMessage> {
  const row = isRowId(id) ? await app.db.scheduledMessage.findFirst({ where: { id, ...own(viewer) } }) : null;
  if (row === null) throw noSuchReminder();
  return row;
}

/** Reads the viewer's reminders that are scheduled or failed, earliest first. */
export async function listReminders({ app, viewer }: Ctx): Promise<ScheduledMessage[]> {
  return app.db.scheduledMessage.findMany({ where: undelivered(viewer), orderBy: IN_ORDER });
}

/**
 * Creates a reminder of a message. At the given time, the notification bot sends the viewer a link to the message and a
 * quote of it.
 *
 * @returns Id of the reminder.
 * @throws BadRequestError if the time is not in the future, the note is too long, or the viewer cannot read the message.
 * @throws TotalReachedError if the viewer's undelivered reminders would be too many, or too long in total.
 */
export async function createReminder(ctx: Ctx, { messageId, timestamp, note = '' }: NewReminder): Promise<number> {
  const { app, viewer } = ctx;
  const scheduledAt = requireFuture(app.now(), timestamp);
  const words = requireText('note', note, { strip: true, max: MAX_REMINDER_NOTE_LENGTH });
  const message = await accessMessage(ctx, messageId);
  const content = reminderOf(message, await authorOf(app.db, message), words);
  const bot = senderFor(viewer.realm, await notificationBot(app.db, viewer.realm.id), viewer.clientName);
  const { html } = await renderContent(app.db, app, bot, content);
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
        realmId: viewer.realm.id,
        ownerId: viewer.id,
        clientName: viewer.clientName,
      },
    });
    await requireWaitingWithin(tx, viewer, 'reminder', 'added');
    emit(reminderAdded(saved), users([viewer.id]));
    return saved.id;
  });
  app.deliveries.wake(scheduledAt);
  return id;
}

/**
 * Deletes one of the viewer's reminders, scheduled or failed, and notifies the viewer's clients.
 *
 * @throws NotFoundError if no reminder has this id, it belongs to another user, or it was delivered.
 */
export async function deleteReminder(ctx: Ctx, id: number): Promise<void> {
  if (!isRowId(id)) throw noSuchReminder();
  await transact(ctx, async (tx, emit) => {
    const { count } = await tx.scheduledMessage.deleteMany({ where: { id, ...undelivered(ctx.viewer) } });
    if (count === 0) throw noSuchReminder();
    emit(reminderRemoved(id), users([ctx.viewer.id]));
  });
}
