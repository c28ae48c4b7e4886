import type { RequestCtx } from '../../access/context.ts';
import { organizationSetting } from '../../access/organization-settings.ts';
import type { Organization } from '../../generated/prisma/client.ts';
import { renderMarkdown } from '../../markdown/render.ts';
import { iconUrl } from '../../people/icon-url.ts';
import { urlOf } from '../../platform/hosts.ts';
import { publishedTotals, type WireTotals } from '../../platform/totals.ts';
import { SERVICE_FEATURE_LEVEL, SERVICE_MERGE_BASE, SERVICE_VERSION } from './feature-level.ts';

/**
 * Authentication methods by their names in the API, each with whether people can use it if the organization has no identity
 * provider. If it has one, `openid connect` is true.
 */
export const AUTHENTICATION_METHODS = {
  password: true,
  dev: false,
  email: true,
  ldap: false,
  remoteuser: false,
  saml: false,
  'openid connect': false,
} as const;

/** Client name that is refused as incompatible, for tests. */
const INCOMPATIBLE_CLIENT = 'ServiceInvalid';

/** Data that a client can read before it signs in. */
export interface ServerSettings {
  readonly featureLevel: number;
  readonly version: string;
  readonly mergeBase: string;
  readonly isIncompatible: boolean;
  /** Maximum numbers of objects that a user or organization can have, such as drafts of a user. */
  readonly totals: WireTotals;
  /** Public data of the organization. Null at the server's own domain, if no organization uses that domain. */
  readonly organization: {
    readonly url: string;
    readonly name: string;
    readonly icon: string;
    /** Description of the organization, as HTML. */
    readonly description: string;
    readonly webPublicAccessEnabled: boolean;
  } | null;
}

/** Returns the settings of the server and of the organization at the requested host. */
export async function readServerSettings({ app, work, organization, clientName }: RequestCtx): Promise<ServerSettings> {
  return {
    featureLevel: SERVICE_FEATURE_LEVEL,
    version: SERVICE_VERSION,
    mergeBase: SERVICE_MERGE_BASE,
    isIncompatible: clientName === INCOMPATIBLE_CLIENT,
    totals: publishedTotals(app.config),
    organization: organization && {
      url: urlOf(app.config, organization.subdomain),
      name: organization.name,
      icon: iconUrl(organization),
      description: renderMarkdown(organization.description),
      webPublicAccessEnabled: await hasWebPublicAccess(work.db, organization),
    },
  };
}

interface ChannelCounter {
  readonly channel: { count(query: { where: object }): Promise<number> };
}

/** Returns whether the organization permits reading without signing in, and has at least one web-public channel. */
async function hasWebPublicAccess(db: ChannelCounter, organization: Organization): Promise<boolean> {
  if (!organizationSetting(organization, 'enable_spectator_access')) return false;
  return (
    (await db.channel.count({ where: { organizationId: organization.id, isWebPublic: true, isArchived: false } })) > 0
  );
}
