import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import { tells } from '../../events/wire.ts';
import type { KnownSetting, SettingValue } from '../../platform/setting.ts';
import type { UserDefaultName } from './settings.ts';

interface Payload {
  readonly property: UserDefaultName;
  readonly value: SettingValue;
  /** Whose they are; absent in events logged before they told it. */
  readonly realm_id?: number;
}

/** To everyone in the organisation. */
export const userDefaultUpdated = defineEvent(
  'realm_user_settings_defaults',
  'update',
  (realm_id: number, property: UserDefaultName, value: SettingValue): Payload => ({ property, value, realm_id }),
  {
    render: ({ property, value }) => ({ type: 'realm_user_settings_defaults', op: 'update', property, value }),
    facts: ({ realm_id, property, value }): { readonly known: KnownSetting | null } => ({
      known: realm_id === undefined ? null : { id: realm_id, property, value },
    }),
  },
);

tells(userDefaultUpdated, 'everyone', {
  property: z.string(),
  value: z.union([z.boolean(), z.int(), z.string()]).nullable(),
});
