import { signedIn } from '../../access/context.ts';
import { builder, type Types } from '../../api/graphql/schema/builder.ts';
import { pageOf } from '../../api/graphql/schema/connection.ts';
import { eventType } from '../../api/graphql/schema/event-types.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { byNumber, nodeModel, nodesOf } from '../../api/graphql/schema/node.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { UserRole } from '../../api/graphql/schema/user-role.ts';
import { RateLimitHitError } from '../../platform/errors.ts';
import { Organization } from '../organization/graphql.ts';
import { PasswordRequiredError } from '../sign-in/errors.ts';
import { CURRENT_PASSWORD } from '../sign-in/proof.ts';
import { UserGroup } from '../user-groups/graphql.ts';
import { redirectUriOf } from './flow.ts';
import { type GroupRule, groupRulesOf } from './group-rules.ts';
import { handOver } from './hand-over.ts';
import { createIdentityProvider, deleteIdentityProvider, updateIdentityProvider, visibleTo } from './service.ts';

const VALUE = 'Value that the groups claim must contain, compared exactly.';
const RULE_ROLE = 'Role that people with the value get. Null: the rule gives no role.';
const NAME = 'Display name, for the button on the sign-in page, at most 60 characters.';
const ISSUER = 'Issuer identifier of the provider: an `https` URL, at most 500 characters.';
const CLIENT_ID = 'Client id that the provider assigned to the organization, at most 500 characters.';
const SECRET = 'Client secret that the provider assigned, at most 1,000 characters. No field returns it.';
const DOMAINS =
  'Domains, at most 100. A person who signs in with the provider for the first time must have an email address of one of ' +
  'them. Empty: any address.';
const CREATES =
  'Whether people without an account get one when they sign in for the first time. Requires at least one domain.';
const CLAIM =
  "Name of the groups claim: the claim of the ID token or the UserInfo response that lists a person's groups at the " +
  'provider, as a string or a list of strings. At most 200 characters. Null: groups are not read.';
const RULES =
  'Rules that derive roles and groups from the groups claim, at most 200. A rule matches if the claim ' +
  'contains its value. At each sign-in, the user gets the highest role and all groups of the matching rules. ' +
  'If only rules that do not match name a group or the role of the user, the user leaves the group, and the ' +
  'role becomes `MEMBER`. A role that no rule names can be raised, but is not lowered. The only owner keeps ' +
  'the role. If the provider does not send the groups, nothing changes.';
const ENABLED = 'Whether people can sign in with the provider.';

const IdentityProviderGroupRule = builder.objectRef<GroupRule>('IdentityProviderGroupRule').implement({
  description: 'A rule that gives a role and groups to people whose groups claim contains a value.',
  fields: (t) => ({
    value: t.exposeString('value', { description: VALUE }),
    role: t.field({ type: UserRole, nullable: true, description: RULE_ROLE, resolve: ({ role }) => role as never }),
    userGroups: t.field({
      type: [UserGroup],
      description: 'Groups that people with the value are added to, at most 50.',
      resolve: ({ groupIds }, _args, ctx) => nodesOf(ctx, 'UserGroup', groupIds) as never,
    }),
  }),
});

const IdentityProvider = builder.prismaNode('IdentityProvider', {
  ...byNumber,
  description: 'An OpenID Connect provider with which people sign in to the organization.',
  fields: (t) => ({
    slug: t.exposeString('slug', { description: 'Name of the provider in the URLs of its sign-in.' }),
    name: t.exposeString('name', { description: NAME }),
    issuer: t.exposeString('issuer', { description: ISSUER }),
    clientId: t.exposeString('clientId', { description: CLIENT_ID }),
    hasClientSecret: t.boolean({
      description: 'Whether the client secret is stored. False after the operator lost the key that encrypts it.',
      select: { sealedSecret: true },
      resolve: ({ sealedSecret }) => sealedSecret !== null,
    }),
    redirectUri: t.string({
      description: 'Redirect URI that must be registered with the provider.',
      select: { slug: true },
      resolve: (provider, _args, ctx) => redirectUriOf(ctx.app, signedIn(ctx).viewer.organization, provider),
    }),
    domains: t.exposeStringList('domains', { description: DOMAINS }),
    createsAccounts: t.exposeBoolean('createsAccounts', { description: CREATES }),
    groupsClaim: t.exposeString('groupsClaim', { nullable: true, description: CLAIM }),
    groupRules: t.field({
      type: [IdentityProviderGroupRule],
      description: RULES,
      select: { groupRules: true },
      resolve: groupRulesOf,
    }),
    isEnabled: t.exposeBoolean('isEnabled', { description: ENABLED }),
    isConfiguredByOperator: t.exposeBoolean('isDeclared', {
      description:
        'Whether the operator of the server configures the provider in its environment. Owners cannot change or delete it then.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time at which the provider was added.' }),
  }),
});
nodeModel('IdentityProvider', 'IdentityProvider', visibleTo);

