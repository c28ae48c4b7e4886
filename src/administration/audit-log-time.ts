import { organizationSetting } from '../access/organization-settings.ts';
import type { Organization } from '../generated/prisma/client.ts';
import type { Config } from '../platform/config.ts';

const DAY_MS = 86_400_000;

/**
 * Returns the time for which entries of an organization's audit log are kept, in milliseconds: the shorter one of the limits of the
 * organization and of the server.
 */
export function auditLogMs(config: Pick<Config, 'auditLogMs'>, organization: Pick<Organization, 'settings'>): number {
  const days = organizationSetting(organization, 'audit_log_days');
  return days === -1 ? config.auditLogMs : Math.min(config.auditLogMs, days * DAY_MS);
}
