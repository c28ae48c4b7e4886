import { acrossReaders, forAllViewers } from '../../api/graphql/loading/context.ts';
import type { Reaction } from '../../generated/prisma/client.ts';
import type { ReactionGroup } from './groups.ts';
import { readReactionGroups, readReactionsOf } from './queries.ts';

/** Loads all reactions to a message by the message's id, oldest first. */
export const reactionsOf = forAllViewers<number, readonly Reaction[]>(readReactionsOf);

/**
 * Loads the reactions to a message by message id, in one group per emoji. The groups are in the order in which their emoji were
 * first used.
 */
export const reactionGroups = acrossReaders<number, readonly ReactionGroup[]>(async (wanted) => {
  const [first] = wanted;
  if (first === undefined) return [];
  const { work, organizationId } = first.ctx;
  const viewerIds = [...new Set(wanted.map(({ ctx }) => ctx.viewer.id))];
  const groupsOf = await readReactionGroups(work.db, organizationId, viewerIds, [
    ...new Set(wanted.map(({ key }) => key)),
  ]);
  return wanted.map(({ ctx, key }) => groupsOf(key, ctx.viewer.id));
});
