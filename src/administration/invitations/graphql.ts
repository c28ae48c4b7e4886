import { signedIn } from '../../access/context.ts';
import { OrganizationDeactivatedError } from '../../access/errors.ts';
import { mayInOrganization } from '../../access/permissions/require.ts';
import { CsrfFailedError } from '../../api/cross-site.ts';
import { batchResolver, byKey } from '../../api/graphql/loading/batch-resolvers.ts';
import type { GraphQLContext } from '../../api/graphql/loading/context.ts';
import { builder, type Types } from '../../api/graphql/schema/builder.ts';
import { pageOf } from '../../api/graphql/schema/connection.ts';
import { errorType } from '../../api/graphql/schema/errors.ts';
import { eventType } from '../../api/graphql/schema/event-types.ts';
import { mutation, publicMutation } from '../../api/graphql/schema/mutation.ts';
import { byNumber, nodeModel, nodesOf } from '../../api/graphql/schema/node.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { UserRole } from '../../api/graphql/schema/user-role.ts';
import { Channel } from '../../channels/graphql.ts';
import { readableChannels, viewerAsActor } from '../../channels/loaders.ts';
import type { Invitation as InvitationRow } from '../../generated/prisma/client.ts';
import { Message, readBack } from '../../messages/graphql.ts';
import { User } from '../../people/graphql.ts';
import { usersById } from '../../people/loaders.ts';
import { NonexistentSubdomainError, RateLimitHitError } from '../../platform/errors.ts';
import { Organization } from '../organization/graphql.ts';
import { PasswordRequiredError } from '../sign-in/errors.ts';
import { CURRENT_PASSWORD } from '../sign-in/proof.ts';
import { UserGroup } from '../user-groups/graphql.ts';
import { InvitationFailedError, type RefusedAddress } from './errors.ts';
import { acceptInvitation, requestInvitation } from './joining.ts';
import {
  createInviteLink,
  decidingChannelIds,
  inviteUsers,
  isExpired,
  linkUrlOf,
  resendInvitation,
  revokeInvitation,
  visibleTo,
} from './service.ts';
import { sendWelcomeTest } from './welcome.ts';

const Invitation = builder.prismaNode('Invitation', {
  ...byNumber,
  description: 'An invitation to join the organization that was neither used nor revoked.',
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'Id in the REST API.' }),
    isReusable: t.exposeBoolean('isReusable', {
      description: 'Whether it is a link that any number of people can use. Otherwise it is for one person, by email.',
    }),
    email: t.exposeString('email', {
      nullable: true,
      description: 'Address of the invited person. Null for a link.',
    }),
    linkUrl: t.string({
      nullable: true,
      extensions: { scope: 'administration' },
      description:
        'URL of a link. Null for an invitation by email, if the link has expired, or if the operator lost the key that encrypts the link. For a ' +
        'role above `MEMBER`, also null in a session if the sign-in was more than ten minutes ago, unless the request ' +
        'contains the current password. Null if another user created the invitation, and it includes a channel that the ' +
        'viewer cannot read.',
      resolve: batchResolver<InvitationRow, string | null>(async (invitations, ctx) => {
        const viewing = signedIn(ctx);
        const ids = [...new Set(invitations.flatMap((one) => decidingChannelIds(viewing, one)))];
        const channels = await readableChannels(ctx).loadAll(ids);
        const readable = new Set(channels.flatMap((one) => (one === null || one instanceof Error ? [] : [one.id])));
        return invitations.map((one) => linkUrlOf(viewing, one, readable));
      }),
    }),
    role: t.field({ type: UserRole, description: 'Role of the new user.', resolve: ({ role }) => role as never }),
    inviter: t.field({
      type: User,
      description: 'User who created the invitation.',
      resolve: byKey(usersById, ({ inviterId }) => inviterId),
    }),
    channels: t.field({
      type: [Channel],
      description:
        'Channels that the new user joins, at most 500, in addition to the default channels. Channels that the viewer ' +
        'cannot see are left out.',
      resolve: ({ channelIds }, _args, ctx) => nodesOf(ctx, 'Channel', channelIds) as never,
    }),
    includesDefaultChannels: t.exposeBoolean('includesDefaultChannels', {
      description: 'Whether the new user also joins the default channels. Guests never do.',
    }),
    userGroups: t.field({
      type: [UserGroup],
      description: 'Groups that the new user joins, at most 500. Groups that the viewer cannot see are left out.',
      resolve: ({ groupIds }, _args, ctx) => nodesOf(ctx, 'UserGroup', groupIds) as never,
    }),
    notifiesInviter: t.exposeBoolean('notifiesInviter', {
      description: 'Whether the inviter gets a direct message when the person joins. Always false for a link.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time of the invitation.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time at which the invitation expires. Null: never.',
    }),
    isExpired: t.boolean({
      description:
        'Whether the invitation has expired. It can no longer be used. `resendInvitation` renews an invitation by email, but ' +
        'not a link. When an invitation is created, those that expired more than 30 days ago are deleted.',
      resolve: (invitation, _args, ctx) => isExpired(ctx, invitation),
    }),
  }),
});
nodeModel('Invitation', 'Invitation', visibleTo);

