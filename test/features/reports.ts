import type { FeatureTests } from '../helpers/feature.ts';

export const reports: FeatureTests = {
  rest: {
    'POST /messages/{message_id}/report': ({ messageId }) => [
      { slots: { message_id: messageId }, parameters: { report_type: 'other', description: 'for the test' } },
    ],
  },
  mutations: {
    reportMessage: ({ messageId }) => [{ messageId, reportType: 'OTHER', description: 'for the test' }],
  },
};
