import { type Ctx, signedIn } from '../../access/context.ts';
import { SystemGroupRequiredError } from '../../access/permissions/errors.ts';
import { systemGroups, toWireGroupSetting, type WireGroupSetting } from '../../access/permissions/system-groups.ts';
import {
  EDITABLE_REALM_SETTINGS,
  REALM_GROUP_SETTING_NAMES,
  REALM_GROUP_SETTINGS,
  REALM_SETTINGS,
  type RealmGroupSettingName,
  type RealmSettingName,
  realmGroupSetting,
  realmSetting,
} from '../../access/realm-settings.ts';
import { builder } from '../../api/graphql/builder.ts';
import { eventType } from '../../api/graphql/event-types.ts';
import { given, mutation } from '../../api/graphql/mutation.ts';
import {
  GroupSetting,
  permissionEditsGiven,
  permissionEditsInput,
  permissionsType,
} from '../../api/graphql/permission-fields.ts';
import {
  meaningsOf,
  settingEnum,
  settingFields,
  settingInputs,
  settingsGiven,
  settingValueFields,
} from '../../api/graphql/setting-fields.ts';
import type { Realm } from '../../generated/prisma/client.ts';
import { renderMarkdown } from '../../markdown/render.ts';
import { ExpectationMismatchError, UnauthorizedPrincipalError } from '../../platform/errors.ts';
import { urlOf } from '../../platform/hosts.ts';
import { TOTAL_NAMES, TOTALS, type WireTotals, wireNameOf } from '../../platform/totals.ts';
import { AUTHENTICATION_METHODS, readServerSettings, type ServerSettings as Settings } from './server-settings.ts';
import { updateRealm } from './update.ts';

const methods = { ...AUTHENTICATION_METHODS, openidConnect: AUTHENTICATION_METHODS['openid connect'] };

const AuthenticationMethods = builder.objectRef<typeof methods>('AuthenticationMethods').implement({
  description: 'The ways of signing in: whether each is offered.',
  fields: (t) => ({
    password: t.exposeBoolean('password'),
    dev: t.exposeBoolean('dev'),
    email: t.exposeBoolean('email'),
    ldap: t.exposeBoolean('ldap'),
    remoteuser: t.exposeBoolean('remoteuser'),
    saml: t.exposeBoolean('saml'),
    openidConnect: t.exposeBoolean('openidConnect'),
  }),
});

interface External {
  readonly name: string;
  readonly displayName: string;
  readonly displayIcon: string | null;
  readonly loginUrl: string;
  readonly signupUrl: string;
}

const ExternalAuthenticationMethod = builder.objectRef<External>('ExternalAuthenticationMethod').implement({
  description: 'A third party by which one can sign in.',
  fields: (t) => ({
    name: t.exposeString('name'),
    displayName: t.exposeString('displayName'),
    displayIcon: t.exposeString('displayIcon', { nullable: true }),
    loginUrl: t.exposeString('loginUrl'),
    signupUrl: t.exposeString('signupUrl'),
  }),
});

const PublicRealm = builder.objectRef<NonNullable<Settings['realm']>>('PublicRealm').implement({
  description: 'What anybody may know of an organization.',
  fields: (t) => ({
    url: t.exposeString('url'),
    name: t.exposeString('name'),
    icon: t.exposeString('icon', { description: 'URL of the square logo.' }),
    description: t.exposeString('description', { description: 'HTML.' }),
    webPublicAccessEnabled: t.exposeBoolean('webPublicAccessEnabled'),
  }),
});

const Totals = builder.objectRef<WireTotals>('Totals').implement({
  description: 'How much there may be of what people can pile up: of each user, unless the name says otherwise.',
  fields: (t) =>
    Object.fromEntries(
      TOTAL_NAMES.map((name) => [
        wireNameOf(name).replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
        t.int({ description: `${TOTALS[name].refusal}.`, resolve: (totals) => totals[wireNameOf(name)] }),
      ]),
    ),
});

