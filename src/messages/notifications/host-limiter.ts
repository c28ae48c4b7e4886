/** Time, in milliseconds, after which a request that has no response makes its host count as slow. */
const SLOW_MS = 2_000;

interface Host {
  /** Times at which the requests in progress began, the oldest first, in milliseconds of `performance.now`. */
  readonly began: number[];
  /** Whether the last request failed. */
  isFailing: boolean;
  /** Resolve functions of requests that wait for a permit. */
  readonly waiting: (() => void)[];
}

/** Permits to send a request. */
interface Permit {
  /** Returns the permit. Call it once. */
  end(hasFailed: boolean): void;
}

/**
 * Limits the concurrent requests to each host, so that a host that does not respond leaves most of the capacity to the others. A
 * host that fails or is slow has a lower limit than others, and requests beyond it do not wait.
 */
export class HostLimiter {
  readonly #hosts = new Map<string, Host>();
  readonly #limits: { readonly usual: number; readonly failing: number };

  /** @param limits Maximum numbers of concurrent requests to a host, and to one that fails or is slow. */
  constructor(limits: { readonly usual: number; readonly failing: number }) {
    this.#limits = limits;
  }

  /**
   * Grants a permit for one request to a host. If a responding host has reached its limit of concurrent requests, waits for a
   * permit, at most `SLOW_MS`.
   *
   * @returns The permit. Undefined if the host is slow, or no permit became free in time.
   */
  async enter(name: string): Promise<Permit | undefined> {
    const host = this.#hosts.get(name) ?? { began: [], isFailing: false, waiting: [] };
    this.#hosts.set(name, host);
    const end = performance.now() + SLOW_MS;
    while (host.began.length >= this.#limitOf(host)) {
      const rest = end - performance.now();
      if (isSlow(host) || rest <= 0) return undefined;
      await nextOf(host, rest);
    }
    const began = performance.now();
    host.began.push(began);
    return {
      end: (hasFailed) => {
        host.began.splice(host.began.indexOf(began), 1);
        host.isFailing = hasFailed;
        host.waiting.shift()?.();
        if (host.began.length === 0 && host.waiting.length === 0 && !hasFailed) this.#hosts.delete(name);
      },
    };
  }

  /**
   * Deletes the records of hosts without requests, and with them the failures. Must be called periodically to bound the memory.
   */
  forgetIdle(): void {
    for (const [name, { began, waiting }] of this.#hosts) {
      if (began.length === 0 && waiting.length === 0) this.#hosts.delete(name);
    }
  }

  #limitOf(host: Host): number {
    return isSlow(host) ? this.#limits.failing : this.#limits.usual;
  }
}

const isSlow = ({ isFailing, began: [oldest] }: Host): boolean =>
  isFailing || (oldest !== undefined && performance.now() - oldest > SLOW_MS);

/** Waits until a request of a host ends, at most `ms` milliseconds. */
const nextOf = ({ waiting }: Host, ms: number): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(proceed), 1);
      resolve();
    }, ms);
    const proceed = () => {
      clearTimeout(timer);
      resolve();
    };
    waiting.push(proceed);
  });
