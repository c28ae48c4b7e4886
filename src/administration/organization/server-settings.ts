import type { RequestCtx } from '../../access/context.ts';
import { realmSetting } from '../../access/realm-settings.ts';
import type { Realm } from '../../generated/prisma/client.ts';
import { renderMarkdown } from '../../markdown/render.ts';
import { urlOf } from '../../platform/hosts.ts';
import { toldTotals, type WireTotals } from '../../platform/totals.ts';
import { SERVICE_FEATURE_LEVEL, SERVICE_MERGE_BASE, SERVICE_VERSION } from './feature-level.ts';

/** The ways of signing in, by their names in the interface. Passwords belong to e-mail addresses, and are all there is. */
export const AUTHENTICATION_METHODS = {
  password: true,
  dev: false,
  email: true,
  ldap: false,
  remoteuser: false,
  saml: false,
  'openid connect': false,
} as const;

/** A client that calls itself this asks to be refused: a test name. */
const INCOMPATIBLE_CLIENT = 'ServiceInvalid';

/** The path of an organisation's square logo. */
export const ICON_URL = '/avatar/organization';

/** What a client learns before it signs in. */
export interface ServerSettings {
  readonly featureLevel: number;
  readonly version: string;
  readonly mergeBase: string;
  readonly isIncompatible: boolean;
  /** How much there may be of what people can pile up. */
  readonly totals: WireTotals;
  /** Null at the server's own domain, when it has no organisation. */
  readonly realm: {
    readonly url: string;
    readonly name: string;
    readonly icon: string;
    /** HTML. */
    readonly description: string;
    readonly webPublicAccessEnabled: boolean;
  } | null;
}

/** What a client learns of the server, and of the organisation at the host it asks. */
export async function readServerSettings({ app, realm, clientName }: RequestCtx): Promise<ServerSettings> {
  return {
    featureLevel: SERVICE_FEATURE_LEVEL,
    version: SERVICE_VERSION,
    mergeBase: SERVICE_MERGE_BASE,
    isIncompatible: clientName === INCOMPATIBLE_CLIENT,
    totals: toldTotals(app.config),
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

/** Whether people may look in without signing in, and have something to look at. */
async function hasWebPublicAccess(db: ChannelCounter, realm: Realm): Promise<boolean> {
  if (!realmSetting(realm, 'enable_spectator_access')) return false;
  return (await db.channel.count({ where: { realmId: realm.id, isWebPublic: true, isArchived: false } })) > 0;
}
