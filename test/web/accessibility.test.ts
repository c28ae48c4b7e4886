import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { faultsInBothColors, faultsOf } from '../helpers/axe.ts';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { demoChat } from '../helpers/web.ts';
import { ADMINISTRATION, DIALOGS, fillPlaces, show, VIEWS } from '../helpers/web-places.ts';

const WIDE = { width: 1280, height: 800 };
const NARROW = { width: 390, height: 844 };
const LOOKS = [
  ['light and wide', { viewport: WIDE, colorScheme: 'light' }],
  ['light and narrow', { viewport: NARROW, colorScheme: 'light' }],
  ['dark and wide', { viewport: WIDE, colorScheme: 'dark' }],
  ['dark and narrow', { viewport: NARROW, colorScheme: 'dark' }],
] as const;

describe.runIf(hasChromium)(`accessibility of the chat${CHROMIUM_NOTE}`, { timeout: 240_000 }, () => {
  const chat = demoChat((one) => fillPlaces({ person: one.person('owner') }, one.person('moderator')));

  // The narrow screen has its own file.
  test('views and dialogs: no serious fault, no logged error and no request to another host', async () => {
    await using iris = await chat.enter('owner', LOOKS[0][1]);
    const { page, problems } = iris;
    const faults: Record<string, readonly string[]> = {};
    for (const name of [...VIEWS, ...DIALOGS]) {
      await show(iris, name);
      faults[name] = [...(await faultsInBothColors(page)), ...problems.splice(0)];
    }
    expect(Object.entries(faults).filter(([, found]) => found.length > 0)).toEqual([]);
  });

  test('every control of the settings and their dialogs is a stop of the Tab key that shows its focus', async () => {
    await using iris = await chat.enter('owner', LOOKS[0][1]);
    const { page, problems } = iris;
    const faults: Record<string, readonly string[]> = {};
    for (const name of ADMINISTRATION) {
      await show(iris, name);
      // The items of a menu are chosen with arrows.
      if ((await page.getByRole('menu').count()) === 0) faults[name] = await missedByTab(page);
      const opened = page.locator('dialog[open], .popup');
      const before = await opened.count();
      if (before === 0) continue;
      // Escape closes the topmost one, and its opener has the focus again.
      await page.keyboard.press('Escape');
      await expect.poll(() => opened.count(), { message: name }).toBeLessThan(before);
      await expect.poll(() => page.evaluate(() => document.activeElement?.tagName), { message: name }).not.toBe('BODY');
    }
    expect(Object.entries(faults).filter(([, found]) => found.length > 0)).toEqual([]);
    expect(problems).toEqual([]);
  });

  test('the sign-in page and the one of forgotten passwords have no serious fault and make no request to another host', async () => {
    for (const [name, look] of LOOKS) {
      await using iris = await chat.enter('owner', look);
      const { page, problems } = iris;
      if (look.viewport === NARROW) await page.getByRole('button', { name: 'Back to sidebar' }).click();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      expect(await faultsOf(page), name).toEqual([]);
      await page.getByRole('button', { name: 'Forgot password?' }).click();
      await page.getByRole('heading', { name: 'Forgot password' }).waitFor();
      expect(await faultsOf(page), name).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth), name).toBe(look.viewport.width);
      expect(
        problems.filter((problem) => problem.startsWith('asked')),
        name,
      ).toEqual([]);
    }
  });

  test('pages of emailed links, of joining, of single sign-on and of apps have no serious fault, dark, narrow and by Tab', async () => {
    await using iris = await chat.enter('owner', LOOKS[1][1]);
    const { page, person } = iris;
    const provider = {
      ...{ slug: 'company', name: 'Sign in with Company', issuer: 'https://identity.example' },
      ...{ clientId: 'chat', clientSecret: 'a secret', isEnabled: true },
    };
    await person.mutate('createIdentityProvider', provider, 'identityProvider { id }');
    const { invitation } = await person.mutate('createInviteLink', {}, 'invitation { linkUrl }');
    const open = (path: string) => page.goto(`${chat.server.url}${path}`);
    const heading = (name: string) => page.getByRole('heading', { name, level: 1 }).waitFor();
    const refusedAt = (path: string) => async () => {
      await open(`/accounts/login/openid/${path}`);
      await heading('You are not signed in');
    };
    const pages: Readonly<Record<string, () => Promise<unknown>>> = {
      'a new address': async () => {
        await open('/confirm-email?token=unknown');
        await heading('Confirm your new email address');
      },
      'a new address that is refused': async () => {
        await page.getByRole('button', { name: 'Use this address' }).click();
        await heading('Email address not changed');
      },
      'an unknown provider': refusedAt('unknown'),
      'a sign-in that the browser has not begun': refusedAt('company/callback?code=x&state=x'),
      'a sign-in that the provider refuses': refusedAt('company/callback?error=access_denied&state=x'),
      'a sign-in of an app with a wrong secret': refusedAt('company?desktop_flow_otp=xyz'),
      'joining with a provider': async () => {
        await open(new URL(invitation.linkUrl).pathname);
        await page.getByRole('link', { name: 'Sign in with Company' }).waitFor();
      },
      'the sign-in of an app': async () => {
        await open(`/sign-in/app?desktop_flow_otp=${'0'.repeat(64)}`);
        await page.getByRole('button', { name: 'Continue in the app' }).waitFor();
      },
      'the code for an app': async () => {
        await page.getByRole('button', { name: 'Continue in the app' }).press('Enter');
        await page.getByRole('textbox', { name: 'Code' }).waitFor();
      },
    };
    const faults: Record<string, readonly string[]> = {};
    for (const [name, show] of Object.entries(pages)) {
      await show();
      const found = await faultsInBothColors(page);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      const tooWide = width > NARROW.width ? [`${width} pixels wide`] : [];
      faults[name] = [...found, ...tooWide, ...(await missedByTab(page))];
    }
    expect(Object.entries(faults).filter(([, found]) => found.length > 0)).toEqual([]);
    expect(iris.problems.filter((problem) => problem.startsWith('asked'))).toEqual([]);
  });
});

