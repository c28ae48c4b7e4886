import { percentile } from '../measure.ts';
import type { Figure } from './figures.ts';
import { timeKeys } from './in-page.ts';
import { openBench, traffic, type WebStage } from './stage.ts';

/** As somebody writes who is quick. */
const BETWEEN_KEYS_MS = 60;
const STROKES = 400;

/** Key strokes while ten messages a second come in, half of them into the list that is shown. */
export async function measureWriting(stage: WebStage): Promise<Figure[]> {
  const { context, page } = await stage.enter();
  const [shown] = stage.channels;
  if (shown === undefined) throw new Error('No channel');
  await openBench(page, shown);
  const field = page.getByRole('textbox', { name: /^Message / });
  await field.waitFor();
  await page.evaluate(timeKeys);
  const stop = traffic(stage, 10);
  await field.pressSequentially('the quick brown fox jumps over the lazy dog '.repeat(10).slice(0, STROKES), {
    delay: BETWEEN_KEYS_MS,
    timeout: 120_000,
  });
  const sent = await stop();
  const times = await page.evaluate(() => (globalThis as unknown as { benchKeys: number[] }).benchKeys);
  await context.close();
  const note = `${times.length} strokes, ${sent} messages meanwhile; p50 ${percentile(times, 50).toFixed(1)} ms, p99 ${percentile(times, 99).toFixed(1)} ms`;
  return [{ what: 'Key stroke to paint, p95', unit: 'ms', seen: [percentile(times, 95)], mark: 16, note }];
}
