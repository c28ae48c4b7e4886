import { describe, test } from 'vitest';
import { bothDoors, furnish, NOBODY, type Who, type World } from '../helpers/both-doors.ts';
import { type EquivalentOrganization, expectParity } from '../helpers/equivalents.ts';

/** Creates an invitation by email of the member, and a link of the owner. */
async function invited(twin: EquivalentOrganization) {
  const world = await furnish(twin);
  await world.member.ok('POST', '/invites', { invitee_emails: 'max@new.example', stream_ids: [] });
  await world.owner.ok('POST', '/invites/multiuse');
  const { invites } = await world.owner.ok('GET', '/invites');
  const [byEmail, link] = invites.map(({ id }: { id: number }, i: number) =>
    twin.name('invitation', id, `number ${i}`),
  );
  return { ...world, byEmail, link };
}
type Invited = World & { readonly byEmail: number; readonly link: number };

describe('invitations', () => {
  test.concurrent('POST /invites and inviteUsers', async () => {
    const act = (who: Who, email: string, code?: string, rest: object = {}, graphql: object = {}) =>
      bothDoors('POST', '/invites', 'inviteUsers')(
        who,
        ({ general }) => ({ invitee_emails: email, stream_ids: [general], ...rest }),
        ({ general }) => ({ emails: [email], channelIds: [general], ...graphql }),
        code,
      );
    await expectParity(furnish, {
      'one person': act('member', 'zoe@new.example'),
      'as a guest': act('guest', 'a@new.example', 'BAD_REQUEST'),
      'as an administrator': act(
        'administrator',
        'b@new.example',
        undefined,
        { invite_as: 200 },
        { role: 'ADMINISTRATOR' },
      ),
      'a higher role': act('member', 'c@new.example', 'BAD_REQUEST', { invite_as: 300 }, { role: 'MODERATOR' }),
      'no address': act('member', 'nobody', 'INVITATION_FAILED'),
      'no channel': act('member', 'd@new.example', 'BAD_REQUEST', { stream_ids: [NOBODY] }, { channelIds: [NOBODY] }),
      'a lifetime': act(
        ...(['member', 'e@new.example', undefined] as const),
        { invite_expires_in_minutes: null, include_realm_default_subscriptions: true },
        { expiresInMinutes: null, includesDefaultChannels: true },
      ),
      'too short a lifetime': act(
        ...(['member', 'f@new.example', 'BAD_REQUEST'] as const),
        { invite_expires_in_minutes: 0 },
        { expiresInMinutes: 0 },
      ),
      'a long text': act(
        ...(['member', 'g@new.example', 'BAD_REQUEST'] as const),
        { welcome_message_custom_text: 'x'.repeat(8001) },
        { welcomeText: 'x'.repeat(8001) },
      ),
    });
  });

  test.concurrent('POST /realm/test_welcome_bot_custom_message and testWelcomeMessage', async () => {
    const act = (who: Who, text: string, code?: string) =>
      bothDoors('POST', '/realm/test_welcome_bot_custom_message', 'testWelcomeMessage')(
        who,
        () => ({ welcome_message_custom_text: text }),
        () => ({ welcomeText: text }),
        code,
      );
    await expectParity(furnish, {
      'by an administrator': act('administrator', 'Ahoy **you**'),
      'by a member': act('member', 'Ahoy', 'UNAUTHORIZED_PRINCIPAL'),
      'a blank text': act('owner', ' ', 'BAD_REQUEST'),
      'a long text': act('owner', 'x'.repeat(8001), 'BAD_REQUEST'),
    });
  });

  test.concurrent('POST /invites/multiuse and createInviteLink', async () => {
    const act = (who: Who, code?: string) =>
      bothDoors('POST', '/invites/multiuse', 'createInviteLink')(
        who,
        ({ general }) => ({ stream_ids: [general] }),
        ({ general }) => ({ channelIds: [general] }),
        code,
      );
    await expectParity(furnish, { 'by an owner': act('owner'), 'by a member': act('member', 'BAD_REQUEST') });
  });

  test.concurrent('POST /invites/{invite_id}/resend and resendInvitation', async () => {
    const act = (who: Who, id: (world: Invited) => number, code?: string) =>
      bothDoors('POST', (world) => `/invites/${id(world as Invited)}/resend`, 'resendInvitation')(
        who,
        () => ({}),
        (world) => ({ invitationId: id(world as Invited) }),
        code,
      );
    await expectParity(invited, {
      'by its inviter': act('member', ({ byEmail }) => byEmail),
      'by an administrator': act('administrator', ({ byEmail }) => byEmail),
      'by another user': act('moderator', ({ byEmail }) => byEmail, 'BAD_REQUEST'),
      'a link': act('owner', ({ link }) => link, 'BAD_REQUEST'),
    });
  });

  test.concurrent('DELETE /invites/{invite_id} and revokeInvitation', async () => {
    const act = (who: Who, id: (world: Invited) => number, code?: string, kind = '') =>
      bothDoors('DELETE', (world) => `/invites${kind}/${id(world as Invited)}`, 'revokeInvitation')(
        who,
        () => ({}),
        (world) => ({ invitationId: id(world as Invited) }),
        code,
      );
    await expectParity(invited, {
      'by another user': act('moderator', ({ byEmail }) => byEmail, 'BAD_REQUEST'),
      'by its inviter': act('member', ({ byEmail }) => byEmail),
      again: act('member', ({ byEmail }) => byEmail, 'BAD_REQUEST'),
      'a link by an administrator': act('administrator', ({ link }) => link, undefined, '/multiuse'),
    });
  });
});
