import type { RequestCtx } from '../../access/context.ts';
import { realmSetting } from '../../access/realm-settings.ts';
import type { Realm } from '../../generated/prisma/client.ts';
import { renderMarkdown } from '../../markdown/render.ts';
import { urlOf } from '../../platform/hosts.ts';
import { publishedTotals, type WireTotals } from '../../platform/totals.ts';
import { SERVICE_FEATURE_LEVEL, SERVICE_MERGE_BASE, SERVICE_VERSION } from './feature-level.ts';

/**
 * Authentication methods, by their names in the interface. Only passwords, which belong to email addresses, are
 * supported.
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

/** Path of an organization's square logo. */
export const ICON_URL = '/avatar/organization';

/** Data that a client can read before it signs in. */
export interface ServerSettings {
  readonly featureLevel: number;
  readonly version: string;
  readonly mergeBase: string;
  readonly isIncompatible: boolean;
  /** Limits on the numbers of objects that users can create. */
  readonly totals: WireTotals;
  /** Public data of the organization. Null at the server's own domain, if no organization uses that domain. */
  readonly realm: {
    readonly url: string;
    readonly name: string;
    readonly icon: string;
    /** Description of the organization, as HTML. */
    readonly description: string;
    readonly webPublicAccessEnabled: boolean;
  } | null;
}

/** Returns the settings of the server and of the organization at the requested host. */
export async function readServerSettings({ app, realm, clientName }: RequestCtx): Promise<ServerSettings> {
  return {
    featureLevel: SERVICE_FEATURE_LEVEL,
    version: SERVICE_VERSION,
    mergeBase: SERVICE_MERGE_BASE,
    isIncompatible: clientName === INCOMPATIBLE_CLIENT,
    totals: publishedTotals(app.config),
    realm: realm && {
      url: urlOf(app.config, realm.subdomain),
      name: realm.name,
      icon: ICON_URL,
      description: renderMarkdown(realm.description),
      webPublicAccessEnabled: await hasWebPublicAccess(app.db, realm),
    },
  };
}

interface ChannelCounter {
  readonly channel: { count(query: { where: object }): Promise<number> };
}

/** Returns whether the organization permits reading without signing in, and has at least one channel for it. */
async function hasWebPublicAccess(db: ChannelCounter, realm: Realm): Promise<boolean> {
  if (!realmSetting(realm, 'enable_spectator_access')) return false;
  return (await db.channel.count({ where: { realmId: realm.id, isWebPublic: true, isArchived: false } })) > 0;
}
