import { describe, expect, test } from 'vitest';
import { faultsOf } from '../helpers/axe.ts';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { demoChat } from '../helpers/web.ts';
import { DIALOGS, fillPlaces, show, VIEWS } from '../helpers/web-places.ts';

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

  test.for(LOOKS)(
    'views and dialogs, %s: no serious fault, no logged error and no request to another host',
    async ([, look]) => {
      await using iris = await chat.enter('owner', look);
      const { page, problems } = iris;
      const faults: Record<string, readonly string[]> = {};
      for (const name of [...VIEWS, ...DIALOGS]) {
        await show(iris, name);
        faults[name] = [...(await faultsOf(page)), ...problems.splice(0)];
      }
      expect(Object.entries(faults).filter(([, found]) => found.length > 0)).toEqual([]);
    },
  );

  test('the sign-in page has no serious fault and makes no request to another host', async () => {
    for (const [name, look] of LOOKS) {
      await using iris = await chat.enter('owner', look);
      const { page, problems } = iris;
      if (look.viewport === NARROW) await page.getByRole('button', { name: 'Back to sidebar' }).click();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      expect(await faultsOf(page), name).toEqual([]);
      expect(
        problems.filter((problem) => problem.startsWith('asked')),
        name,
      ).toEqual([]);
    }
  });
});
