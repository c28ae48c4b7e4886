import type { Ctx } from '../../access/context.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import { readRows } from '../../platform/db/rows.ts';
import { compileNarrow } from '../narrow/narrow.ts';
import { selectPage } from '../narrow/narrow-select.ts';
import type { NarrowTerm } from '../narrow/narrow-terms.ts';
import type { Topic } from './topic-pages.ts';
import { findTopics, type TopicKey } from './topics.ts';

/**
 * Maximum number of messages, newest first, whose topics `recentTopics` returns. Topics that have only older messages are
 * omitted.
 */
export const MAX_RECENT = 5_000;

/** A topic with its channel. */
export type RecentTopic = Topic & TopicKey;

/** Excludes direct messages, which have no topic. */
const IN_CHANNELS: NarrowTerm = { operator: 'is', operand: 'dm', negated: true };

/**
 * Returns the topics of the newest `MAX_RECENT` channel messages that match a narrow (message filter), in no particular order.
 * Uses three queries.
 *
 * @throws BadNarrowError if an operator or operand is invalid, a term names something that does not exist or that the viewer
 *   cannot see, or two terms exclude each other.
 */
export async function recentTopics(ctx: Ctx, terms: readonly NarrowTerm[]): Promise<RecentTopic[]> {
  const narrow = await compileNarrow(ctx, [...terms, IN_CHANNELS]);
  const newest = { above: 0, below: Number.MAX_SAFE_INTEGER, newestFirst: true, limit: MAX_RECENT };
  const ids = await selectPage(ctx, narrow, newest);
  if (ids.length === 0) return [];
  const rows = await readRows<{ channel_id: number; name: string }>(
    ctx.work.db,
    Prisma.sql`
    SELECT channel_id, min(topic) AS name FROM unnest(${ids}::bigint[]) AS wanted(id) CROSS JOIN LATERAL (
      SELECT m.channel_id, m.topic FROM message m WHERE m.realm_id = ${ctx.organizationId} AND m.id = wanted.id OFFSET 0
    ) AS found GROUP BY channel_id, topic_key(topic)`,
  );
  const keys = rows.map(({ channel_id, name }) => ({ channelId: channel_id, name }));
  const topics = await findTopics(ctx, keys);
  return keys.flatMap(({ channelId }, i) => {
    const topic = topics[i];
    return topic == null ? [] : [{ ...topic, channelId }];
  });
}
