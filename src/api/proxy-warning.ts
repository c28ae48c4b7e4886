import type { App } from '../access/context.ts';
import type { Origin } from '../platform/rate-limits.ts';

/** Headers that proxies add to the requests they forward. */
const OF_PROXIES = ['x-forwarded-for', 'forwarded', 'via'];

/** Services, by configuration, that have logged the warning. */
const told = new WeakSet<App['config']>();

/**
 * Logs a warning, once per service, if an address exceeds a limit with requests that have proxy headers, and no proxy is
 * trusted. If the address is a proxy of the operator, all its clients share one limit. Any client can send such headers.
 */
export function warnOfProxy({ config, log }: Pick<App, 'config' | 'log'>, { headers, socket }: Origin): void {
  if (config.trustedProxies > 0 || told.has(config)) return;
  if (!OF_PROXIES.some((name) => headers[name] !== undefined)) return;
  told.add(config);
  log.warn(
    { address: socket.remoteAddress },
    'rate limit reached by an address that sends proxy headers: if it is your proxy, set TRUST_PROXY, otherwise all of ' +
      'its clients share one limit',
  );
}
