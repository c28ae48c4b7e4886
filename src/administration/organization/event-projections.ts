import { ORGANIZATION_SETTINGS } from '../../access/organization-settings.ts';
import { EventProjection, type ProjectedFields } from '../../api/graphql/schema/event-projections.ts';
import { settingFieldName } from '../../api/graphql/schema/setting-fields.ts';
import { type Setting, withEffect } from '../../platform/setting.ts';

/**
 * Changed values of an organization in an event, by their field names in the response of `POST /register`, without the prefix
 * `realm_`.
 */
export interface ProjectedOrganization {
  readonly id: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * Names of the values of the organization that an event projection (the fields that an event alone provides) can contain.
 * Permissions and channels are excluded: they refer to objects that some users cannot see, so they are fetched for each viewer
 * on delivery.
 */
const SHOWN = new Set<string>([
  ...['name', 'description', 'rendered_description', 'icon_url'],
  ...Object.entries<Setting<unknown>>(withEffect(ORGANIZATION_SETTINGS)).flatMap(([name, { names }]) =>
    names ? [] : [name],
  ),
]);

function projectionWith(names: readonly string[]): EventProjection<ProjectedOrganization> {
  const known = names.map((name) => [settingFieldName(name), ({ data }: ProjectedOrganization) => data[name]] as const);
  const fields: ProjectedFields<ProjectedOrganization> = Object.fromEntries(known);
  return new EventProjection<ProjectedOrganization>('Organization', { idOf: ({ id }) => id }, fields);
}

const nothing = projectionWith([]);

/** Event projections of the organization. The key is the sorted list of the names of the changed values, joined by commas. */
const byNames = new Map<string, EventProjection<ProjectedOrganization>>([['', nothing]]);

/**
 * Maximum number of projections in `byNames`. Administrators can change any combination of values in one request. Events with
 * further combinations use `nothing`, so their values are read from the database.
 */
const MAX_KEPT = 1000;

/**
 * Returns the event projection of the organization: its id and the changed values in `SHOWN`. It has no values if the event
 * does not contain the organization's id.
 */
export function projectionOf({
  facts: { known },
}: {
  readonly facts: { readonly known: ProjectedOrganization | null };
}) {
  const names = Object.keys(known?.data ?? {}).filter((name) => SHOWN.has(name));
  const key = names.sort().join();
  const facts = byNames.get(key) ?? (byNames.size < MAX_KEPT ? projectionWith(names) : nothing);
  if (facts !== nothing) byNames.set(key, facts);
  return facts;
}
