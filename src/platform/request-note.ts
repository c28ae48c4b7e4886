import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { TraceContext } from './trace-context.ts';

/** Log fields of a request. */
export interface RequestNote {
  readonly id: string;
  /** Time at which the request arrived, on the clock of `performance.now()`. */
  readonly startedAt: number;
  /** Path of the endpoint, with the names of its parameters in braces. The values are omitted, because they can be secrets. */
  route?: string;
  userId?: number;
  /** The trace of which the request is a part. Undefined if the client sent none, and no spans are exported. */
  trace: TraceContext | undefined;
}

const notes = new AsyncLocalStorage<RequestNote>();

/** Returns the log fields of the request that is being answered. Undefined outside a request. */
export const currentRequest = (): RequestNote | undefined => notes.getStore();

/** Runs `answer` with `args` in the context of a request, so that log lines contain the id of the request. */
export const answering = <T, Args extends unknown[]>(
  note: RequestNote,
  answer: (...args: Args) => T,
  ...args: Args
): T => notes.run(note, answer, ...args);

const REQUEST_ID = /^[\w.:@/+=-]{1,128}$/;
/** Prefix of request ids, unique to this process. A counter is appended to it, which is cheaper than a random id. */
const PROCESS_PREFIX = randomBytes(6).toString('base64url');
let count = 0;

/**
 * Returns the log fields of a request that has just arrived.
 *
 * @param id Id of the request. Default: a new id.
 * @param trace The trace context that the client sent.
 */
export const newRequest = (
  id = `${PROCESS_PREFIX}-${(++count).toString(36)}`,
  trace?: TraceContext | undefined,
): RequestNote => ({ id, startedAt: performance.now(), trace });

/**
 * Returns the id in the header X-Request-Id. Undefined if there is no valid id. The id can be trusted only if a proxy of the
 * operator sets the header.
 */
export function requestIdIn(headers: IncomingHttpHeaders): string | undefined {
  const given = headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : undefined;
}

/** Records the user who sent the current request in its log fields. Does nothing outside a request. */
export function noteUser(userId: number): void {
  const note = currentRequest();
  if (note !== undefined) note.userId = userId;
}

/** Returns the duration of a request until now, in milliseconds with one decimal. */
export const tookMs = ({ startedAt }: RequestNote): number => Math.round((performance.now() - startedAt) * 10) / 10;
