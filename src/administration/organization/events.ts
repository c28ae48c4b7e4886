import { z } from 'zod';
import { auditChanges } from '../../events/audit.ts';
import { defineEvent } from '../../events/define.ts';
import { documentEvent } from '../../events/wire.ts';
import type { ProjectedOrganization } from './event-projections.ts';
import { SERVER_GENERATION, SERVICE_FEATURE_LEVEL, SERVICE_MERGE_BASE, SERVICE_VERSION } from './feature-level.ts';

interface UpdatePayload {
  readonly data: Readonly<Record<string, unknown>>;
  /** Id of the organization. Absent in events of previous versions. */
  readonly realm_id?: number;
}

/** Fields that are derived from other fields or from identity providers. The audit log does not repeat them. */
const DERIVED: ReadonlySet<string> = new Set([
  ...['rendered_description', 'mandatory_topics', 'allow_edit_history', 'wildcard_mention_policy'],
  ...['create_public_stream_policy', 'create_private_stream_policy', 'create_web_public_stream_policy'],
  'authentication_methods',
]);

/**
 * Event with the changed values of the organization, by their field names in the response of `POST /register`, without the
 * prefix `realm_`. Recipients: all users of the organization.
 *
 * @param _before All values before the change, by the same names, for the audit log.
 */
export const organizationUpdated = defineEvent(
  'realm',
  'update_dict',
  (realm_id: number, data: UpdatePayload['data'], _before: UpdatePayload['data']): UpdatePayload => ({
    data,
    realm_id,
  }),
  {
    audit: (id, data, before) => {
      const own = Object.entries(data).filter(([name]) => !DERIVED.has(name));
      if (own.length === 0) return undefined;
      const changes = auditChanges(before, Object.fromEntries(own));
      return { action: 'organization_changed', objectType: 'organization', objectId: id, changes };
    },
    render: ({ data }) => ({ type: 'realm', op: 'update_dict', data, property: 'default' }),
    facts: ({ realm_id, data }): { readonly known: ProjectedOrganization | null } => ({
      known: realm_id === undefined ? null : { id: realm_id, data },
    }),
  },
);

/** Event that the service has started, with its version. Recipients: all users of the organization. */
export const restarted = defineEvent('restart', undefined, () => ({
  service_version: SERVICE_VERSION,
  service_merge_base: SERVICE_MERGE_BASE,
  service_feature_level: SERVICE_FEATURE_LEVEL,
  server_generation: SERVER_GENERATION,
}));

documentEvent(organizationUpdated, 'all users of the organization', {
  property: z.literal('default'),
  data: z
    .record(z.string(), z.unknown())
    .describe('Changed values, by the field names of registration without the prefix `realm_`.'),
});
documentEvent(restarted, 'all users of the organization', {
  service_version: z.string(),
  service_merge_base: z.string(),
  service_feature_level: z.int(),
  server_generation: z.int(),
});
