import { REALM_SETTINGS } from '../../access/realm-settings.ts';
import { EntityFacts, type KnownFields } from '../../api/graphql/entity-facts.ts';
import { settingFieldName } from '../../api/graphql/setting-fields.ts';
import type { Setting } from '../../platform/setting.ts';

/** What changed of an organisation, by the names of registration's fields without `realm_`. */
export interface KnownOrganization {
  readonly id: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** What an organisation shows of what may change: permissions and channels are not for everybody to see, and are read. */
const SHOWN = new Set<string>([
  ...['name', 'description', 'rendered_description'],
  ...Object.entries<Setting<unknown>>(REALM_SETTINGS).flatMap(([name, { names }]) => (names ? [] : [name])),
]);

function knowing(names: readonly string[]): EntityFacts<KnownOrganization> {
  const known = names.map((name) => [settingFieldName(name), ({ data }: KnownOrganization) => data[name]] as const);
  const fields: KnownFields<KnownOrganization> = Object.fromEntries(known);
  return new EntityFacts<KnownOrganization>('Organization', { idOf: ({ id }) => id }, fields);
}

const nothing = knowing([]);

/** By what changed at once. */
const byNames = new Map<string, EntityFacts<KnownOrganization>>([['', nothing]]);

/** How many are kept: administrators choose what they change at once, and there is no end to what they can choose. */
const MAX_KEPT = 1000;

/** What an event knows of the organisation: what changed of it; nothing, where it does not say which it is. */
export function factsAbout({ facts: { known } }: { readonly facts: { readonly known: KnownOrganization | null } }) {
  const names = Object.keys(known?.data ?? {}).filter((name) => SHOWN.has(name));
  const key = names.sort().join();
  const facts = byNames.get(key) ?? (byNames.size < MAX_KEPT ? knowing(names) : nothing);
  if (facts !== nothing) byNames.set(key, facts);
  return facts;
}
