import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import { documentEvent } from '../../events/wire.ts';
import type { ProjectedSetting, SettingValue } from '../../platform/setting.ts';
import type { UserDefaultName } from './settings.ts';

interface Payload {
  readonly property: UserDefaultName;
  readonly value: SettingValue;
  /** Id of the organization. Absent in events of previous versions. */
  readonly realm_id?: number;
}

/** Event that a default setting of new users changed. Recipients: all users of the organization. */
export const userDefaultUpdated = defineEvent(
  'realm_user_settings_defaults',
  'update',
  (realm_id: number, property: UserDefaultName, value: SettingValue, _old: SettingValue): Payload => ({
    ...{ property, value },
    realm_id,
  }),
  {
    audit: (id, property, value, old) => ({
      ...{ action: 'user_defaults_changed', objectType: 'organization', objectId: id },
      changes: { [property]: { old, new: value } },
    }),
    render: ({ property, value }) => ({ type: 'realm_user_settings_defaults', op: 'update', property, value }),
    facts: ({ realm_id, property, value }): { readonly known: ProjectedSetting | null } => ({
      known: realm_id === undefined ? null : { id: realm_id, property, value },
    }),
  },
);

documentEvent(userDefaultUpdated, 'all users of the organization', {
  property: z.string(),
  value: z.union([z.boolean(), z.int(), z.string()]).nullable(),
});
