import { USER_SETTINGS } from '../../src/access/user-settings.ts';
import { FORMER_INPUTS } from '../../src/administration/users/former-inputs.ts';
import { SETTINGS_OF_OTHERS } from '../../src/administration/users/settings-of-others.ts';
import { fresh, freshAddress, graphqlInitial, restInitial } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';
import { OWNER_PASSWORD } from '../helpers/server.ts';

export const settings: FeatureTests = {
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
      { settings: { ...graphqlInitial(USER_SETTINGS), timezone: 'Europe/Kiev' }, fullName: fresh() },
      { ...graphqlInitial(FORMER_INPUTS), timezone: 'Europe/Kiev', sendPrivateTypingNotifications: true },
      { email: `${fresh().replaceAll(' ', '.')}@new.example` },
      { oldPassword: OWNER_PASSWORD, newPassword: OWNER_PASSWORD, keepsApiKey: true },
    ],
    confirmEmailChange: () => [{ token: 'x' }],
    updateSettingsOf: ({ userId, membersGroupId }) => [
      {
        userIds: [userId],
        userGroupIds: [membersGroupId],
        skipsEdited: true,
        settings: { ...graphqlInitial(SETTINGS_OF_OTHERS), timezone: 'Europe/Kiev' },
      },
    ],
  },
  refusals: { confirmEmailChange: 'The link was already used, has expired, or is incomplete.' },
  nodes: ({ ownerId }) => ({ UserSettings: ownerId }),
};
