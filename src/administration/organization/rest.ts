import { z } from 'zod';
import {
  EDITABLE_ORGANIZATION_SETTINGS,
  type EditableOrganizationSettingName,
  ORGANIZATION_GROUP_SETTING_NAMES,
  ORGANIZATION_GROUP_SETTINGS,
  type OrganizationGroupSettingName,
} from '../../access/organization-settings.ts';
import { ORGANIZATION_PERMISSION_MEANINGS } from '../../access/permissions/meanings.ts';
import { groupSetting, groupSettingEdit } from '../../access/permissions/wire.ts';
import { endpoint } from '../../api/rest/endpoint.ts';
import { file, type Param, text } from '../../api/rest/params.ts';
import { permissionParams, settingParam } from '../../api/rest/setting-params.ts';
import { iconUrl } from '../../people/icon-url.ts';
import { phoneKindsOf } from '../../platform/push/phones.ts';
import { noEffect, type Setting } from '../../platform/setting.ts';
import { TOTAL_NAMES, wireNameOf } from '../../platform/totals.ts';
import { browserMethods, externalMethods } from '../identity-providers.ts';
import { CURRENT_PASSWORD, RELAXING } from '../sign-in/proof.ts';
import { setOrganizationIcon } from './icon.ts';
import { AUTHENTICATION_METHODS, readServerSettings } from './server-settings.ts';
import { updateOrganization } from './update.ts';

const method = z.object({
  name: z.string(),
  display_name: z.string(),
  display_icon: z.string().nullable(),
  login_url: z.string(),
  signup_url: z.string(),
});

export const getServerSettings = endpoint({
  method: 'GET',
  path: '/server_settings',
  auth: 'none',
  equivalents: ['serverSettings'],
  summary: 'Get server settings',
  description: 'Requires no credentials. The `realm_` fields are absent if the domain has no organization.',
  params: {},
  reply: {
    authentication_methods: z.record(z.string(), z.boolean()),
    external_authentication_methods: z.array(method),
    service_feature_level: z.int(),
    service_version: z.string(),
    service_merge_base: z.string(),
    push_notifications_enabled: z.boolean(),
    is_incompatible: z.boolean(),
    email_auth_enabled: z.boolean(),
    require_email_format_usernames: z.boolean(),
    ...Object.fromEntries(TOTAL_NAMES.map((name) => [wireNameOf(name), z.int()])),
    realm_uri: z.string().optional(),
    realm_url: z.string().optional(),
    realm_name: z.string().optional(),
    realm_icon: z.string().optional(),
    realm_description: z.string().optional(),
    realm_web_public_access_enabled: z.boolean().optional(),
  },
  async handle(request) {
    const { organization, ...server } = await readServerSettings(request);
    const external = await externalMethods(request.work.db, request.organization);
    return {
      authentication_methods: { ...AUTHENTICATION_METHODS, 'openid connect': external.length > 0 },
      external_authentication_methods: [...external, ...browserMethods(request.organization)].map((one) => ({
        ...{ name: one.name, display_name: one.displayName, display_icon: one.displayIcon },
        ...{ login_url: one.loginUrl, signup_url: one.signupUrl },
      })),
      service_feature_level: server.featureLevel,
      service_version: server.version,
      service_merge_base: server.mergeBase,
      push_notifications_enabled: phoneKindsOf(request.app.config).length > 0,
      is_incompatible: server.isIncompatible,
      email_auth_enabled: AUTHENTICATION_METHODS.email,
      require_email_format_usernames: true,
      ...server.totals,
      ...(organization !== null && {
        realm_uri: organization.url,
        realm_url: organization.url,
        realm_name: organization.name,
        realm_icon: organization.icon,
        realm_description: organization.description,
        realm_web_public_access_enabled: organization.webPublicAccessEnabled,
      }),
    };
  },
});

/**
 * Returns the response schema of a setting. In the response, a changed text is returned as "updated", any other changed setting
 * with its new value.
 */
const settingReply = ({ type, initial }: Setting<unknown>) =>
  (typeof initial === 'string' ? z.literal('updated') : type).optional();

const namesOf = Object.keys(EDITABLE_ORGANIZATION_SETTINGS) as EditableOrganizationSettingName[];

