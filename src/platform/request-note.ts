import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** What is said of a request in the log. */
export interface RequestNote {
  readonly id: string;
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

/** The id of a request: what a proxy of ours calls it, or a new one. */
export function requestIdOf(headers: IncomingHttpHeaders, trustedProxies: number): string {
  const given = trustedProxies > 0 ? headers['x-request-id'] : undefined;
  if (typeof given === 'string' && TAKEN.test(given)) return given;
  return `${OF_PROCESS}-${(++count).toString(36)}`;
}
