import { fresh, freshAddress, PAGE } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';
import { globalId } from '../helpers/global-ids.ts';
import { OWNER_PASSWORD } from '../helpers/server.ts';

export const users: FeatureTests = {
  rest: {
    'GET /users': ({ userId }) => [
      { parameters: { user_ids: [userId], client_gravatar: false, include_custom_profile_fields: true } },
    ],
    'GET /users/me': () => [{}],
    'GET /users/{user_id}': ({ userId }) => [
      { slots: { user_id: userId }, parameters: { client_gravatar: false, include_custom_profile_fields: true } },
    ],
    'GET /users/{email}': ({ email }) => [
      { slots: { email }, parameters: { client_gravatar: false, include_custom_profile_fields: true } },
    ],
    'POST /users': () => {
      const name = fresh();
      const email = `${name.replace(' ', '.')}@new.example`;
      return [{ parameters: { email, password: OWNER_PASSWORD, full_name: name, current_password: 'not looked at' } }];
    },
    'PATCH /users/{user_id}': ({ userId, botId, profileFieldId: id }) => [
      { slots: { user_id: botId }, parameters: { new_email: freshAddress(), current_password: 'not looked at' } },
      { slots: { user_id: userId }, parameters: { full_name: fresh(), role: 300 } },
      { slots: { user_id: userId }, parameters: { profile_data: [{ id, value: 'argo' }] } },
    ],
    'PATCH /users/{email}': ({ email, profileFieldId: id }) => [
      { slots: { email }, parameters: { full_name: fresh(), role: 300 } },
      {
        slots: { email },
        parameters: { profile_data: [{ id, value: 'argo' }], new_email: email, current_password: 'not looked at' },
      },
    ],
  },
  queries: {
    user: ({ userId, email }) => [{ by: { id: globalId('User', userId) } }, { by: { email } }],
    users: () => [
      { ...PAGE, role: 'MEMBER', isBot: false, isActive: true },
      { orderBy: { field: 'FULL_NAME', direction: 'DESC' }, nameContains: 'e' },
      { ...PAGE, hasSecondFactor: false },
    ],
    viewer: () => [{}],
  },
  mutations: {
    createUser: () => {
      const fullName = fresh();
      const currentPassword = 'not looked at';
      return [
        { email: `${fullName.replaceAll(' ', '.')}@new.example`, password: OWNER_PASSWORD, fullName, currentPassword },
      ];
    },
    updateUser: ({ userId, botId, profileFieldId }) => [
      { userId, fullName: fresh(), role: 'MODERATOR' },
      { userId: botId, newEmail: `${fresh().replaceAll(' ', '.')}@new.example`, currentPassword: 'x' },
      { userId, profileData: [{ fieldId: profileFieldId, content: { text: 'argo' } }] },
      { userId, profileData: [{ fieldId: profileFieldId, content: { userIds: [] } }] },
    ],
  },
  nodes: ({ userId }) => ({ User: userId }),
};
