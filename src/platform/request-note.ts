import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** What is said of a request in the log. */
export interface RequestNote {
  readonly id: string;
  /** When it came, as `performance.now()` has it. */
  readonly startedAt: number;
  /** The path with its slots in braces: what was sent may be a secret. */
  route?: string;
  userId?: number;
}

const notes = new AsyncLocalStorage<RequestNote>();

/** Of the request that is being answered; undefined for what is nobody's. */
export const currentRequest = (): RequestNote | undefined => notes.getStore();

/** Answers a request: what is logged meanwhile says which it was. */
export const answering = <T>(note: RequestNote, answer: () => T): T => notes.run(note, answer);

const TAKEN = /^[\w.:@/+=-]{1,128}$/;
/** No two processes have the same; counting on from it costs nothing. */
const OF_PROCESS = randomBytes(6).toString('base64url');
let count = 0;

/** A request that has just come. @param id Absent: a new one. */
export const newRequest = (id = `${OF_PROCESS}-${(++count).toString(36)}`): RequestNote => ({
  id,
  startedAt: performance.now(),
});

/** What a proxy of ours calls a request; undefined where none does. */
export function requestIdIn(headers: IncomingHttpHeaders, trustedProxies: number): string | undefined {
  const given = trustedProxies > 0 ? headers['x-request-id'] : undefined;
  return typeof given === 'string' && TAKEN.test(given) ? given : undefined;
}

/** Notes who sent the request that is being answered. */
export function noteUser(userId: number): void {
  const note = currentRequest();
  if (note !== undefined) note.userId = userId;
}

/** How long a request has taken until now, in milliseconds to a tenth. */
export const tookMs = ({ startedAt }: RequestNote): number => Math.round((performance.now() - startedAt) * 10) / 10;