const ServerSettings = builder.objectRef<Settings>('ServerSettings').implement({
  description: 'What a client learns before it signs in.',
  fields: (t) => ({
    authenticationMethods: t.field({ type: AuthenticationMethods, resolve: () => methods }),
    externalAuthenticationMethods: t.field({ type: [ExternalAuthenticationMethod], resolve: () => [] }),
    featureLevel: t.exposeInt('featureLevel', { description: 'All features up to this level are there.' }),
    version: t.exposeString('version'),
    mergeBase: t.exposeString('mergeBase'),
    pushNotificationsEnabled: t.boolean({ resolve: () => false }),
    isIncompatible: t.exposeBoolean('isIncompatible', { description: 'Whether this client is too old to go on.' }),
    emailAuthEnabled: t.boolean({ resolve: () => AUTHENTICATION_METHODS.email }),
    requireEmailFormatUsernames: t.boolean({ resolve: () => true }),
    totals: t.expose('totals', { type: Totals }),
    realm: t.expose('realm', { type: PublicRealm, nullable: true, description: 'Null where the host has none.' }),
  }),
});

builder.queryField('serverSettings', (t) =>
  t.field({
    type: ServerSettings,
    description: 'The server, and the organization at the host asked. Needs no credentials.',
    resolve: (_root, _args, ctx) => readServerSettings(ctx),
  }),
);

const MEANING: Record<RealmGroupSettingName, string> = {
  can_access_all_users_group: 'See every user. Everyone.',
  can_add_custom_emoji_group: 'May add custom emoji.',
  can_add_subscribers_group: 'May subscribe others to channels.',
  can_create_bots_group: 'May make bots of every kind.',
  can_create_groups: 'May make user groups.',
  can_create_private_channel_group: 'May make private channels.',
  can_create_public_channel_group: 'May make public channels.',
  can_create_web_public_channel_group: 'May make channels that can be read without signing in. A role group.',
  can_create_write_only_bots_group: 'May make bots that only send.',
  can_delete_any_message_group: 'May delete any message.',
  can_delete_own_message_group: 'May delete their own messages.',
  can_invite_users_group: 'May invite people.',
  can_manage_all_groups: 'May change every user group.',
  can_manage_billing_group: 'May see to plans and bills.',
  can_mention_many_users_group: 'May mention everybody where there are many.',
  can_move_messages_between_channels_group: 'May move messages to another channel.',
  can_move_messages_between_topics_group: 'May move messages to another topic.',
  can_resolve_topics_group: 'May mark topics as resolved.',
  can_set_delete_message_policy_group: 'May set who deletes messages in the channels they administer.',
  can_set_topics_policy_group: 'May set the topics policy of the channels they administer.',
  can_summarize_topics_group: 'May have topics summarized.',
  create_multiuse_invite_group: 'May make links by which anybody comes in.',
  direct_message_initiator_group: 'May begin direct conversations.',
  direct_message_permission_group: 'One of them must take part in a direct conversation.',
};

const OrganizationPermissions = permissionsType(
  'OrganizationPermissions',
  'Who may do what in the organization.',
  MEANING,
);

async function permissionsOf(
  { app, realmId }: Ctx,
  realm: Realm,
): Promise<Record<RealmGroupSettingName, WireGroupSetting>> {
  const groups = await systemGroups(app.db, realmId);
  const settings = REALM_GROUP_SETTING_NAMES.map((name) => [
    name,
    toWireGroupSetting(groups, realmGroupSetting(groups, realm, name)),
  ]);
  return Object.fromEntries(settings) as Record<RealmGroupSettingName, WireGroupSetting>;
}

