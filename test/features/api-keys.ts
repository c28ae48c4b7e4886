import type { FeatureTests } from '../helpers/feature.ts';

export const apiKeys: FeatureTests = {
  mutations: {
    createApiKey: ({ botId }) => [
      {
        ...{ name: 'Deployment', scopes: ['READ', 'WRITE'], expiresAt: '2030-01-01T00:00:00Z', botId },
        currentPassword: 'not looked at',
      },
    ],
    renameApiKey: ({ apiKeyId }) => [{ apiKeyId, name: 'Another name' }],
    revokeApiKey: ({ apiKeyId }) => [{ apiKeyId }],
  },
  nodes: ({ apiKeyId }) => ({ ApiKey: apiKeyId }),
  rules: { api_keys_changed: () => {} },
};
