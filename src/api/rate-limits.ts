import type { ServerResponse } from 'node:http';
import { type App, chargedAccountOf, type Viewer } from '../access/context.ts';
import { InvalidApiKeyError } from '../access/errors.ts';
import { auditFailedSignIn } from '../access/failed-sign-ins.ts';
import { organizationSetting } from '../access/organization-settings.ts';
import { accountIn, clientName } from '../access/sign-in.ts';
import type { Budget } from '../platform/budget.ts';
import { Caller } from '../platform/caller.ts';
import { ChatError, RateLimitHitError } from '../platform/errors.ts';
import { subdomainOf } from '../platform/hosts.ts';
import { observeOrganizationRequest } from '../platform/metrics.ts';
import type { Origin } from '../platform/rate-limits.ts';
import { warnOfProxy } from './proxy-warning.ts';

/**
 * Time in seconds after which a client can retry if the outbound backlog of its account is too large. In this time, even a slow
 * connection can receive a part of the backlog.
 */
const UNREAD_RETRY_SECONDS = 5;
const UNREAD = 'Too many responses to this account have not been read yet; read them before sending more requests';

/** Options with which a request is counted towards a rate limit. */
export interface Counting {
  /**
   * The response whose unsent bytes count as outbound backlog of the account. Absent for an operation on a WebSocket: the
   * unsent bytes of a WebSocket are counted from its opening on.
   */
  readonly answer?: ServerResponse | undefined;
  /** Called with the budget left after the request, even if the request is refused. Not called if requests are not limited. */
  readonly onBudget: (budget: Budget) => void;
}

/**
 * Authenticates a request by `signIn`, and counts it towards the limits of the sender's account and organization. For a bot, the
 * account is that of its owner. Without an account, the request counts towards the limit of the client's IP address.
 *
 * @returns The result of `signIn`, with the caller that receives the response.
 * @throws RateLimitHitError if no budget is left or the account's outbound backlog is too large. Without an account, also
 *   thrown if `app.connections` refuses the connection.
 * @throws UnauthorizedError, InvalidApiKeyError, OrganizationDeactivatedError, UserDeactivatedError or
 *   NonexistentSubdomainError if `signIn` cannot authenticate the sender.
 */
export async function countRequest<T extends { readonly viewer: Viewer | null }>(
  app: App,
  origin: Origin,
  signIn: () => Promise<T>,
  { answer, onBudget }: Counting,
): Promise<T & { readonly caller: Caller }> {
  const request = await signIn().catch((error: unknown) => countRefusal(app, origin, error, onBudget));
  const { rateLimits, config } = app;
  const { viewer } = request;
  if (viewer === null) {
    const refusal = app.connections.refusalOf(origin.socket);
    if (refusal !== undefined) throw refusal;
    await countAddress(app, origin, onBudget);
  } else {
    const account = chargedAccountOf(viewer);
    const { organization } = viewer;
    if (config.metricsByOrganization > 0) observeOrganizationRequest(organization.subdomain);
    const own = await notify(rateLimits.countUser(account), onBudget);
    const limit = organizationSetting(organization, 'max_requests_per_minute');
    if (limit !== null) await countOrganization(app, organization, { limit, requests: 1, own }, onBudget);
    app.connections.signIn(origin.socket);
    if (app.outboundBacklog.isOver(account)) throw new RateLimitHitError(UNREAD_RETRY_SECONDS, undefined, UNREAD);
    if (answer !== undefined) app.outboundBacklog.hold(account, answer);
  }
  return { ...request, caller: new Caller(origin, config.trustedProxies) };
}

/**
 * Counts a refused sign-in towards the limit of the client's IP address. This limits the guessing of API keys. A valid key is
 * always accepted, so that one client of a network cannot lock out the other clients. A wrong key is logged with the account
 * and the IP address.
 *
 * @param error The error of the sign-in.
 * @throws RateLimitHitError if no budget is left; otherwise `error`.
 */
