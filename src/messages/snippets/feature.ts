import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import type { StateGroup } from '../../api/state-group.ts';
import { deleteSavedSnippetEndpoint, getSavedSnippets, patchSavedSnippet, postSavedSnippet } from './rest.ts';
import { toWire } from './wire.ts';

/** Initial state of event queues: all snippets of the user, oldest first. */
const savedSnippetsState: StateGroup = {
  name: 'saved_snippets',
  async read({ viewer, db }) {
    const rows = await db.savedSnippet.findMany({
      where: { organizationId: viewer.organization.id, authorId: viewer.id },
      orderBy: { id: 'asc' },
    });
    return { saved_snippets: rows.map(toWire) };
  },
};

export const snippets: Feature = {
  endpoints: [getSavedSnippets, postSavedSnippet, patchSavedSnippet, deleteSavedSnippetEndpoint],
  state: [savedSnippetsState],
};
