import { z } from 'zod';
import { apiEmailOf } from '../../access/address.ts';
import { defineEvent } from '../../events/define.ts';
import { documentEvent } from '../../events/wire.ts';
import { type Presence, toLegacyPresence, toWirePresence, wirePresence, wireWebsite } from './wire.ts';

/** Presence of a user in an event, with times in ISO 8601. */
export interface ProjectedPresence {
  readonly userId: number;
  readonly active_at: string;
  readonly idle_at: string;
  readonly version: number;
}

/**
 * Event that a user came online, or switched their presence off or on. Recipients: all users who can see the user. Replay skips
 * the event if it is older than a minute, because clients request the presence of all users every minute.
 */
export const presenceChanged = defineEvent(
  'presence',
  undefined,
  (presence: Presence, now: Date) => ({
    user_id: presence.user.id,
    email: apiEmailOf(presence.user),
    server_timestamp: now.getTime() / 1000,
    seen: toWirePresence(presence),
    active_at: presence.activeAt.toISOString(),
    idle_at: presence.idleAt.toISOString(),
    version: presence.updateId,
  }),
  {
    ephemeral: true,
    facts: ({ user_id, active_at, idle_at, version }): ProjectedPresence => ({
      userId: user_id,
      active_at,
      idle_at,
      version,
    }),
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

documentEvent(presenceChanged, 'users who can see the user', {
  presences: z
    .record(z.string(), wirePresence)
    .optional()
    .describe('By user id. For clients with the capability `simplified_presence_events`.'),
  user_id: z.int().optional(),
  email: z.string().optional(),
  server_timestamp: z.number().optional().describe('UNIX seconds, with fractions.'),
  presence: z
    .strictObject({ website: wireWebsite })
    .optional()
    .describe('For clients without the capability `simplified_presence_events`.'),
});
