import { apiEmailOf } from '../../access/address.ts';
import { defineEvent } from '../../events/define.ts';
import { type Presence, toLegacyPresence, toWirePresence } from './wire.ts';

/**
 * To everyone who can access the user: they have come online, or show that they are there no longer. Ephemeral: a minute
 * later clients have asked for everybody's presence themselves.
 */
export const presenceChanged = defineEvent(
  'presence',
  undefined,
  (presence: Presence, now: Date) => ({
    user_id: presence.user.id,
    email: apiEmailOf(presence.user),
    server_timestamp: now.getTime() / 1000,
    seen: toWirePresence(presence),
  }),
  {
    ephemeral: true,
    render: ({ user_id, email, server_timestamp, seen }, { options: { capabilities, slimPresence } }) =>
      capabilities.simplified_presence_events
        ? { type: 'presence', presences: { [user_id]: seen } }
        : {
            type: 'presence',
            user_id,
            ...(!slimPresence && { email }),
            server_timestamp,
            presence: { website: toLegacyPresence(seen) },
          },
  },
);
