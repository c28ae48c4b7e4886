import { createStore, useStore } from '../api/store.ts';
import type { PersonBadgeFragment } from '../generated/graphql.ts';

export type Presence = 'active' | 'idle' | 'offline' | 'bot';

/** Who has not been seen for so long is away; the service counts so as well. */
const OFFLINE_AFTER_MS = 200_000;
const TICK_MS = 20_000;

/** Milliseconds since 1970 by the service's clock, now and then: what depends on it is drawn anew. */
const serviceTime = createStore(Date.now());
let [aheadMs, timer]: [number, ReturnType<typeof setInterval> | undefined] = [0, undefined];

/** Lets time pass for all who show it. @returns What ends it. */
export function keepTime(): () => void {
  clearInterval(timer);
  timer = setInterval(tick, TICK_MS);
  return () => clearInterval(timer);
}

const tick = () => serviceTime.set(Date.now() - aheadMs);

/** @param moment That the service has just told as its present, for a browser whose clock is wrong. */
export function setServiceTime(moment: string): void {
  aheadMs = Date.now() - Date.parse(moment);
  tick();
}

const PRESENCES = { ACTIVE: 'active', IDLE: 'idle', OFFLINE: 'offline' } as const;

/** Whether somebody is there. The service's word is as old as its answer: who is not heard of again goes offline here. */
export const usePresence = ({ isBot, presence }: Pick<PersonBadgeFragment, 'isBot' | 'presence'>): Presence =>
  useStore(serviceTime, (now) => {
    if (isBot) return 'bot';
    if (presence === null) return 'offline';
    const seen = Math.max(Date.parse(presence.activeAt), Date.parse(presence.idleAt));
    return now - seen > OFFLINE_AFTER_MS ? 'offline' : PRESENCES[presence.status];
  });
