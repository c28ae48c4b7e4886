import { describe, expect, test } from 'vitest';
import { objectionToUrl, type Posting, postTo } from '../../src/platform/outgoing.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { resolving } from '../helpers/website.ts';

const PUBLIC = { host: '0.0.0.0', port: 443, externalHost: 'chat.example', externalScheme: undefined };
const LOCAL = { host: '127.0.0.1', port: 4000, externalHost: undefined, externalScheme: undefined };
const post = (config: typeof PUBLIC | typeof LOCAL, url: string, options: Partial<Posting> = {}) =>
  postTo(config, url, { headers: {}, body: Buffer.from('x'), signal: AbortSignal.timeout(5_000), ...options });

describe('requests to URLs that users enter', () => {
  test.for([
    'http://push.example/',
    'https://127.0.0.1/',
    'https://10.1.2.3/',
    'https://169.254.169.254/latest/meta-data',
    'https://[::1]/',
    'https://[::ffff:192.168.0.1]/',
    'https://[fd00::1]/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://localhost/',
    'https://chat.localhost/',
    'file:///etc/passwd',
    'push',
  ])('do not go to %s', async (url) => {
    expect(objectionToUrl(PUBLIC, url)).toBeDefined();
    await expect(post(PUBLIC, url)).rejects.toThrow('The URL is refused');
  });

  test.for(['127.0.0.1', '10.1.2.3', '169.254.169.254', '::1', 'fd00::1', '::ffff:192.168.0.1'])(
    'do not go to a host name that leads to %s, alone or beside a public address',
    async (address) => {
      const url = 'https://push.example/';
      expect(objectionToUrl(PUBLIC, url)).toBeUndefined();
      for (const found of [[address], ['93.184.216.34', address]]) {
        const attempt = post(PUBLIC, url, { resolver: resolving(...found) });
        await expect(attempt).rejects.toThrow('has a local address');
      }
    },
  );

  test('go to this machine from a server that only this machine reaches, and do not follow redirects', async () => {
    const paths: string[] = [];
    await using server = await startHttpServer(({ url = '' }, response) => {
      paths.push(url);
      response.writeHead(307, { location: '/other', 'retry-after': '7' }).end();
    });
    const url = `${server.url}/first`;
    expect(await post(LOCAL, url)).toEqual({ status: 307, retryAfter: '7' });
    await expect(post(PUBLIC, url)).rejects.toThrow('The URL is refused');
    expect(paths).toEqual(['/first']);
  });
});
