import { acrossReaders, forEverybody } from '../../api/graphql/context.ts';
import type { Reaction } from '../../generated/prisma/client.ts';
import type { ReactionGroup } from './groups.ts';
import { readReactionGroups, readReactionsOf } from './queries.ts';

/** All that is on a message, by its id, the oldest first. */
export const reactionsOf = forEverybody<number, readonly Reaction[]>(readReactionsOf);

/** What is on a message, by its id, the emoji that came first before the others. */
export const reactionGroups = acrossReaders<number, readonly ReactionGroup[]>(async (wanted) => {
  const [first] = wanted;
  if (first === undefined) return [];
  const { app, realmId } = first.ctx;
  const viewerIds = [...new Set(wanted.map(({ ctx }) => ctx.viewer.id))];
  const groupsOf = await readReactionGroups(app.db, realmId, viewerIds, [...new Set(wanted.map(({ key }) => key))]);
  return wanted.map(({ ctx, key }) => groupsOf(key, ctx.viewer.id));
});
