import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { plain } from '../helpers/pictures.ts';
import { demoChat, message, newName, open } from '../helpers/web.ts';

const picture = await plain('teal', { width: 900, height: 600 }).png().toBuffer();
const form = (page: Page) => page.getByRole('form', { name: 'Write a message' });
const field = (page: Page) => form(page).getByRole('textbox', { name: /^Message / });
const send = (page: Page) => form(page).getByRole('button', { name: 'Send', exact: true });

describe.runIf(hasChromium)(`files in messages${CHROMIUM_NOTE}`, { timeout: 120_000 }, () => {
  const chat = demoChat();

  test('are attached by the button, and other users see the picture and open it', async () => {
    await using iris = await chat.enter('owner');
    await using bela = await chat.enter('member');
    for (const { page } of [iris, bela]) await open(page, 'website', 'launch');
    const words = newName('the sea');
    await field(iris.page).fill(words);
    const picking = iris.page.waitForEvent('filechooser');
    await form(iris.page).getByRole('button', { name: 'Attach files' }).click();
    const files = [
      { name: 'sea.png', mimeType: 'image/png', buffer: picture },
      { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('notes') },
    ];
    await (await picking).setFiles(files);
    await expect.poll(() => field(iris.page).inputValue()).toMatch(/\[sea\.png\]\(\/user_uploads\/.*\[notes\.txt\]/s);
    await expect.poll(() => form(iris.page).getByRole('list', { name: 'Uploads' }).count()).toBe(0);
    await send(iris.page).click();
    for (const { page } of [iris, bela]) {
      const shown = message(page, words);
      await shown.getByRole('link', { name: 'notes.txt' }).waitFor();
      const image = shown.getByRole('img', { name: 'sea.png' });
      await image.scrollIntoViewIfNeeded();
      // The width and height are known before the picture is loaded.
      expect([await image.getAttribute('width'), await image.getAttribute('height')]).toEqual(['360', '240']);
      await expect.poll(() => image.evaluate((one: HTMLImageElement) => one.naturalWidth)).toBe(840);
      await image.click();
      const dialog = page.getByRole('dialog', { name: 'sea.png' });
      await expect.poll(() => dialog.getByRole('img').evaluate((one: HTMLImageElement) => one.naturalWidth)).toBe(900);
      await page.keyboard.press('Escape');
      await expect.poll(() => dialog.count()).toBe(0);
    }
    expect([iris.problems, bela.problems]).toEqual([[], []]);
  });

  test('are pasted and dropped', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await open(page, 'website', 'launch');
    await field(page).fill('');
    for (const kind of ['paste', 'drop'] as const) {
      await field(page).evaluate(
        (box, { type, base64 }) => {
          const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
          const data = new DataTransfer();
          data.items.add(new File([bytes], `${type}.png`, { type: 'image/png' }));
          const options = { bubbles: true, cancelable: true };
          box.dispatchEvent(
            type === 'paste'
              ? new ClipboardEvent(type, { ...options, clipboardData: data })
              : new DragEvent(type, { ...options, dataTransfer: data }),
          );
        },
        { type: kind, base64: picture.toString('base64') },
      );
      await expect.poll(() => field(page).inputValue()).toContain(`[${kind}.png](/user_uploads/`);
    }
    await field(page).fill('');
    expect(iris.problems).toEqual([]);
  });

  test('show progress, can be cancelled, and can be tried again after a failure', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await open(page, 'website', 'launch');
    await field(page).fill('waits');
    const picker = form(page).locator('input[type=file]');
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await page.route('**/user_uploads', async (route) => {
      await released;
      await route.abort().catch(() => undefined);
    });
    const file = { name: 'slow.txt', mimeType: 'text/plain', buffer: Buffer.from('slow') };
    await picker.setInputFiles(file);
    await form(page).getByRole('progressbar', { name: 'Upload of slow.txt' }).waitFor();
    expect(await send(page).isDisabled()).toBe(true);
    await form(page).getByRole('button', { name: 'Cancel upload of slow.txt' }).click();
    await expect.poll(() => send(page).isDisabled()).toBe(false);
    await picker.setInputFiles(file);
    release();
    await form(page).getByText('The connection was lost.').waitFor();
    await page.unroute('**/user_uploads');
    await form(page).getByRole('button', { name: 'Try again' }).click();
    await expect.poll(() => field(page).inputValue()).toMatch(/^waits\n\[slow\.txt\]\(/);
    await field(page).fill('');
  });

  test('a refusal is shown', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await open(page, 'website', 'launch');
    await page.route('**/user_uploads', (route) =>
      route.fulfill({ status: 400, json: { result: 'error', msg: 'Too many files.', code: 'BAD_REQUEST' } }),
    );
    await form(page)
      .locator('input[type=file]')
      .setInputFiles({ name: 'x.txt', mimeType: 'text/plain', buffer: Buffer.from('x') });
    await form(page).getByText('Too many files.').waitFor();
    expect(await form(page).getByRole('button', { name: 'Try again' }).count()).toBe(0);
    await form(page).getByRole('button', { name: 'Remove x.txt' }).click();
    await expect.poll(() => form(page).getByRole('list', { name: 'Uploads' }).count()).toBe(0);
  });
});
