import { createStore, useStore } from '../base/store.ts';
import type { PersonBadgeFragment } from '../generated/graphql.ts';

export type Presence = 'active' | 'idle' | 'offline' | 'bot';

/**
 * Time in milliseconds after the last presence report of a user until the user counts as offline. Must be the value that the
 * service uses.
 */
const OFFLINE_AFTER_MS = 200_000;
const TICK_MS = 20_000;

/**
 * Current time of the clock of the service, in milliseconds since 1970. Updated every `TICK_MS`. Each update renders the
 * components that depend on it.
 */
const serviceTime = createStore(Date.now());
let [aheadMs, timer]: [number, ReturnType<typeof setInterval> | undefined] = [0, undefined];

/** Starts to update `serviceTime`. @returns A function that stops the updates. */
export function keepTime(): () => void {
  clearInterval(timer);
  timer = setInterval(tick, TICK_MS);
  return () => clearInterval(timer);
}

const tick = () => serviceTime.set(Date.now() - aheadMs);

/**
 * Sets `serviceTime`, for browsers whose clock is wrong.
 *
 * @param moment Time that the service has just returned, in ISO 8601.
 */
export function setServiceTime(moment: string): void {
  aheadMs = Date.now() - Date.parse(moment);
  tick();
}

const PRESENCES = { ACTIVE: 'active', IDLE: 'idle', OFFLINE: 'offline' } as const;

/**
 * Returns the presence of a user. If no newer presence arrives, the user becomes offline after `OFFLINE_AFTER_MS`.
 */
export const usePresence = ({ isBot, presence }: Pick<PersonBadgeFragment, 'isBot' | 'presence'>): Presence =>
  useStore(serviceTime, (now) => {
    if (isBot) return 'bot';
    if (presence === null) return 'offline';
    const seen = Math.max(Date.parse(presence.activeAt), Date.parse(presence.idleAt));
    return now - seen > OFFLINE_AFTER_MS ? 'offline' : PRESENCES[presence.status];
  });
