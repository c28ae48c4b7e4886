import type { ServerResponse } from 'node:http';
import type { App } from '../access/context.ts';
import type { Budget } from '../platform/budget.ts';
import { Caller } from '../platform/caller.ts';
import { ChatError, RateLimitHitError } from '../platform/errors.ts';
import type { Origin } from '../platform/rate-limits.ts';
import { warnOfProxy } from './proxy-warning.ts';

/** Our choice: a slow line reads some of it meanwhile. */
const UNREAD_RETRY_SECONDS = 5;
const UNREAD = 'Too many answers to this account are on their way and unread; read them first';

/** How a request is counted. */
interface Counting {
  /** What the answer goes out by; absent for an operation on a socket, which is counted with its connection. */
  readonly answer?: ServerResponse | undefined;
  /** Called with the budget, also when the request is refused. */
  readonly told: (budget: Budget) => void;
}

/**
 * Counts a request on whoever sends it, right after `signIn` was asked who that is: on the account, or on the address
 * when there is none.
 *
 * @returns What `signIn` gave, with who waits for the answer.
 * @throws RateLimitHitError when too little was left, the account reads none of its answers, or there is no account and no
 *   place for the connection; else what `signIn` throws.
 */
export async function countRequest<T extends { readonly viewer: { readonly id: number } | null }>(
  app: App,
  origin: Origin,
  signIn: () => Promise<T>,
  { answer, told }: Counting,
): Promise<T & { readonly caller: Caller }> {
  const request = await countRefusals(app, origin, signIn, told);
  const { rateLimits, config } = app;
  const { viewer } = request;
  if (viewer === null) {
    const refusal = app.connections.refusalOf(origin.socket);
    if (refusal !== undefined) throw refusal;
    await countAddress(app, origin, told);
  } else {
    await tell(rateLimits.countUser(viewer.id), told);
    app.connections.signIn(origin.socket);
    if (app.unread.isOver(viewer.id)) throw new RateLimitHitError(UNREAD_RETRY_SECONDS, undefined, UNREAD);
    if (answer !== undefined) app.unread.hold(viewer.id, answer);
  }
  return { ...request, caller: new Caller(origin, config.trustedProxies) };
}

/**
 * Signs in, and counts on the address what is refused, so that guessing keys has an end. A good key is always let in: one
 * guest of a network cannot lock out the others.
 *
 * @throws RateLimitHitError when `signIn` refuses and nothing was left; else what `signIn` throws.
 */
export async function countRefusals<T>(
  app: App,
  origin: Origin,
  signIn: () => Promise<T>,
  told: (budget: Budget) => void = () => {},
): Promise<T> {
  try {
    return await signIn();
  } catch (error) {
    if (error instanceof ChatError) await countAddress(app, origin, told);
    throw error;
  }
}

/**
 * Counts a request without an account.
 *
 * @throws RateLimitHitError when none was left.
 */
export async function countAddress(app: App, origin: Origin, told: (budget: Budget) => void = () => {}): Promise<void> {
  try {
    await tell(app.rateLimits.countAddress(origin), told);
  } catch (error) {
    if (error instanceof RateLimitHitError) warnOfProxy(app, origin);
    throw error;
  }
}

/**
 * Counts a request as so many more than the one it was counted as.
 *
 * @param left What was left then; undefined where nothing is counted.
 * @throws RateLimitHitError when so many were not left.
 */
export async function countMore(
  { rateLimits }: App,
  origin: Origin,
  { viewer }: { readonly viewer: { readonly id: number } | null },
  { requests, left, told }: { requests: number; left: Budget | undefined; told: Counting['told'] },
): Promise<void> {
  if (requests === 0 || left === undefined) return;
  await tell(rateLimits.countMore(origin, viewer?.id, requests, left), told);
}

async function tell(counted: Promise<Budget | undefined>, told: (budget: Budget) => void): Promise<void> {
  try {
    const budget = await counted;
    if (budget !== undefined) told(budget);
  } catch (error) {
    if (error instanceof RateLimitHitError && error.budget !== undefined) told(error.budget);
    throw error;
  }
}

/** The budget as headers of the reply. */
export function budgetHeaders({ limit, remaining, resetAt }: Budget): Record<string, string> {
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(Math.ceil(resetAt.getTime() / 1000)),
  };
}

/** Has a reply tell the budget. */
export function setBudgetHeaders(reply: ServerResponse, budget: Budget): void {
  for (const [name, value] of Object.entries(budgetHeaders(budget))) reply.setHeader(name, value);
}
