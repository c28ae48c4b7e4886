import type { DemoCall, DemoCalls, Lead } from './call.ts';
import { FILE, PICTURE } from './people.ts';

const DOMAIN = { domain: 'boats$RANDOM.example', allow_subdomains: 'false' };
const ofDomain = {
  first: [
    'DOMAIN="boats$RANDOM.example"',
    { call: 'POST /realm/domains', fields: { ...DOMAIN, domain: '$DOMAIN' } },
  ] as const,
  slots: { domain: '$DOMAIN' },
};
const EMOJI = 'EMOJI="parrot$RANDOM"';
const INVITED = { invitee_emails: 'rosa$RANDOM@example.org', stream_ids: '[]' };
/** Creates an invitation, and stores its id, which is the last one in the list. */
const invitation = (creation: Lead): Pick<DemoCall, 'first' | 'slots'> => ({
  first: [creation, { call: 'GET /invites', set: 'INVITATION', take: 'id' }],
  slots: { invite_id: '$INVITATION' },
});
const ofEmail = invitation({ call: 'POST /invites', fields: INVITED });
const NO_VIDEO = { code: 'BAD_REQUEST', needs: '`VIDEO_PROVIDER_…`' };

/**
 * Example calls for the organization, and for video call services. The latter fail in the demo, because no provider is
 * configured.
 */
export const ORGANIZATION_CALLS: DemoCalls = {
  'PATCH /realm': { fields: { description: 'Boats, and what belongs to them.' } },
  'PATCH /realm/user_settings_defaults': { fields: { twenty_four_hour_time: 'true' } },
  'POST /realm/domains': { fields: DOMAIN },
  'PATCH /realm/domains/{domain}': { ...ofDomain, fields: { allow_subdomains: 'true' } },
  'DELETE /realm/domains/{domain}': ofDomain,
  'POST /realm/emoji/{emoji_name}': { first: [PICTURE, EMOJI], slots: { emoji_name: '$EMOJI' }, fields: FILE },
  'DELETE /realm/emoji/{emoji_name}': {
    first: [PICTURE, EMOJI, { call: 'POST /realm/emoji/{emoji_name}', slots: { emoji_name: '$EMOJI' }, fields: FILE }],
    slots: { emoji_name: '$EMOJI' },
  },
  'POST /invites': { fields: INVITED },
  'DELETE /invites/{invite_id}': ofEmail,
  'POST /invites/{invite_id}/resend': ofEmail,
  'DELETE /invites/multiuse/{invite_id}': invitation({ call: 'POST /invites/multiuse' }),
  'POST /calls/videoprovider/create': { refused: NO_VIDEO },
  'GET /calls/videoprovider/register': { refused: NO_VIDEO },
  'GET /calls/videoprovider/complete': { fields: { state: 'x', code: 'y' }, refused: NO_VIDEO },
};
