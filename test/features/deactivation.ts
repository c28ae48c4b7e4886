import type { FeatureTests } from '../helpers/feature.ts';

export const deactivation: FeatureTests = {
  rest: {
    'DELETE /users/{user_id}': ({ leaverId }) => [
      {
        slots: { user_id: leaverId },
        parameters: {
          actions: { delete_profile: true, delete_direct_messages: true },
          deactivation_notification_comment: 'Farewell',
        },
      },
    ],
    'POST /users/{user_id}/reactivate': ({ leaverId }) => [{ slots: { user_id: leaverId } }],
    'DELETE /users/me': () => [{ as: 'guest' }],
  },
  mutations: {
    deactivateUser: ({ leaverId }) => [
      {
        userId: leaverId,
        erase: { profile: true, publicChannelMessages: true, privateChannelMessages: true, directMessages: true },
        notificationComment: 'Farewell',
      },
    ],
    reactivateUser: ({ leaverId }) => [{ userId: leaverId }],
    deactivateOwnAccount: () => [{}],
  },
  callers: { deactivateOwnAccount: 'guest' },
};
