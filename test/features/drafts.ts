import { PAGE } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';
import { type Hoard, heldBy, removeFirst } from '../helpers/piles.ts';
import type { Names } from '../helpers/scene.ts';
import { toTopic } from '../helpers/talk.ts';

const restDrafts = ({ channelId, userId }: Names) => [
  { type: 'stream', to: [channelId], topic: 'a topic', content: 'to a channel', timestamp: 1 },
  { type: 'private', to: [userId], topic: '', content: 'to people' },
];

const graphqlDrafts = ({ channelId, channelName, userId }: Names) => [
  { to: toTopic(channelId, 'a topic'), content: 'to a channel', lastEditedAt: '2026-01-01T00:00:00Z' },
  { to: toTopic(channelName, 'a topic'), content: 'to a channel by name' },
  { to: { direct: [userId] }, content: 'to people' },
];

const draftOf = (content: string) => ({ type: '', to: [], topic: '', content });
const DRAFTS = {
  rest: ({ member }: Hoard, content: string) => member.rest('POST', '/drafts', { drafts: [draftOf(content)] }),
  graphql: (content: string) => ['createDrafts', { drafts: [{ content }] }] as const,
  fill: `INSERT INTO draft (realm_id, author_id, type, "to", topic, content, last_edited_at)
    SELECT $1, $2, '', '{}', '', repeat('x', $4::int), now() FROM generate_series(1, $3::int)`,
  free: ({ member }: Hoard) => removeFirst(member, '/drafts', 'id'),
};

export const drafts: FeatureTests = {
  rest: {
    'GET /drafts': () => [{}],
    'POST /drafts': (names) => restDrafts(names).map((draft) => ({ parameters: { drafts: [draft] } })),
    'PATCH /drafts/{draft_id}': (names) =>
      restDrafts(names).map((draft) => ({ slots: { draft_id: names.draftId }, parameters: { draft } })),
    'DELETE /drafts/{draft_id}': ({ draftId }) => [{ slots: { draft_id: draftId } }],
  },
  queries: {
    drafts: () => [{ ...PAGE, orderBy: { field: 'ID', direction: 'ASC' } }],
  },
  mutations: {
    createDrafts: (names) => graphqlDrafts(names).map((draft) => ({ drafts: [draft] })),
    updateDraft: (names) => graphqlDrafts(names).map((draft) => ({ draftId: names.draftId, draft })),
    deleteDraft: ({ draftId }) => [{ draftId }],
  },
  nodes: ({ draftId }) => ({ Draft: draftId }),
  piles: {
    drafts: {
      ...DRAFTS,
      fill: ({ sql }) => sql(DRAFTS.fill, 1_000, 1),
      rest: (hoard) => DRAFTS.rest(hoard, 'x'),
      graphql: () => DRAFTS.graphql('x'),
      held: heldBy('draft', 'author_id = $1'),
    },
    drafts_total_length: {
      ...DRAFTS,
      fill: ({ sql }) => sql(DRAFTS.fill, 50, 10_000),
      rest: (hoard) => DRAFTS.rest(hoard, 'x'.repeat(10_000)),
      graphql: () => DRAFTS.graphql('x'.repeat(10_000)),
      held: heldBy('draft', 'author_id = $1', 'sum(char_length(content))'),
    },
  },
  objects: {
    draftId: async (owner, { channelId, topic, text }) => {
      const draft = { type: 'stream', to: [channelId], topic, content: text };
      return (await owner.ok('POST', '/drafts', { drafts: [draft] })).ids[0];
    },
  },
  lists: { drafts: 'id' },
  rules: {
    'drafts/add': (state, { drafts }) => {
      for (const draft of drafts) state['drafts'][draft.id] = draft;
    },
    'drafts/update': (state, { draft }) => {
      state['drafts'][draft.id] = draft;
    },
    'drafts/remove': (state, { draft_id }) => {
      delete state['drafts'][draft_id];
    },
  },
};

declare module '../helpers/scene.ts' {
  interface Names {
    readonly draftId: number;
  }
}
