import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { faultsInBothColors } from '../helpers/axe.ts';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { type Chatter, demoChat, message, newName, sidebarOf, write } from '../helpers/web.ts';
import { DIALOGS, fillPlaces, show, VIEWS } from '../helpers/web-places.ts';

const [WIDTH, HEIGHT] = [390, 844];
/** Smallest accepted width and height of a touch target, in pixels. */
const TOUCH = 40;

describe.runIf(hasChromium)(`the chat on a narrow screen${CHROMIUM_NOTE}`, { timeout: 240_000 }, () => {
  const chat = demoChat((one) => fillPlaces({ person: one.person('owner') }, one.person('moderator')));

  const enter = (): Promise<Chatter> =>
    chat.enter('owner', { viewport: { width: WIDTH, height: HEIGHT }, hasTouch: true });

  test('every view fits without horizontal scrolling, its touch targets are large enough, and it has no serious fault', async () => {
    await using iris = await enter();
    const faults: Record<string, readonly string[]> = {};
    for (const name of VIEWS) {
      await show(iris, name);
      faults[name] = [
        ...(await wideIn(iris.page)),
        ...(await smallIn(iris.page)),
        ...(await faultsInBothColors(iris.page)),
      ];
    }
    expect(Object.entries(faults).filter(([, found]) => found.length > 0)).toEqual([]);
    expect(iris.problems).toEqual([]);
  });

  test('every dialog fits without horizontal scrolling, its touch targets are large enough, and it has no serious fault', async () => {
    await using iris = await enter();
    const faults: Record<string, readonly string[]> = {};
    for (const name of DIALOGS) {
      await show(iris, name);
      const top = await aboveAll(iris.page);
      faults[name] = [
        ...(await wideIn(iris.page)),
        ...(await smallIn(iris.page, top)),
        ...(await faultsInBothColors(iris.page)),
      ];
    }
    expect(Object.entries(faults).filter(([, found]) => found.length > 0)).toEqual([]);
    expect(iris.problems).toEqual([]);
  });

  test('the sidebar and the selected view are shown one at a time, with a button to go back', async () => {
    await using iris = await enter();
    const { page } = iris;
    const back = page.getByRole('button', { name: 'Back to sidebar' });
    const close = page.getByRole('button', { name: 'Close sidebar' });
    await expect.poll(() => sidebarOf(page).isVisible()).toBe(false);
    await back.click();
    await expect.poll(() => close.evaluate(isFocused)).toBe(true);
    await expect.poll(() => page.getByRole('heading', { level: 1 }).isVisible()).toBe(false);
    // The sidebar also closes if the user opens the current view again.
    await sidebarOf(page)
      .getByRole('link', { name: /^Inbox/ })
      .click();
    await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
    await expect.poll(() => sidebarOf(page).isVisible()).toBe(false);
    await expect.poll(() => back.evaluate(isFocused)).toBe(true);

    await back.click();
    await sidebarOf(page)
      .getByRole('link', { name: /^website/ })
      .click();
    await page.getByRole('heading', { level: 1, name: /website/ }).waitFor();
    await expect.poll(() => sidebarOf(page).isVisible()).toBe(false);
    await back.click();
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { level: 1, name: /website/ }).waitFor();
    await back.click();
    await close.click();
    await page.getByRole('heading', { level: 1, name: /website/ }).waitFor();

    // The sidebar also closes if the current search is opened again.
    for (let i = 0; i < 2; i += 1) {
      await back.click();
      await sidebarOf(page).getByRole('button', { name: 'Search messages' }).click();
      const line = page.getByRole('combobox', { name: 'Search messages' });
      await line.fill('look');
      await line.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'Search' }).waitFor();
      await expect.poll(() => sidebarOf(page).isVisible()).toBe(false);
    }
    expect(iris.problems).toEqual([]);
  });

  test('the formatting buttons are behind a button, and keep the focus in the text field', async () => {
    await using iris = await enter();
    const { page } = iris;
    await show(iris, 'topic');
    const form = page.getByRole('form', { name: 'Write a message' });
    const field = form.getByLabel(/^Message /);
    expect(await form.getByRole('button', { name: 'Bold' }).count()).toBe(0);
    await field.fill('bold');
    await field.selectText();
    await form.getByRole('button', { name: 'Format' }).tap();
    await form.getByRole('button', { name: 'Bold' }).waitFor();
    await expect.poll(() => field.evaluate(isFocused)).toBe(true);
    await form.getByRole('button', { name: 'Bold' }).tap();
    await expect.poll(() => field.inputValue()).toBe('**bold**');
    await field.fill('');
    await form.getByRole('button', { name: 'Format' }).tap();
    await expect.poll(() => form.getByRole('button', { name: 'Bold' }).count()).toBe(0);
    expect(iris.problems).toEqual([]);
  });

  test('the composer is above the on-screen keyboard, and the newest message above the composer', async () => {
    await using iris = await enter();
    const { page } = iris;
    await show(iris, 'topic');
    const written = newName('written on a phone');
    await write(page, written);
    await message(page, written).waitFor();
    await page.getByRole('textbox', { name: /^Message / }).focus();
    await page.setViewportSize({ width: WIDTH, height: 400 });
    const bottomOf = async (element: ReturnType<Page['locator']>) => {
      const box = await element.boundingBox();
      return (box?.y ?? 0) + (box?.height ?? 0);
    };
    await expect.poll(() => bottomOf(page.getByRole('button', { name: 'Send', exact: true }))).toBeLessThanOrEqual(400);
    const composer = await page.getByRole('form', { name: 'Write a message' }).boundingBox();
    await expect.poll(() => bottomOf(message(page, written))).toBeLessThanOrEqual(Math.ceil(composer?.y ?? 0));
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollHeight)).toBe(400);
  });

  test('every view can be reached from the sidebar by touch', async () => {
    await using iris = await enter();
    for (const [link, heading] of [
      ['People and groups', 'People'],
      ['All channels', 'Channels'],
      ['Starred', 'Starred'],
      ['Settings', 'Settings'],
    ] as const) {
      await iris.page.getByRole('button', { name: 'Back to sidebar' }).tap();
      await sidebarOf(iris.page).getByRole('link', { name: link }).tap();
      await iris.page.getByRole('heading', { level: 1, name: heading }).waitFor();
    }
  });
});

