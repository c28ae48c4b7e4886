import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, json, text } from '../../api/rest/params.ts';
import { MEMBER, ROLES_MEANING } from '../../platform/roles.ts';
import { CURRENT_PASSWORD } from '../sign-in/proof.ts';
import { InvitationFailedError } from './errors.ts';
import {
  createInviteLink,
  DEFAULT_MINUTES,
  inviteUsers,
  linkUrlOf,
  listInvitations,
  type NewInvitation,
  resendInvitation,
  revokeInvitation,
} from './service.ts';
import { sendWelcomeTest } from './welcome.ts';
import { toWireList, wireInvitation } from './wire.ts';

const invite_id = inPath(z.int(), { description: 'Id of the invitation.' });

const STREAMS = {
  description:
    'Ids of the channels that the person joins. Channels to which you cannot add users must be default channels.',
};
const streams = json(z.array(z.int()), { ...STREAMS, example: '[1]' });

const invite_expires_in_minutes = json(z.int().nullable(), {
  description: 'Lifetime in minutes, up to 5,256,000 (ten years). Null: the invitation does not expire.',
}).default(DEFAULT_MINUTES);
const invite_as = json(z.int(), {
  description: `Role of the person: ${ROLES_MEANING} Not a higher role than your own.`,
}).default(MEMBER);

const OTHERS = {
  group_ids: json(z.array(z.int()), {
    description: 'Ids of the groups that the person joins. You must be able to add members to them.',
  }).optional(),
  include_realm_default_subscriptions: json(z.boolean(), {
    description: 'Whether the person also joins the default channels. Guests never do.',
  }).default(false),
  welcome_message_custom_text: text(z.string(), {
    description:
      'Text of the direct message to the person, as flavored Markdown. At most 8,000 characters. Absent: the text of ' +
      'the organization. Empty: no message.',
  }).optional(),
  current_password: text(z.string(), {
    description: `${CURRENT_PASSWORD} Used only for roles above member.`,
  }).optional(),
};

interface Given {
  readonly invite_as: number;
  readonly stream_ids: readonly number[];
  readonly group_ids?: readonly number[];
  readonly include_realm_default_subscriptions: boolean;
  readonly invite_expires_in_minutes: number | null;
  readonly welcome_message_custom_text?: string;
  readonly current_password?: string;
}

const toNew = (given: Given): NewInvitation => ({
  role: given.invite_as,
  channelIds: given.stream_ids,
  groupIds: given.group_ids,
  includesDefaultChannels: given.include_realm_default_subscriptions,
  expiresInMinutes: given.invite_expires_in_minutes,
  welcomeText: given.welcome_message_custom_text,
  currentPassword: given.current_password,
});

/** Creators of a link always see its URL, so no channels need to be checked. */
const NO_CHANNELS: ReadonlySet<number> = new Set();

export const getInvites = endpoint({
  method: 'GET',
  path: '/invites',
  auth: 'basic',
  equivalents: ['Organization.invitations'],
  scope: ['read', 'administration'],
  summary: 'List the open invitations',
  description:
    'Administrators see the invitations of all users, other users only their own. Invitations for a role ' +
    'higher than your own are left out, and so are those that were used or revoked, or have expired.',
  params: {},
  reply: { invites: z.array(wireInvitation) },
  async handle(ctx) {
    return { invites: await toWireList(ctx, await listInvitations(ctx)) };
  },
});

