import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { applicationHeaders } from '../../src/api/html.ts';
import { CHROMIUM_NOTE, hasChromium, launchChromium } from '../helpers/chromium.ts';
import { send } from '../helpers/http.ts';
import { serverOf } from '../helpers/server.ts';

// Tests the content security policy of the chat page. It permits what the page needs, but no injected code.

test('the policy allows no other host, and no inline content except style attributes', () => {
  const policy = applicationHeaders('')['Content-Security-Policy'] ?? '';
  expect(policy).not.toMatch(/https?:|wss?:|\*|unsafe-eval/);
  expect(policy.replace("style-src-attr 'unsafe-inline'", '')).not.toContain('unsafe');
  for (const directive of ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "connect-src 'self'"]) {
    expect(policy.split('; ')).toContain(directive);
  }
});

/** The only script that belongs to the tested page. All other inline scripts simulate injected code. */
const MADE = '<script>window.made = true;</script>';
const HEADERS = { 'Content-Type': 'text/html', ...applicationHeaders(MADE) };
const PAGE = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Application</title>
<link rel="stylesheet" href="/app.css"></head><body>
<p id="own">own style</p><p id="formula" style="height: 33px">length of a formula</p>
${MADE}<script>window.inline = true;</script><img src="x" onerror="window.handler = true" alt="">
<script src="/app.js"></script></body></html>`;

test('the chat page has this policy', async () => {
  const { headers, text } = await send(serverOf().url, { method: 'GET', path: '/', headers: { host: 'localhost' } });
  for (const [name, value] of Object.entries(applicationHeaders(text))) {
    expect([name, headers[name.toLowerCase()]]).toEqual([name, value]);
  }
});

describe.runIf(hasChromium)(`a page under it${CHROMIUM_NOTE}`, () => {
  const stack = new AsyncDisposableStack();
  let browser: Browser;
  let url: string;

  beforeAll(async () => {
    const files: Readonly<Record<string, readonly [string, string]>> = {
      '/app.js': ['text/javascript', 'window.own = true;'],
      '/app.css': ['text/css', '#own { color: rgb(1, 2, 3); }'],
      '/data': ['application/json', '{}'],
    };
    const server = createServer(({ url = '' }, outgoing) => {
      const [type, text] = files[url] ?? [];
      if (type === undefined) outgoing.writeHead(200, HEADERS).end(PAGE);
      else outgoing.writeHead(200, { 'Content-Type': type, 'Access-Control-Allow-Origin': '*' }).end(text);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    new WebSocketServer({ server });
    stack.defer(() => {
      server.closeAllConnections();
      server.close();
    });
    url = `http://localhost:${(server.address() as AddressInfo).port}`;
    browser = await launchChromium();
    stack.defer(() => browser.close());
  });
  afterAll(() => stack.disposeAsync());

  test('runs only its own scripts and styles, connects to its own origin, and executes nothing in message text', async () => {
    const page = await browser.newPage();
    await page.goto(url);
    const seen = await page.evaluate(
      async (elsewhere) => {
        const socket = new WebSocket(location.href.replace('http', 'ws'));
        const opened = new Promise((resolve) => {
          socket.onopen = () => resolve(true);
          socket.onerror = () => resolve(false);
        });
        const ask = (address: string) =>
          fetch(address).then(
            () => true,
            () => false,
          );
        const styled = (id: string) => getComputedStyle(document.getElementById(id) as HTMLElement);
        return {
          own: Reflect.get(window, 'own'),
          made: Reflect.get(window, 'made'),
          inline: Reflect.get(window, 'inline'),
          handler: Reflect.get(window, 'handler'),
          color: styled('own').color,
          height: styled('formula').height,
          socket: await opened,
          here: await ask('/data'),
          // A URL of the same server with another host name. Without the policy, the request would succeed.
          elsewhere: await ask(`${elsewhere}/data`),
        };
      },
      url.replace('localhost', '127.0.0.1'),
    );
    expect(seen).toEqual({
      ...{ own: true, made: true, inline: undefined, handler: undefined, color: 'rgb(1, 2, 3)', height: '33px' },
      ...{ socket: true, here: true, elsewhere: false },
    });
  });

  test('cannot be framed', async () => {
    const page = await browser.newPage();
    await page.setContent(`<iframe src="${url}"></iframe>`);
    await expect.poll(() => page.frames()[1]?.url()).toMatch(/^chrome-error:/);
  });
});
