import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The rules of axe that compare colors. The others give the same results in light and dark. */
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];

interface Checks {
  /** Ids of the rules that are checked. Default: all. */
  readonly rules?: readonly string[];
  /** `all` returns every violation, `serious` those that axe rates serious or critical. Default: `serious`. */
  readonly impacts?: 'all' | 'serious';
}

/** Returns the accessibility violations of a page, with the elements that cause them. */
export async function faultsOf(page: Page, { rules, impacts = 'serious' }: Checks = {}): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe);
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) };
  const { violations } = (await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as AxeResults;
  return violations
    .filter(({ impact }) => impacts === 'all' || impact === 'serious' || impact === 'critical')
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map(({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary}`).join('\n')}`,
    );
}

/**
 * Returns the violations of a page in light and in dark colors. Changes the colors of the page while it checks, instead of
 * showing every view again, which takes most of the time.
 */
export async function faultsInBothColors(page: Page, checks: Pick<Checks, 'impacts'> = {}): Promise<string[]> {
  const light = await faultsOf(page, checks);
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await faultsOf(page, { ...checks, rules: COLOR_RULES });
  await page.emulateMedia({ colorScheme: 'light' });
  return [...light, ...dark.map((fault) => `dark: ${fault}`)];
}
