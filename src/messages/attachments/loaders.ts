import { forAllViewers } from '../../api/graphql/loading/context.ts';
import type { RequestedKey } from '../../api/graphql/loading/keyed-loader.ts';
import { type Attachment, Prisma } from '../../generated/prisma/client.ts';
import { fieldsOf } from '../../platform/db/columns.ts';
import { listOf } from '../../platform/db/lists.ts';
import { readRows } from '../../platform/db/rows.ts';
import { readableByEach } from '../access.ts';
import { messageIdsOf } from './queries.ts';

const ATTACHMENT = fieldsOf('a', 'Attachment');

/** Loads the ids of the newest messages that link to an attachment, by its id. Does not check access to the messages. */
export const linkingMessageIds = forAllViewers<number, readonly number[]>((db, organizationId, ids) =>
  messageIdsOf(
    db,
    organizationId,
    ids.map((id) => ({ id })),
  ),
);

/** Loads the attachments to which a message links, by the id of the message. The caller has checked access to the message. */
export const attachmentsOf = forAllViewers<number, readonly Attachment[]>(async (db, organizationId, messageIds) => {
  const rows = await readRows<Attachment & { readonly messageId: bigint }>(
    db,
    Prisma.sql`
    SELECT l.message_id AS "messageId", ${ATTACHMENT} FROM attachment_link l
    JOIN attachment a ON a.realm_id = ${organizationId} AND a.id = l.attachment_id
    WHERE l.realm_id = ${organizationId} AND l.message_id = ANY(${listOf('bigint', messageIds)})
    ORDER BY l.message_id, a.id`,
  );
  const byMessage = Map.groupBy(rows, ({ messageId }) => Number(messageId));
  return (messageId) => byMessage.get(messageId) ?? [];
});

/**
 * Loads each attachment for the viewer of its request, in the order of `wanted`. Null if the viewer is neither its owner nor a
 * reader of one of the newest messages that link to it.
 */
export async function readableFilesFor(
  wanted: readonly RequestedKey<number>[],
): Promise<readonly (Attachment | null)[]> {
  const [first] = wanted;
  if (first === undefined) return [];
  const { work, organizationId } = first.ctx;
  const ids = [...new Set(wanted.map(({ key }) => key))];
  const rows = await work.db.attachment.findMany({ where: { organizationId, id: { in: ids }, isComplete: true } });
  const messagesOf = await messageIdsOf(work.db, organizationId, rows);
  const readers = new Map(wanted.map(({ ctx: { viewer } }) => [viewer.id, viewer]));
  const messageIds = rows.flatMap(({ id }) => messagesOf(id));
  const readable = await readableByEach(first.ctx, [...readers.values()], messageIds);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return wanted.map(({ ctx: { viewer }, key }) => {
    const found = byId.get(key);
    if (found === undefined) return null;
    const messages = readable.get(viewer.id);
    const isReader = found.ownerId === viewer.id || messagesOf(key).some((id) => messages?.has(id) === true);
    return isReader ? found : null;
  });
}
