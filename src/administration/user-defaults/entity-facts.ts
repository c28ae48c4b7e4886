import type { EntityFacts } from '../../api/graphql/entity-facts.ts';
import { settingFacts } from '../../api/graphql/setting-fields.ts';
import type { KnownSetting } from '../../platform/setting.ts';
import { EDITABLE_USER_DEFAULT_NAMES } from './settings.ts';

const bySetting = settingFacts('UserSettingsDefaults', EDITABLE_USER_DEFAULT_NAMES);

/** What an event knows of the settings that new users begin with: the one that changed. */
export const factsAbout = ({ event }: { readonly event: { readonly property: string } }): EntityFacts<KnownSetting> =>
  bySetting(event.property);
