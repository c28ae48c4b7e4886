import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { channelLink, demoChat, message, newName, open, sidebarOf } from '../helpers/web.ts';

const LAUNCH = { type: 'channel', to: 'website', topic: 'launch' };

describe.runIf(hasChromium)(`the installed chat${CHROMIUM_NOTE}`, { timeout: 120_000 }, () => {
  const chat = demoChat();

  test('has a manifest whose icons exist', async () => {
    const read = (path: string) => fetch(`${chat.server.url}${path}`);
    const page = await (await read('/inbox')).text();
    expect(page).toContain('rel="manifest" href="/manifest.webmanifest"');
    const manifest = await read('/manifest.webmanifest');
    expect(manifest.headers.get('Content-Type')).toBe('application/manifest+json');
    const { icons, start_url } = (await manifest.json()) as {
      icons: { src: string; sizes: string }[];
      start_url: string;
    };
    expect((await read(start_url)).status).toBe(200);
    expect(icons.map(({ sizes }) => sizes)).toEqual(['192x192', '512x512', '512x512']);
    for (const { src, sizes } of icons) {
      const icon = await read(src);
      expect([icon.status, icon.headers.get('Content-Type')]).toEqual([200, 'image/png']);
      // Width and height are at fixed positions of a PNG file.
      const bytes = new DataView(await icon.arrayBuffer());
      expect(`${bytes.getUint32(16)}x${bytes.getUint32(20)}`).toBe(sizes);
    }
    const worker = await read('/service-worker.js');
    expect(worker.headers.get('Cache-Control')).toBe('no-cache');
  });

  test('shows the last state while the service is down, and is current when it is back', async () => {
    const mona = chat.person('moderator');
    await using iris = await chat.enter('owner', { serviceWorkers: 'allow' });
    const { page } = iris;
    const [before, missed] = [newName('before'), newName('missed')];
    await mona.ok('POST', '/messages', { ...LAUNCH, content: before });
    await controlled(page);
    await open(page, 'website', 'launch');
    await message(page, before).waitFor();
    await page.reload();
    await message(page, before).waitFor();
    await live(page);

    await chat.server.kill9();
    await page.reload();
    await message(page, before).waitFor();
    await channelLink(page, 'general').waitFor();
    await sidebarOf(page).getByRole('status').filter({ hasText: 'Connecting' }).waitFor();

    await chat.server.restart();
    await mona.ok('POST', '/messages', { ...LAUNCH, content: missed });
    await live(page);
    await message(page, missed).waitFor();
    await expect.poll(() => message(page, before).count()).toBe(1);
  });

  test('shows the page of the service, not the stored one, while the service responds', async () => {
    await using iris = await chat.enter('owner', { serviceWorkers: 'allow' });
    const { page } = iris;
    await controlled(page);
    await page.reload();
    const replace = () =>
      page.evaluate(async () => {
        const stored = new Response('<h1>Stored page</h1>', { headers: { 'Content-Type': 'text/html' } });
        await (await caches.open('page')).put('/', stored);
      });
    await replace();
    await page.reload();
    await page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();
    await replace();
    await chat.server.kill9();
    await page.reload();
    await page.getByRole('heading', { name: 'Stored page' }).waitFor();
    await chat.server.restart();
    await page.reload();
    await page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();
  });

  test('keeps no data after the sign-out', async () => {
    await using iris = await chat.enter('owner', { serviceWorkers: 'allow' });
    const { page } = iris;
    await controlled(page);
    await page.reload();
    await live(page);
    const stored = () =>
      page.evaluate(async () => {
        const data = await caches.open('data');
        const responses = await Promise.all((await data.keys()).map((key) => data.match(key)));
        const texts = await Promise.all(responses.map((response) => response?.text()));
        return texts.filter((text) => text?.includes('"directConversations"')).length;
      });
    await expect.poll(stored).toBeGreaterThan(0);
    await sidebarOf(page).getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await expect.poll(stored).toBe(0);
  });
});

/** Waits until the service worker handles the requests of the page. */
const controlled = (page: Page): Promise<unknown> =>
  page.waitForFunction(() => navigator.serviceWorker.controller !== null);

const live = (page: Page): Promise<void> => sidebarOf(page).getByRole('status').filter({ hasText: 'Live' }).waitFor();
