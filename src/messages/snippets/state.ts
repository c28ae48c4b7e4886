import type { StateGroup } from '../../api/state-group.ts';
import { toWire } from './wire.ts';

/** Initial state of event queues: all snippets of the user, oldest first. */
export const savedSnippetsState: StateGroup = {
  name: 'saved_snippets',
  async read({ viewer, db }) {
    const rows = await db.savedSnippet.findMany({
      where: { realmId: viewer.realm.id, authorId: viewer.id },
      orderBy: { id: 'asc' },
    });
    return { saved_snippets: rows.map(toWire) };
  },
};
