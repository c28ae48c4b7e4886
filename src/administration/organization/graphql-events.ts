import { ORGANIZATION_SETTINGS } from '../../access/organization-settings.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { type EventSource, eventType, ORGANIZATION_PERMISSIONS } from '../../api/graphql/schema/event-types.ts';
import { fromUnix } from '../../api/graphql/schema/scalars.ts';
import { settingEnum, shownSetting } from '../../api/graphql/schema/setting-fields.ts';
import { type ProjectedOrganization, projectionOf } from './event-projections.ts';
import { Organization, PERMISSIONS_WITH_EFFECT } from './graphql.ts';

/** The value of `OrganizationSetting` for all permissions. */
const PERMISSIONS = 'permissions';

const OrganizationSetting = builder.enumType('OrganizationSetting', {
  description: 'A property of the organization that can change, named as in `Organization`.',
  values: {
    NAME: { value: 'name', description: 'Name of the organization.' },
    DESCRIPTION: { value: 'description', description: 'Description of the organization, in Markdown.' },
    RENDERED_DESCRIPTION: { value: 'rendered_description', description: 'Description of the organization, as HTML.' },
    ICON_URL: { value: 'icon_url', description: 'URL of the icon.' },
    PERMISSIONS: { value: PERMISSIONS, description: 'Holders of a permission in the organization.' },
    ...settingEnum(ORGANIZATION_SETTINGS),
  } as Record<string, { readonly value: string; readonly description: string }>,
});

/** The properties that are not settings, by their names over REST. */
const TEXTS: ReadonlySet<string> = new Set(['name', 'description', 'rendered_description', 'icon_url']);

/** Returns the changed properties of an event. Values that only REST has, such as policies for old clients, are left out. */
function changedProperties(names: readonly string[]): string[] {
  const shown = names.map((name) => {
    if (TEXTS.has(name)) return name;
    return name in PERMISSIONS_WITH_EFFECT ? PERMISSIONS : shownSetting(ORGANIZATION_SETTINGS, name);
  });
  return [...new Set(shown)].filter((name) => name !== null);
}

interface WireUpdate {
  readonly data: Readonly<Record<string, unknown>>;
}

type OrganizationProjection = { readonly known: ProjectedOrganization | null };

eventType<WireUpdate, OrganizationProjection>(
  'realm',
  'update_dict',
  'OrganizationUpdatedEvent',
  (t) => ({
    organizationSettings: t.field({
      type: [OrganizationSetting],
      description:
        'Properties that changed in this update. Empty if all changed properties exist only in the REST API.',
      resolve: ({ event }) => changedProperties(Object.keys(event.data)),
    }),
    organization: t.field({
      type: Organization,
      nullable: true,
      description:
        'The organization. The event contains the changed values. `permissions` and channels are fetched when ' +
        'the event is sent.',
      ...projectedFromEvent(projectionOf, ({ facts }: EventSource<WireUpdate, OrganizationProjection>) => facts.known),
    }),
  }),
  {
    description: 'Settings of the organization changed.',
    formerName: 'RealmUpdatedEvent',
    outdates: ({ event: { data } }) => [
      'audit_log_days' in data
        ? { ...ORGANIZATION_PERMISSIONS, fields: [...ORGANIZATION_PERMISSIONS.fields, 'auditLogRetentionDays'] }
        : ORGANIZATION_PERMISSIONS,
    ],
  },
);

eventType<{
  service_version: string;
  service_merge_base: string;
  service_feature_level: number;
  server_generation: number;
}>(
  'restart',
  undefined,
  'ServiceRestartedEvent',
  (t) => ({
    serviceVersion: t.string({
      description: 'Release of the service.',
      resolve: ({ event }) => event.service_version,
    }),
    serviceMergeBase: t.string({
      description:
        'Release on which this one is based, without local changes by the operator. Always the same as `serviceVersion`.',
      resolve: ({ event }) => event.service_merge_base,
    }),
    serviceFeatureLevel: t.int({
      description: 'Feature level of the API. All features up to this level are supported.',
      resolve: ({ event }) => event.service_feature_level,
    }),
    startedAt: t.field({
      type: 'DateTime',
      description: 'Time at which the process started.',
      resolve: ({ event }) => fromUnix(event.server_generation),
    }),
  }),
  { description: 'The service restarted, possibly with another version. No data changed.' },
);
