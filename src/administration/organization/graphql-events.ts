import { REALM_PERMISSION_MEANINGS } from '../../access/permissions/meanings.ts';
import { REALM_SETTINGS } from '../../access/realm-settings.ts';
import { builder } from '../../api/graphql/builder.ts';
import { fromEvent } from '../../api/graphql/entity-facts.ts';
import { type EventSource, eventType } from '../../api/graphql/event-types.ts';
import { meaningsOf, settingEnum } from '../../api/graphql/setting-fields.ts';
import { factsAbout, type KnownOrganization } from './entity-facts.ts';
import { Organization } from './graphql.ts';

/** What events tell besides the settings: texts of the organisation, and what old clients know settings by. */
const OTHERS = {
  name: 'What the organization is called.',
  description: 'What the organization says of itself, in flavored Markdown.',
  rendered_description: 'The description as HTML. It comes with DESCRIPTION.',
  mandatory_topics: 'Whether messages must have a topic. For old clients; it comes with TOPICS_POLICY.',
  allow_edit_history:
    'Whether people see how messages were before they were edited. For old clients; it comes with ' +
    'MESSAGE_EDIT_HISTORY_VISIBILITY_POLICY.',
  create_public_stream_policy: 'Who may make public channels, by role. For old clients.',
  create_private_stream_policy: 'Who may make private channels, by role. For old clients.',
  create_web_public_stream_policy: 'Who may make channels that are read without signing in, by role. For old clients.',
  wildcard_mention_policy: 'Who may mention everybody where there are many, by role. For old clients.',
};

const OrganizationSetting = builder.enumType('OrganizationSetting', {
  description: 'What can change of an organization, with the forms that old clients know.',
  values: settingEnum({ ...OTHERS, ...meaningsOf(REALM_SETTINGS), ...REALM_PERMISSION_MEANINGS }),
});

interface WireUpdate {
  readonly data: Readonly<Record<string, unknown>>;
}

type Known = { readonly known: KnownOrganization | null };

eventType<WireUpdate, Known>(
  'realm',
  'update_dict',
  'RealmUpdatedEvent',
  (t) => ({
    organizationSettings: t.field({
      type: [OrganizationSetting],
      description: 'What changed, all at once.',
      resolve: ({ event }) => Object.keys(event.data),
    }),
    organization: t.field({
      type: Organization,
      nullable: true,
      description:
        'The organization, of which the event knows the new values. Who may do what in it, and its channels, are read.',
      ...fromEvent(factsAbout, ({ facts }: EventSource<WireUpdate, Known>) => facts.known),
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
      description: 'The release of the service.',
      resolve: ({ event }) => event.service_version,
    }),
    serviceMergeBase: t.string({
      description: 'The release that changes of the operator are based on: the same.',
      resolve: ({ event }) => event.service_merge_base,
    }),
    serviceFeatureLevel: t.int({
      description: 'All features up to this level are there.',
      resolve: ({ event }) => event.service_feature_level,
    }),
    serverGeneration: t.int({
      description: 'When the process started, in UNIX seconds.',
      resolve: ({ event }) => event.server_generation,
    }),
  }),
  { description: 'The service has started, perhaps as another version. Nothing of the state has changed.' },
);