const InvitationConnection = builder.connectionObject(
  { type: Invitation, name: 'InvitationConnection' },
  { name: 'InvitationEdge' },
);

builder.objectField(Organization, 'invitations', (t) =>
  t.connection(
    {
      type: Invitation,
      nullable: true,
      description:
        'Invitations that were neither used nor revoked, also expired ones, oldest first. Administrators see the invitations of all users, other viewers only their own. ' +
        "Invitations for a role higher than the viewer's are left out.",
      resolve: (_organization, args, ctx, info) =>
        pageOf('Invitation', { where: visibleTo(signedIn(ctx)), order: { id: 'asc' }, args, ctx, info }),
    },
    InvitationConnection,
  ),
);

builder.objectFields(Organization, (t) => ({
  viewerCanInviteUsers: t.boolean({
    description: 'Whether the viewer can invite people by email. False if the server cannot send email.',
    resolve: async (_organization, _args, ctx) =>
      ctx.app.config.smtpUrl !== undefined && mayInOrganization(await viewerAsActor(ctx), 'can_invite_users_group'),
  }),
  viewerCanCreateInviteLinks: t.boolean({
    description: 'Whether the viewer can create invitation links.',
    resolve: async (_organization, _args, ctx) =>
      mayInOrganization(await viewerAsActor(ctx), 'create_multiuse_invite_group'),
  }),
}));

const InvitationRefusal = builder.enumType('InvitationRefusal', {
  description: 'Reason for which an address is not invited.',
  values: {
    INVALID_ADDRESS: { value: 'invalidAddress', description: 'It is not a valid email address.' },
    ADDRESS_NOT_ALLOWED: {
      value: 'addressNotAllowed',
      description: 'The organization does not accept the domain of the address, or addresses with "+".',
    },
    HAS_ACCOUNT: { value: 'hasAccount', description: 'A user of the organization has the address.' },
    IS_DEACTIVATED: { value: 'isDeactivated', description: 'A deactivated user of the organization has the address.' },
  } as const,
});

const RefusedAddressType = builder.objectRef<RefusedAddress>('RefusedAddress').implement({
  description: 'An address that is not invited.',
  fields: (t) => ({
    email: t.exposeString('email', { description: 'The address, as in the input.' }),
    refusal: t.expose('refusal', { type: InvitationRefusal, description: 'Reason of the refusal.' }),
  }),
});

errorType(
  InvitationFailedError,
  'No invitation was sent: an address is invalid, none of the addresses can be invited, or a limit of the organization is ' +
    'reached.',
  (t) => ({
    refusedAddresses: t.field({
      type: [RefusedAddressType],
      description: 'The refused addresses, at most 500. Empty if a limit is reached.',
      resolve: ({ refused }) => [...refused],
    }),
    dailyLimitReached: t.boolean({
      description: 'Whether the organization would send more invitations within 24 hours than the operator permits.',
      resolve: ({ data }) => data.daily_limit_reached,
    }),
    userLimitReached: t.boolean({
      description:
        'Whether the organization would have more active users than the operator permits, if all invited people joined.',
      resolve: ({ data }) => data.license_limit_reached,
    }),
  }),
);

