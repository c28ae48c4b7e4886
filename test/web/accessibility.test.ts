import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { isGroupPicked } from '../helpers/part.ts';
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

describe.runIf(hasChromium && isGroupPicked('web/accessibility.test.ts'))(
  `the chat for those who do not see it, or not well${CHROMIUM_NOTE}`,
  { timeout: 240_000 },
  () => {
    const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    const chat = demoChat((one) => fillPlaces({ person: one.person('owner') }, one.person('moderator')));

    test.for(LOOKS)(
      'no view or dialog, %s, has a serious fault, logs an error or asks another host',
      async ([, look]) => {
        await using iris = await chat.enter('owner', look);
        const { page, problems } = iris;
        await page.evaluate(axe);
        const faults: Record<string, readonly string[]> = {};
        for (const name of [...VIEWS, ...DIALOGS]) {
          await show(iris, name);
          faults[name] = [...(await faultsOf(page)), ...problems.splice(0)];
        }
        expect(Object.entries(faults).filter(([, found]) => found.length > 0)).toEqual([]);
      },
    );

    test('nor has the page of those who are not signed in', async () => {
      for (const [name, look] of LOOKS) {
        await using iris = await chat.enter('owner', look);
        const { page, problems } = iris;
        if (look.viewport === NARROW) await page.getByRole('button', { name: 'Back to the sidebar' }).click();
        await page.getByRole('button', { name: 'Sign out' }).click();
        await page.getByRole('heading', { name: 'Sign in' }).waitFor();
        await page.evaluate(axe);
        expect(await faultsOf(page), name).toEqual([]);
        expect(
          problems.filter((problem) => problem.startsWith('asked')),
          name,
        ).toEqual([]);
      }
    });
  },
);

/** What is serious or critical, with what has it. */
async function faultsOf(page: Page): Promise<string[]> {
  const { violations } = (await page.evaluate('axe.run()')) as AxeResults;
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map(({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary}`).join('\n')}`,
    );
}
