import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { demoChat, message, newName, open, sidebarOf } from '../helpers/web.ts';

describe.runIf(hasChromium)(`emoji and the composer${CHROMIUM_NOTE}`, () => {
  const chat = demoChat();

  test('the picker has groups, recently used emoji, and skin tones', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await open(page, 'website', 'launch');
    await pick(page);
    const groups = page.getByRole('toolbar', { name: 'Groups' });
    await groups.getByRole('button', { name: 'Animals and nature' }).click();
    await page.getByRole('option', { name: 'penguin', exact: true }).click();
    await expect.poll(() => field(page).inputValue()).toBe(':penguin: ');
    await pick(page);
    expect(await page.getByRole('option').first().getAttribute('aria-label')).toBe('penguin');
    await page.getByRole('button', { name: 'Medium skin tone', exact: true }).click();
    await groups.getByRole('button', { name: 'People and body' }).click();
    await page.getByRole('option', { name: 'wave', exact: true }).click();
    await expect.poll(() => field(page).inputValue()).toBe(':penguin: 👋🏽 ');
    const text = newName('toned');
    await page.keyboard.type(text);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await expect
      .poll(async () => (await message(page, text).getByRole('paragraph').textContent())?.trim())
      .toBe(`🐧 👋🏽 ${text}`);
    expect(iris.problems).toEqual([]);
  });

  test('the same picker chooses the emoji of a status', async () => {
    await using iris = await chat.enter('owner');
    const { page, person } = iris;
    await sidebarOf(page).getByRole('button', { name: 'Set your status' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your status' });
    await dialog.getByRole('button', { name: 'Choose an emoji' }).click();
    await page.getByRole('combobox', { name: 'Search emoji' }).fill('rocket');
    await page.getByRole('option', { name: 'rocket', exact: true }).click();
    await dialog.getByRole('textbox', { name: 'Status' }).fill('Launching');
    await dialog.getByRole('button', { name: 'Emoji: rocket' }).waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    const status = async () => (await person.ok('GET', `/users/${person.id}/status`)).status;
    await expect.poll(status).toMatchObject({ status_text: 'Launching', emoji_name: 'rocket' });
    expect(iris.problems).toEqual([]);
  });

  test('the switch beside Send decides whether Enter sends', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await open(page, 'website', 'launch');
    const enters = page.getByRole('switch', { name: 'Enter sends' });
    expect(await enters.isChecked()).toBe(false);
    const text = newName('entered');
    await field(page).fill(text);
    await page.keyboard.press('Enter');
    await expect.poll(() => field(page).inputValue()).toBe(`${text}\n`);
    await enters.click();
    await page.getByRole('switch', { name: 'Enter sends', checked: true }).waitFor();
    await field(page).focus();
    await page.keyboard.press('Enter');
    await message(page, text).waitFor();
    await enters.click();
    await page.getByRole('switch', { name: 'Enter sends', checked: false }).waitFor();
    expect(iris.problems).toEqual([]);
  });

  test('the number of characters is shown near the maximum', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await open(page, 'website', 'launch');
    const form = page.getByRole('form', { name: 'Write a message' });
    const count = form.locator('.composer-count');
    await field(page).fill('x'.repeat(9_000));
    expect(await count.count()).toBe(0);
    await field(page).fill('x'.repeat(9_990));
    await expect.poll(() => count.textContent()).toBe('10');
    await field(page).fill('x'.repeat(10_005));
    await expect.poll(() => count.textContent()).toBe('-5');
    await form.getByRole('alert').waitFor();
    expect(await form.getByRole('button', { name: 'Send', exact: true }).isDisabled()).toBe(true);
    await field(page).fill('');
    expect(iris.problems).toEqual([]);
  });
});

const field = (page: Page) =>
  page.getByRole('form', { name: 'Write a message' }).getByRole('textbox', { name: /^Message / });

async function pick(page: Page): Promise<void> {
  await page.getByRole('form', { name: 'Write a message' }).getByRole('button', { name: 'Emoji' }).click();
  await page.getByRole('option').first().waitFor();
}