/**
 * Presses Tab until all controls of the open dialog, of the view or of a page without the chat had the focus.
 *
 * @returns Controls without focus or without a visible outline, and elements that look like controls but are none.
 */
async function missedByTab(page: Page): Promise<string[]> {
  const count = await page.evaluate(() => {
    const root =
      [...document.querySelectorAll('dialog[open]')].at(-1) ?? document.querySelector('main') ?? document.body;
    const controls = 'a[href], button, input, select, textarea, summary, [tabindex]';
    const isShown = (element: Element) => element.checkVisibility({ visibilityProperty: true });
    const all = [...root.querySelectorAll<HTMLElement>(controls)].filter(
      (element) => isShown(element) && element.tabIndex >= 0 && !element.matches(':disabled'),
    );
    const looks = [...root.querySelectorAll('*')].filter(
      (element) =>
        isShown(element) &&
        getComputedStyle(element).cursor === 'pointer' &&
        element.closest(`${controls}, label, [role=option]`) === null,
    );
    const heading = root.querySelector<HTMLElement>('h1, h2');
    if (heading) {
      heading.tabIndex = -1;
      heading.focus();
    }
    const faults = looks.map((element) => `no control: ${element.outerHTML.slice(0, 120)}`);
    Object.assign(window, { tabbed: { waiting: new Set(all), faults } });
    return all.length;
  });
  for (let i = 0; i < count + 10; i += 1) {
    await page.keyboard.press('Tab');
    const left = await page.evaluate(() => {
      const { tabbed } = window as unknown as { tabbed: { waiting: Set<Element>; faults: string[] } };
      const { activeElement } = document;
      if (activeElement !== null && tabbed.waiting.delete(activeElement)) {
        const { outlineStyle, outlineWidth } = getComputedStyle(activeElement);
        if (outlineStyle === 'none' || outlineWidth === '0px') {
          tabbed.faults.push(`no outline: ${activeElement.outerHTML.slice(0, 120)}`);
        }
      }
      return tabbed.waiting.size;
    });
    if (left === 0) break;
  }
  return page.evaluate(() => {
    const { tabbed } = window as unknown as { tabbed: { waiting: Set<Element>; faults: string[] } };
    return [...tabbed.faults, ...[...tabbed.waiting].map((one) => `not reached: ${one.outerHTML.slice(0, 120)}`)];
  });
}
