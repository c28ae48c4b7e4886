import type { Runtime } from '../../access/context.ts';
import type { Emit } from '../../events/log.ts';
import type { Organization } from '../../generated/prisma/client.ts';
import { notificationBot } from '../../people/system-bot.ts';
import type { Tx } from '../../platform/db/client.ts';
import { SENT_RECIPIENT } from '../flag-conditions.ts';
import { senderFor } from '../sender.ts';
import { emitMessage, prepareMessage } from './send.ts';

/** Client name of the messages that the notification bot sends. */
const CLIENT_NAME = 'Internal';

/** Target of a notice: a topic of a channel, or users. */
export type NoticeTo = { readonly channelId: number; readonly topic: string } | { readonly userIds: readonly number[] };

/**
 * Sends a message of the notification bot, in the caller's transaction. The event of the message is logged after the events
 * that the transaction emitted before this call. The bot can write to all channels that are not archived.
 *
 * @param content Flavored Markdown. Names in it must be mentions with ids, because names alone are ambiguous.
 * @param onSent Called with the message's id, inside the transaction.
 * @param readBy Ids of recipients for whom the message is marked as read when it is sent. Only for channel messages.
 */
export async function notify(
  tx: Tx,
  emit: Emit,
  { app, organization }: { readonly app: Runtime; readonly organization: Organization },
  to: NoticeTo,
  content: string,
  onSent?: (id: number) => unknown,
  readBy: readonly number[] = [],
): Promise<void> {
  const sender = senderFor(organization, await notificationBot(tx, organization.id), CLIENT_NAME);
  const place = 'topic' in to ? { to: { id: to.channelId }, topic: to.topic } : { to };
  const prepared = await prepareMessage(tx, app, sender, { ...place, content, readBySender: false });
  if (readBy.length === 0) return emitMessage(emit, prepared, onSent);
  emitMessage(emit, { ...prepared, payload: { ...prepared.payload, readBy } }, async (id) => {
    await tx.$executeRaw`
      INSERT INTO read_exception (realm_id, user_id, message_id, recipient_id, is_read)
      SELECT m.realm_id, reader.id, m.id, ${SENT_RECIPIENT}, true FROM message m, unnest(${[...readBy]}::int[]) AS reader(id)
      WHERE m.realm_id = ${organization.id} AND m.id = ${id}`;
    await onSent?.(id);
  });
}
