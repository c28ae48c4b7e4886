import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Log fields of a request. */
export interface RequestNote {
  readonly id: string;
  /** Time of arrival, on the clock of `performance.now()`. */
  readonly startedAt: number;
  /** Path of the endpoint, with its parameters in braces. It omits their values, which can be secrets. */
  route?: string;
  userId?: number;
}

const notes = new AsyncLocalStorage<RequestNote>();

/** Returns the log fields of the request that is being answered. Undefined outside a request. */
export const currentRequest = (): RequestNote | undefined => notes.getStore();

/** Runs `answer` in the context of a request, so that log lines contain its id. */
export const answering = <T>(note: RequestNote, answer: () => T): T => notes.run(note, answer);

const TAKEN = /^[\w.:@/+=-]{1,128}$/;
/** Prefix of request ids, unique to this process. A counter is appended to it, which is cheaper than a random id. */
const OF_PROCESS = randomBytes(6).toString('base64url');
let count = 0;

/** Returns the log fields of a request that has just arrived. @param id Id of the request. Default: a new id. */
export const newRequest = (id = `${OF_PROCESS}-${(++count).toString(36)}`): RequestNote => ({
  id,
  startedAt: performance.now(),
});

/** Returns the id that a trusted proxy gave the request. Undefined if there is none. */
export function requestIdIn(headers: IncomingHttpHeaders, trustedProxies: number): string | undefined {
  const given = trustedProxies > 0 ? headers['x-request-id'] : undefined;
  return typeof given === 'string' && TAKEN.test(given) ? given : undefined;
}

/** Records the user who sent the current request in its log fields. Does nothing outside a request. */
export function noteUser(userId: number): void {
  const note = currentRequest();
  if (note !== undefined) note.userId = userId;
}

/** Returns the duration of a request until now, in milliseconds with one decimal. */
export const tookMs = ({ startedAt }: RequestNote): number => Math.round((performance.now() - startedAt) * 10) / 10;
