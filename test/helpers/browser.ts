import { type Reply, send } from './http.ts';

/** Emulates a browser: keeps cookies by host, regardless of the port, and follows redirects. */
export class CookieBrowser {
  readonly #server: string;
  readonly #cookies = new Map<string, Map<string, string>>();

  /** @param server Address that every host name of the service resolves to: `http://127.0.0.1:4000`. */
  constructor(server: string) {
    this.#server = server;
  }

  /**
   * Opens an address and follows redirects within the service.
   *
   * @returns The last response. It is a redirect only if it points outside the service.
   */
  async open(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    const { host, hostname, port, pathname, search } = new URL(url);
    const cookies = this.#cookies.get(hostname) ?? new Map<string, string>();
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ');
    const reply = await send(this.#server, {
      method: 'GET',
      path: pathname + search,
      headers: { host, ...(cookie !== '' && { cookie }), ...headers },
    });
    this.keep(hostname, reply);
    const next = URL.parse(reply.headers.location ?? '', url);
    return reply.status === 302 && next?.port === port && port === new URL(this.#server).port
      ? this.open(next.href)
      : reply;
  }

  /** Posts JSON with the cookies of the host. */
  async post(url: string, body: object): Promise<Reply> {
    const { host, hostname, pathname } = new URL(url);
    const cookie = [...(this.#cookies.get(hostname) ?? [])].map((pair) => pair.join('=')).join('; ');
    const headers = { host, cookie, 'content-type': 'application/json' };
    return send(this.#server, { method: 'POST', path: pathname, headers, body: JSON.stringify(body) });
  }

  /** Stores the cookies of a response. `open` calls this itself; tests call it for responses to requests sent in other ways. */
  keep(hostname: string, { headers }: Pick<Reply, 'headers'>): void {
    const cookies = this.#cookies.get(hostname) ?? new Map<string, string>();
    this.#cookies.set(hostname, cookies);
    for (const line of headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/; Max-Age=0(;|$)/i.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
  }
}