const settingParams = Object.fromEntries(
  namesOf.map((name) => [name, settingParam(EDITABLE_ORGANIZATION_SETTINGS[name])]),
) as Record<EditableOrganizationSettingName, Param<unknown, 'optional'>>;

const permissionMeanings = Object.fromEntries(
  ORGANIZATION_GROUP_SETTING_NAMES.map((name) => {
    const { hasNoEffect }: { readonly hasNoEffect?: string } = ORGANIZATION_GROUP_SETTINGS[name];
    const meaning = ORGANIZATION_PERMISSION_MEANINGS[name];
    return [name, hasNoEffect === undefined ? meaning : `${meaning.slice(0, -1)}; ${noEffect(hasNoEffect)}.`];
  }),
) as typeof ORGANIZATION_PERMISSION_MEANINGS;

/** Returns the entries of `values` whose names are in `names`, without undefined values. */
function pick<N extends string, V>(names: readonly N[], values: Partial<Record<N, V>>): Partial<Record<N, V>> {
  const given = names.map((name) => [name, values[name]] as const).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as Partial<Record<N, V>>;
}

export const patchOrganization = endpoint({
  method: 'PATCH',
  path: '/realm',
  auth: 'basic',
  equivalents: ['updateOrganization'],
  scope: 'administration',
  summary: 'Update the organization',
  description: 'The response contains the changed fields: the new value, or "updated" for a text.',
  permission:
    'administrators; only owners can change which users can join, how long messages are kept, and some permissions',
  params: {
    name: text(z.string(), {
      description: 'Name of the organization, at most 40 characters.',
      example: 'Analytical Engines',
    }).optional(),
    description: text(z.string(), {
      description: 'Description of the organization, in Markdown, at most 1,000 characters.',
    }).optional(),
    ...settingParams,
    ...permissionParams(permissionMeanings, groupSettingEdit),
    current_password: text(z.string(), { description: `${RELAXING} ${CURRENT_PASSWORD}` }).optional(),
  },
  reply: {
    name: z.literal('updated').optional(),
    description: z.literal('updated').optional(),
    ...Object.fromEntries(namesOf.map((name) => [name, settingReply(EDITABLE_ORGANIZATION_SETTINGS[name])])),
    ...Object.fromEntries(ORGANIZATION_GROUP_SETTING_NAMES.map((name) => [name, groupSetting.optional()])),
  },
  async handle(ctx, { name, description, current_password: currentPassword, ...values }) {
    const permissions = pick<OrganizationGroupSettingName, z.output<typeof groupSettingEdit>>(
      ORGANIZATION_GROUP_SETTING_NAMES,
      values,
    );
    const edits = Object.entries(permissions).map(([name, edit]) => [name, { value: edit.new, expected: edit.old }]);
    const changed = await updateOrganization(ctx, {
      name,
      description,
      settings: pick<EditableOrganizationSettingName, unknown>(namesOf, values),
      permissions: Object.fromEntries(edits),
      currentPassword,
    });
    const shown = Object.entries(changed).map(([name, value]) => [name, typeof value === 'string' ? 'updated' : value]);
    return Object.fromEntries(shown);
  },
});

export const postIcon = endpoint({
  method: 'POST',
  path: '/realm/icon',
  auth: 'basic',
  equivalents: ['setOrganizationIcon'],
  scope: 'administration',
  summary: 'Set the icon of the organization',
  permission: 'administrators',
  params: { file: file({ description: 'PNG, JPEG, WebP or GIF, at most 5 MiB.' }) },
  reply: { icon_url: z.string() },
  async handle(ctx, { file }) {
    return { icon_url: iconUrl(await setOrganizationIcon(ctx, file)) };
  },
});

export const deleteIcon = endpoint({
  method: 'DELETE',
  path: '/realm/icon',
  auth: 'basic',
  equivalents: ['setOrganizationIcon'],
  scope: 'administration',
  summary: 'Remove the icon of the organization',
  description: 'A generated icon is shown instead.',
  permission: 'administrators',
  params: {},
  reply: { icon_url: z.string() },
  async handle(ctx) {
    return { icon_url: iconUrl(await setOrganizationIcon(ctx, null)) };
  },
});