const IdentityProviderConnection = builder.connectionObject(
  { type: IdentityProvider, name: 'IdentityProviderConnection' },
  { name: 'IdentityProviderEdge' },
);

builder.objectField(Organization, 'identityProviders', (t) =>
  t.connection(
    {
      type: IdentityProvider,
      nullable: true,
      description:
        'Providers with which people sign in, oldest first: at most 20. Empty unless the viewer is an owner.',
      resolve: (_organization, args, ctx, info) =>
        pageOf('IdentityProvider', { where: visibleTo(signedIn(ctx)), order: { id: 'asc' }, args, ctx, info }),
    },
    IdentityProviderConnection,
  ),
);

const IdentityProviderGroupRuleInput = builder.inputType('IdentityProviderGroupRuleInput', {
  description: 'A rule that gives a role and groups to people whose groups claim contains a value.',
  fields: (t) => ({
    value: t.string({ description: `${VALUE} At most 200 characters.` }),
    role: t.field({ type: UserRole, required: false, description: RULE_ROLE }),
    userGroupIds: t.idList({
      ...refersTo('UserGroup'),
      required: false,
      description: 'Ids of the groups that people with the value are added to, at most 50. Default: none.',
    }),
  }),
});

type InputBuilder = PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>;

/** Input fields that are optional for new providers too. */
const optionalInput = (t: InputBuilder) => ({
  domains: t.stringList({ required: false, description: DOMAINS }),
  createsAccounts: t.boolean({ required: false, description: CREATES }),
  groupsClaim: t.string({ required: false, description: CLAIM }),
  groupRules: t.field({ type: [IdentityProviderGroupRuleInput], required: false, description: RULES }),
  isEnabled: t.boolean({ required: false, description: ENABLED }),
  currentPassword: t.string({ required: false, description: CURRENT_PASSWORD }),
});

interface GivenOptions {
  readonly domains?: readonly string[] | null | undefined;
  readonly createsAccounts?: boolean | null | undefined;
  readonly groupsClaim?: string | null | undefined;
  readonly groupRules?:
    | readonly {
        readonly value: string;
        readonly role?: number | null | undefined;
        readonly userGroupIds?: readonly unknown[] | null | undefined;
      }[]
    | null
    | undefined;
  readonly isEnabled?: boolean | null | undefined;
}

const toOptions = ({ domains, createsAccounts, groupsClaim, groupRules, isEnabled }: GivenOptions) => ({
  domains: domains ?? undefined,
  createsAccounts: createsAccounts ?? undefined,
  groupsClaim,
  groupRules: groupRules?.map(({ value, role, userGroupIds }) => ({
    ...{ value, role: role ?? null, groupIds: (userGroupIds ?? []) as number[] },
  })),
  isEnabled: isEnabled ?? undefined,
});

const errors = [PasswordRequiredError, RateLimitHitError];

mutation('createIdentityProvider', {
  scope: 'administration',
  description: 'Adds an OpenID Connect provider with which people can sign in. For owners.',
  input: (t) => ({
    slug: t.string({
      description:
        'Name of the provider in the URLs of its sign-in: 1 to 40 lower-case letters, digits and hyphens. It cannot be ' +
        'changed later.',
    }),
    name: t.string({ description: NAME }),
    issuer: t.string({ description: ISSUER }),
    clientId: t.string({ description: CLIENT_ID }),
    clientSecret: t.string({ description: SECRET }),
    ...optionalInput(t),
  }),
  payload: () => ({ identityProvider: { type: IdentityProvider, description: 'The new provider.' } }),
  errors,
  resolve: async (ctx, { slug, name, issuer, clientId, clientSecret, currentPassword, ...options }) => {
    const given = { slug, name, issuer, clientId, clientSecret, ...toOptions(options) };
    return { identityProvider: await createIdentityProvider(ctx, given, currentPassword ?? undefined) };
  },
});

