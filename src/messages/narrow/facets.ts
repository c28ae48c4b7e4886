import type { Ctx } from '../../access/context.ts';
import type { CompiledNarrow } from './narrow.ts';
import { type PageBounds, selectPage } from './narrow-select.ts';

/** Maximum number of senders and of channels in `Facets`. Those with fewer messages are omitted. */
export const MAX_FACETS = 20;

/** A sender or channel, with the number of its messages that match a narrow (message filter). */
export interface Facet {
  readonly id: number;
  readonly count: number;
}

/** Senders and channels of the messages that match a narrow: those with the most messages, most messages first. */
export interface Facets {
  readonly senders: readonly Facet[];
  readonly channels: readonly Facet[];
}

/** Counts the messages in a page of a narrow (message filter) by sender and by channel. Uses two queries. */
export async function readFacets(ctx: Ctx, narrow: CompiledNarrow, bounds: PageBounds): Promise<Facets> {
  const ids = await selectPage(ctx, narrow, bounds);
  const rows = await ctx.work.db.message.findMany({
    where: { organizationId: ctx.organizationId, id: { in: ids } },
    select: { senderId: true, channelId: true },
  });
  return {
    senders: mostFrequent(rows.map(({ senderId }) => senderId)),
    channels: mostFrequent(rows.flatMap(({ channelId }) => channelId ?? [])),
  };
}

/**
 * Returns the most frequent ids, at most `MAX_FACETS`, most frequent first. Of equally frequent ids, the lower one is first.
 */
function mostFrequent(ids: readonly number[]): readonly Facet[] {
  const counts = new Map<number, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  return [...counts]
    .map(([id, count]) => ({ id, count }))
    .toSorted((a, b) => b.count - a.count || a.id - b.id)
    .slice(0, MAX_FACETS);
}
