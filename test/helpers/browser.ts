import { type Reply, send } from './http.ts';

/** What a browser does with addresses and cookies: it keeps cookies by host, whatever the port, and follows redirects. */
export class SomebodysBrowser {
  readonly #server: string;
  readonly #cookies = new Map<string, Map<string, string>>();

  /** @param server Where every name of the service leads: `http://127.0.0.1:4000`. */
  constructor(server: string) {
    this.#server = server;
  }

  /**
   * Opens an address, and what it redirects to within the service.
   *
   * @returns The last reply: a redirect only when it leads elsewhere.
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

  /** Keeps the cookies of a reply, which a script may have asked for. */
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
