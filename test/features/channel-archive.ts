import type { FeatureTests } from '../helpers/feature.ts';

export const channelArchive: FeatureTests = {
  rest: {
    'DELETE /streams/{stream_id}': ({ channelId }) => [{ slots: { stream_id: channelId } }],
  },
  mutations: {
    archiveChannel: ({ channelId }) => [{ channelId }],
  },
};
