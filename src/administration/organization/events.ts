import { defineEvent } from '../../events/define.ts';
import { SERVER_GENERATION, SERVICE_FEATURE_LEVEL, SERVICE_MERGE_BASE, SERVICE_VERSION } from './feature-level.ts';

/** To everyone in the organisation: what changed of it, by the names of registration's fields without `realm_`. */
export const realmUpdated = defineEvent('realm', 'update_dict', (data: Readonly<Record<string, unknown>>) => ({
  property: 'default',
  data,
}));

/** To everyone in the organisation: the service has started, and is what it says. */
export const restarted = defineEvent('restart', undefined, () => ({
  service_version: SERVICE_VERSION,
  service_merge_base: SERVICE_MERGE_BASE,
  service_feature_level: SERVICE_FEATURE_LEVEL,
  server_generation: SERVER_GENERATION,
}));
