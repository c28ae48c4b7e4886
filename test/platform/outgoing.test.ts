import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Fetching, getFrom, objectionToUrl, postTo } from '../../src/platform/outgoing.ts';
import { PNG } from '../helpers/pictures.ts';
import { endless, resolving, startRawServer, startWebsite, type Website } from '../helpers/website.ts';

/** A service that only this machine reaches, and one on the internet. */
const LOCAL = { host: '127.0.0.1', port: 1, externalHost: undefined, externalScheme: undefined } as const;
const PUBLIC = { ...LOCAL, externalHost: 'chat.example.com', externalScheme: 'https' } as const;

let website: Website;
beforeAll(async () => {
  website = await startWebsite();
});
afterAll(() => website[Symbol.asyncDispose]());

const read = (url: string, options: Partial<Fetching> = {}, config: typeof LOCAL | typeof PUBLIC = LOCAL) =>
  getFrom(config, url, { accept: '*/*', maxBytes: 1_000_000, signal: AbortSignal.timeout(5_000), ...options });

/** Sends a redirect from the website. */
const redirect = (path: string, location: string) =>
  website.serve(path, (_, response) => response.writeHead(302, { Location: location }).end());

describe('local addresses are not requested', () => {
  test.each([
    '10.0.0.1',
    '127.0.0.1',
    '169.254.169.254',
    '192.168.1.1',
    '100.64.0.1',
    '0.0.0.0',
    '::1',
    'fd00::1',
    'fe80::1',
    '::ffff:127.0.0.1',
    '::ffff:10.1.2.3',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
  ])('a name that resolves to %s, alone or beside a public address', async (address) => {
    for (const found of [[address], ['93.184.216.34', address]]) {
      const attempt = read('http://rebinding.example/a.png', { resolver: resolving(...found) }, PUBLIC);
      await expect(attempt).rejects.toThrow('has a local address');
    }
  });

  test.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://[::1]/',
    'http://[::ffff:7f00:1]/',
    'http://localhost/',
    'http://a.localhost/',
    'http://169.254.169.254/latest/meta-data/',
    'http://u.example:22/',
    'https://u.example:8443/',
    'ftp://u.example/',
    'file:///etc/passwd',
    'data:image/png;base64,AAAA',
    'no url',
  ])('the URL %s', (url) => {
    expect(objectionToUrl(PUBLIC, url, { isPublic: true })).toEqual(expect.any(String));
  });

  test('a redirect to a local address, and to a name that resolves to one', async () => {
    for (const [path, location] of [
      ['/to-metadata', 'http://169.254.169.254/latest/meta-data/'],
      ['/to-network', 'https://10.0.0.1/'],
      ['/to-file', 'file:///etc/passwd'],
      ['/to-ftp', 'ftp://127.0.0.1/'],
    ] as const) {
      await expect(read(redirect(path, location))).rejects.toThrow('The URL is refused');
    }
    const url = redirect('/to-name', 'http://rebinding.example/');
    await expect(read(url, { resolver: resolving('192.168.0.1') })).rejects.toThrow('has a local address');
  });
});

test('at most three redirects are followed, and relative ones are resolved', async () => {
  website.file('/3.png', 'image/png', PNG);
  for (const i of [0, 1, 2]) redirect(`/${i}.png`, `/${i + 1}.png`);
  expect(await read(`${website.url}/0.png`)).toEqual({
    ...{ url: `${website.url}/3.png`, contentType: 'image/png', body: PNG },
  });
  redirect('/-1.png', '/0.png');
  await expect(read(`${website.url}/-1.png`)).rejects.toThrow('more than 3 redirects');
  redirect('/loop', '/loop');
  await expect(read(`${website.url}/loop`)).rejects.toThrow('more than 3 redirects');
  expect(website.count('/loop')).toBe(4);
});

test('a body is refused or cut when it is too long', async () => {
  const url = website.serve('/endless', endless('text/html', PNG));
  await expect(read(url)).rejects.toThrow('too long');
  expect((await read(url, { cutsBody: true })).body).toHaveLength(1_000_000);
  const claimed = website.serve('/claimed', (_, response) =>
    response.writeHead(200, { 'Content-Length': '5000000' }).write('x'),
  );
  await expect(read(claimed)).rejects.toThrow('too long');
});

test('a slow head, a slow body and a slow redirect end with the signal', async () => {
  const silent = website.serve('/silent', () => undefined);
  const slow = website.serve('/slow', endless('image/png', PNG, 20));
  for (const url of [silent, slow, redirect('/to-slow', slow)]) {
    await expect(read(url, { signal: AbortSignal.timeout(200) })).rejects.toThrow();
  }
});

test('no credentials of the URL are sent, and encoded bodies are refused', async () => {
  website.file('/secret', 'text/html', 'x');
  await read(`${website.url}/secret`.replace('//', '//user:password@'));
  expect(website.requests.at(-1)?.headers).not.toHaveProperty('authorization');
  const encoded = website.file('/encoded', 'text/html', 'x', { 'Content-Encoding': 'gzip' });
  await expect(read(encoded)).rejects.toThrow('encoding');
});

describe('a connection that ends early ends the request', () => {
  const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 10\r\n\r\n';
  const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n';
  const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';
  const post = (url: string, signal: AbortSignal) =>
    postTo(LOCAL, url, { headers: {}, body: Buffer.from('x'), signal });
  const never = () => new AbortController().signal;

  test.each([
    ['a change of the protocol, with an open connection', upgrade, 'open'],
    ['a change of the protocol, and a closed connection', upgrade, 'close'],
    ['a change of the protocol, and a reset', upgrade, 'reset'],
    ['no response', '', 'close'],
    ['no response, and a reset', '', 'reset'],
    ['a part of the head', head.slice(0, 30), 'close'],
    ['a part of the head, and a reset', head.slice(0, 30), 'reset'],
    ['a response without a final one', hints, 'close'],
    ['no HTTP', 'SSH-2.0-OpenSSH\r\n', 'open'],
  ] as const)('%s', async (_, response, ending) => {
    await using server = await startRawServer(response, ending);
    await expect(read(server.url, { signal: never() })).rejects.toThrow();
    await expect(post(server.url, never())).rejects.toThrow();
  });

  test.each([
    ['a part of the body', `${head}hello`, 'close'],
    ['a part of the body, and a reset', `${head}hello`, 'reset'],
    ['a chunk', chunked, 'close'],
    ['a chunk, and a reset', chunked, 'reset'],
  ] as const)('%s: a POST request needs only the head', async (_, response, ending) => {
    await using server = await startRawServer(response, ending);
    await expect(read(server.url, { signal: never() })).rejects.toThrow();
    expect(await post(server.url, never())).toEqual({ status: 200, retryAfter: undefined });
  });

  test('status 101 without a protocol is a status like others', async () => {
    await using server = await startRawServer('HTTP/1.1 101 Switching Protocols\r\n\r\n', 'close');
    await expect(read(server.url, { signal: never() })).rejects.toThrow('responded with status 101');
    expect(await post(server.url, never())).toEqual({ status: 101, retryAfter: undefined });
  });

  test('informational responses precede the final one, and an endless series of them ends with the signal', async () => {
    await using server = await startRawServer(`${hints}${hints}${head}0123456789`, 'open');
    expect((await read(server.url, { signal: never() })).body.toString()).toBe('0123456789');
    await using endlessHints = await startRawServer(hints, 'repeat');
    await expect(read(endlessHints.url, { signal: AbortSignal.timeout(200) })).rejects.toThrow();
    await expect(post(endlessHints.url, AbortSignal.timeout(200))).rejects.toThrow();
  });
});
