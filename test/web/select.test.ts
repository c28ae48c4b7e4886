import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { faultsOf } from '../helpers/axe.ts';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { chooseOption, demoChat } from '../helpers/web.ts';

describe.runIf(hasChromium)(`select boxes in the chat${CHROMIUM_NOTE}`, () => {
  const chat = demoChat();

  const [PUBLIC, PRIVATE, SHARED] = [
    'Public: all users except guests can find and join it',
    'Private: new subscribers see only messages sent after they join',
    'Private: new subscribers see the full history',
  ];

  test('keys open the list, mark and choose options, and close it', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    const box = await visibilityOf(page);
    const list = page.getByRole('listbox', { name: 'Visibility' });
    const marked = async () => {
      const id = await box.getAttribute('aria-activedescendant');
      return id === null ? undefined : page.locator(`[id="${id}"]`).textContent();
    };
    await box.focus();
    await page.keyboard.press('ArrowDown');
    await list.waitFor();
    expect(await box.getAttribute('aria-expanded')).toBe('true');
    expect(await marked()).toBe(PUBLIC);
    for (const [key, option] of [
      ['ArrowDown', PRIVATE],
      ['ArrowUp', PUBLIC],
      ['ArrowUp', PUBLIC],
      ['End', SHARED],
      ['Home', PUBLIC],
      ['PageDown', SHARED],
    ] as const) {
      await page.keyboard.press(key);
      await expect.poll(marked, { message: key }).toBe(option);
    }
    // Escape closes only the list, and changes nothing.
    await page.keyboard.press('Escape');
    await list.waitFor({ state: 'hidden' });
    await page.getByRole('dialog').waitFor();
    expect(await box.textContent()).toBe(PUBLIC);
    expect(await box.evaluate((one) => one === document.activeElement)).toBe(true);
    // Letters open the list and mark the option that begins with them.
    await page.keyboard.type('pri');
    await expect.poll(marked).toBe(PRIVATE);
    await page.keyboard.press('Enter');
    await list.waitFor({ state: 'hidden' });
    await expect.poll(() => box.textContent()).toBe(PRIVATE);
    await page.keyboard.press('Space');
    await list.waitFor();
    await page.keyboard.press('Home');
    await page.keyboard.press('Tab');
    await list.waitFor({ state: 'hidden' });
    await expect.poll(() => box.textContent()).toBe(PUBLIC);
    expect(await box.evaluate((one) => one === document.activeElement)).toBe(false);
    expect(iris.problems).toEqual([]);
  });

  test('a click on the button or outside closes the list', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    const box = await visibilityOf(page);
    const list = page.getByRole('listbox', { name: 'Visibility' });
    await box.click();
    await list.waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await box.click();
    await list.waitFor({ state: 'hidden' });
    await box.click();
    await list.waitFor();
    await page.getByRole('heading', { name: 'Create a channel' }).click();
    await list.waitFor({ state: 'hidden' });
    await page.getByRole('dialog').waitFor();
    expect(iris.problems).toEqual([]);
  });

  test('a long list is filtered by typing', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await page.goto(`${chat.server.url}/settings/preferences`);
    const box = page.getByRole('combobox', { name: 'Time zone', exact: true });
    const list = page.getByRole('listbox', { name: 'Time zone' });
    await box.focus();
    await page.keyboard.type('new york');
    await expect.poll(() => list.getByRole('option').allTextContents()).toEqual(['America/New York']);
    expect(await faultsOf(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await expect.poll(() => box.textContent()).toBe('America/New York');
    expect(await box.evaluate((one) => one === document.activeElement)).toBe(true);
    await box.click();
    await page.keyboard.type('no such zone');
    await page.getByText('No matches.').waitFor();
    await page.keyboard.press('Escape');
    await list.waitFor({ state: 'hidden' });
    expect(await box.textContent()).toBe('America/New York');
    await chooseOption(box, 'Europe/Berlin');
    await expect.poll(() => box.textContent()).toBe('Europe/Berlin');
    expect(iris.problems).toEqual([]);
  });

  test('touch screens have a native select box', async () => {
    await using iris = await chat.enter('owner', { hasTouch: true, isMobile: true });
    const { page } = iris;
    await page.goto(`${chat.server.url}/settings/preferences`);
    const box = page.getByRole('combobox', { name: 'Theme' });
    await box.selectOption('Dark');
    await expect.poll(() => page.evaluate(() => document.documentElement.dataset['theme'])).toBe('dark');
    expect(await box.evaluate((one) => one.tagName)).toBe('SELECT');
    expect(iris.problems).toEqual([]);
  });
});

/** Opens a dialog with a select box of three options, of which the first is chosen. */
async function visibilityOf(page: Page) {
  await page.getByRole('navigation', { name: 'Sidebar' }).getByRole('link', { name: 'All channels' }).click();
  await page.getByRole('button', { name: 'Create a channel' }).click();
  return page.getByRole('dialog').getByRole('combobox', { name: 'Visibility' });
}
