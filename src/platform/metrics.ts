import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** What GET /metrics shows of this process. Labels never name a user, an organisation or anything a client made up. */
export const metrics = new Registry();

collectDefaultMetrics({ register: metrics });

const requestSeconds = new Histogram({
  name: 'http_request_duration_seconds',
  help: 'From the request head to the finished answer; for a long poll, its wait.',
  labelNames: ['method', 'route', 'status'] as const,
  // Our choice: from a cached read to the longest a long poll waits.
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  registers: [metrics],
});

/** Passwords hashed, which is what signing in costs. */
export const passwordHashSeconds = new Histogram({
  name: 'password_hash_duration_seconds',
  help: 'From the turn of a password to be hashed to its hash.',
  // Our choice: from an idle core to two cores with much else to do.
  buckets: [0.1, 0.2, 0.4, 0.8, 1.6, 3.2],
  registers: [metrics],
});

/** Counts something anew whenever it is looked at. */
export function observeCount(name: string, help: string, count: () => number): void {
  new Gauge({
    name,
    help,
    registers: [metrics],
    collect() {
      this.set(count());
    },
  });
}

/**
 * Records one answered request.
 *
 * @param route The path with its slots in braces, never the path sent.
 */
export function observeRequest(method: string, route: string, status: number, seconds: number): void {
  requestSeconds.observe({ method, route, status }, seconds);
}
