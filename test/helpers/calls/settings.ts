import { USER_SETTINGS } from '../../../src/access/user-settings.ts';
import { SETTINGS_OF_OTHERS } from '../../../src/administration/users/settings-of-others.ts';
import { OWNER_PASSWORD } from '../scene.ts';
import type { FeatureCalls } from './feature.ts';
import { fresh, freshAddress, graphqlInitial, restInitial } from './shared.ts';

export const settings: FeatureCalls = {
  rest: {
    'PATCH /settings': ({ userId, membersGroupId }) => [
      { parameters: { ...restInitial(USER_SETTINGS), full_name: fresh(), timezone: 'Europe/Kiev' } },
      { parameters: { email: freshAddress() } },
      { parameters: { old_password: OWNER_PASSWORD, new_password: OWNER_PASSWORD, keep_api_key: true } },
      {
        parameters: {
          enter_sends: true,
          target_users: { user_ids: [userId], group_ids: [membersGroupId], skip_if_already_edited: true },
        },
      },
    ],
  },
  queries: {
    ownSettings: () => [{}],
  },
  mutations: {
    updateSettings: () => [
      { ...graphqlInitial(USER_SETTINGS), fullName: fresh(), timezone: 'Europe/Kiev' },
      { email: `${fresh().replaceAll(' ', '.')}@new.example` },
      { oldPassword: OWNER_PASSWORD, newPassword: OWNER_PASSWORD, keepsApiKey: true },
    ],
    confirmEmailChange: () => [{ token: 'x' }],
    updateSettingsOf: ({ userId, membersGroupId }) => [
      {
        userIds: [userId],
        groupIds: [membersGroupId],
        skipsEdited: true,
        ...graphqlInitial(SETTINGS_OF_OTHERS),
        timezone: 'Europe/Kiev',
      },
    ],
  },
  refusals: { confirmEmailChange: 'The link was already used, has expired, or is incomplete.' },
  nodes: ({ ownerId }) => ({ UserSettings: ownerId }),
};
