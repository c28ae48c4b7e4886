import { z } from 'zod';
import type { Addressed } from '../../access/address.ts';
import { apiEmailOf } from '../../access/address.ts';
import { PRESENCE_SECONDS } from '../../platform/limits.ts';
import type { Wire } from '../../platform/wire.ts';

/** Values of the status in a ping: "active" if the user is using a client, "idle" if a client is only open. */
export const PRESENCE_PINGS = ['active', 'idle'] as const;
export type PresencePing = (typeof PRESENCE_PINGS)[number];

/** Times at which a user was last seen. */
export interface Presence {
  readonly user: Addressed;
  /** Time at which the user was last active. */
  readonly activeAt: Date;
  /** Time of the user's last ping, active or idle. */
  readonly idleAt: Date;
  /** Id of the last change of this presence. Ids increase with each change of presence in the organization. */
  readonly updateId: number;
}

/** Presence of a user, with times in UNIX seconds. */
export const wirePresence = z
  .object({ active_timestamp: z.int(), idle_timestamp: z.int() })
  .meta({ id: 'Presence', description: 'UNIX seconds.' });
export type WirePresence = Wire<typeof wirePresence>;

const wireAggregated = z.object({ client: z.literal('website'), status: z.enum(PRESENCE_PINGS), timestamp: z.int() });
export const wireWebsite = wireAggregated.extend({ pushable: z.literal(false) });
type LegacyPresence = Wire<typeof wireWebsite>;

/** Presence of a user in the format for old clients. */
export const wireLegacyPresence = z.object({ website: wireWebsite, aggregated: wireAggregated });

const toSeconds = (date: Date) => Math.floor(date.getTime() / 1000);

export const toWirePresence = ({ activeAt, idleAt }: Pick<Presence, 'activeAt' | 'idleAt'>): WirePresence => ({
  active_timestamp: toSeconds(activeAt),
  idle_timestamp: toSeconds(idleAt),
});

/**
 * A user still counts as active if their last activity was at most this many seconds before their last ping. With pings every
 * 60 s, the user is shown as idle from the second idle ping on.
 */
const ACTIVE_GRACE_SECONDS = 70;

/** Returns the presence for old clients: a single status, under the only client name `website`. */
export function toLegacyPresence({ active_timestamp, idle_timestamp }: WirePresence): LegacyPresence {
  const isActive = active_timestamp + ACTIVE_GRACE_SECONDS >= idle_timestamp;
  return {
    client: 'website',
    status: isActive ? 'active' : 'idle',
    timestamp: isActive ? active_timestamp : idle_timestamp,
    pushable: false,
  };
}

/** Returns the status at a time. A user who was not seen for 200 seconds is offline. */
export function statusAt(presence: WirePresence, now: Date): PresencePing | 'offline' {
  const { status, timestamp } = toLegacyPresence(presence);
  return toSeconds(now) - timestamp > PRESENCE_SECONDS.offlineThreshold ? 'offline' : status;
}

/** Returns presences by user id. */
export const presencesById = (presences: readonly Presence[]): Record<string, WirePresence> =>
  Object.fromEntries(presences.map((presence) => [presence.user.id, toWirePresence(presence)]));

/** Returns presences by the API email address of users, for old clients. */
export const presencesByEmail = (presences: readonly Presence[]) =>
  Object.fromEntries(
    presences.map((presence) => {
      const website = toLegacyPresence(toWirePresence(presence));
      const { pushable: _, ...aggregated } = website;
      return [apiEmailOf(presence.user), { website, aggregated }];
    }),
  );
