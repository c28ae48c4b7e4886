import type { Locator, Page } from 'playwright-core';
import { percentile } from '../measure.ts';
import type { Figure } from './figures.ts';
import { timeKeys } from './in-page.ts';
import { openBench, traffic, type WebStage } from './stage.ts';

/** Interval between two key strokes of a fast typist, in milliseconds. */
const BETWEEN_KEYS_MS = 60;
const STROKES = 400;
const WORDS = 'the quick brown fox jumps over the lazy dog '.repeat(10).slice(0, STROKES);

/** Measures the time from key strokes to paint while ten messages a second arrive, half of them in the displayed list. */
export async function measureWriting(stage: WebStage): Promise<Figure[]> {
  const { context, page } = await stage.enter();
  const [shown] = stage.channels;
  if (shown === undefined) throw new Error('No channel');
  await openBench(page, shown);
  const field = page.getByRole('textbox', { name: /^Message / });
  await field.waitFor();
  const stop = traffic(stage, 10);
  const times = await write(page, field);
  const sent = await stop();
  await context.close();
  const empty = await writeInNothing(stage);
  const note = `${times.length} strokes, ${sent} messages meanwhile; ${spread(times)}; in an empty page: ${spread(empty)}`;
  return [{ what: 'Key stroke to paint, p95', unit: 'ms', seen: [percentile(times, 95)], mark: 16, note }];
}

/**
 * Measures key strokes in a page that has only a text field. The result is the part of the latency that the browser and the
 * machine cause.
 */
async function writeInNothing({ browser }: WebStage): Promise<number[]> {
  const page = await browser.newPage();
  await page.setContent('<textarea></textarea>');
  const times = await write(page, page.getByRole('textbox'));
  await page.close();
  return times;
}

/** Types `WORDS` into a text field. @returns Time from each key stroke until it is painted, in milliseconds. */
async function write(page: Page, field: Locator): Promise<number[]> {
  await page.evaluate(timeKeys);
  await field.pressSequentially(WORDS, { delay: BETWEEN_KEYS_MS, timeout: 120_000 });
  return page.evaluate(() => (globalThis as unknown as { benchKeys: number[] }).benchKeys);
}

const spread = (times: readonly number[]): string =>
  [50, 95, 99].map((part) => `p${part} ${percentile(times, part).toFixed(1)}`).join(', ');
