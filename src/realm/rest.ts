import { z } from 'zod';
import { endpoint } from '../rest/endpoint.ts';
import { AUTHENTICATION_METHODS, readServerSettings } from './server-settings.ts';

const method = z.object({
  name: z.string(),
  display_name: z.string(),
  display_icon: z.string().nullable(),
  login_url: z.string(),
  signup_url: z.string(),
});

/** 4.22 */
export const getServerSettings = endpoint({
  method: 'GET',
  path: '/server_settings',
  auth: 'none',
  section: '4.22',
  summary: 'Get server settings',
  description: 'Needs no credentials. The `realm_` fields are absent at a domain without an organization.',
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
    realm_uri: z.string().optional(),
    realm_url: z.string().optional(),
    realm_name: z.string().optional(),
    realm_icon: z.string().optional(),
    realm_description: z.string().optional(),
    realm_web_public_access_enabled: z.boolean().optional(),
  },
  async handle(request) {
    const { realm, ...server } = await readServerSettings(request);
    return {
      authentication_methods: AUTHENTICATION_METHODS,
      external_authentication_methods: [],
      service_feature_level: server.featureLevel,
      service_version: server.version,
      service_merge_base: server.mergeBase,
      push_notifications_enabled: false,
      is_incompatible: server.isIncompatible,
      email_auth_enabled: AUTHENTICATION_METHODS.email,
      require_email_format_usernames: true,
      ...(realm !== null && {
        realm_uri: realm.url,
        realm_url: realm.url,
        realm_name: realm.name,
        realm_icon: realm.icon,
        realm_description: realm.description,
        realm_web_public_access_enabled: realm.webPublicAccessEnabled,
      }),
    };
  },
});
