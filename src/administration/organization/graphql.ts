import { type Ctx, signedIn } from '../../access/context.ts';
import {
  AVATAR_SOURCE,
  EDITABLE_ORGANIZATION_SETTINGS,
  ORGANIZATION_GROUP_SETTING_NAMES,
  ORGANIZATION_GROUP_SETTINGS,
  ORGANIZATION_SETTINGS,
  type OrganizationGroupSettingName,
  type OrganizationSettingName,
  organizationGroupSetting,
  organizationSetting,
} from '../../access/organization-settings.ts';
import { ORGANIZATION_PERMISSION_MEANINGS } from '../../access/permissions/meanings.ts';
import { systemGroups, toWireGroupSetting, type WireGroupSetting } from '../../access/system-groups.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { given, mutation } from '../../api/graphql/schema/mutation.ts';
import { nodeType } from '../../api/graphql/schema/node.ts';
import {
  permissionEditsGiven,
  permissionEditsInput,
  permissionsType,
} from '../../api/graphql/schema/permission-fields.ts';
import {
  enumOf,
  settingFieldName,
  settingFields,
  settingInputs,
  settingsGiven,
} from '../../api/graphql/schema/setting-fields.ts';
import { Channel } from '../../channels/graphql.ts';
import type { Organization as OrganizationRow } from '../../generated/prisma/client.ts';
import { renderMarkdown } from '../../markdown/render.ts';
import { emojiDataUrl } from '../../people/emoji/files.ts';
import { iconUrl } from '../../people/icon-url.ts';
import { ExpectationMismatchError, RateLimitHitError } from '../../platform/errors.ts';
import { urlOf } from '../../platform/hosts.ts';
import { BadImageError } from '../../platform/images/errors.ts';
import { TYPING_MS } from '../../platform/limits.ts';
import { phoneKindsOf } from '../../platform/push/phones.ts';
import { withEffect } from '../../platform/setting.ts';
import { TOTAL_NAMES, TOTALS, type WireTotals, wireNameOf } from '../../platform/totals.ts';
import { browserMethods, type ExternalMethod, externalMethods } from '../identity-providers.ts';
import { PasswordRequiredError } from '../sign-in/errors.ts';
import { CURRENT_PASSWORD, RELAXING } from '../sign-in/proof.ts';
import { setOrganizationIcon } from './icon.ts';
import { AUTHENTICATION_METHODS, readServerSettings, type ServerSettings as Settings } from './server-settings.ts';
import { updateOrganization } from './update.ts';

const AuthenticationMethods = builder.objectRef<typeof AUTHENTICATION_METHODS>('AuthenticationMethods').implement({
  description: 'For each authentication method, whether people can use it.',
  fields: (t) => ({
    password: t.exposeBoolean('password', { description: 'Whether users can sign in with a password.' }),
    dev: t.exposeBoolean('dev', {
      description: 'Whether users can sign in with only a name, on development servers.',
    }),
    email: t.exposeBoolean('email', {
      description: 'Whether users can sign in with an email address and a password.',
    }),
    ldap: t.exposeBoolean('ldap', { description: 'Whether users can sign in through an LDAP directory.' }),
    remoteuser: t.exposeBoolean('remoteuser', {
      description: 'Whether users can sign in through a reverse proxy that authenticates them.',
    }),
    saml: t.exposeBoolean('saml', { description: 'Whether users can sign in through a SAML identity provider.' }),
    openidConnect: t.boolean({
      description: 'Whether users can sign in through an OpenID Connect identity provider.',
      resolve: async (_methods, _args, { work, organization }) =>
        (await externalMethods(work.db, organization)).length > 0,
    }),
  }),
});

const ExternalAuthenticationMethod = builder.objectRef<ExternalMethod>('ExternalAuthenticationMethod').implement({
  description: 'A third-party authentication provider.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Identifier of the provider, for programs.' }),
    displayName: t.exposeString('displayName', { description: 'Display name of the provider.' }),
    displayIcon: t.exposeString('displayIcon', {
      nullable: true,
      description: 'URL of the logo. Null if there is none.',
    }),
    loginUrl: t.exposeString('loginUrl', {
      description:
        'Path at which users begin to sign in. The optional query parameter `next` is the path on this site to ' +
        'which they return.',
    }),
    signupUrl: t.exposeString('signupUrl', {
      description: 'Path at which users without an account begin to sign up. The same as `loginUrl`.',
    }),
  }),
});

const PublicOrganization = builder.objectRef<NonNullable<Settings['organization']>>('PublicOrganization').implement({
  description: 'Properties of an organization that are visible without signing in.',
  fields: (t) => ({
    url: t.exposeString('url', { description: 'URL of the organization.' }),
    name: t.exposeString('name', { description: 'Name of the organization, at most 40 characters.' }),
    icon: t.exposeString('icon', { description: 'URL of the square logo.' }),
    description: t.exposeString('description', { description: 'Description of the organization, as HTML.' }),
    webPublicAccessEnabled: t.exposeBoolean('webPublicAccessEnabled', {
      description: 'Whether the organization has channels that can be read without signing in.',
    }),
  }),
});

