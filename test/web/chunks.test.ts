import type { Page, Route } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { demoChat, newName, open, sidebarOf } from '../helpers/web.ts';

/** Views whose code is in a separate chunk: path of the view, and role and name of an element that it displays. */
const VIEWS = [
  ['/people', 'region', 'All people'],
  ['/people/groups', 'region', 'All groups'],
  ['/channels', 'region', 'All channels'],
  ['/search', 'button', 'channel:general'],
  ['/settings/preferences', 'navigation', 'Settings'],
  ['/writing/drafts', 'navigation', 'Drafts and scheduled'],
] as const;

/** Dialogs whose code is in a separate chunk: keyboard shortcut that opens the dialog, and its title. */
const DIALOGS = [
  ['?', 'Keyboard shortcuts'],
  ['/', 'Search messages'],
  ['Control+k', 'Jump to'],
] as const;

describe.runIf(hasChromium)(`chunks of the page that are loaded later${CHROMIUM_NOTE}`, { timeout: 150_000 }, () => {
  const chat = demoChat();

  test('are loaded when the page is idle, and can be opened offline', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    for (const name of ['browse-view', 'directory', 'groups-view', 'search-view', 'settings-view', 'writing-view']) {
      await expect.poll(() => loadedFiles(page), { message: name }).toContain(name);
    }
    for (const name of ['help-dialog', 'search-dialog', 'jump-dialog', 'person-card', 'channel-settings']) {
      await expect.poll(() => loadedFiles(page), { message: name }).toContain(name);
    }
    await page.context().setOffline(true);
    for (const [address, role, name] of VIEWS) {
      await go(page, address);
      await page.getByRole('main').getByRole(role, { name }).waitFor();
    }
    expect(iris.problems.filter((problem) => problem.includes('assets'))).toEqual([]);
  });

  test('show an error while the network is down, and load when it is back', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    const chunks = await withoutChunks(page, (route) => route.abort());
    await mark(page);
    for (const [address, role, name] of VIEWS) {
      await page.context().setOffline(true);
      await go(page, address);
      const missing = page.getByRole('main').getByRole('alert').filter({ hasText: 'You are offline.' });
      await missing.waitFor();
      // The other parts of the page work without the chunk.
      await sidebarOf(page).getByRole('link', { name: 'Inbox' }).waitFor();
      chunks.isMissing = false;
      await page.context().setOffline(false);
      await page.getByRole('main').getByRole(role, { name }).first().waitFor();
      await expect.poll(() => missing.count()).toBe(0);
      chunks.isMissing = true;
    }
    for (const [key, title] of DIALOGS) {
      await page.context().setOffline(true);
      await page.keyboard.press(key);
      await page.getByRole('dialog').getByRole('alert').filter({ hasText: 'You are offline.' }).waitFor();
      chunks.isMissing = false;
      await page.context().setOffline(false);
      await page.getByRole('dialog', { name: title }).waitFor();
      await page.keyboard.press('Escape');
      chunks.isMissing = true;
    }
    expect(await isMarked(page)).toBe(true);
  });

  test('load by a page reload after an upgrade has renamed them, and unsent text is kept', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await withoutChunks(page, (route) => route.fulfill({ status: 404, body: 'Not found' }));
    await open(page, 'website', 'launch');
    const field = page.getByRole('textbox', { name: /^Message #website/ });
    const draft = newName('not sent yet');
    await field.fill(draft);
    await mark(page);
    const upgraded = page.waitForRequest((request) => request.isNavigationRequest()).then(() => page.unrouteAll());
    await go(page, '/people');
    await upgraded;
    await page.getByRole('main').getByRole('region', { name: 'All people' }).waitFor();
    expect(await isMarked(page)).toBe(false);
    expect(new URL(page.url()).pathname).toBe('/people');
    await open(page, 'website', 'launch');
    await expect.poll(() => field.inputValue()).toBe(draft);
  });

  test('are requested again on a click if a reload did not help', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await withoutChunks(page, (route) => route.fulfill({ status: 404, body: 'Not found' }));
    let navigations = 0;
    page.on('request', (request) => request.isNavigationRequest() && navigations++);
    await go(page, '/people');
    const missing = page.getByRole('main').getByRole('alert').filter({ hasText: 'could not be loaded' });
    await expect.poll(() => navigations).toBe(1);
    await missing.waitFor();
    await go(page, '/channels');
    await page.getByRole('heading', { level: 1, name: 'Channels' }).waitFor();
    await missing.waitFor();
    expect(navigations).toBe(1);
    await page.unrouteAll();
    await page.getByRole('main').getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('main').getByRole('region', { name: 'All channels' }).waitFor();
    expect(navigations).toBe(1);
  });

  test('a view or dialog that fails to render does not affect the rest of the page', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    const main = page.getByRole('main');
    const broken = (within: ReturnType<Page['getByRole']>) =>
      within.getByRole('alert').filter({ hasText: 'Something went wrong here.' });
    await page.evaluate(() => {
      const { supportedValuesOf } = Intl;
      const { toLocaleDateString } = Date.prototype;
      const fail = () => {
        throw new Error('Broken by the test');
      };
      Intl.supportedValuesOf = fail;
      Date.prototype.toLocaleDateString = fail;
      const repair = () => {
        Intl.supportedValuesOf = supportedValuesOf;
        Date.prototype.toLocaleDateString = toLocaleDateString;
      };
      Object.assign(window, { repair });
    });
    await go(page, '/settings/preferences');
    await broken(main).waitFor();
    await sidebarOf(page)
      .getByRole('link', { name: /^website/ })
      .click();
    await page.getByRole('feed', { name: 'Messages in website' }).waitFor();
    await sidebarOf(page).getByRole('button', { name: 'Iris Haddad' }).click();
    await broken(page.getByRole('dialog')).waitFor();
    await page.keyboard.press('Escape');
    await go(page, '/settings/preferences');
    await broken(main).waitFor();
    await page.evaluate(() => (window as unknown as { repair: () => void }).repair());
    await main.getByRole('button', { name: 'Try again' }).click();
    await main.getByRole('combobox', { name: 'Theme' }).waitFor();
  });
});

const go = (page: Page, address: string): Promise<void> =>
  page.evaluate((to) => {
    history.pushState(null, '', to);
    dispatchEvent(new PopStateEvent('popstate'));
  }, address);

const mark = (page: Page): Promise<unknown> => page.evaluate(() => Object.assign(window, { isStillHere: true }));
const isMarked = (page: Page): Promise<boolean> => page.evaluate(() => 'isStillHere' in window);

const loadedFiles = (page: Page): Promise<string> =>
  page.evaluate(() =>
    performance
      .getEntriesByType('resource')
      .map(({ name }) => name)
      .join(' '),
  );

/**
 * Reloads the page, and refuses its requests for chunks that the first view does not need.
 *
 * @returns An object. If its `isMissing` is set to false, requests for chunks are permitted.
 */
async function withoutChunks(page: Page, refuse: (route: Route) => Promise<void>): Promise<{ isMissing: boolean }> {
  const chunks = { isMissing: true };
  const html = await page.evaluate(async () => (await fetch('/')).text());
  await page.route('**/assets/*', (route) => {
    const isFirst = html.includes(new URL(route.request().url()).pathname);
    return isFirst || !chunks.isMissing ? route.fallback() : refuse(route);
  });
  await page.reload();
  await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
  return chunks;
}
