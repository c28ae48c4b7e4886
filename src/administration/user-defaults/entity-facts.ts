import { EntityFacts } from '../../api/graphql/entity-facts.ts';
import { settingFieldName } from '../../api/graphql/setting-fields.ts';
import type { KnownDefault } from './events.ts';
import { EDITABLE_USER_DEFAULT_NAMES } from './settings.ts';

const identity = { idOf: ({ realmId }: KnownDefault) => realmId };

const bySetting = new Map<string, EntityFacts<KnownDefault>>(
  EDITABLE_USER_DEFAULT_NAMES.map((name) => [
    name,
    new EntityFacts('UserSettingsDefaults', identity, { [settingFieldName(name)]: ({ value }) => value }),
  ]),
);
const nothing = new EntityFacts<KnownDefault>('UserSettingsDefaults', identity, {});

/** What an event knows of the settings that new users begin with: the one that changed. */
export const factsAbout = ({ event }: { readonly event: { readonly property: string } }): EntityFacts<KnownDefault> =>
  bySetting.get(event.property) ?? nothing;