const isFocused = (element: Element) => element === document.activeElement;

/** Returns the elements that are wider than the screen or scroll horizontally, except for code blocks and formulas. */
const wideIn = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll('body, body *')]
      .filter((element) => element.checkVisibility({ visibilityProperty: true }))
      .filter((element) => element.closest('.markdown pre, .markdown .katex-display, .only-heard, svg') === null)
      .filter((element) => {
        const { left, right } = element.getBoundingClientRect();
        const overflowOf = (one: Element) => getComputedStyle(one).overflowX;
        const scrolls = ['auto', 'scroll'].includes(overflowOf(element));
        // Ignores elements in a container that hides overflow. Their text ends with an ellipsis, and the full text is displayed
        // elsewhere.
        for (let one = element.parentElement; one !== null && one !== document.body; one = one.parentElement) {
          if (overflowOf(one) === 'hidden') return false;
        }
        return left < -1 || right > innerWidth + 1 || (scrolls && element.scrollWidth > element.clientWidth + 1);
      })
      .map((element) => `${element.tagName}.${element.className}`),
  );

/** Returns a selector of the topmost layer of the page: the open dialogs and popups or, if there are none, the body. */
const aboveAll = async (page: Page): Promise<string> =>
  (await page.locator('dialog[open], .popup').count()) > 0 ? 'dialog, .popup' : 'body';

/** Returns the interactive elements that are smaller than `TOUCH`, except for links within text. */
const smallIn = (page: Page, within = 'body'): Promise<string[]> =>
  page.evaluate(
    ([root, least]) =>
      [...document.querySelectorAll(root)]
        .flatMap((one) => [...one.querySelectorAll('button, a[href], input, select, textarea, summary, [role=option]')])
        .filter((element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
        .filter((element) => element.closest('.only-heard, .markdown, .skip-link') === null)
        .map((element) => (element instanceof HTMLInputElement ? (element.closest('label') ?? element) : element))
        .filter((element) => getComputedStyle(element).display !== 'inline')
        .filter((element) => {
          const { width, height } = element.getBoundingClientRect();
          return width > 0 && (height < least || (element.textContent === '' && width < least));
        })
        .map((element) => `${element.className} ${element.getAttribute('aria-label') ?? element.textContent}`),
    [within, TOUCH - 0.5] as const,
  );
