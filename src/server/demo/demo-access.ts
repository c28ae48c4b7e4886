import type { IncomingMessage } from 'node:http';
import type { App } from '../../access/context.ts';
import { cookieName, readCookie, setCookie } from '../../api/cookies.ts';
import { SIGNED_IN_COOKIE } from '../../api/cross-site.ts';
import type { Config } from '../../platform/config.ts';
import { urlOf } from '../../platform/hosts.ts';
import { isSameSecret } from '../../platform/key-vault.ts';

/** The owner of the demo organization, whose key is shown to the user who started the server. */
export interface DemoOwner {
  readonly email: string;
  readonly apiKey: string;
  /** Ids of all people and bots of the demo. */
  readonly userIds: readonly number[];
}

/** Returns the name of the variable that keeps the demo owner's key off all pages. Undefined if pages can show it. */
export function hidesDemoKey({ externalHost, databaseUrl }: Config): 'EXTERNAL_HOST' | 'DATABASE_URL' | undefined {
  if (externalHost !== undefined) return 'EXTERNAL_HOST';
  return databaseUrl === undefined ? undefined : 'DATABASE_URL';
}

/**
 * Returns the address that opens the pages signed in as the demo owner. Null if no page may show the key. The token is
 * in the fragment, which browsers never send: no log, proxy or Referer contains it.
 */
export function startUrlOf({ config, keys }: Pick<App, 'config' | 'keys'>): string | null {
  return hidesDemoKey(config) === undefined ? `${urlOf(config, '')}/#start=${keys.token(START)}` : null;
}

/**
 * Purposes of tokens that are derived from SECRET_KEY. A printed address, and a browser's cookie, stay valid over
 * restarts.
 */
const START = 'demo start';
const LET_IN = 'demo browser';

/**
 * Access to pages that contain the demo owner's key, for browsers that sent the token of the start address and have had
 * a cookie since. A client's address proves nothing: behind a proxy on this machine, every visitor seems local.
 */
export class DemoAccess {
  readonly owner: DemoOwner;
  readonly #app: App;

  private constructor(app: App, owner: DemoOwner) {
    this.#app = app;
    this.owner = owner;
  }

  /** Creates the access for an owner. @returns Null if no page may show the key. */
  static of(app: App, owner: DemoOwner | null): DemoAccess | null {
    return owner === null || hidesDemoKey(app.config) !== undefined ? null : new DemoAccess(app, owner);
  }

  /**
   * Checks the token of the start address. @returns The Set-Cookie header for the browser. Undefined if the token is
   * wrong.
   */
  enter(token: string): string | undefined {
    const { config, keys } = this.#app;
    if (!isSameSecret(token, keys.token(START))) return undefined;
    return setCookie({
      name: cookieName(config, SIGNED_IN_COOKIE),
      value: keys.token(LET_IN),
      sameSite: 'Strict',
      path: '/',
    });
  }

  /** Returns whether the request comes from a browser that sent the token. */
  isOpenTo({ headers }: IncomingMessage): boolean {
    const { config, keys } = this.#app;
    const shown = readCookie(headers.cookie, cookieName(config, SIGNED_IN_COOKIE));
    return shown !== undefined && isSameSecret(shown, keys.token(LET_IN));
  }
}