type InputBuilder = PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>;

/** Input fields of both kinds of invitations. */
const termsInput = (t: InputBuilder) => ({
  role: t.field({
    type: UserRole,
    required: false,
    description: "Role of the new user, not higher than the viewer's. Default: `MEMBER`.",
  }),
  channelIds: t.idList({
    ...refersTo('Channel'),
    required: false,
    description:
      'Ids of the channels that the new user joins, at most 500. Channels to which the viewer cannot add users must be ' +
      'default channels. Default: none.',
  }),
  includesDefaultChannels: t.boolean({
    required: false,
    description: 'Whether the new user also joins the default channels. Guests never do. Default: false.',
  }),
  userGroupIds: t.idList({
    ...refersTo('UserGroup'),
    required: false,
    description:
      'Ids of the groups that the new user joins, at most 500. The viewer must be able to add members to them. ' +
      'Default: none.',
  }),
  expiresInMinutes: t.int({
    required: false,
    description: 'Lifetime in minutes, 1 to 5,256,000 (ten years). Default: 14,400 (ten days). Null: no expiry.',
  }),
  welcomeText: t.string({
    required: false,
    description:
      'Text of the direct message to the new user, as flavored Markdown, at most 8,000 characters. Default: the text of ' +
      'the organization. Empty: no message.',
  }),
  currentPassword: t.string({
    required: false,
    description: `${CURRENT_PASSWORD} Used only for roles above \`MEMBER\`.`,
  }),
});

interface GivenTerms {
  readonly role?: number | null | undefined;
  readonly channelIds?: readonly unknown[] | null | undefined;
  readonly includesDefaultChannels?: boolean | null | undefined;
  readonly userGroupIds?: readonly unknown[] | null | undefined;
  readonly expiresInMinutes?: number | null | undefined;
  readonly welcomeText?: string | null | undefined;
  readonly currentPassword?: string | null | undefined;
}

const toNew = (given: GivenTerms) => ({
  role: given.role ?? undefined,
  channelIds: (given.channelIds ?? []) as number[],
  includesDefaultChannels: given.includesDefaultChannels ?? false,
  groupIds: (given.userGroupIds ?? []) as number[],
  expiresInMinutes: given.expiresInMinutes,
  welcomeText: given.welcomeText,
  currentPassword: given.currentPassword ?? undefined,
});

mutation('inviteUsers', {
  scope: 'administration',
  description:
    'Invites people by email. Each gets a link that can be used once. If some addresses already have an account, the ' +
    'other people are invited. Refused if the server cannot send email: use `createInviteLink` instead.',
  input: (t) => ({
    emails: t.stringList({ description: 'Addresses of the people, at most 500. `Name <address>` is accepted too.' }),
    ...termsInput(t),
    notifiesInviter: t.boolean({
      required: false,
      description: 'Whether the viewer gets a direct message when a person joins. Default: true.',
    }),
  }),
  payload: () => ({
    invitations: { type: [Invitation], description: 'The new invitations, in the order of the input: at most 500.' },
    refused: { type: [RefusedAddressType], description: 'Addresses that already have an account, at most 500.' },
  }),
  errors: [InvitationFailedError, PasswordRequiredError, RateLimitHitError],
  resolve: async (ctx, { emails, notifiesInviter, ...terms }) => {
    const { invitations, refused } = await inviteUsers(ctx, {
      ...toNew(terms),
      emails,
      notifiesInviter: notifiesInviter ?? true,
    });
    return { invitations: [...invitations], refused: [...refused] };
  },
});

mutation('createInviteLink', {
  scope: 'administration',
  description: 'Creates a link with which any number of people can join.',
  ignoresIdempotencyKey: true,
  input: termsInput,
  payload: () => ({ invitation: { type: Invitation, description: 'The new invitation.' } }),
  errors: [PasswordRequiredError, RateLimitHitError],
  resolve: async (ctx, terms) => ({ invitation: await createInviteLink(ctx, toNew(terms)) }),
});

