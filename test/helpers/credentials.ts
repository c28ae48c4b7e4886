import { createHmac, randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { send } from './http.ts';
import type { Person } from './person.ts';

/** Subdomain of an organization whose users sign in with JSON web tokens, and the variable of a service that accepts them. */
export const TOKEN_SUBDOMAIN = 'tokens';
const SECRET = 'a shared secret of more than 32 bytes';
export const TOKEN_ENV = {
  JWT_AUTH_KEYS: JSON.stringify({ [TOKEN_SUBDOMAIN]: { key: SECRET, algorithms: ['HS256'], once: true } }),
};

/** Returns a JSON web token for a user, which is accepted once within an hour. */
function newWebToken(email: string): string {
  const claims = { email, jti: randomUUID(), exp: Math.floor(Date.now() / 1000) + 3600 };
  const [header, payload] = [{ alg: 'HS256', typ: 'JWT' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const content = `${header}.${payload}`;
  return `${content}.${createHmac('sha256', SECRET).update(content).digest('base64url')}`;
}

/**
 * Signs a person in with a password, as a browser does.
 *
 * @param port Port of the node. Default: that of the person's service.
 * @returns The Cookie header of the browser.
 */
export async function signInBrowser(person: Person, password: string, port?: number): Promise<string> {
  const place = placeOf(person, port);
  const reply = await send(place.url, {
    ...{ method: 'POST', path: '/api/v1/sessions' },
    headers: { host: place.host, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ username: person.email, password }).toString(),
  });
  expect(reply.status).toBe(200);
  return String(reply.headers['set-cookie']).split(';')[0] ?? '';
}

const placeOf = ({ url, host }: Person, port = Number(new URL(url).port)) => ({
  url: url.replace(/\d+$/, String(port)),
  host: host.replace(/\d+$/, String(port)),
});

/** All credentials of a person of the organization `TOKEN_SUBDOMAIN`: a browser's session, an API key, and web tokens. */
export class Credentials {
  readonly #person: Person;
  readonly cookie: string;
  #spent: string;

  private constructor(person: Person, cookie: string, spent: string) {
    this.#person = person;
    this.cookie = cookie;
    this.#spent = spent;
  }

  static async of(person: Person, password: string): Promise<Credentials> {
    const made = new Credentials(person, await signInBrowser(person, password), newWebToken(person.email));
    expect(await made.#exchange(made.#spent)).toEqual([200, person.apiKey]);
    return made;
  }

  /**
   * Expects that the session and the API key are valid, that new web tokens are accepted, and that used ones are not.
   *
   * @param port Port of the node. Default: that of the person's service.
   */
  async expectValid(port?: number): Promise<void> {
    const { id, apiKey, email } = this.#person;
    const { url, host } = placeOf(this.#person, port);
    const own = async (headers: Readonly<Record<string, string>>) => {
      const { status, text } = await send(url, {
        method: 'GET',
        path: '/api/v1/users/me',
        headers: { host, ...headers },
      });
      return [status, JSON.parse(text).user_id];
    };
    expect(await own({ cookie: this.cookie })).toEqual([200, id]);
    expect(await own({ authorization: `Basic ${Buffer.from(`${email}:${apiKey}`).toString('base64')}` })).toEqual([
      200,
      id,
    ]);
    expect((await this.#exchange(this.#spent, port))[0]).toBe(400);
    this.#spent = newWebToken(email);
    expect(await this.#exchange(this.#spent, port)).toEqual([200, apiKey]);
  }

  /** Exchanges a web token for an API key. @returns The status, and the key. */
  async #exchange(token: string, port?: number): Promise<readonly [number, string | undefined]> {
    const { url, host } = placeOf(this.#person, port);
    const { status, text } = await send(url, {
      ...{ method: 'POST', path: '/api/v1/jwt/fetch_api_key' },
      headers: { host, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token }).toString(),
    });
    return [status, JSON.parse(text).api_key];
  }
}