const Totals = builder.objectRef<WireTotals>('Totals').implement({
  description:
    'Limits on the numbers of objects that users can create. A change that would exceed a limit is refused with ' +
    '`ConflictError`, except for event queues and sessions: the one that was used least recently then ends.',
  fields: (t) =>
    Object.fromEntries(
      TOTAL_NAMES.map((name) => [
        settingFieldName(wireNameOf(name)),
        t.int({ description: `${TOTALS[name].description}.`, resolve: (totals) => totals[wireNameOf(name)] }),
      ]),
    ),
});

const TypingTimes = builder.objectRef<typeof TYPING_MS>('TypingTimes').implement({
  description: 'Timing of typing notifications.',
  fields: (t) => ({
    repeatSeconds: t.int({
      description: 'Interval at which a client sends `START` again while the user types, in seconds.',
      resolve: ({ startedWait }) => startedWait / 1000,
    }),
    stopSeconds: t.int({
      description: 'Time without input after which a client sends `STOP`, in seconds.',
      resolve: ({ stoppedWait }) => stoppedWait / 1000,
    }),
    expirySeconds: t.int({
      description:
        'Time without a notification after which a client no longer shows another user as typing, in seconds.',
      resolve: ({ startedExpiry }) => startedExpiry / 1000,
    }),
  }),
});

/** Settings of the server and of the organization at the requested host, which clients read before they sign in. */
export const ServerSettings = builder.objectRef<Settings>('ServerSettings').implement({
  description: 'Settings that a client can read before it signs in.',
  fields: (t) => ({
    authenticationMethods: t.field({
      type: AuthenticationMethods,
      description: 'Authentication methods of the organization at the requested host.',
      resolve: () => AUTHENTICATION_METHODS,
    }),
    externalAuthenticationMethods: t.field({
      type: [ExternalAuthenticationMethod],
      description:
        'Identity providers with which people can sign in to the organization, oldest first: at most 20. The last item is ' +
        '`browser`, with which desktop and mobile clients sign in through the browser. People with a second factor ' +
        'need it. Empty if the host has no organization.',
      resolve: async (_settings, _args, { work, organization }) => [
        ...(await externalMethods(work.db, organization)),
        ...browserMethods(organization),
      ],
    }),
    featureLevel: t.exposeInt('featureLevel', {
      description: 'Feature level of the API. All features up to this level are supported.',
    }),
    version: t.exposeString('version', {
      description: 'Release of the service, followed by the commit if it runs from a Git checkout.',
    }),
    mergeBase: t.exposeString('mergeBase', {
      description:
        'Release on which this one is based, without local changes by the operator. Always the same as `version`.',
    }),
    pushNotificationsEnabled: t.boolean({
      description: 'Whether the server sends push notifications to phones: the operator has configured FCM or APNs.',
      resolve: (_settings, _args, { app }) => phoneKindsOf(app.config).length > 0,
    }),
    isIncompatible: t.exposeBoolean('isIncompatible', {
      description: 'Whether this client is too old to be supported.',
    }),
    emailAuthEnabled: t.boolean({
      description: 'Whether users can sign in with an email address and a password.',
      resolve: () => AUTHENTICATION_METHODS.email,
    }),
    sendsEmail: t.boolean({
      description: 'Whether the server sends email, such as invitations and links to choose a new password.',
      resolve: (_settings, _args, { app }) => app.config.smtpUrl !== undefined,
    }),
    requireEmailFormatUsernames: t.boolean({
      description: 'Whether user names are email addresses. Always true.',
      resolve: () => true,
    }),
    emojiDataUrl: t.string({
      description:
        'URL of a JSON file with the names of all Unicode emoji: `{"code_to_names": {"1f389": ["tada", …], …}}`.',
      resolve: () => emojiDataUrl(),
    }),
    typingTimes: t.field({
      type: TypingTimes,
      description: 'Timing of typing notifications.',
      resolve: () => TYPING_MS,
    }),
    totals: t.expose('totals', {
      type: Totals,
      description: 'Limits on the numbers of objects that users can create.',
    }),
    organization: t.expose('organization', {
      type: PublicOrganization,
      nullable: true,
      description: 'Organization at the requested host. Null if there is none.',
    }),
  }),
});

builder.queryField('serverSettings', (t) =>
  t.field({
    type: ServerSettings,
    description: 'Settings of the server and of the organization at the requested host. Requires no credentials.',
    resolve: (_root, _args, ctx) => readServerSettings(ctx),
  }),
);

/** Meaning of each permission that has an effect, by the permission's name on the wire. */
export const PERMISSIONS_WITH_EFFECT = Object.fromEntries(
  Object.keys(withEffect(ORGANIZATION_GROUP_SETTINGS)).map((name) => [
    name,
    ORGANIZATION_PERMISSION_MEANINGS[name as OrganizationGroupSettingName],
  ]),
) as typeof ORGANIZATION_PERMISSION_MEANINGS;

