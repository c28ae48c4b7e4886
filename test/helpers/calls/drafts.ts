import type { Names } from '../scene.ts';
import { toTopic } from '../talk.ts';
import type { FeatureCalls } from './feature.ts';
import { PAGE } from './shared.ts';

const restDrafts = ({ channelId, userId }: Names) => [
  { type: 'stream', to: [channelId], topic: 'a topic', content: 'to a channel', timestamp: 1 },
  { type: 'private', to: [userId], topic: '', content: 'to people' },
];

const graphqlDrafts = ({ channelId, channelName, userId }: Names) => [
  { to: toTopic(channelId, 'a topic'), content: 'to a channel', lastEditedAt: '2026-01-01T00:00:00Z' },
  { to: toTopic(channelName, 'a topic'), content: 'to a channel by name' },
  { to: { direct: [userId] }, content: 'to people' },
];

export const drafts: FeatureCalls = {
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
};
