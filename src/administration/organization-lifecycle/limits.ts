import type { App } from '../../access/context.ts';
import {
  ORGANIZATION_SETTINGS,
  type OrganizationSettingName,
  organizationSetting,
} from '../../access/organization-settings.ts';
import { transact } from '../../events/log.ts';
import type { Organization } from '../../generated/prisma/client.ts';
import { spaceUsedBy } from '../../messages/attachments/queries.ts';
import { lockOrganization } from '../../people/locks.ts';
import { requireSettings } from '../../platform/setting.ts';
import { countEmails } from '../invitations/service.ts';
import { setOrganizationSettings } from '../organization/update.ts';
import { countActivePeople, userInvitationsPerDayOf } from '../organization-limits.ts';
import { countSignUpEmails } from '../sign-up/links.ts';

/** The limits of an organization that the operator can set, by the names of the command's options. */
const LIMITS = {
  maxUsers: 'max_active_users',
  uploadQuotaMib: 'upload_quota_mib',
  requestsPerMinute: 'max_requests_per_minute',
  invitationsPerDay: 'max_invitations_per_day',
} as const satisfies Record<string, OrganizationSettingName>;
type LimitName = keyof typeof LIMITS;

/** New values of limits. Null: the default of the server. Absent limits stay unchanged. */
export type NewLimits = { readonly [N in LimitName]?: number | null | undefined };

/** A limit of an organization, with its use. */
export interface ShownLimit {
  /** Name of the setting. */
  readonly limit: string;
  /** Value in effect. Null: unlimited. */
  readonly value: number | null;
  /** Whether the value is the default of the server. */
  readonly is_default: boolean;
  /** Current use; for emails, that of the kind with the most. Null for requests, which are not stored. */
  readonly used: number | null;
}

const MIB = 1_048_576;

/** Returns the limits of an organization, with their use. */
export async function readLimits(app: App, organization: Organization): Promise<readonly ShownLimit[]> {
  const { db } = app;
  const organizationId = organization.id;
  const scope = { app, organizationId };
  const emails = [await countEmails(db, scope), await countEmails(db, scope, true), await countSignUpEmails(db, scope)];
  const used: Readonly<Record<LimitName, number | null>> = {
    maxUsers: await countActivePeople(db, organizationId),
    uploadQuotaMib: Math.ceil((await spaceUsedBy(db, { organizationId, ownerId: null })) / MIB),
    requestsPerMinute: null,
    invitationsPerDay: Math.max(...emails),
  };
  const defaults: NewLimits = { invitationsPerDay: userInvitationsPerDayOf(app, organization) };
  return (Object.keys(LIMITS) as LimitName[]).map((name) => {
    const set = organizationSetting(organization, LIMITS[name]);
    const value = set ?? defaults[name] ?? null;
    return { limit: LIMITS[name], value, is_default: set === null, used: used[name] };
  });
}

/**
 * Sets limits of an organization on behalf of the operator. A limit below the current use removes nothing: only further
 * additions are refused.
 *
 * @returns The organization with its new settings.
 * @throws ValidationError if a limit is not an integer, or too small.
 */
export function setLimits(app: App, { id: organizationId }: Organization, limits: NewLimits): Promise<Organization> {
  const given = Object.entries(LIMITS).flatMap(([name, setting]) => {
    const value = limits[name as LimitName];
    return value === undefined ? [] : [[setting, value]];
  });
  const values = requireSettings(ORGANIZATION_SETTINGS, Object.fromEntries(given));
  return transact({ work: app.work, organizationId, isOperator: true }, async (tx, emit) => {
    await lockOrganization(tx, organizationId);
    await setOrganizationSettings(tx, emit, { app, organizationId }, values);
    return tx.organization.findUniqueOrThrow({ where: { id: organizationId } });
  });
}