const OrganizationPermissions = permissionsType(
  'OrganizationPermissions',
  'Holders of each permission in the organization.',
  PERMISSIONS_WITH_EFFECT,
);

async function permissionsOf(
  { work, organizationId }: Ctx,
  organization: OrganizationRow,
): Promise<Record<OrganizationGroupSettingName, WireGroupSetting>> {
  const groups = await systemGroups(work.db, organizationId);
  const settings = ORGANIZATION_GROUP_SETTING_NAMES.map((name) => [
    name,
    toWireGroupSetting(groups, organizationGroupSetting(groups, organization, name)),
  ]);
  return Object.fromEntries(settings) as Record<OrganizationGroupSettingName, WireGroupSetting>;
}

export const Organization = builder.objectRef<OrganizationRow>('Organization');

builder.node(Organization, {
  id: { resolve: ({ id }) => id },
  description: 'An organization and its settings.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the organization, at most 40 characters.' }),
    description: t.exposeString('description', {
      description: 'Description of the organization, in Markdown, at most 1,000 characters.',
    }),
    renderedDescription: t.string({
      description: 'Description of the organization, as HTML.',
      resolve: ({ description }) => renderMarkdown(description),
    }),
    iconUrl: t.string({
      description: "URL of the icon, a square image, relative to the organization's URL. Changes with the image.",
      resolve: iconUrl,
    }),
    iconSource: t.field({
      type: enumOf(AVATAR_SOURCE),
      description: 'Source of the icon; GENERATED or UPLOADED.',
      resolve: ({ iconImageId }) => (iconImageId === null ? 'J' : 'U'),
    }),
    url: t.string({
      description: 'URL of the organization.',
      resolve: ({ subdomain }, _args, ctx) => urlOf(ctx.app.config, subdomain),
    }),
    uuid: t.exposeString('uuid', {
      description: 'Permanent identifier of the organization. It does not change with the URL.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Creation time.' }),
    ...settingFields<OrganizationRow>(
      t,
      ORGANIZATION_SETTINGS,
      (organization, name) => organizationSetting(organization, name as OrganizationSettingName),
      {
        Channel,
      },
    ),
    permissions: t.field({
      type: OrganizationPermissions,
      description: 'Holders of each permission in the organization.',
      resolve: (organization, _args, ctx) => permissionsOf(signedIn(ctx), organization),
    }),
  }),
});

nodeType('Organization', async ({ organizationId, viewer }, ids) =>
  ids.includes(organizationId) ? [{ ...viewer.organization }] : [],
);

builder.queryField('organization', (t) =>
  t.field({
    type: Organization,
    nullable: true,
    description: "The viewer's organization.",
    resolve: (_root, _args, ctx) => signedIn(ctx).viewer.organization,
  }),
);

const OrganizationPermissionEditsInput = permissionEditsInput(
  'OrganizationPermissionEditsInput',
  'Permissions of the organization to change. Omitted permissions do not change.',
  PERMISSIONS_WITH_EFFECT,
);

mutation('updateOrganization', {
  scope: 'administration',
  description:
    'Updates the organization. Omitted fields do not change. For administrators. Only owners can change which ' +
    'users can join, how long messages are kept, and some permissions.',
  input: (t) => ({
    name: t.string({ required: false, description: 'Name of the organization: not blank, at most 40 characters.' }),
    description: t.string({
      required: false,
      description: 'Description of the organization, in Markdown, at most 1,000 characters.',
    }),
    permissions: t.field({
      type: OrganizationPermissionEditsInput,
      required: false,
      description: 'Permissions to change.',
    }),
    currentPassword: t.string({ required: false, description: `${RELAXING} ${CURRENT_PASSWORD}` }),
    ...settingInputs(t, EDITABLE_ORGANIZATION_SETTINGS),
  }),
  payload: () => ({ organization: { type: Organization, description: 'The organization after the change.' } }),
  errors: [ExpectationMismatchError, PasswordRequiredError, RateLimitHitError],
  resolve: async (ctx, { name, description, permissions, currentPassword, ...settings }) => {
    await updateOrganization(ctx, {
      ...given({ currentPassword }),
      ...given({ name, description }),
      settings: settingsGiven(EDITABLE_ORGANIZATION_SETTINGS, settings),
      permissions: permissionEditsGiven(ORGANIZATION_GROUP_SETTING_NAMES, permissions),
    });
    return { organization: await ctx.work.db.organization.findUniqueOrThrow({ where: { id: ctx.organizationId } }) };
  },
});

mutation('setOrganizationIcon', {
  scope: 'administration',
  description:
    'Sets or removes the icon of the organization. Without an icon, a generated one is shown. For administrators.',
  errors: [BadImageError],
  input: (t) => ({
    image: t.field({
      type: 'File',
      required: false,
      description: 'PNG, JPEG, WebP or GIF, at most 5 MiB. Null removes the icon.',
    }),
  }),
  payload: () => ({ organization: { type: Organization, description: 'The organization after the change.' } }),
  resolve: async (ctx, { image }) => ({ organization: await setOrganizationIcon(ctx, image ?? null) }),
});
