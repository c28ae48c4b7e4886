import type { Ctx } from '../../access/context.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import { alertedUserIds } from '../../people/alert-words/matching.ts';
import type { Tx } from '../../platform/db/client.ts';
import { type PlacedMessage, receivedBy } from '../access.ts';
import { normalContent, type RenderedContent, renderContent } from '../sending/content.ts';
import { membersMentioned, type Named, whoIsMentioned } from '../sending/mentions.ts';

/** New content of a message, with the users whom the content mentions and the users who have an alert word in it. */
export interface ContentEdit {
  readonly rendered: RenderedContent;
  readonly named: Named;
  /**
   * Whether the new or the old content mentions a user or contains a user's alert word. If not, no rows of `user_message` are
   * written.
   */
  readonly flagsUsers: boolean;
}

/** Content that is stored if an edit leaves only white space. */
const NOTHING_LEFT = '(deleted)';

/**
 * Renders the new content of a message with the permissions of its sender, who is also the editor. Returns null if `content` is
 * undefined.
 *
 * @throws ValidationError if the content has a null byte or cannot be rendered.
 * @throws ForbiddenError if the content mentions a group that the sender cannot mention.
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
  const where = { target, memberIds: conversation?.memberIds ?? null };
  const named = await whoIsMentioned(tx, viewer, where, rendered, now);
  const alerted = await alertedUserIds(tx, viewer.organization, source, null);
  const mentioned = [...named.mentioned, ...(await membersMentioned(tx, viewer.organization, rendered, now, null))];
  const flagged = await flaggedIn(tx, message);
  const among = await amongReceivers(tx, message, rendered, { ...named, mentioned, alerted }, flagged);
  return {
    rendered,
    named: among,
    flagsUsers: flagged.length > 0 || Object.values(among).some((ids) => ids.length > 0),
  };
}

interface Flagged {
  readonly userId: number;
  readonly topicWildcardMentioned: boolean;
}

/** Reads the users for whom the stored message has a mention flag or an alert-word flag. */
function flaggedIn(tx: Tx, { organizationId, id }: PlacedMessage): Promise<Flagged[]> {
  const isNamed = [{ mentioned: true }, { topicWildcardMentioned: true }, { hasAlertWord: true }];
  return tx.userMessage.findMany({
    where: { organizationId, messageId: id, OR: isNamed },
    select: { userId: true, topicWildcardMentioned: true },
  });
}

/**
 * Returns the users whom the new content mentions or who have an alert word in it, without users who did not receive the
 * message. Subscriptions may have changed since the message was sent, so the current subscribers can be other users.
 */
async function amongReceivers(
  tx: Tx,
  { organizationId, id }: PlacedMessage,
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
    WHERE m.realm_id = ${organizationId} AND m.id = ${id} AND ${receivedBy(organizationId, Prisma.sql`u.id`)}`;
  const receivers = new Set(rows.map((row) => row.id));
  const among = (ids: readonly number[]) => ids.filter((userId) => receivers.has(userId));
  return {
    mentioned: among(mentioned),
    topicMentioned: among(topicMentioned),
    alerted: among(named.alerted),
  };
}

/**
 * Writes the mention and alert-word flags of an edited message. Clears these flags for users whom the new content does not
 * mention or whose alert words it does not contain. Deletes rows of `user_message` that then have no flag.
 */
export async function writeFlags(
  tx: Tx,
  { organizationId, id }: PlacedMessage,
  { named, flagsUsers }: ContentEdit,
): Promise<void> {
  if (!flagsUsers) return;
  const { mentioned, topicMentioned, alerted } = named;
  await tx.$executeRaw`
    INSERT INTO user_message (realm_id, user_id, message_id, mentioned, topic_wildcard_mentioned, has_alert_word)
    SELECT ${organizationId}::int, concerned.id, ${id}::bigint, concerned.id = ANY(${mentioned}::int[]),
           concerned.id = ANY(${topicMentioned}::int[]), concerned.id = ANY(${alerted}::int[])
    FROM (
      SELECT user_id AS id FROM user_message WHERE realm_id = ${organizationId} AND message_id = ${id}
      UNION SELECT unnest(${[...mentioned, ...topicMentioned, ...alerted]}::int[])
    ) AS concerned ORDER BY concerned.id
    ON CONFLICT (realm_id, user_id, message_id) DO UPDATE SET
      mentioned = EXCLUDED.mentioned, topic_wildcard_mentioned = EXCLUDED.topic_wildcard_mentioned,
      has_alert_word = EXCLUDED.has_alert_word`;
  await tx.$executeRaw`
    DELETE FROM user_message WHERE realm_id = ${organizationId} AND message_id = ${id} AND NOT (
      starred OR collapsed OR mentioned OR topic_wildcard_mentioned OR has_alert_word OR historical)`;
}