export const postInvites = endpoint({
  method: 'POST',
  path: '/invites',
  auth: 'basic',
  equivalents: ['inviteUsers'],
  scope: 'administration',
  summary: 'Invite people by email',
  description:
    'Each person gets an email with a link that can be used once. Refused if the server cannot send email: create a link ' +
    'instead. If some addresses already have an account, the error ' +
    '`INVITATION_FAILED` lists them, and the other people are invited. With an idempotency key, no person is invited then.',
  permission: 'users with the permission `can_invite_users_group`',
  params: {
    invitee_emails: text(z.string(), {
      description: 'Email addresses, separated by commas or newlines. At most 500.',
      example: 'zoe@example.com, max@example.com',
    }),
    invite_expires_in_minutes,
    invite_as,
    stream_ids: streams,
    ...OTHERS,
    notify_referrer_on_join: json(z.boolean(), {
      description: 'Whether you get a direct message when the person joins.',
    }).default(true),
  },
  reply: {},
  async handle(ctx, { invitee_emails, notify_referrer_on_join, ...given }) {
    const { refused } = await inviteUsers(ctx, {
      ...toNew(given),
      emails: invitee_emails.split(/[,\n]/),
      notifiesInviter: notify_referrer_on_join,
      // An error rolls the transaction of the idempotency key back.
      isAllOrNone: ctx.work.transaction !== undefined,
    });
    if (refused.length === 0) return;
    throw new InvitationFailedError(
      "Some of those addresses are already in use, so we didn't send them an invitation. We did send invitations to " +
        'everyone else!',
      { refused, isSent: true },
    );
  },
});

export const postMultiuseInvite = endpoint({
  method: 'POST',
  path: '/invites/multiuse',
  auth: 'basic',
  equivalents: ['createInviteLink'],
  scope: 'administration',
  summary: 'Create an invitation link',
  description: 'Any number of people can use the link.',
  permission: 'users with the permission `create_multiuse_invite_group`',
  ignoresIdempotencyKey: true,
  params: { invite_expires_in_minutes, invite_as, stream_ids: streams.default([]), ...OTHERS },
  reply: { invite_link: z.string() },
  async handle(ctx, given) {
    const link = linkUrlOf(ctx, await createInviteLink(ctx, toNew(given)), NO_CHANNELS);
    if (link === null) throw new Error('The new link cannot be read');
    return { invite_link: link };
  },
});

export const deleteInvite = endpoint({
  method: 'DELETE',
  path: '/invites/{invite_id}',
  auth: 'basic',
  equivalents: ['revokeInvitation'],
  scope: 'administration',
  summary: 'Revoke an invitation by email',
  params: { invite_id },
  reply: {},
  handle: (ctx, { invite_id }) => revokeInvitation(ctx, invite_id, false),
});

export const deleteMultiuseInvite = endpoint({
  method: 'DELETE',
  path: '/invites/multiuse/{invite_id}',
  auth: 'basic',
  equivalents: ['revokeInvitation'],
  scope: 'administration',
  summary: 'Revoke an invitation link',
  description: 'Links in emails that people requested on the page of this link become invalid, too.',
  params: { invite_id },
  reply: {},
  handle: (ctx, { invite_id }) => revokeInvitation(ctx, invite_id, true),
});

export const resendInvite = endpoint({
  method: 'POST',
  path: '/invites/{invite_id}/resend',
  auth: 'basic',
  equivalents: ['resendInvitation'],
  scope: 'administration',
  summary: 'Send an invitation by email again',
  description:
    'The link in the previous email becomes invalid, and the lifetime begins again, also if the invitation has expired.',
  params: { invite_id },
  reply: {},
  async handle(ctx, { invite_id }) {
    await resendInvitation(ctx, invite_id);
  },
});

export const postWelcomeTest = endpoint({
  method: 'POST',
  path: '/realm/test_welcome_bot_custom_message',
  auth: 'basic',
  equivalents: ['testWelcomeMessage'],
  summary: 'Send yourself a welcome text',
  description:
    'Sends you the given text as a direct message, in the same way as to people who join with an invitation.',
  permission: 'administrators',
  params: {
    welcome_message_custom_text: text(z.string(), {
      description: 'Text of the message, as flavored Markdown. At most 8,000 characters.',
      example: 'Welcome aboard.',
    }),
  },
  reply: { message_id: z.int() },
  async handle(ctx, { welcome_message_custom_text }) {
    return { message_id: await sendWelcomeTest(ctx, welcome_message_custom_text) };
  },
});
