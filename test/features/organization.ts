import {
  EDITABLE_ORGANIZATION_SETTINGS,
  ORGANIZATION_GROUP_SETTING_NAMES,
  ORGANIZATION_GROUP_SETTINGS,
} from '../../src/access/organization-settings.ts';
import { toFieldName } from '../../src/api/graphql/schema/setting-fields.ts';
import { withEffect } from '../../src/platform/setting.ts';
import { fresh, graphqlInitial, graphqlPermissions, restInitial, restPermissions } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';
import { PNG } from '../helpers/pictures.ts';
import type { Names } from '../helpers/scene.ts';

/** Returns every permission of the organization as REST parameters. */
const permissionParameters = (names: Names) => {
  const [[, group] = [], [, set] = []] = restPermissions(names);
  const ofRoles = { can_access_all_users_group: names.everyoneGroupId, can_create_web_public_channel_group: group };
  return Object.entries({
    ...Object.fromEntries(ORGANIZATION_GROUP_SETTING_NAMES.map((name, i) => [name, i % 2 === 0 ? group : set])),
    ...ofRoles,
  });
};

/** Returns every permission of the organization as GraphQL fields. */
const permissionFields = (names: Names) => {
  const [[, group] = [], [, set] = []] = graphqlPermissions(names);
  const fields = Object.keys(withEffect(ORGANIZATION_GROUP_SETTINGS)).map((name) =>
    toFieldName(name.replace(/_group$/, '')),
  );
  const ofRoles = { canAccessAllUsers: { groupId: names.everyoneGroupId }, canCreateWebPublicChannel: group };
  return Object.entries({
    ...Object.fromEntries(fields.map((field, i) => [field, i % 2 === 0 ? group : set])),
    ...ofRoles,
  });
};

export const organization: FeatureTests = {
  rest: {
    'PATCH /realm': (names) => [
      {
        parameters: {
          ...restInitial(EDITABLE_ORGANIZATION_SETTINGS),
          ...{ name: fresh(), description: fresh(), current_password: 'not looked at' },
          ...{ message_retention_days: 30, audit_log_days: 30 },
        },
      },
      { parameters: { moderation_request_channel_id: names.moderationChannelId } },
      { parameters: { new_stream_announcements_stream_id: names.channelId } },
      { parameters: { signup_announcements_stream_id: names.channelId } },
      { parameters: { service_update_announcements_stream_id: names.channelId } },
      ...permissionParameters(names).flatMap(([name, value]) => [
        { parameters: { [name]: { new: value } } },
        { parameters: { [name]: { new: value, old: value } } },
      ]),
    ],
    'POST /realm/icon': () => [{ parameters: { file: PNG } }],
    'DELETE /realm/icon': () => [{}],
  },
  queries: {
    organization: () => [{}],
  },
  mutations: {
    setOrganizationIcon: () => [{ image: PNG }, { image: null }],
    updateOrganization: (names) => [
      {
        ...graphqlInitial(EDITABLE_ORGANIZATION_SETTINGS),
        name: fresh(),
        description: fresh(),
        messageRetentionDays: 30,
        auditLogDays: 30,
        currentPassword: 'not looked at',
      },
      { moderationRequestChannelId: names.moderationChannelId },
      ...permissionFields(names).flatMap(([permission, value]) => [
        { permissions: { [permission]: { new: value } } },
        { permissions: { [permission]: { new: value, old: value } } },
      ]),
    ],
  },
  nodes: ({ organizationId }) => ({ Organization: organizationId }),
};
