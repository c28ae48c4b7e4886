import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { faultsInBothColors } from '../helpers/axe.ts';
import { CHROMIUM_NOTE, hasChromium, launchChromium } from '../helpers/chromium.ts';
import { basic, Visitor } from '../helpers/person.ts';
import type { ServerProcess } from '../helpers/process.ts';
import { startServer } from '../helpers/server.ts';

/** Paths of the pages that people read, as opposed to GraphiQL. */
const PAGES = ['/developers', '/docs', '/docs/events'];
/** Timeout of actions on a page, in milliseconds. It is long enough while other tests run on the same machine. */
const PATIENCE_MS = 25_000;

describe.runIf(hasChromium)(`the first five minutes in a browser${CHROMIUM_NOTE}`, () => {
  const stack = new AsyncDisposableStack();
  let server: ServerProcess;
  let browser: Browser;
  let owner: Visitor;
  let startUrl: string;

  beforeAll(async () => {
    const starting = startServer({ env: { DEMO: 'on', DATABASE_URL: undefined } });
    browser = await launchChromium();
    stack.defer(() => browser.close());
    server = stack.use(await starting);
    const demo = JSON.parse(readFileSync(join(server.dataDir, 'demo.json'), 'utf8'));
    const { email, api_key } = demo.users[0];
    startUrl = demo.start_url.replace('/#', '/developers#');
    owner = new Visitor({ url: server.url, host: `127.0.0.1:${server.port}`, authorization: basic(email, api_key) });
  });
  afterAll(() => stack.disposeAsync());

  /** Options of the browser context. `opened` says whether the browser has already opened the start address. */
  type VisitOptions = Parameters<Browser['newContext']>[0] & { readonly opened?: boolean };

  /** Opens the start address and waits for its page, as a user does who has just started the server. */
  async function enter(page: Page): Promise<void> {
    await page.goto(startUrl);
    await page.getByText('This browser opened the start address').waitFor();
  }

  /** Opens a page and records its errors. */
  async function visit(path: string, { opened = true, ...options }: VisitOptions = {}) {
    const context: BrowserContext = await browser.newContext(options);
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const problems: string[] = [];
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
    page.on('requestfailed', (request) => problems.push(`${request.url()} failed`));
    page.on(
      'response',
      (response) => response.status() >= 400 && problems.push(`${response.status()} ${response.url()}`),
    );
    page.on('request', (request) => {
      if (!new RegExp(`^(${server.url}/|data:|blob:)`).test(request.url())) problems.push(`asked ${request.url()}`);
    });
    if (opened) await enter(page);
    await page.goto(server.url + path);
    return { page, problems, [Symbol.asyncDispose]: () => context.close() };
  }

  test.for(PAGES)('%s fits a phone in light and dark mode, and requests nothing from other hosts', async (path) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await using visited = await visit(path, { viewport: { width: 360, height: 740 }, colorScheme });
      const { page, problems } = visited;
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
      // No element in the page may require horizontal scrolling.
      const wide = await page.evaluate(() =>
        [...document.querySelectorAll('body *')]
          .filter((element) => element.scrollWidth > 360)
          .map(({ tagName }) => tagName),
      );
      expect(wide).toEqual([]);
      expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe(
        colorScheme === 'light' ? 'rgb(251, 250, 248)' : 'rgb(20, 23, 26)',
      );
      expect(problems).toEqual([]);
    }
  });

  test.for([...PAGES, '/nothing/here'])('%s is accessible in light and dark mode', async (path) => {
    await using visited = await visit(path, { viewport: { width: 390, height: 844 } });
    expect(await faultsInBothColors(visited.page, { impacts: 'all' })).toEqual([]);
  });

  test('the start address shows the API key, leaves the address bar, and grants this browser access', async () => {
    await using visited = await visit('/developers', { opened: false });
    const { page, problems } = visited;
    const key =
      Buffer.from(owner.authorization?.split(' ')[1] ?? '', 'base64')
        .toString()
        .split(':')[1] ?? '';
    expect(await page.content()).not.toContain(key);
    // This page is already open, so only the fragment of its address changes.
    await enter(page);
    expect(page.url()).toBe(`${server.url}/developers`);
    expect(await page.content()).toContain(key);
    expect(await page.evaluate(() => document.cookie)).toBe('');
    await page.goBack();
    expect(page.url()).not.toContain('start=');
    await page.goto(`${server.url}/docs`);
    expect(await page.content()).toContain(key);
    expect(problems).toEqual([]);
    await using other = await visit('/docs', { opened: false });
    expect(await other.page.content()).not.toContain(key);
  });

  test('an expired start address says that it has expired', async () => {
    await using visited = await visit('/developers', { opened: false });
    await visited.page.goto(`${server.url}/developers#start=${'x'.repeat(43)}`);
    await visited.page.getByText('This start address is invalid').waitFor();
    expect(visited.page.url()).toBe(`${server.url}/developers`);
  });

  test('the copy button copies a call exactly as printed', async () => {
    await using visited = await visit('/developers', { permissions: ['clipboard-read', 'clipboard-write'] });
    const { page, problems } = visited;
    const call = page.getByRole('group', { name: 'Read and send messages over REST' });
    await call.getByRole('button', { name: 'Copy' }).click();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toBe(await call.locator('code').textContent());
    expect(copied.split('\n')).toHaveLength(3);
    expect(problems).toEqual([]);
  });

  test('a message sent on the page arrives over three transports at one position, also after a crash', async () => {
    await using visited = await visit('/developers');
    const { page } = visited;
    const lists = ['WebSocket', 'Server-sent events', 'Long poll'].map((name) => page.getByRole('log', { name }));
    const send = async (content: string) => {
      await page.getByLabel('Message', { exact: true }).fill(content);
      await page.getByRole('button', { name: 'Send' }).click();
      const shown = lists.map((list) => list.getByRole('listitem').filter({ hasText: `Iris Haddad: ${content}` }));
      const places = await Promise.all(shown.map((item) => item.getByText(/^position \d+$/).textContent()));
      expect(new Set(places).size, places.join()).toBe(1);
    };
    await send('one');
    await send('two');
    await server.kill9();
    await server.restart();
    await send('three');
    expect(visited.problems.filter((problem) => problem.startsWith('asked'))).toEqual([]);
  });

  /**
   * Returns the text of the part of GraphiQL that a selector matches. Replaces the non-breaking spaces of its editor with
   * normal spaces.
   */
  const shownIn = (page: Page, part: string) =>
    page.evaluate((selector) => document.querySelector(selector)?.textContent?.replaceAll('\u00a0', ' ') ?? '', part);

  /**
   * Waits until the part of GraphiQL that a selector matches contains `text`. @returns Duration of the wait, in milliseconds.
   */
  async function untilShown(page: Page, text: string, part = '.result-window'): Promise<number> {
    const since = performance.now();
    await expect.poll(() => shownIn(page, part), { timeout: PATIENCE_MS, interval: 50 }).toContain(text);
    return performance.now() - since;
  }

  /** Opens the tab of an operation, runs it unchanged, and waits until the result shows `text`. */
  async function run(page: Page, name: string, text: string): Promise<void> {
    const execute = () => page.getByRole('button', { name: /^Execute query/ }).click();
    await page.getByRole('tab', { name }).click();
    await untilShown(page, name, '.graphiql-query-editor');
    await execute();
    const shows = async () => {
      const shown = await shownIn(page, '.result-window');
      // GraphiQL detects some time after a click that a tab has another operation, so the operation is executed again.
      if (shown.includes('Cannot infer operation')) await execute();
      expect(shown).toContain(text);
    };
    await vi.waitFor(shows, { timeout: PATIENCE_MS, interval: 100 });
  }

  test('every tab of GraphiQL runs unchanged, signed in as the demo owner', async () => {
    await using visited = await visit('/graphql');
    const { page, problems } = visited;
    await run(page, 'Viewer', '"Iris Haddad"');
    await run(page, 'Messages', '"topicName"');
    await run(page, 'SendMessage', '"SendMessagePayload"');
    expect(problems).toEqual([]);
  });

  test('the live tab shows events of other clients immediately, and after a server crash those missed meanwhile', async () => {
    await using visited = await visit('/graphql');
    const { page } = visited;
    await page.evaluate(() => Object.assign(window, { isStillHere: true }));
    const send = (content: string) =>
      owner.ok('POST', '/messages', { type: 'channel', to: 'general', topic: 'hello', content });
    await send('before it listens');
    await run(page, 'Live', 'before it listens');
    await send('from elsewhere');
    expect(await untilShown(page, 'from elsewhere')).toBeLessThan(2_000);
    await server.kill9();
    await server.restart();
    await send('after the crash');
    await untilShown(page, 'after the crash');
    expect(await page.evaluate(() => 'isStillHere' in window)).toBe(true);
  });
});
