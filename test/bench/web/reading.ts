import type { Figure } from './figures.ts';
import { driftOfOlder, switchTo } from './in-page.ts';
import { goToNewest, openBench, type WebStage } from './stage.ts';

const CHANNELS = 12;
const OLDER = 8;

/** Measures how long first and repeated channel switches take, and how far a list moves when older messages are prepended. */
export async function measureReading(stage: WebStage): Promise<Figure[]> {
  const { context, page } = await stage.enter();
  const [shown, ...others] = stage.channels;
  if (shown === undefined) throw new Error('No channel');
  await openBench(page, shown);
  const names = others.slice(0, CHANNELS).map(({ name }) => name);
  const go = async () => {
    const times: number[] = [];
    for (const name of names) times.push(await page.evaluate(switchTo, name));
    return times;
  };
  const [first, again] = [await go(), await go()];
  await openBench(page, shown);
  await page.getByRole('article').nth(20).waitFor();
  await goToNewest(page);
  const drifts = await page.evaluate(driftOfOlder, OLDER);
  await context.close();
  return [
    { what: 'Channel switch, first time', unit: 'ms', seen: first, mark: 300 },
    { what: 'Channel switch, repeated', unit: 'ms', seen: again, mark: 50 },
    {
      what: 'Largest drift when older messages are prepended',
      unit: 'px',
      seen: [drifts.length === 0 ? Number.NaN : Math.max(...drifts)],
      mark: 1,
      note: `${drifts.length} times`,
    },
  ];
}
