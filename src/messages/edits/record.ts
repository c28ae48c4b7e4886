import { Prisma } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { requireWithin } from '../../platform/totals.ts';
import type { PlacedMessage } from '../access.ts';
import { SUM_OF_VERSIONS } from '../stored-edits.ts';
import type { ContentEdit } from './content.ts';
import type { MessageMove } from './plan.ts';

/** A change of messages made by one request: an edit of one message, or a move of several messages. */
interface Recorded {
  readonly message: PlacedMessage;
  readonly move: MessageMove | null;
  readonly content: ContentEdit | null;
  readonly editorId: number;
  readonly now: Date;
}

/**
 * Time in seconds, from a user's first edit of the content, within which further edits by that user are merged into the same
 * version.
 */
const MERGED_SECONDS = 60;

/**
 * Maximum number of stored moves of a message. When it is reached, the newest stored move is merged with the new one, so that a
 * message can always be moved.
 */
const MAX_MOVES = 100;

/**
 * Maximum total size, in bytes, of the text and HTML that a message's history repeats because of moves. Beyond it, the newest
 * stored move is merged with the new one. Each move in a history repeats the whole text and HTML, so fewer moves of long
 * messages are stored.
 */
const MAX_MOVED_BYTES = 1_048_576;

/**
 * Writes a message's new content, and one history entry for each changed message. The entry contains the message's state before
 * the change. Uses a single statement, because a later statement would no longer see the state before the change.
 *
 * An edit of only the content adds no entry if the newest entry is an edit by the same user within the last minute. The stored
 * entry then has the text before the first of these edits. The caller must have locked the messages.
 *
 * @throws TotalReachedError if the message would have too many versions, or if the versions would be too long.
 */
export async function recordEdit(tx: Tx, { message, move, content, editorId, now }: Recorded): Promise<void> {
  const { organizationId, id } = message;
  const adds = content !== null && (await addsVersion(tx, message, { move, content, editorId, now }));
  const ids = [...new Set([...(move?.ids ?? []), ...(adds ? [Number(id)] : [])])];
  const topic = move === null || move.topic === move.oldTopic ? null : move.topic;
  const writing = content === null ? Prisma.empty : Prisma.sql`, written AS (${writingOf(message, content, now)})`;
  await tx.$executeRaw`
    WITH replaced AS (
      DELETE FROM message_edit e USING (
        SELECT max(n.id) AS id FROM message_edit n JOIN message m ON m.realm_id = n.realm_id AND m.id = n.message_id
        WHERE n.realm_id = ${organizationId} AND n.message_id = ANY(${[...(move?.ids ?? [])]}::bigint[])
          AND n.prev_content IS NULL
        GROUP BY m.id, octet_length(m.content) + octet_length(m.rendered_content)
        HAVING count(*) >= LEAST(${MAX_MOVES}::int, GREATEST(1, ${MAX_MOVED_BYTES}::int
          / (octet_length(m.content) + octet_length(m.rendered_content))))
      ) AS newest WHERE e.realm_id = ${organizationId} AND e.id = newest.id RETURNING e.*
    ), before AS MATERIALIZED (
      SELECT m.id, ${adds} AND m.id = ${id} AS "isEdited", m.content, m.rendered_content,
             NULLIF(COALESCE(r.prev_topic, m.topic), COALESCE(${topic}::text, m.topic)) AS topic,
             NULLIF(COALESCE(r.prev_channel_id, m.channel_id),
                    COALESCE(${move?.to.id ?? null}::int, m.channel_id)) AS channel_id
      FROM message m LEFT JOIN replaced r ON r.message_id = m.id
      WHERE m.realm_id = ${organizationId} AND m.id = ANY(${ids}::bigint[])
    )${writing}
    INSERT INTO message_edit (realm_id, message_id, editor_id, edited_at, prev_content, prev_rendered_content,
                              prev_topic, prev_channel_id)
    SELECT ${organizationId}, id, ${editorId}, ${now}, CASE WHEN "isEdited" THEN content END,
           CASE WHEN "isEdited" THEN rendered_content END, topic, channel_id
    FROM before WHERE "isEdited" OR topic IS NOT NULL OR channel_id IS NOT NULL ORDER BY id`;
}

/**
 * Returns whether an edit of the content is stored as a separate version. Otherwise it is merged into the newest version.
 *
 * @throws TotalReachedError if the number or the length of the versions would exceed a limit.
 */
async function addsVersion(
  tx: Tx,
  { organizationId, id, content: source, renderedContent }: PlacedMessage,
  { move, content, editorId, now }: Omit<Recorded, 'message' | 'content'> & { readonly content: ContentEdit },
): Promise<boolean> {
  const since = new Date(now.getTime() - MERGED_SECONDS * 1000);
  const [held] = await tx.$queryRaw<{ count: number; bytes: number; merges: boolean | null }[]>`
    SELECT count(*)::int AS count, ${SUM_OF_VERSIONS} AS bytes, ${move === null} AND (
      SELECT prev_content IS NOT NULL AND editor_id = ${editorId} AND edited_at > ${since} FROM message_edit
      WHERE realm_id = ${organizationId} AND message_id = ${id} ORDER BY id DESC LIMIT 1
    ) AS merges
    FROM message_edit WHERE realm_id = ${organizationId} AND message_id = ${id} AND prev_content IS NOT NULL`;
  const merges = held?.merges === true;
  const { count = 0, bytes = 0 } = held ?? {};
  const bytesOf = (...texts: string[]) => texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const after = bytesOf(content.rendered.source, content.rendered.html);
  const before = bytesOf(source, renderedContent);
  if (!merges) requireWithin('versions_per_message', count + 1);
  // An edit that is merged into the newest version and does not make the text longer is never refused, even above the limit.
  if (!merges || after > before)
    requireWithin('versions_per_message_total_bytes', bytes + after + (merges ? 0 : before));
  return !merges;
}

const writingOf = (
  { organizationId, id }: PlacedMessage,
  { rendered }: ContentEdit,
  now: Date,
): Prisma.Sql => Prisma.sql`
  UPDATE message SET content = ${rendered.source}, rendered_content = ${rendered.html},
    channel_wildcard = ${rendered.channelWildcard}, has_link = ${rendered.hasLink}, has_image = ${rendered.hasImage},
    has_attachment = ${rendered.hasAttachment}, last_edited_at = ${now}
  WHERE realm_id = ${organizationId} AND id = ${id}`;