const Organization = builder.objectRef<Realm>('Organization').implement({
  description: "The viewer's organization, and its settings.",
  fields: (t) => ({
    name: t.exposeString('name'),
    description: t.exposeString('description', { description: 'Flavored Markdown.' }),
    renderedDescription: t.string({ resolve: ({ description }) => renderMarkdown(description) }),
    url: t.string({ resolve: ({ subdomain }, _args, ctx) => urlOf(ctx.app.config, subdomain) }),
    uuid: t.exposeString('uuid'),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    ...settingFields<Realm>(t, REALM_SETTINGS, (realm, name) => realmSetting(realm, name as RealmSettingName)),
    permissions: t.field({
      type: OrganizationPermissions,
      resolve: (realm, _args, ctx) => permissionsOf(signedIn(ctx), realm),
    }),
  }),
});

builder.queryField('organization', (t) =>
  t.field({ type: Organization, resolve: (_root, _args, ctx) => signedIn(ctx).viewer.realm }),
);

const OrganizationPermissionEditsInput = permissionEditsInput(
  'OrganizationPermissionEditsInput',
  'Which permissions of the organization are to change.',
  MEANING,
);

mutation('updateOrganization', {
  description:
    'Changes what is given of the organization. For administrators; for owners, where it is about who may come in, how ' +
    'long messages are kept, and some permissions.',
  input: (t) => ({
    name: t.string({ required: false, description: 'Not blank; at most 40 characters.' }),
    description: t.string({ required: false, description: 'Flavored Markdown; at most 1,000 characters.' }),
    permissions: t.field({ type: OrganizationPermissionEditsInput, required: false }),
    ...settingInputs(t, EDITABLE_REALM_SETTINGS),
  }),
  payload: () => ({ organization: { type: Organization } }),
  errors: [ExpectationMismatchError, SystemGroupRequiredError, UnauthorizedPrincipalError],
  resolve: async (ctx, { name, description, permissions, ...settings }) => {
    await updateRealm(ctx, {
      ...given({ name, description }),
      settings: settingsGiven(EDITABLE_REALM_SETTINGS, settings),
      permissions: permissionEditsGiven(REALM_GROUP_SETTING_NAMES, permissions),
    });
    return { organization: await ctx.app.db.realm.findUniqueOrThrow({ where: { id: ctx.realmId } }) };
  },
});

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
  values: settingEnum({ ...OTHERS, ...meaningsOf(REALM_SETTINGS), ...MEANING }),
});

const isPermission = (name: string) => name in REALM_GROUP_SETTINGS;

const OrganizationSettingChange = builder
  .objectRef<{ readonly setting: string; readonly value: unknown }>('OrganizationSettingChange')
  .implement({
    description: 'The new value of one setting, in the field of its kind. All are null for a limit that is taken away.',
    fields: (t) => ({
      setting: t.expose('setting', { type: OrganizationSetting }),
      ...settingValueFields(t, ({ setting, value }) => (isPermission(setting) ? null : value)),
      permission: t.field({
        type: GroupSetting,
        nullable: true,
        description: 'Who holds the permission that `setting` names.',
        resolve: ({ setting, value }) => (isPermission(setting) ? (value as WireGroupSetting) : null),
      }),
    }),
  });

eventType<{ data: Readonly<Record<string, unknown>> }>(
  'realm',
  'update_dict',
  'RealmUpdatedEvent',
  (t) => ({
    changes: t.field({
      type: [OrganizationSettingChange],
      resolve: ({ event }) => Object.entries(event.data).map(([setting, value]) => ({ setting, value })),
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
    serviceVersion: t.string({ resolve: ({ event }) => event.service_version }),
    serviceMergeBase: t.string({ resolve: ({ event }) => event.service_merge_base }),
    serviceFeatureLevel: t.int({ resolve: ({ event }) => event.service_feature_level }),
    serverGeneration: t.int({
      description: 'UNIX seconds: when the process started.',
      resolve: ({ event }) => event.server_generation,
    }),
  }),
  { description: 'The service has started, perhaps as another version. Nothing of the state has changed.' },
);
