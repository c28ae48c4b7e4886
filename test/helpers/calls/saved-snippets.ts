import type { FeatureCalls } from './feature.ts';
import { fresh, PAGE } from './shared.ts';

export const savedSnippets: FeatureCalls = {
  rest: {
    'GET /saved_snippets': () => [{}],
    'POST /saved_snippets': () => [{ parameters: { title: fresh(), content: 'new' } }],
    'PATCH /saved_snippets/{saved_snippet_id}': ({ snippetId }) => [
      { slots: { saved_snippet_id: snippetId }, parameters: { title: fresh(), content: fresh() } },
    ],
    'DELETE /saved_snippets/{saved_snippet_id}': ({ snippetId }) => [{ slots: { saved_snippet_id: snippetId } }],
  },
  queries: {
    savedSnippets: () => [{ ...PAGE, orderBy: { field: 'TITLE', direction: 'DESC' } }],
  },
  mutations: {
    createSavedSnippet: () => [{ title: fresh(), content: 'new' }],
    updateSavedSnippet: ({ snippetId }) => [{ savedSnippetId: snippetId, title: fresh(), content: fresh() }],
    deleteSavedSnippet: ({ snippetId }) => [{ savedSnippetId: snippetId }],
  },
  nodes: ({ snippetId }) => ({ SavedSnippet: snippetId }),
};
