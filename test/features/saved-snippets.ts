import { fresh, PAGE } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';
import { type Hoard, heldBy, removeFirst } from '../helpers/piles.ts';

const SNIPPETS = {
  fill: `INSERT INTO saved_snippet (realm_id, author_id, title, content)
    SELECT $1, $2, 't', repeat('x', $4::int) FROM generate_series(1, $3::int)`,
  free: ({ member }: Hoard) => removeFirst(member, '/saved_snippets', 'id'),
};

export const savedSnippets: FeatureTests = {
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
  piles: {
    saved_snippets: {
      ...SNIPPETS,
      fill: ({ sql }) => sql(SNIPPETS.fill, 1_000, 1),
      rest: ({ member }) => member.rest('POST', '/saved_snippets', { title: 't', content: 'x' }),
      graphql: () => ['createSavedSnippet', { title: 't', content: 'x' }],
      held: heldBy('saved_snippet', 'author_id = $1'),
    },
    saved_snippets_total_length: {
      ...SNIPPETS,
      fill: ({ sql }) => sql(SNIPPETS.fill, 50, 10_000),
      rest: ({ member }) => member.rest('POST', '/saved_snippets', { title: 't', content: 'x'.repeat(10_000) }),
      graphql: () => ['createSavedSnippet', { title: 't', content: 'x'.repeat(10_000) }],
      held: heldBy('saved_snippet', 'author_id = $1', 'sum(char_length(content))'),
    },
  },
  objects: {
    snippetId: async (owner, { text }) =>
      (await owner.ok('POST', '/saved_snippets', { title: text, content: text })).saved_snippet_id,
  },
  ownChanges: {
    'saved snippets': async (user) => {
      const snippet = { title: 'Hello', content: 'Hello **you**' };
      const { saved_snippet_id: id } = await user.ok('POST', '/saved_snippets', snippet);
      return {
        'a new one': () => user.ok('POST', '/saved_snippets', snippet),
        'one changed': () => user.ok('PATCH', `/saved_snippets/${id}`, { title: 'Hi' }),
        'one deleted': () => user.ok('DELETE', `/saved_snippets/${id}`),
      };
    },
  },
  lists: { saved_snippets: 'id' },
  rules: {
    'saved_snippets/add': (state, { saved_snippet }) => {
      state['saved_snippets'][saved_snippet.id] = saved_snippet;
    },
    'saved_snippets/update': (state, { saved_snippet }) => {
      state['saved_snippets'][saved_snippet.id] = saved_snippet;
    },
    'saved_snippets/remove': (state, { saved_snippet_id }) => {
      delete state['saved_snippets'][saved_snippet_id];
    },
  },
};

declare module '../helpers/scene.ts' {
  interface Names {
    readonly snippetId: number;
  }
}
