import type { IncomingMessage } from 'node:http';
import type { App } from '../../access/context.ts';
import { cookieName, readCookie, setCookie } from '../../api/cookies.ts';
import { SIGNED_IN_COOKIE } from '../../api/cross-site.ts';
import type { Config } from '../../platform/config.ts';
import { urlOf } from '../../platform/hosts.ts';
import { isSameSecret } from '../../platform/key-vault.ts';

/** The owner of the demo organisation, whose key is shown to whoever started the server. */
export interface DemoOwner {
  readonly email: string;
  readonly apiKey: string;
  /** All the demo's people and bots, by the numbers of their accounts. */
  readonly everybody: readonly number[];
}

/** The variable that keeps the demo owner's key off all pages; undefined when they may show it. */
export function hidesDemoKey({ externalHost, databaseUrl }: Config): 'EXTERNAL_HOST' | 'DATABASE_URL' | undefined {
  if (externalHost !== undefined) return 'EXTERNAL_HOST';
  return databaseUrl === undefined ? undefined : 'DATABASE_URL';
}

/**
 * The address that opens the pages signed in as the demo owner; null where no page may show the key. What it is opened
 * by stands in the fragment, which browsers send nowhere: no log, proxy or Referer has it.
 */
export function startUrlOf({ config, keys }: Pick<App, 'config' | 'keys'>): string | null {
  return hidesDemoKey(config) === undefined ? `${urlOf(config, '')}/#start=${keys.token(START)}` : null;
}

/** Both are of SECRET_KEY, so that an address printed once, and a browser let in, stay good over restarts. */
const START = 'demo start';
const LET_IN = 'demo browser';

/**
 * Who gets pages that hold the demo owner's key: a browser that showed the token of the start address, and has had a
 * cookie since. Where a request comes from says nothing: behind a proxy on this machine every visitor looks local.
 */
export class DemoAccess {
  readonly owner: DemoOwner;
  readonly #app: App;

  private constructor(app: App, owner: DemoOwner) {
    this.#app = app;
    this.owner = owner;
  }

  /** @returns Null where no page may show the key. */
  static of(app: App, owner: DemoOwner | null): DemoAccess | null {
    return owner === null || hidesDemoKey(app.config) !== undefined ? null : new DemoAccess(app, owner);
  }

  /** @returns The Set-Cookie header for a browser that shows the right token; undefined for any other. */
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

  /** Whether the request is of a browser that was let in. */
  isOpenTo({ headers }: IncomingMessage): boolean {
    const { config, keys } = this.#app;
    const shown = readCookie(headers.cookie, cookieName(config, SIGNED_IN_COOKIE));
    return shown !== undefined && isSameSecret(shown, keys.token(LET_IN));
  }
}
