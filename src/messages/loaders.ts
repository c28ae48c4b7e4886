import DataLoader from 'dataloader';
import { signedIn } from '../access/context.ts';
import { perOperation } from '../api/graphql/context.ts';
import { readFlags } from './user-flags.ts';
import type { UserFlags } from './wire.ts';

const NONE: UserFlags = {};

/** What the viewer has with a message, by its id; none with one that is gone meanwhile. */
export const ownFlags = perOperation(
  (ctx) =>
    new DataLoader<number, UserFlags>(async (ids) => {
      const { app, viewer } = signedIn(ctx);
      const flags = await readFlags(app.db, viewer, ids);
      return ids.map((id) => flags.get(id) ?? NONE);
    }),
);
