import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { fromEvent } from '../../api/graphql/entity-facts.ts';
import { type EventSource, eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { nodeType } from '../../api/graphql/node.ts';
import {
  meaningsOf,
  settingEnum,
  settingFields,
  settingInputs,
  settingsGiven,
} from '../../api/graphql/setting-fields.ts';
import type { Realm } from '../../generated/prisma/client.ts';
import { UnauthorizedPrincipalError } from '../../platform/errors.ts';
import type { KnownSetting } from '../../platform/setting.ts';
import { factsAbout } from './entity-facts.ts';
import { updateUserDefaults } from './service.ts';
import { EDITABLE_USER_DEFAULTS, USER_DEFAULTS, type UserDefaultName, userDefault } from './settings.ts';

type Source = Pick<Realm, 'id' | 'userDefaults'>;

const UserSettingsDefaults = builder.objectRef<Source>('UserSettingsDefaults');

builder.node(UserSettingsDefaults, {
  description: 'The settings that new users of the organization begin with.',
  // That of the organization, which has one of them.
  id: { resolve: ({ id }) => id },
  fields: (t) => settingFields<Source>(t, USER_DEFAULTS, (realm, name) => userDefault(realm, name as UserDefaultName)),
});

nodeType('UserSettingsDefaults', async ({ viewer: { realm } }, ids) =>
  // Of its own, so that nothing else that is made of the row is taken for it.
  ids.includes(realm.id) ? [{ ...realm }] : [],
);

builder.queryField('userSettingsDefaults', (t) =>
  t.field({
    type: UserSettingsDefaults,
    nullable: true,
    description: 'The settings that new users of the organization begin with.',
    resolve: (_root, _args, ctx) => signedIn(ctx).viewer.realm,
  }),
);

mutation('updateUserSettingsDefaults', {
  description:
    'Changes what is given of the settings that new users begin with. Those who are users already keep theirs. For ' +
    'administrators.',
  input: (t) => settingInputs(t, EDITABLE_USER_DEFAULTS),
  payload: () => ({
    defaults: {
      type: UserSettingsDefaults,
      description: 'All the settings that new users begin with, after the change.',
    },
  }),
  errors: [UnauthorizedPrincipalError],
  resolve: async (ctx, input) => ({
    defaults: await updateUserDefaults(ctx, settingsGiven(EDITABLE_USER_DEFAULTS, input)),
  }),
});

const UserSettingsDefault = builder.enumType('UserSettingsDefault', {
  description: 'One of the settings that new users begin with, as it is named in `UserSettingsDefaults`.',
  values: settingEnum(meaningsOf(EDITABLE_USER_DEFAULTS)),
});

type Known = { readonly known: KnownSetting | null };

eventType<{ readonly property: string }, Known>(
  'realm_user_settings_defaults',
  'update',
  'UserSettingsDefaultUpdatedEvent',
  (t) => ({
    defaultSetting: t.field({
      type: UserSettingsDefault,
      description: 'The setting that changed.',
      resolve: ({ event }) => event.property,
    }),
    userSettingsDefaults: t.field({
      type: UserSettingsDefaults,
      nullable: true,
      description: 'All of them, as they are now.',
      ...fromEvent(factsAbout, ({ facts }: EventSource<{ readonly property: string }, Known>) => facts.known),
    }),
  }),
  { description: 'New users begin with another value of a setting.' },
);
