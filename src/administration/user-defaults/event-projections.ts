import type { EventProjection } from '../../api/graphql/schema/event-projections.ts';
import { settingProjections } from '../../api/graphql/schema/setting-fields.ts';
import { type ProjectedSetting, withEffect } from '../../platform/setting.ts';
import { EDITABLE_USER_DEFAULTS } from './settings.ts';

const bySetting = settingProjections('UserSettingsDefaults', Object.keys(withEffect(EDITABLE_USER_DEFAULTS)));

/** Returns the event projection of the settings that new users get. It contains the setting that changed. */
export const projectionOf = ({
  event,
}: {
  readonly event: { readonly property: string };
}): EventProjection<ProjectedSetting> => bySetting(event.property);
