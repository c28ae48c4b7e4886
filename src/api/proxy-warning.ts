import type { App } from '../access/context.ts';
import type { Origin } from '../platform/rate-limits.ts';

/** What proxies add to what they pass on. */
const OF_PROXIES = ['x-forwarded-for', 'forwarded', 'via'];

/** Of which service it was said. */
const told = new WeakSet<App['config']>();

/**
 * Tells the operator, once, when an address is over one of its limits that passes on what others ask, and is not trusted
 * to say for whom: if it is a proxy of theirs, all its clients are limited as one. Anybody can write such a header.
 */
export function warnOfProxy({ config, log }: Pick<App, 'config' | 'log'>, { headers, socket }: Origin): void {
  if (config.trustedProxies > 0 || told.has(config)) return;
  if (!OF_PROXIES.some((name) => headers[name] !== undefined)) return;
  told.add(config);
  log.warn(
    { address: socket.remoteAddress },
    'An address is over its limits whose requests say they were forwarded: if it is a proxy of yours, set TRUST_PROXY, ' +
      'or all who come through it are limited as one',
  );
}
