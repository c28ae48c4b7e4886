import { type Ctx, signedIn } from '../../access/context.ts';
import { SystemGroupRequiredError } from '../../access/permissions/errors.ts';
import { systemGroups, toWireGroupSetting, type WireGroupSetting } from '../../access/permissions/system-groups.ts';
import {
  EDITABLE_REALM_SETTINGS,
  REALM_GROUP_SETTING_NAMES,
  REALM_SETTINGS,
  type RealmGroupSettingName,
  type RealmSettingName,
  realmGroupSetting,
  realmSetting,
} from '../../access/realm-settings.ts';
import { builder } from '../../api/graphql/builder.ts';
import { fromEvent } from '../../api/graphql/entity-facts.ts';
import { type EventSource, eventType } from '../../api/graphql/event-types.ts';
import { given, mutation } from '../../api/graphql/mutation.ts';
import { nodeType } from '../../api/graphql/node.ts';
import { permissionEditsGiven, permissionEditsInput, permissionsType } from '../../api/graphql/permission-fields.ts';
import {
  meaningsOf,
  settingEnum,
  settingFields,
  settingInputs,
  settingsGiven,
} from '../../api/graphql/setting-fields.ts';
import { Channel } from '../../channels/graphql.ts';
import type { Realm } from '../../generated/prisma/client.ts';
import { renderMarkdown } from '../../markdown/render.ts';
import { ExpectationMismatchError, UnauthorizedPrincipalError } from '../../platform/errors.ts';
import { urlOf } from '../../platform/hosts.ts';
import { TOTAL_NAMES, TOTALS, type WireTotals, wireNameOf } from '../../platform/totals.ts';
import { factsAbout, type KnownOrganization } from './entity-facts.ts';
import { AUTHENTICATION_METHODS, readServerSettings, type ServerSettings as Settings } from './server-settings.ts';
import { updateRealm } from './update.ts';

const methods = { ...AUTHENTICATION_METHODS, openidConnect: AUTHENTICATION_METHODS['openid connect'] };

const AuthenticationMethods = builder.objectRef<typeof methods>('AuthenticationMethods').implement({
  description: 'The ways of signing in: whether each is offered.',
  fields: (t) => ({
    password: t.exposeBoolean('password', { description: 'By a password.' }),
    dev: t.exposeBoolean('dev', { description: 'By a name alone, on a server of developers.' }),
    email: t.exposeBoolean('email', { description: 'By an e-mail address with a password.' }),
    ldap: t.exposeBoolean('ldap', { description: 'By a directory that speaks LDAP.' }),
    remoteuser: t.exposeBoolean('remoteuser', { description: 'By a proxy before the server, which says who it is.' }),
    saml: t.exposeBoolean('saml', { description: 'By an identity provider that speaks SAML.' }),
    openidConnect: t.exposeBoolean('openidConnect', {
      description: 'By an identity provider that speaks OpenID Connect.',
    }),
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
    name: t.exposeString('name', { description: 'What programs call it.' }),
    displayName: t.exposeString('displayName', { description: 'What people call it.' }),
    displayIcon: t.exposeString('displayIcon', { nullable: true, description: 'URL of its logo; null for none.' }),
    loginUrl: t.exposeString('loginUrl', { description: 'Where to sign in by it.' }),
    signupUrl: t.exposeString('signupUrl', { description: 'Where to make an account by it.' }),
  }),
});

const PublicRealm = builder.objectRef<NonNullable<Settings['realm']>>('PublicRealm').implement({
  description: 'What anybody may know of an organization.',
  fields: (t) => ({
    url: t.exposeString('url', { description: 'Its address.' }),
    name: t.exposeString('name', { description: 'What it is called, in at most 40 characters.' }),
    icon: t.exposeString('icon', { description: 'URL of the square logo.' }),
    description: t.exposeString('description', { description: 'What it says of itself, as HTML.' }),
    webPublicAccessEnabled: t.exposeBoolean('webPublicAccessEnabled', {
      description: 'Whether there are channels that can be read without signing in.',
    }),
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
    authenticationMethods: t.field({
      type: AuthenticationMethods,
      description: 'The ways of signing in.',
      resolve: () => methods,
    }),
    externalAuthenticationMethods: t.field({
      type: [ExternalAuthenticationMethod],
      description: 'The third parties by which one can sign in: none.',
      resolve: () => [],
    }),
    featureLevel: t.exposeInt('featureLevel', { description: 'All features up to this level are there.' }),
    version: t.exposeString('version', { description: 'The release of the service, and in a checkout its commit.' }),
    mergeBase: t.exposeString('mergeBase', {
      description: 'The release that changes of the operator are based on: the same.',
    }),
    pushNotificationsEnabled: t.boolean({
      description: 'Whether the server notifies phones: false.',
      resolve: () => false,
    }),
    isIncompatible: t.exposeBoolean('isIncompatible', { description: 'Whether this client is too old to go on.' }),
    emailAuthEnabled: t.boolean({
      description: 'Whether one can sign in by an e-mail address with a password.',
      resolve: () => AUTHENTICATION_METHODS.email,
    }),
    requireEmailFormatUsernames: t.boolean({
      description: 'Whether user names are e-mail addresses: true.',
      resolve: () => true,
    }),
    totals: t.expose('totals', { type: Totals, description: 'How much there may be of what people can pile up.' }),
    realm: t.expose('realm', {
      type: PublicRealm,
      nullable: true,
      description: 'The organization at the host; null where there is none.',
    }),
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

const Organization = builder.objectRef<Realm>('Organization');

builder.node(Organization, {
  id: { resolve: ({ id }) => id },
  description: "The viewer's organization, and its settings.",
  fields: (t) => ({
    name: t.exposeString('name', { description: 'What it is called, in at most 40 characters.' }),
    description: t.exposeString('description', {
      description: 'What it says of itself, in flavored Markdown; at most 1,000 characters.',
    }),
    renderedDescription: t.string({
      description: 'What it says of itself, as HTML.',
      resolve: ({ description }) => renderMarkdown(description),
    }),
    url: t.string({
      description: 'Its address.',
      resolve: ({ subdomain }, _args, ctx) => urlOf(ctx.app.config, subdomain),
    }),
    uuid: t.exposeString('uuid', { description: 'What names it for ever, whatever its address.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    ...settingFields<Realm>(t, REALM_SETTINGS, (realm, name) => realmSetting(realm, name as RealmSettingName), {
      Channel,
    }),
    permissions: t.field({
      type: OrganizationPermissions,
      description: 'Who may do what in it.',
      resolve: (realm, _args, ctx) => permissionsOf(signedIn(ctx), realm),
    }),
  }),
});

nodeType('Organization', async ({ realmId, viewer }, ids) => (ids.includes(realmId) ? [{ ...viewer.realm }] : []));

builder.queryField('organization', (t) =>
  t.field({
    type: Organization,
    nullable: true,
    description: "The viewer's organization, and its settings.",
    resolve: (_root, _args, ctx) => signedIn(ctx).viewer.realm,
  }),
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
    name: t.string({ required: false, description: 'What it is called: not blank; at most 40 characters.' }),
    description: t.string({
      required: false,
      description: 'What it says of itself, in flavored Markdown; at most 1,000 characters.',
    }),
    permissions: t.field({
      type: OrganizationPermissionEditsInput,
      required: false,
      description: 'Who may do what in it.',
    }),
    ...settingInputs(t, EDITABLE_REALM_SETTINGS),
  }),
  payload: () => ({ organization: { type: Organization, description: 'The organization, after the change.' } }),
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
