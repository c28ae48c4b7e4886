import { REALM_SETTINGS } from '../../access/realm-settings.ts';
import { EventProjection, type ProjectedFields } from '../../api/graphql/schema/event-projections.ts';
import { settingFieldName } from '../../api/graphql/schema/setting-fields.ts';
import { type Setting, withEffect } from '../../platform/setting.ts';

/** Changed values of an organization, by the names of registration's fields without `realm_`. */
export interface ProjectedOrganization {
  readonly id: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * Names of the values in event projections. Not all users can see permissions and channels, so these are fetched for each
 * viewer on delivery.
 */
const SHOWN = new Set<string>([
  ...['name', 'description', 'rendered_description'],
  ...Object.entries<Setting<unknown>>(withEffect(REALM_SETTINGS)).flatMap(([name, { names }]) => (names ? [] : [name])),
]);

function knowing(names: readonly string[]): EventProjection<ProjectedOrganization> {
  const known = names.map((name) => [settingFieldName(name), ({ data }: ProjectedOrganization) => data[name]] as const);
  const fields: ProjectedFields<ProjectedOrganization> = Object.fromEntries(known);
  return new EventProjection<ProjectedOrganization>('Organization', { idOf: ({ id }) => id }, fields);
}

const nothing = knowing([]);

/** Event projections, by the names of the values that changed together. */
const byNames = new Map<string, EventProjection<ProjectedOrganization>>([['', nothing]]);

/**
 * Maximum number of projections kept. Administrators can change any combination of values, so there is no natural limit.
 */
const MAX_KEPT = 1000;

/**
 * Returns the event projection of the organization with the changed values. The projection has no values if the event does not
 * contain the organization's id.
 */
export function projectionOf({
  facts: { known },
}: {
  readonly facts: { readonly known: ProjectedOrganization | null };
}) {
  const names = Object.keys(known?.data ?? {}).filter((name) => SHOWN.has(name));
  const key = names.sort().join();
  const facts = byNames.get(key) ?? (byNames.size < MAX_KEPT ? knowing(names) : nothing);
  if (facts !== nothing) byNames.set(key, facts);
  return facts;
}
