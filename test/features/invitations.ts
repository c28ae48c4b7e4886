import { freshAddress } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';
import { heldBy } from '../helpers/piles.ts';

const CONFIRM = 'The address must be confirmed by email first: use `requestInvitation`.';

export const invitations: FeatureTests = {
  rest: {
    'GET /invites': () => [{}],
    'POST /invites': ({ channelId, customGroupId }) => [
      {
        parameters: {
          ...{ invitee_emails: freshAddress(), invite_expires_in_minutes: 60, invite_as: 300 },
          ...{ stream_ids: [channelId], group_ids: [customGroupId], include_realm_default_subscriptions: true },
          ...{
            notify_referrer_on_join: false,
            welcome_message_custom_text: 'Welcome',
            current_password: 'not looked at',
          },
        },
      },
    ],
    'POST /invites/multiuse': ({ channelId, customGroupId }) => [
      {
        parameters: {
          ...{ invite_expires_in_minutes: 60, invite_as: 300, stream_ids: [channelId], group_ids: [customGroupId] },
          ...{ include_realm_default_subscriptions: true, welcome_message_custom_text: 'Welcome' },
          current_password: 'not looked at',
        },
      },
    ],
    'POST /invites/{invite_id}/resend': ({ invitationId }) => [{ slots: { invite_id: invitationId } }],
    'POST /realm/test_welcome_bot_custom_message': () => [{ parameters: { welcome_message_custom_text: 'Welcome' } }],
    'DELETE /invites/{invite_id}': ({ invitationId }) => [{ slots: { invite_id: invitationId } }],
    'DELETE /invites/multiuse/{invite_id}': ({ inviteLinkId }) => [{ slots: { invite_id: inviteLinkId } }],
  },
  mutations: {
    inviteUsers: ({ channelId, customGroupId }) => [
      {
        ...{ emails: [freshAddress()], role: 'MODERATOR', channelIds: [channelId], userGroupIds: [customGroupId] },
        ...{ includesDefaultChannels: true, expiresInMinutes: 60, welcomeText: 'Welcome', notifiesInviter: false },
        currentPassword: 'not looked at',
      },
    ],
    createInviteLink: ({ channelId, customGroupId }) => [
      {
        ...{ role: 'MODERATOR', channelIds: [channelId], userGroupIds: [customGroupId], includesDefaultChannels: true },
        ...{ expiresInMinutes: 60, welcomeText: 'Welcome', currentPassword: 'not looked at' },
      },
    ],
    testWelcomeMessage: () => [{ welcomeText: 'Welcome' }],
    resendInvitation: ({ invitationId }) => [{ invitationId }],
    requestInvitation: ({ inviteToken }) => [{ token: inviteToken, email: freshAddress() }],
    acceptInvitation: ({ inviteToken }) => [
      { token: inviteToken, fullName: 'New Person', password: 'correct horse battery' },
    ],
    revokeInvitation: ({ invitationId }) => [{ invitationId }],
  },
  refusals: { acceptInvitation: CONFIRM },
  nodes: ({ invitationId }) => ({ Invitation: invitationId }),
  piles: {
    invitations: {
      fill: ({ sql }) =>
        sql(`INSERT INTO invitation (realm_id, inviter_id, is_reusable, email, role, channel_ids, includes_default_channels,
                                     group_ids, notifies_inviter, token_hash, created_at, sent_at)
        SELECT $1, $2, false, 'old' || n || '@example.com', 400, '{}', false, '{}', false, int4send(n), now(), '{}'
        FROM generate_series(1, 5000) AS n`),
      rest: ({ member }, i) =>
        member.rest('POST', '/invites', { invitee_emails: `new${i}@example.com`, stream_ids: [] }),
      graphql: (_, i) => ['inviteUsers', { emails: [`new${i}@example.com`] }],
      held: heldBy('invitation', 'inviter_id = $1 AND closed_at IS NULL'),
      free: async ({ member }) => {
        const { invites } = await member.ok('GET', '/invites');
        await member.ok('DELETE', `/invites/${invites[0].id}`);
      },
    },
  },
  rules: { invites_changed: () => {} },
};
