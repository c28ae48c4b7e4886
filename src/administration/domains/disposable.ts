import { disposableEmailBlocklistSet } from 'disposable-email-domains-js';

/** Domains of services that give anyone an address for a short time. */
const DOMAINS = disposableEmailBlocklistSet();

/** Returns whether a domain, or a domain above it, belongs to a service for disposable addresses. @param host In lower case. */
export function isDisposable(host: string): boolean {
  for (let domain = host; domain.includes('.'); domain = domain.slice(domain.indexOf('.') + 1)) {
    if (DOMAINS.has(domain)) return true;
  }
  return false;
}
