import { REALM_SETTINGS } from '../../access/realm-settings.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { type EventSource, eventType } from '../../api/graphql/schema/event-types.ts';
import { meaningsOf, settingEnum, settingEnumValue } from '../../api/graphql/schema/setting-fields.ts';
import { type ProjectedOrganization, projectionOf } from './event-projections.ts';
import { Organization, PERMISSIONS_WITH_EFFECT } from './graphql.ts';

/** Values in events besides the settings: texts of the organization, and values that are published only for old clients. */
const OTHERS = {
  name: 'Name of the organization.',
  description: 'Description of the organization, in Markdown.',
  rendered_description: 'Description as HTML. Sent together with DESCRIPTION.',
  mandatory_topics: 'Whether messages must have a topic. For old clients, sent together with TOPICS_POLICY.',
  allow_edit_history:
    'Whether users can see previous versions of edited messages. For old clients, sent together with ' +
    'MESSAGE_EDIT_HISTORY_VISIBILITY_POLICY.',
  create_public_stream_policy: 'Roles that can create public channels. For old clients.',
  create_private_stream_policy: 'Roles that can create private channels. For old clients.',
  create_web_public_stream_policy:
    'Roles that can create web-public channels, which can be read without signing in. For old clients.',
  wildcard_mention_policy: 'Roles that can mention all users of a large channel. For old clients.',
};

const MEANINGS = { ...OTHERS, ...meaningsOf(REALM_SETTINGS), ...PERMISSIONS_WITH_EFFECT };

const OrganizationSetting = builder.enumType('OrganizationSetting', {
  description:
    'A property of the organization that can change, including properties that are published only for old clients.',
  values: settingEnum(MEANINGS),
});

interface WireUpdate {
  readonly data: Readonly<Record<string, unknown>>;
}

type OrganizationProjection = { readonly known: ProjectedOrganization | null };

eventType<WireUpdate, OrganizationProjection>(
  'realm',
  'update_dict',
  'RealmUpdatedEvent',
  (t) => ({
    organizationSettings: t.field({
      type: [OrganizationSetting],
      description: 'Properties that changed in this update.',
      resolve: ({ event }) => [...new Set(Object.keys(event.data).map((name) => settingEnumValue(MEANINGS, name)))],
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
  { description: 'Settings of the organization changed.' },
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
      description: 'Release on which local changes of the operator are based. Same as `serviceVersion`.',
      resolve: ({ event }) => event.service_merge_base,
    }),
    serviceFeatureLevel: t.int({
      description: 'Feature level of the API. All features up to this level are supported.',
      resolve: ({ event }) => event.service_feature_level,
    }),
    serverGeneration: t.int({
      description: 'Start time of the process, in UNIX seconds.',
      resolve: ({ event }) => event.server_generation,
    }),
  }),
  { description: 'The service restarted, possibly with another version. No data changed.' },
);
