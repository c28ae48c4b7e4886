import { Prisma } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import type { PlacedMessage } from '../access.ts';
import type { ContentEdit } from './content.ts';
import type { MessageMove } from './plan.ts';

/** One request's edit of a message, or move of several. */
interface Recorded {
  readonly message: PlacedMessage;
  readonly move: MessageMove | null;
  readonly content: ContentEdit | null;
  readonly editorId: number;
  readonly now: Date;
}

/**
 * Writes a message's new content, and into the history of each message what there was before the change: one entry each,
 * whatever the request changes. One statement, which sees no message but as it was before.
 */
export async function recordEdit(tx: Tx, { message, move, content, editorId, now }: Recorded): Promise<void> {
  const { realmId, id } = message;
  const ids = [...new Set([...(move?.ids ?? []), ...(content === null ? [] : [Number(id)])])];
  const topic = move === null || move.topic === move.oldTopic ? null : move.topic;
  const writing = content === null ? Prisma.empty : Prisma.sql`WITH written AS (${writingOf(message, content, now)})`;
  await tx.$executeRaw`
    ${writing}
    INSERT INTO message_edit (realm_id, message_id, editor_id, edited_at, prev_content, prev_rendered_content,
                              prev_topic, prev_channel_id)
    SELECT m.realm_id, m.id, ${editorId}, ${now},
           CASE WHEN ${content !== null} AND m.id = ${id} THEN m.content END,
           CASE WHEN ${content !== null} AND m.id = ${id} THEN m.rendered_content END,
           CASE WHEN m.topic <> ${topic}::text THEN m.topic END,
           CASE WHEN m.channel_id <> ${move?.to.id ?? null}::int THEN m.channel_id END
    FROM message m WHERE m.realm_id = ${realmId} AND m.id = ANY(${ids}::bigint[]) ORDER BY m.id`;
}

const writingOf = ({ realmId, id }: PlacedMessage, { rendered }: ContentEdit, now: Date): Prisma.Sql => Prisma.sql`
  UPDATE message SET content = ${rendered.source}, rendered_content = ${rendered.html},
    channel_wildcard = ${rendered.channelWildcard}, has_link = ${rendered.hasLink}, has_image = ${rendered.hasImage},
    has_attachment = ${rendered.hasAttachment}, last_edited_at = ${now}
  WHERE realm_id = ${realmId} AND id = ${id}`;
