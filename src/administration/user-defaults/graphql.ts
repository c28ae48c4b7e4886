import { signedIn } from '../../access/context.ts';
import { USER_SETTINGS } from '../../access/user-settings.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { type EventProjection, projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { type EventSource, eventType } from '../../api/graphql/schema/event-types.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { nodeByText } from '../../api/graphql/schema/node.ts';
import { settingProjections, settingsGiven, shownSetting } from '../../api/graphql/schema/setting-fields.ts';
import type { Organization } from '../../generated/prisma/client.ts';
import { UserSettings, UserSettingsInput } from '../../people/graphql.ts';
import { CHANGED_SETTING, UserSetting } from '../../people/graphql-events.ts';
import { type ProjectedSetting, withEffect } from '../../platform/setting.ts';
import { updateUserDefaults } from './service.ts';
import { EDITABLE_USER_DEFAULTS } from './settings.ts';

/** Returns the part of the global id of an organization's defaults that follows the type name. */
const idOfDefaults = ({ id }: { readonly id: number }) => `defaults-${id}`;

const bySetting = settingProjections('UserSettings', Object.keys(withEffect(EDITABLE_USER_DEFAULTS)), idOfDefaults);

/**
 * Returns the event projection (the fields that an event alone provides) of the settings that new users get: the setting that
 * changed.
 */
const projectionOf = ({
  event,
}: {
  readonly event: { readonly property: string };
}): EventProjection<ProjectedSetting> => bySetting(event.property);

const toDefaults = (organization: Pick<Organization, 'id' | 'userDefaults'>) => ({
  id: idOfDefaults(organization),
  settings: organization.userDefaults,
});

nodeByText('UserSettings', async (ctx, text) => {
  const { organization } = signedIn(ctx).viewer;
  return text === idOfDefaults(organization) ? toDefaults(organization) : null;
});

const DEFAULTS = 'Default settings of new users of the organization.';

builder.queryField('userSettingsDefaults', (t) =>
  t.field({
    type: UserSettings,
    nullable: true,
    description: DEFAULTS,
    resolve: (_root, _args, ctx) => toDefaults(signedIn(ctx).viewer.organization),
  }),
);

mutation('updateUserSettingsDefaults', {
  scope: 'administration',
  description: 'Updates the default settings of new users. Existing users keep their settings. For administrators.',
  input: (t) => ({
    settings: t.field({
      type: UserSettingsInput,
      description:
        'Settings to change. `timezone` and `defaultLanguage` are refused: they have no default that can be changed.',
    }),
  }),
  payload: () => ({ defaults: { type: UserSettings, description: 'All default settings after the change.' } }),
  resolve: async (ctx, { settings }) => ({
    defaults: toDefaults(await updateUserDefaults(ctx, settingsGiven(USER_SETTINGS, settings))),
  }),
});

type SettingProjection = { readonly known: ProjectedSetting | null };

eventType<{ readonly property: string }, SettingProjection>(
  'realm_user_settings_defaults',
  'update',
  'UserSettingsDefaultUpdatedEvent',
  (t) => ({
    userSetting: t.field({
      type: UserSetting,
      nullable: true,
      description: CHANGED_SETTING,
      resolve: ({ event }) => shownSetting(USER_SETTINGS, event.property),
    }),
    userSettingsDefaults: t.field({
      type: UserSettings,
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
