import type { App } from '../../access/context.ts';
import type { Emit } from '../../events/log.ts';
import type { Realm } from '../../generated/prisma/client.ts';
import { notificationBot } from '../../people/system-bot.ts';
import type { Tx } from '../../platform/db/client.ts';
import { SENT_RECIPIENT } from '../flag-conditions.ts';
import { senderFor } from '../sender.ts';
import { emitMessage, prepareMessage } from './send.ts';

/** Client name that messages of the notification bot have. */
const CLIENT_NAME = 'Internal';

/** Target of a notice: a topic of a channel, or users. */
export type NoticeTo = { readonly channelId: number; readonly topic: string } | { readonly userIds: readonly number[] };

/**
 * Sends a message of the notification bot as part of a change. Its event is logged at this position among the events of the
 * change. The bot can write to all channels that are not archived.
 *
 * @param content Flavored Markdown. Names in it must be mentions with ids, because names alone are ambiguous.
 * @param onSent Called with the message's id, inside the transaction.
 * @param readBy Ids of recipients for whom the message is marked as read when it is sent. Only for channel messages.
 */
export async function notify(
  tx: Tx,
  emit: Emit,
  { app, realm }: { readonly app: App; readonly realm: Realm },
  to: NoticeTo,
  content: string,
  onSent?: (id: number) => unknown,
  readBy: readonly number[] = [],
): Promise<void> {
  const sender = senderFor(realm, await notificationBot(tx, realm.id), CLIENT_NAME);
  const place = 'topic' in to ? { to: { id: to.channelId }, topic: to.topic } : { to };
  const prepared = await prepareMessage(tx, app, sender, { ...place, content, readBySender: false });
  if (readBy.length === 0) return emitMessage(emit, prepared, onSent);
  emitMessage(emit, { ...prepared, payload: { ...prepared.payload, readBy } }, async (id) => {
    await tx.$executeRaw`
      INSERT INTO read_exception (realm_id, user_id, message_id, recipient_id, is_read)
      SELECT m.realm_id, reader.id, m.id, ${SENT_RECIPIENT}, true FROM message m, unnest(${[...readBy]}::int[]) AS reader(id)
      WHERE m.realm_id = ${realm.id} AND m.id = ${id}`;
    await onSent?.(id);
  });
}
