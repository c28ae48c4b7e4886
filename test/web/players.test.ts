import type { Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { recordSound, recordVideo, VIDEO_START, wav } from '../helpers/media.ts';
import { multipart } from '../helpers/multipart.ts';
import { download, plain } from '../helpers/pictures.ts';
import { demoChat, message, newName, open } from '../helpers/web.ts';

const form = (page: Page) => page.getByRole('form', { name: 'Write a message' });
const field = (page: Page) => form(page).getByRole('textbox', { name: /^Message / });
const picker = (page: Page) => form(page).locator('input[type=file]');

/** Sends a message with files from the page. */
async function send(page: Page, words: string, files: Parameters<Locator['setInputFiles']>[0]): Promise<void> {
  await field(page).fill(words);
  await picker(page).setInputFiles(files);
  await expect.poll(() => field(page).inputValue()).toContain('/user_uploads/');
  await expect.poll(() => form(page).getByRole('list', { name: 'Uploads' }).count()).toBe(0);
  await form(page).getByRole('button', { name: 'Send', exact: true }).click();
}

/** State of a player. */
const stateOf = (player: Locator) =>
  player.evaluate((media: HTMLMediaElement) => ({
    ...{ isReady: media.readyState >= 1, duration: media.duration, time: media.currentTime },
    ...{ isPlaying: !media.paused, error: media.error?.message ?? null, hasControls: media.controls },
  }));

/** Moves a player to a time, and waits until it can play from there. */
const seek = (player: Locator, seconds: number) =>
  player.evaluate(
    (media: HTMLMediaElement, time) =>
      new Promise<number>((resolve) => {
        media.addEventListener('seeked', () => resolve(media.currentTime), { once: true });
        media.currentTime = time;
      }),
    seconds,
  );

const sizeOf = async (player: Locator) => {
  const { width, height } = (await player.boundingBox()) ?? { width: 0, height: 0 };
  return [Math.round(width), Math.round(height)];
};

describe.runIf(hasChromium)(`uploaded sounds and videos${CHROMIUM_NOTE}`, { timeout: 120_000 }, () => {
  const chat = demoChat();

  test('a sound is played within the message, and its name is shown', async () => {
    await using iris = await chat.enter('owner');
    await using bela = await chat.enter('member');
    for (const { page } of [iris, bela]) await open(page, 'website', 'launch');
    const statuses: number[] = [];
    bela.page.on('response', (one) => one.url().endsWith('/song.wav') && statuses.push(one.status()));
    const words = newName('listen');
    const buffer = wav({ seconds: 120 });
    await send(iris.page, words, { name: 'song.wav', mimeType: 'audio/wav', buffer });
    const shown = message(bela.page, words);
    const player = shown.locator('audio');
    await player.scrollIntoViewIfNeeded();
    await shown.getByText('song.wav').waitFor();
    await expect.poll(() => stateOf(player)).toMatchObject({ isReady: true, error: null, hasControls: true });
    expect((await stateOf(player)).duration).toBeCloseTo(120, 0);
    expect(await player.getAttribute('aria-label')).toBe('song.wav');
    expect(await seek(player, 100)).toBe(100);
    await player.evaluate((media: HTMLMediaElement) => media.play());
    await expect.poll(async () => (await stateOf(player)).time).toBeGreaterThan(100.2);
    expect(new Set(statuses)).toEqual(new Set([206]));
    expect([iris.problems, bela.problems]).toEqual([[], []]);
  });

  test.for(['webm', 'mp4'] as const)('a video (%s) is played below the message, and nothing moves', async (type) => {
    await using iris = await chat.enter('owner');
    await using bela = await chat.enter('member');
    for (const { page } of [iris, bela]) await open(page, 'website', 'launch');
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await bela.page.route(`**/clip.${type}`, async (route) => {
      await released;
      await route.continue();
    });
    const words = newName('watch');
    const buffer = await recordVideo(iris.page, type);
    await send(iris.page, words, { name: `clip.${type}`, mimeType: `video/${type}`, buffer });
    const shown = message(bela.page, words);
    const player = shown.locator('video');
    await player.scrollIntoViewIfNeeded();
    expect([(await stateOf(player)).isReady, await sizeOf(player)]).toEqual([false, [360, 240]]);
    release();
    await expect.poll(() => stateOf(player)).toMatchObject({ isReady: true, error: null, hasControls: true });
    const [{ duration }, size] = [await stateOf(player), await sizeOf(player)];
    expect([duration > 1 && duration < 5, size]).toEqual([true, [360, 240]]);
    expect(await player.evaluate((video: HTMLVideoElement) => video.videoWidth)).toBe(64);
    expect(await seek(player, 1)).toBe(1);
    await seek(player, 0);
    await player.evaluate((media: HTMLMediaElement) => media.play());
    await expect.poll(async () => (await stateOf(player)).time).toBeGreaterThan(0.2);
    // A click plays or pauses, and does not open the file.
    const address = bela.page.url();
    await player.click();
    expect([bela.page.url(), bela.page.context().pages().length]).toEqual([address, 1]);
    expect([iris.problems, bela.problems]).toEqual([[], []]);
  });

  test('a voice message that a browser records is played as a sound, although its name can be that of a video', async () => {
    await using iris = await chat.enter('owner');
    const { page, person } = iris;
    await open(page, 'website', 'launch');
    const words = newName('voice');
    const buffer = await recordSound(page, 'webm');
    await send(page, words, { name: 'voice.webm', mimeType: 'video/webm', buffer });
    const player = message(page, words).locator('audio');
    await player.scrollIntoViewIfNeeded();
    await expect.poll(() => stateOf(player)).toMatchObject({ isReady: true, error: null, hasControls: true });
    await player.evaluate((media: HTMLMediaElement) => media.play());
    await expect.poll(async () => (await stateOf(player)).time).toBeGreaterThan(0.1);
    const typeOf = async (file: Buffer) => {
      const { url } = (await person.rest('POST', '/user_uploads', {}, { body: multipart([['file', file]]) })).body;
      return (await download(person, url, person.headers)).headers['content-type'];
    };
    expect(await typeOf(buffer)).toBe('audio/webm');
    expect(await typeOf(await recordVideo(page, 'webm'))).toBe('video/webm');
    expect(await typeOf(await recordVideo(page, 'mp4'))).toBe('video/mp4');
    expect(await typeOf(await recordSound(page, 'mp4'))).toBe('audio/mp4');
    expect(iris.problems).toEqual([]);
  });

  test('a recording that is named as a sound, but can be a video, becomes a link', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await open(page, 'website', 'launch');
    await picker(page).setInputFiles([{ name: 'memo.m4a', mimeType: 'audio/mp4', buffer: VIDEO_START }]);
    await expect.poll(() => field(page).inputValue()).toMatch(/^\[memo\.m4a\]\(\/user_uploads\//);
    await field(page).fill('');
    expect(iris.problems).toEqual([]);
  });

  test('players are reached, played and moved by keyboard', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await open(page, 'website', 'launch');
    const words = newName('keys');
    await send(page, words, { name: 'keys.wav', mimeType: 'audio/wav', buffer: wav({ seconds: 60 }) });
    const shown = message(page, words);
    const player = shown.locator('audio');
    await expect.poll(() => stateOf(player)).toMatchObject({ isReady: true });
    await shown.focus();
    await page.keyboard.press('Enter');
    const isReached = () => player.evaluate((media) => document.activeElement === media);
    for (let presses = 0; presses < 12 && !(await isReached()); presses++) await page.keyboard.press('ArrowRight');
    expect(await isReached()).toBe(true);
    await page.keyboard.press('Shift+ArrowRight');
    await page.keyboard.press('Shift+ArrowRight');
    await page.keyboard.press('Shift+ArrowLeft');
    await expect.poll(async () => (await stateOf(player)).time).toBe(5);
    await page.keyboard.press('Space');
    await expect.poll(async () => (await stateOf(player)).isPlaying).toBe(true);
    await page.keyboard.press('Space');
    await expect.poll(async () => (await stateOf(player)).isPlaying).toBe(false);
    await page.keyboard.press('Escape');
    expect(await shown.evaluate((row) => document.activeElement === row)).toBe(true);
    expect(iris.problems).toEqual([]);
  });

  test('players fit on a narrow screen, and a picture within a text opens', async () => {
    await using iris = await chat.enter('owner', { viewport: { width: 390, height: 844 } });
    const { page, person } = iris;
    const [sea, song, clip] = await Promise.all(
      (
        [
          await plain('teal', { width: 900, height: 600 }).png().toBuffer(),
          wav({ seconds: 1 }),
          await recordVideo(page, 'webm'),
        ] as const
      ).map(async (file) => {
        const body = multipart([['file', file]]);
        return (await person.rest('POST', '/user_uploads', {}, { body })).body.url as string;
      }),
    );
    const words = newName('narrow');
    const content = `${words} ![the sea](${sea}) ![${'long name '.repeat(12)}](${song}) [clip](${clip})`;
    await person.ok('POST', '/messages', { type: 'direct', to: [person.id], content });
    await page.goto(`${chat.server.url}/#narrow/dm/${person.id}`);
    const shown = message(page, words);
    await shown.locator('video').scrollIntoViewIfNeeded();
    const column = (await shown.boundingBox())?.width ?? 0;
    for (const part of ['audio', 'video', 'img[alt="the sea"]']) {
      expect((await sizeOf(shown.locator(part)))[0], part).toBeLessThanOrEqual(Math.min(360, column));
    }
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    await shown.getByRole('img', { name: 'the sea' }).click();
    const picture = page.getByRole('dialog', { name: 'the sea' }).getByRole('img');
    await expect.poll(() => picture.evaluate((one: HTMLImageElement) => one.naturalWidth)).toBe(900);
    expect(iris.problems).toEqual([]);
  });
});
