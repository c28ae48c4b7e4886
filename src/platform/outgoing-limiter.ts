import { FairLimiter } from './fair-limiter.ts';

/** Maximum number of concurrent requests for one organization: in total, and to one host. Further requests wait. */
const OF_ORGANIZATION = { running: 6, waiting: 100 } as const;
const TO_HOST = { running: 4, waiting: 50 } as const;
/** Maximum time that a request waits for a permit, in milliseconds. */
const MAX_WAIT_MS = 15_000;
/** Part of all permits that only organizations without running requests can use. */
const SPARE = 0.25;

/**
 * A limiter for the number of concurrent requests to other websites: in total, per organization, and per organization and host.
 * The organizations take turns, so the requests of an organization do not delay those of others, even to the same host.
 */
export class OutgoingLimiter {
  readonly #organizations: FairLimiter<number>;
  readonly #hosts = new FairLimiter<string>({ maxWaitMs: MAX_WAIT_MS, limitsOf: () => TO_HOST });

  /** @param total Maximum number of concurrent requests of this process. */
  constructor(total: number) {
    const spare = Math.ceil(total * SPARE);
    this.#organizations = new FairLimiter({ total, spare, maxWaitMs: MAX_WAIT_MS, limitsOf: () => OF_ORGANIZATION });
  }

  /**
   * Runs a request as soon as the limits permit.
   *
   * @throws RequestTimeoutError if too many requests of the organization are waiting, or the request has waited too long.
   */
  run<T>(
    { organizationId, url }: { readonly organizationId: number; readonly url: string },
    request: () => Promise<T>,
  ): Promise<T> {
    // A request that waits for a slow host does not hold a permit of its organization.
    const host = URL.parse(url)?.host ?? '';
    return this.#hosts.run(`${organizationId} ${host}`, () => this.#organizations.run(organizationId, request));
  }
}