export async function countRefusal(
  app: App,
  origin: Origin,
  error: unknown,
  onBudget: (budget: Budget) => void = () => {},
): Promise<never> {
  if (error instanceof ChatError) await countAddress(app, origin, onBudget);
  if (error instanceof InvalidApiKeyError) {
    const caller = new Caller(origin, app.config.trustedProxies);
    const { authorization, host, 'user-agent': userAgent } = origin.headers;
    const account = accountIn(authorization);
    app.log.warn({ account, address: caller.address, reason: 'wrong API key' }, 'sign-in failed');
    auditFailedSignIn(
      { app, work: app.work },
      {
        ...{ subdomain: subdomainOf(app.config, host), reason: 'wrong API key', caller, account },
        clientName: clientName(userAgent),
      },
    );
  }
  throw error;
}

/**
 * Counts a request without an account towards the limit of its IP address.
 *
 * @throws RateLimitHitError if no budget is left.
 */
export function countAddress(app: App, origin: Origin, onBudget: (budget: Budget) => void = () => {}): Promise<void> {
  return warned(app, origin, notify(app.rateLimits.countAddress(origin), onBudget));
}

/**
 * Counts a request for a file. Each IP address has a separate, larger budget for files.
 *
 * @throws RateLimitHitError if no budget is left.
 */
export function countFile(app: App, origin: Origin, onBudget: (budget: Budget) => void): Promise<void> {
  return warned(app, origin, notify(app.rateLimits.countFile(origin), onBudget));
}

async function warned(app: App, origin: Origin, counted: Promise<unknown>): Promise<void> {
  try {
    await counted;
  } catch (error) {
    if (error instanceof RateLimitHitError) warnOfProxy(app, origin);
    throw error;
  }
}

/**
 * Counts an expensive request as `requests` additional requests. The request itself was counted before.
 *
 * @param left Budget left after the first count; undefined if requests are not limited.
 * @throws RateLimitHitError if the budget is smaller than `requests`.
 */
export async function countMore(
  app: App,
  origin: Origin,
  { viewer }: { readonly viewer: Viewer | null },
  { requests, left, onBudget }: { requests: number; left: Budget | undefined; onBudget: Counting['onBudget'] },
): Promise<void> {
  if (requests === 0 || left === undefined) return;
  const { rateLimits } = app;
  const account = viewer === null ? undefined : chargedAccountOf(viewer);
  const own = await notify(rateLimits.countMore(origin, account, requests, left), onBudget);
  if (viewer === null) return;
  const limit = organizationSetting(viewer.organization, 'max_requests_per_minute');
  if (limit !== null) await countOrganization(app, viewer.organization, { limit, requests, own }, onBudget);
}

/**
 * Counts requests of an account towards the limit of its organization. Requests that the limit of the account refuses do not
 * count, so one account cannot use up the budget of the organization.
 *
 * @param limit Limit of the organization, in requests per minute.
 * @param own Budget left to the account. `onBudget` is called if the organization has fewer requests left.
 * @throws RateLimitHitError if no budget is left.
 */
async function countOrganization(
  { rateLimits }: App,
  organization: Viewer['organization'],
  { limit, requests, own }: { readonly limit: number; readonly requests: number; readonly own: Budget | undefined },
  onBudget: Counting['onBudget'],
): Promise<void> {
  const shared = rateLimits.countOrganization(organization.id, limit, requests);
  await notify(shared, (budget) => {
    if (own === undefined || budget.remaining < own.remaining) onBudget(budget);
  });
}

async function notify(
  counted: Promise<Budget | undefined>,
  onBudget: (budget: Budget) => void,
): Promise<Budget | undefined> {
  try {
    const budget = await counted;
    if (budget !== undefined) onBudget(budget);
    return budget;
  } catch (error) {
    if (error instanceof RateLimitHitError && error.budget !== undefined) onBudget(error.budget);
    throw error;
  }
}

/** Returns the `X-RateLimit-*` response headers for a budget. The reset time is in seconds since 1970, rounded up. */
export function budgetHeaders({ limit, remaining, resetAt }: Budget): Record<string, string> {
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(Math.ceil(resetAt.getTime() / 1000)),
  };
}

/** Sets the `X-RateLimit-*` headers of a response. */
export function setBudgetHeaders(reply: ServerResponse, budget: Budget): void {
  for (const [name, value] of Object.entries(budgetHeaders(budget))) reply.setHeader(name, value);
}
