import type { FeatureCalls } from './feature.ts';

export const channelArchive: FeatureCalls = {
  rest: {
    'DELETE /streams/{stream_id}': ({ channelId }) => [{ slots: { stream_id: channelId } }],
  },
  mutations: {
    archiveChannel: ({ channelId }) => [{ channelId }],
  },
};
