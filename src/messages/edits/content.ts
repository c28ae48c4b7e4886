import type { Ctx } from '../../access/context.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import { alertedUserIds } from '../../people/alert-words/matching.ts';
import type { Tx } from '../../platform/db/client.ts';
import { type PlacedMessage, receivedBy } from '../access.ts';
import { normalContent, type RenderedContent, renderContent } from '../sending/content.ts';
import { membersMentioned, type Named, requireMayMention, whoIsMentioned } from '../sending/mentions.ts';

/** New content of a message, with the users whom it mentions or who have an alert word in it. */
export interface ContentEdit {
  readonly rendered: RenderedContent;
  readonly named: Named;
  /** Whether the new or the old content mentions a user or has an alert word. If not, no rows of `user_message` are written. */
  readonly flagsAnybody: boolean;
}

/** Content that is stored if an edit leaves only white space. */
const NOTHING_LEFT = '(deleted)';

/**
 * Renders new content with the permissions of the message's sender, who edits it. Returns null if `content` is undefined.
 *
 * @throws BadRequestError if the content has a null byte, cannot be rendered, or mentions a group that the sender cannot
 * mention.
 * @throws WildcardMentionNotAllowedError if the content has a wildcard mention that the sender is not permitted to use.
 */
export async function prepareContent(
  tx: Tx,
  { app, viewer }: Ctx,
  message: PlacedMessage,
  content: string | undefined,
  now: Date,
): Promise<ContentEdit | null> {
  if (content === undefined) return null;
  const source = normalContent(content.trim() === '' ? NOTHING_LEFT : content);
  const rendered = await renderContent(tx, app, viewer, source);
  const { channel, conversation, topic } = message;
  const target = channel === null ? null : { channel, topic };
  await requireMayMention(tx, viewer, target, rendered, now);
  const where = { target, memberIds: conversation?.memberIds ?? null };
  const named = await whoIsMentioned(tx, viewer, where, rendered, now);
  const alerted = await alertedUserIds(tx, viewer.realm, source, null);
  const mentioned = [...named.mentioned, ...(await membersMentioned(tx, viewer.realm, rendered, now, null))];
  const flagged = await flaggedIn(tx, message);
  const among = await amongReceivers(tx, message, rendered, { ...named, mentioned, alerted }, flagged);
  return {
    rendered,
    named: among,
    flagsAnybody: flagged.length > 0 || Object.values(among).some((ids) => ids.length > 0),
  };
}

interface Flagged {
  readonly userId: number;
  readonly topicWildcardMentioned: boolean;
}

/** Reads the users whom the stored content mentions, or who have an alert word in it. */
function flaggedIn(tx: Tx, { realmId, id }: PlacedMessage): Promise<Flagged[]> {
  const isNamed = [{ mentioned: true }, { topicWildcardMentioned: true }, { hasAlertWord: true }];
  return tx.userMessage.findMany({
    where: { realmId, messageId: id, OR: isNamed },
    select: { userId: true, topicWildcardMentioned: true },
  });
}

/**
 * Restricts the users to those who received the message. Subscriptions may have changed since, so these need not be the users
 * who would receive a new message.
 */
async function amongReceivers(
  tx: Tx,
  { realmId, id }: PlacedMessage,
  rendered: RenderedContent,
  named: Named,
  flagged: readonly Flagged[],
): Promise<Named> {
  const mentioned = [...new Set([...named.mentioned, ...rendered.mentionedUserIds])];
  const isStillMentioned = ({ topicWildcardMentioned }: Flagged) => rendered.topicWildcard && topicWildcardMentioned;
  const before = flagged.filter(isStillMentioned).map(({ userId }) => userId);
  const topicMentioned = [...new Set([...named.topicMentioned, ...before])];
  const userIds = [...new Set([...mentioned, ...topicMentioned, ...named.alerted])];
  if (userIds.length === 0) return named;
  const rows = await tx.$queryRaw<{ id: number }[]>`
    SELECT u.id FROM unnest(${userIds}::int[]) AS u(id), message m
    WHERE m.realm_id = ${realmId} AND m.id = ${id} AND ${receivedBy(Prisma.sql`u.id`)}`;
  const receivers = new Set(rows.map((row) => row.id));
  const among = (ids: readonly number[]) => ids.filter((userId) => receivers.has(userId));
  return {
    mentioned: among(mentioned),
    topicMentioned: among(topicMentioned),
    alerted: among(named.alerted),
  };
}

/**
 * Writes the mention and alert flags of all users to whom the new or the old content applies. Deletes rows without any flag.
 */
export async function writeFlags(
  tx: Tx,
  { realmId, id }: PlacedMessage,
  { named, flagsAnybody }: ContentEdit,
): Promise<void> {
  if (!flagsAnybody) return;
  const { mentioned, topicMentioned, alerted } = named;
  await tx.$executeRaw`
    INSERT INTO user_message (realm_id, user_id, message_id, mentioned, topic_wildcard_mentioned, has_alert_word)
    SELECT ${realmId}::int, concerned.id, ${id}::bigint, concerned.id = ANY(${mentioned}::int[]),
           concerned.id = ANY(${topicMentioned}::int[]), concerned.id = ANY(${alerted}::int[])
    FROM (
      SELECT user_id AS id FROM user_message WHERE realm_id = ${realmId} AND message_id = ${id}
      UNION SELECT unnest(${[...mentioned, ...topicMentioned, ...alerted]}::int[])
    ) AS concerned ORDER BY concerned.id
    ON CONFLICT (realm_id, user_id, message_id) DO UPDATE SET
      mentioned = EXCLUDED.mentioned, topic_wildcard_mentioned = EXCLUDED.topic_wildcard_mentioned,
      has_alert_word = EXCLUDED.has_alert_word`;
  await tx.$executeRaw`
    DELETE FROM user_message WHERE realm_id = ${realmId} AND message_id = ${id} AND NOT (
      starred OR collapsed OR mentioned OR topic_wildcard_mentioned OR has_alert_word OR historical)`;
}
