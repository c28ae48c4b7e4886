import { acrossReaders, type Wanted } from '../api/graphql/context.ts';
import { type PlacedMessage, readableByEach } from './access.ts';
import { readFlagsOfEach } from './user-flags.ts';
import type { UserFlags } from './wire.ts';

const NONE: UserFlags = {};

/** What the viewer has with a message, by its id; none with one that is gone meanwhile. */
export const ownFlags = acrossReaders<number, UserFlags>(async (wanted) => {
  const [first] = wanted;
  if (first === undefined) return [];
  const { app, realmId } = first.ctx;
  const flags = await readFlagsOfEach(app.db, realmId, viewerIdsIn(wanted), keysIn(wanted));
  return wanted.map(({ ctx, key }) => flags.get(ctx.viewer.id)?.get(key) ?? NONE);
});

/** Messages, each for one viewer, who may read it; null where they may not. */
export async function readableFor(wanted: readonly Wanted<number>[]): Promise<readonly (PlacedMessage | null)[]> {
  const [first] = wanted;
  if (first === undefined) return [];
  const readers = new Map(wanted.map(({ ctx: { viewer } }) => [viewer.id, viewer]));
  const readable = await readableByEach(first.ctx.app, [...readers.values()], keysIn(wanted));
  return wanted.map(({ ctx, key }) => readable.get(ctx.viewer.id)?.get(key) ?? null);
}

const viewerIdsIn = (wanted: readonly Wanted<number>[]) => [...new Set(wanted.map(({ ctx }) => ctx.viewer.id))];
const keysIn = (wanted: readonly Wanted<number>[]) => [...new Set(wanted.map(({ key }) => key))];
