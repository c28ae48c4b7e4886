import type { IncomingMessage } from 'node:http';
import type { App } from '../../access/context.ts';
import { cookieName, readCookie, setCookie } from '../../api/cookies.ts';
import { SIGNED_IN_COOKIE } from '../../api/cross-site.ts';
import type { Config } from '../../platform/config.ts';
import { urlOf } from '../../platform/hosts.ts';

/** The owner of the demo organization. Pages show the API key of the owner to the user who started the server. */
export interface DemoOwner {
  readonly email: string;
  readonly apiKey: string;
  /** Ids of all users of the demo, including bots. */
  readonly userIds: readonly number[];
}

/**
 * Returns the name of the environment variable that prevents pages from showing the API key of the demo owner. Undefined if
 * pages can show the key.
 */
export function hidesDemoKey({ externalHost, databaseUrl }: Config): 'EXTERNAL_HOST' | 'DATABASE_URL' | undefined {
  if (externalHost !== undefined) return 'EXTERNAL_HOST';
  return databaseUrl === undefined ? undefined : 'DATABASE_URL';
}

/**
 * Returns the start URL, which signs a browser in to the pages as the demo owner. Null if no page may show the API key of the
 * owner.
 *
 * The fragment of the URL contains a token. Browsers never send fragments, so no log, proxy or Referer header contains the
 * token.
 */
export function startUrlOf({ config, keys }: Pick<App, 'config' | 'keys'>): string | null {
  return hidesDemoKey(config) === undefined ? `${urlOf(config, '')}/#start=${keys.token(START)}` : null;
}

/**
 * Purposes of two tokens: the token in the start URL, and the token in the cookie that grants a browser access. Both tokens are
 * derived from SECRET_KEY, so they stay valid after a restart.
 */
const START = 'demo start';
const LET_IN = 'demo browser';

/**
 * Grants browsers access to the pages that contain the API key of the demo owner. A browser must send the token of the start
 * URL, and then gets a cookie. The IP address of the client proves nothing: behind a proxy on this machine, every visitor seems
 * local.
 */
export class DemoAccess {
  readonly owner: DemoOwner;
  readonly #app: App;

  private constructor(app: App, owner: DemoOwner) {
    this.#app = app;
    this.owner = owner;
  }

  /**
   * Creates the access to the pages with the API key of an owner.
   *
   * @returns Null if there is no owner, or if no page may show the key.
   */
  static of(app: App, owner: DemoOwner | null): DemoAccess | null {
    return owner === null || hidesDemoKey(app.config) !== undefined ? null : new DemoAccess(app, owner);
  }

  /**
   * Checks a token of the start URL.
   *
   * @returns The Set-Cookie header that grants the browser access. Undefined if the token is wrong.
   */
  enter(token: string): string | undefined {
    const { config, keys } = this.#app;
    if (!keys.isToken(token, START)) return undefined;
    return setCookie(cookieName(config, SIGNED_IN_COOKIE), keys.token(LET_IN), { sameSite: 'Strict' });
  }

  /** Returns whether the browser that sent a request has access to the pages with the API key of the demo owner. */
  isOpenTo({ headers }: IncomingMessage): boolean {
    const { config, keys } = this.#app;
    const shown = readCookie(headers.cookie, cookieName(config, SIGNED_IN_COOKIE));
    return shown !== undefined && keys.isToken(shown, LET_IN);
  }
}