const WHICH = 'Id of the provider.';

mutation('updateIdentityProvider', {
  scope: 'administration',
  description:
    'Changes an identity provider. Omitted fields do not change. For owners. Refused if the operator of the server configures ' +
    'the provider.',
  input: (t) => ({
    identityProviderId: t.id({ ...refersTo('IdentityProvider'), description: WHICH }),
    name: t.string({ required: false, description: NAME }),
    issuer: t.string({ required: false, description: `${ISSUER} If it changes, \`clientSecret\` is required.` }),
    clientId: t.string({ required: false, description: CLIENT_ID }),
    clientSecret: t.string({ required: false, description: SECRET }),
    ...optionalInput(t),
  }),
  payload: () => ({ identityProvider: { type: IdentityProvider, description: 'The provider after the change.' } }),
  errors,
  resolve: async (ctx, { identityProviderId, currentPassword, name, issuer, clientId, clientSecret, ...options }) => {
    const given = {
      ...{ name: name ?? undefined, issuer: issuer ?? undefined, clientId: clientId ?? undefined },
      ...{ clientSecret: clientSecret ?? undefined, ...toOptions(options) },
    };
    const changed = await updateIdentityProvider(ctx, identityProviderId, given, currentPassword ?? undefined);
    return { identityProvider: changed };
  },
});

mutation('deleteIdentityProvider', {
  scope: 'administration',
  description:
    'Deletes an identity provider. The accounts and sessions of people who signed in with it stay. For owners. Refused if the ' +
    'operator of the server configures the provider.',
  input: (t) => ({
    identityProviderId: t.id({ ...refersTo('IdentityProvider'), description: WHICH }),
    currentPassword: t.string({ required: false, description: CURRENT_PASSWORD }),
  }),
  payload: () => ({
    identityProviderId: { type: 'ID', refersTo: 'IdentityProvider', description: 'Id of the deleted provider.' },
  }),
  errors,
  resolve: async (ctx, { identityProviderId, currentPassword }) => {
    await deleteIdentityProvider(ctx, identityProviderId, currentPassword ?? undefined);
    return { identityProviderId };
  },
});

eventType('identity_providers_changed', undefined, 'IdentityProvidersChangedEvent', () => ({}), {
  description: 'The identity providers of the organization changed. Sent to owners.',
  outdates: () => [{ typename: 'Organization', id: null, fields: ['identityProviders'] }],
});

const AppKind = builder.enumType('AppKind', {
  description: 'Kind of a client that signs in through the browser.',
  values: {
    MOBILE: { value: 'mobile', description: 'The browser opens the client with a URL.' },
    DESKTOP: { value: 'desktop', description: 'The person pastes a code into the client.' },
  } as const,
});

mutation('continueInApp', {
  scope: 'administration',
  ignoresIdempotencyKey: true,
  description:
    'Signs the desktop or mobile client that opened this browser in as the same user. Requires a session that ' +
    'began within the last ten minutes.',
  input: (t) => ({
    kind: t.field({ type: AppKind, description: 'Kind of the client.' }),
    secret: t.string({
      description: 'Secret of the client, 64 hexadecimal digits: `mobile_flow_otp` or `desktop_flow_otp`.',
    }),
  }),
  payload: () => ({
    url: {
      type: 'String',
      nullable: true,
      description:
        'URL that opens a mobile client, with its API key encrypted by the secret. Null for a desktop client.',
    },
    desktopCode: {
      type: 'String',
      nullable: true,
      description: 'Code for a desktop client, encrypted by the secret, valid for a minute. Null for a mobile client.',
    },
  }),
  errors: [PasswordRequiredError],
  resolve: async (ctx, { kind, secret }) => {
    const result = await handOver(ctx, kind, secret);
    return result.kind === 'mobile' ? { url: result.url, desktopCode: null } : { url: null, desktopCode: result.code };
  },
});
