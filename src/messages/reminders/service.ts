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
import { IN_ORDER, requireFuture } from '../scheduled/service.ts';
import { requireWaitingWithin } from '../scheduled/totals.ts';
import { renderContent } from '../sending/content.ts';
import { senderFor } from '../sending/sender.ts';
import { authorOf, reminderOf } from './content.ts';
import { reminderAdded, reminderRemoved } from './events.ts';

/** A message to be reminded of. */
export interface NewReminder {
  readonly messageId: number;
  /** UNIX seconds, fractions allowed. */
  readonly timestamp: number;
  /** Plain words of the owner's, at most 500 code points; blank is none. */
  readonly note?: string | undefined;
}

type Owner = Pick<Viewer, 'id' | 'realm'>;

const own = ({ id, realm }: Owner) => ({ realmId: realm.id, ownerId: id, kind: 'reminder' });

/** The viewer's reminders, sent or not. */
export const visibleTo = ({ viewer }: Ctx): Prisma.ScheduledMessageWhereInput => own(viewer);

/** The viewer's reminders that are still to come, or failed. */
export const undelivered = (viewer: Owner): Prisma.ScheduledMessageWhereInput => ({
  ...own(viewer),
  state: { not: 'delivered' },
});

const noSuchReminder = () => new NotFoundError('Reminder does not exist');

/**
 * One of the viewer's reminders, for as long as it is kept: what is delivered is forgotten some weeks later.
 *
 * @throws NotFoundError when there is none with this id, or it is another user's.
 */
export async function accessReminder({ app, viewer }: Ctx, id: number): Promise<ScheduledMessage> {
  const row = isRowId(id) ? await app.db.scheduledMessage.findFirst({ where: { id, ...own(viewer) } }) : null;
  if (row === null) throw noSuchReminder();
  return row;
}

/** The viewer's reminders that are still to come, or failed, the earliest first. */
export async function listReminders({ app, viewer }: Ctx): Promise<ScheduledMessage[]> {
  return app.db.scheduledMessage.findMany({ where: undelivered(viewer), orderBy: IN_ORDER });
}

/**
 * Has the viewer reminded of a message: at the time, the notification bot sends them a link to it, and what it says.
 *
 * @returns The reminder's id.
 * @throws BadRequestError when the time is not in the future, the note is too long, or the viewer may not read the
 *   message.
 * @throws TotalReachedError when there would be too many, or too long ones, that are still to come.
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
 * Deletes one of the viewer's reminders, also one that failed, and tells the viewer's clients.
 *
 * @throws NotFoundError when there is none with this id, it is another user's, or it was delivered.
 */
export async function deleteReminder(ctx: Ctx, id: number): Promise<void> {
  if (!isRowId(id)) throw noSuchReminder();
  await transact(ctx, async (tx, emit) => {
    const { count } = await tx.scheduledMessage.deleteMany({ where: { id, ...undelivered(ctx.viewer) } });
    if (count === 0) throw noSuchReminder();
    emit(reminderRemoved(id), users([ctx.viewer.id]));
  });
}