mutation('revokeInvitation', {
  scope: 'administration',
  description:
    'Revokes an invitation: its link can no longer be used. If the link is reusable, the links in emails that people ' +
    'requested on its page become invalid too.',
  input: (t) => ({ invitationId: t.id({ ...refersTo('Invitation'), description: 'Id of the invitation.' }) }),
  payload: () => ({
    invitationId: { type: 'ID', refersTo: 'Invitation', description: 'Id of the revoked invitation.' },
  }),
  resolve: async (ctx, { invitationId }) => {
    await revokeInvitation(ctx, invitationId);
    return { invitationId };
  },
});

mutation('resendInvitation', {
  scope: 'administration',
  description:
    'Sends the email of an invitation again. The link in the previous email becomes invalid, and the lifetime begins ' +
    'again, also if the invitation has expired.',
  input: (t) => ({
    invitationId: t.id({ ...refersTo('Invitation'), description: 'Id of an invitation by email.' }),
  }),
  payload: () => ({ invitation: { type: Invitation, description: 'The invitation after the change.' } }),
  errors: [InvitationFailedError],
  resolve: async (ctx, { invitationId }) => ({ invitation: await resendInvitation(ctx, invitationId) }),
});

mutation('testWelcomeMessage', {
  description:
    'Sends a welcome text to the viewer, in the same way as to people who join with an invitation. For administrators.',
  input: (t) => ({
    welcomeText: t.string({ description: 'Text of the message, as flavored Markdown, 1 to 8,000 characters.' }),
  }),
  payload: () => ({ sentMessage: { type: Message, nullable: true, description: 'The sent message.' } }),
  resolve: async (ctx, { welcomeText }) => ({
    sentMessage: await readBack(ctx, await sendWelcomeTest(ctx, welcomeText)),
  }),
});

const TOKEN = 'Token at the end of the invitation link.';

publicMutation('requestInvitation', {
  description:
    'Sends an email with a personal link to a person who has a reusable invitation link. The email proves that the ' +
    'address belongs to the person. If the address already has an account, the result is the same, but the email says ' +
    'so and contains no link. Limited to 3 requests per hour for an address, and to 250 per hour from a network. ' +
    'Requires no credentials.',
  input: (t) => ({
    token: t.string({ description: TOKEN }),
    email: t.string({ description: 'Address of the person.' }),
  }),
  payload: () => ({ email: { type: 'String', description: 'Address to which the email is sent.' } }),
  errors: [InvitationFailedError, NonexistentSubdomainError, OrganizationDeactivatedError, RateLimitHitError],
  resolve: async (request, input) => {
    await requestInvitation(request, input);
    return { email: input.email };
  },
});

publicMutation('acceptInvitation', {
  description:
    'Creates the account of a person who accepts an invitation. Over HTTP, the response sets the cookie of a session, as ' +
    'for `signIn`. Requires no credentials.',
  ignoresIdempotencyKey: true,
  provesIdentity: true,
  input: (t) => ({
    token: t.string({ description: TOKEN }),
    fullName: t.string({ description: 'Full name of the person, at most 100 characters.' }),
    password: t.string({ description: 'Password of the new account, 8 to 100 characters.' }),
  }),
  payload: () => ({
    userId: { type: 'ID', refersTo: 'User', description: 'Id of the new user.' },
    email: {
      type: 'String',
      description:
        'Email address with which the new user signs in: the invited address or, if the person used a link and the ' +
        'server cannot send email, an address that the service created.',
    },
  }),
  errors: [CsrfFailedError, NonexistentSubdomainError, OrganizationDeactivatedError, RateLimitHitError],
  resolve: async (request, acceptance) => {
    const user = await acceptInvitation(request, acceptance, (request as GraphQLContext).browser);
    return { userId: user.id, email: user.email };
  },
});

eventType('invites_changed', undefined, 'InvitationsChangedEvent', () => ({}), {
  description:
    'The list of invitations changed. Sent to administrators, and to the users who created the changed invitations.',
  outdates: () => [{ typename: 'Organization', id: null, fields: ['invitations'] }],
});
