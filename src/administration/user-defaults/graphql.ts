import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { type EventSource, eventType } from '../../api/graphql/schema/event-types.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { nodeType } from '../../api/graphql/schema/node.ts';
import {
  meaningsOf,
  settingEnum,
  settingEnumValue,
  settingFields,
  settingInputs,
  settingsGiven,
} from '../../api/graphql/schema/setting-fields.ts';
import type { Realm } from '../../generated/prisma/client.ts';
import { UnauthorizedPrincipalError } from '../../platform/errors.ts';
import type { ProjectedSetting } from '../../platform/setting.ts';
import { projectionOf } from './event-projections.ts';
import { updateUserDefaults } from './service.ts';
import { EDITABLE_USER_DEFAULTS, USER_DEFAULTS, type UserDefaultName, userDefault } from './settings.ts';

type Source = Pick<Realm, 'id' | 'userDefaults'>;

const UserSettingsDefaults = builder.objectRef<Source>('UserSettingsDefaults');

builder.node(UserSettingsDefaults, {
  description: 'Default settings of new users of the organization.',
  // The object has the id of the organization: each organization has exactly one such object.
  id: { resolve: ({ id }) => id },
  fields: (t) => settingFields<Source>(t, USER_DEFAULTS, (realm, name) => userDefault(realm, name as UserDefaultName)),
});

nodeType('UserSettingsDefaults', async ({ viewer: { realm } }, ids) =>
  // A copy, because the node `Organization` is also made from the organization's row.
  ids.includes(realm.id) ? [{ ...realm }] : [],
);

builder.queryField('userSettingsDefaults', (t) =>
  t.field({
    type: UserSettingsDefaults,
    nullable: true,
    description: 'Default settings of new users of the organization.',
    resolve: (_root, _args, ctx) => signedIn(ctx).viewer.realm,
  }),
);

mutation('updateUserSettingsDefaults', {
  description:
    'Updates the default settings of new users. Omitted fields do not change. Existing users keep their settings. ' +
    'For administrators.',
  input: (t) => settingInputs(t, EDITABLE_USER_DEFAULTS),
  payload: () => ({
    defaults: {
      type: UserSettingsDefaults,
      description: 'All default settings after the change.',
    },
  }),
  errors: [UnauthorizedPrincipalError],
  resolve: async (ctx, input) => ({
    defaults: await updateUserDefaults(ctx, settingsGiven(EDITABLE_USER_DEFAULTS, input)),
  }),
});

const MEANINGS = meaningsOf(EDITABLE_USER_DEFAULTS);

const UserSettingsDefault = builder.enumType('UserSettingsDefault', {
  description: 'A default setting of new users, named as in `UserSettingsDefaults`.',
  values: settingEnum(MEANINGS),
});

type SettingProjection = { readonly known: ProjectedSetting | null };

eventType<{ readonly property: string }, SettingProjection>(
  'realm_user_settings_defaults',
  'update',
  'UserSettingsDefaultUpdatedEvent',
  (t) => ({
    defaultSetting: t.field({
      type: UserSettingsDefault,
      description: 'The setting that changed.',
      resolve: ({ event }) => settingEnumValue(MEANINGS, event.property),
    }),
    userSettingsDefaults: t.field({
      type: UserSettingsDefaults,
      nullable: true,
      description: 'All default settings after the change.',
      ...projectedFromEvent(
        projectionOf,
        ({ facts }: EventSource<{ readonly property: string }, SettingProjection>) => facts.known,
      ),
    }),
  }),
  { description: 'A default setting of new users changed.' },
);
