import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import { tells } from '../../events/wire.ts';
import type { KnownOrganization } from './entity-facts.ts';
import { SERVER_GENERATION, SERVICE_FEATURE_LEVEL, SERVICE_MERGE_BASE, SERVICE_VERSION } from './feature-level.ts';

interface UpdatePayload {
  readonly data: Readonly<Record<string, unknown>>;
  /** Which organisation; absent in events logged before they told it. */
  readonly realm_id?: number;
}

/** To everyone in the organisation: what changed of it, by the names of registration's fields without `realm_`. */
export const realmUpdated = defineEvent(
  'realm',
  'update_dict',
  (realm_id: number, data: UpdatePayload['data']): UpdatePayload => ({ data, realm_id }),
  {
    render: ({ data }) => ({ type: 'realm', op: 'update_dict', data, property: 'default' }),
    facts: ({ realm_id, data }): { readonly known: KnownOrganization | null } => ({
      known: realm_id === undefined ? null : { id: realm_id, data },
    }),
  },
);

/** To everyone in the organisation: the service has started, and is what it says. */
export const restarted = defineEvent('restart', undefined, () => ({
  service_version: SERVICE_VERSION,
  service_merge_base: SERVICE_MERGE_BASE,
  service_feature_level: SERVICE_FEATURE_LEVEL,
  server_generation: SERVER_GENERATION,
}));

tells(realmUpdated, 'everyone', {
  property: z.literal('default'),
  data: z
    .record(z.string(), z.unknown())
    .describe("What changed, by the names of registration's fields without `realm_`."),
});
tells(restarted, 'everyone', {
  service_version: z.string(),
  service_merge_base: z.string(),
  service_feature_level: z.int(),
  server_generation: z.int(),
});
