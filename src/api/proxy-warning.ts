import type { App } from '../access/context.ts';
import type { Origin } from '../platform/rate-limits.ts';

/** Headers that proxies add to the requests they forward. */
const OF_PROXIES = ['x-forwarded-for', 'forwarded', 'via'];

/** Configurations of the services that have already logged the warning about proxies. */
const warned = new WeakSet<App['config']>();

/**
 * Logs a warning if a request that exceeded a rate limit has proxy headers although no proxy is trusted. If the request came
 * from the operator's own proxy, all clients behind the proxy share the limit of the proxy's IP address. Any client can send
 * such headers, so the warning is only a hint.
 *
 * Logs at most once per service.
 */
export function warnOfProxy({ config, log }: Pick<App, 'config' | 'log'>, { headers, socket }: Origin): void {
  if (config.trustedProxies > 0 || warned.has(config)) return;
  if (!OF_PROXIES.some((name) => headers[name] !== undefined)) return;
  warned.add(config);
  log.warn(
    { address: socket.remoteAddress },
    'rate limit reached by an address that sends proxy headers: if it is your proxy, set TRUST_PROXY, otherwise all of ' +
      'its clients share one limit',
  );
}
