import { z } from 'zod';
import type { Addressed } from '../../access/address.ts';
import { apiEmailOf } from '../../access/address.ts';
import { PRESENCE_SECONDS } from '../../platform/limits.ts';
import type { Wire } from '../../platform/wire.ts';

/** How a user is there: doing something, or with a client open. */
export const PRESENCE_PINGS = ['active', 'idle'] as const;
export type PresencePing = (typeof PRESENCE_PINGS)[number];

/** When somebody was last there. */
export interface Presence {
  readonly user: Addressed;
  /** Last seen doing something. */
  readonly activeAt: Date;
  /** Last seen at all. */
  readonly idleAt: Date;
  /** Grows with each change of anybody in the organisation. */
  readonly updateId: number;
}

/** UNIX seconds. */
export const wirePresence = z
  .object({ active_timestamp: z.int(), idle_timestamp: z.int() })
  .meta({ id: 'Presence', description: 'UNIX seconds.' });
export type WirePresence = Wire<typeof wirePresence>;

const wireAggregated = z.object({ client: z.literal('website'), status: z.enum(PRESENCE_PINGS), timestamp: z.int() });
export const wireWebsite = wireAggregated.extend({ pushable: z.literal(false) });
type LegacyPresence = Wire<typeof wireWebsite>;

/** What old clients are told of somebody. */
export const wireLegacyPresence = z.object({ website: wireWebsite, aggregated: wireAggregated });

const toSeconds = (date: Date) => Math.floor(date.getTime() / 1000);

export const toWirePresence = ({ activeAt, idleAt }: Pick<Presence, 'activeAt' | 'idleAt'>): WirePresence => ({
  active_timestamp: toSeconds(activeAt),
  idle_timestamp: toSeconds(idleAt),
});

/**
 * Our choice: who was active this many seconds before they were last seen is active still. A client that goes on pinging
 * as idle has lost them by its next ping.
 */
const ACTIVE_GRACE_SECONDS = 70;

/** What old clients know of somebody: one status, of the one client there is. */
export function toLegacyPresence({ active_timestamp, idle_timestamp }: WirePresence): LegacyPresence {
  const isActive = active_timestamp + ACTIVE_GRACE_SECONDS >= idle_timestamp;
  return {
    client: 'website',
    status: isActive ? 'active' : 'idle',
    timestamp: isActive ? active_timestamp : idle_timestamp,
    pushable: false,
  };
}

/** The status at a time: who has not been seen for a while is offline. */
export function statusAt(presence: WirePresence, now: Date): PresencePing | 'offline' {
  const { status, timestamp } = toLegacyPresence(presence);
  return toSeconds(now) - timestamp > PRESENCE_SECONDS.offlineThreshold ? 'offline' : status;
}

/** By user id. */
export const presencesById = (presences: readonly Presence[]): Record<string, WirePresence> =>
  Object.fromEntries(presences.map((presence) => [presence.user.id, toWirePresence(presence)]));

/** By the address the API knows users by, for old clients. */
export const presencesByEmail = (presences: readonly Presence[]) =>
  Object.fromEntries(
    presences.map((presence) => {
      const website = toLegacyPresence(toWirePresence(presence));
      const { pushable: _, ...aggregated } = website;
      return [apiEmailOf(presence.user), { website, aggregated }];
    }),
  );
