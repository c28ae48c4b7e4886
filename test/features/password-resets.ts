import type { FeatureTests } from '../helpers/feature.ts';

const NO_LINK = 'The link was already used, was replaced by a newer one, has expired, or is incomplete.';

export const passwordResets: FeatureTests = {
  mutations: {
    requestPasswordReset: ({ email }) => [{ email }],
    resetPassword: () => [{ token: 'none', newPassword: 'a new good password' }],
    sendPasswordReset: ({ userId }) => [{ userId }],
  },
  refusals: { resetPassword: NO_LINK },
};
