import { type Ctx, signedIn } from '../../access/context.ts';
import { SystemGroupRequiredError } from '../../access/permissions/errors.ts';
import { REALM_PERMISSION_MEANINGS } from '../../access/permissions/meanings.ts';
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
import { given, mutation } from '../../api/graphql/mutation.ts';
import { nodeType } from '../../api/graphql/node.ts';
import { permissionEditsGiven, permissionEditsInput, permissionsType } from '../../api/graphql/permission-fields.ts';
import { settingFields, settingInputs, settingsGiven } from '../../api/graphql/setting-fields.ts';
import { Channel } from '../../channels/graphql.ts';
import type { Realm } from '../../generated/prisma/client.ts';
import { renderMarkdown } from '../../markdown/render.ts';
import { emojiDataUrl } from '../../people/emoji/files.ts';
import { ExpectationMismatchError, UnauthorizedPrincipalError } from '../../platform/errors.ts';
import { urlOf } from '../../platform/hosts.ts';
import { TYPING_MS } from '../../platform/limits.ts';
import { TOTAL_NAMES, TOTALS, type WireTotals, wireNameOf } from '../../platform/totals.ts';
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

const TypingTimes = builder.objectRef<typeof TYPING_MS>('TypingTimes').implement({
  description: 'When a client says that somebody is writing, or has stopped, and how long it believes it of others.',
  fields: (t) => ({
    repeatSeconds: t.int({
      description: 'While somebody goes on writing, `START` is said again after so long.',
      resolve: ({ startedWait }) => startedWait / 1000,
    }),
    stopSeconds: t.int({
      description: 'When somebody has written nothing for so long, `STOP` is said.',
      resolve: ({ stoppedWait }) => stoppedWait / 1000,
    }),
    expirySeconds: t.int({
      description: 'Of whom nothing more is heard for so long, they are taken to have stopped.',
      resolve: ({ startedExpiry }) => startedExpiry / 1000,
    }),
  }),
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
    emojiDataUrl: t.string({
      description: 'Where the names of all Unicode emoji are, as JSON: `{"code_to_names": {"1f389": ["tada", …], …}}`.',
      resolve: () => emojiDataUrl(),
    }),
    typingTimes: t.field({
      type: TypingTimes,
      description: 'When a client says that somebody is writing, and how long it believes it of others.',
      resolve: () => TYPING_MS,
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

const OrganizationPermissions = permissionsType(
  'OrganizationPermissions',
  'Who may do what in the organization.',
  REALM_PERMISSION_MEANINGS,
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

export const Organization = builder.objectRef<Realm>('Organization');

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
  REALM_PERMISSION_MEANINGS,
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
