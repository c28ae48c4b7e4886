import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { demoChat, message, newName, open } from '../helpers/web.ts';

const LAUNCH = { type: 'channel', to: 'website', topic: 'launch' };

describe.runIf(hasChromium)(`reading in the chat${CHROMIUM_NOTE}`, () => {
  const chat = demoChat();

  test('a very long message is folded until it is unfolded', async () => {
    const mona = chat.person('moderator');
    await using iris = await chat.enter('owner');
    const { page } = iris;
    const text = newName('long');
    const content = [text, ...Array.from({ length: 60 }, (_, i) => `line ${i}`)].join('\n\n');
    await mona.ok('POST', '/messages', { ...LAUNCH, content });
    await open(page, 'website', 'launch');
    const long = message(page, text);
    const heightOf = async () => (await long.boundingBox())?.height ?? 0;
    const more = long.getByRole('button', { name: 'Show more' });
    await more.waitFor();
    expect(await heightOf()).toBeLessThan(500);
    await more.click();
    await expect.poll(() => more.count()).toBe(0);
    expect(await heightOf()).toBeGreaterThan(1_000);
    expect(iris.problems).toEqual([]);
  });

  test('a mention opens the card of the user, by click and by key', async () => {
    const mona = chat.person('moderator');
    await using iris = await chat.enter('owner');
    const { page } = iris;
    const text = newName('mentioned');
    await mona.ok('POST', '/messages', { ...LAUNCH, content: `@**Bela Novak** ${text}` });
    await open(page, 'website', 'launch');
    const mention = message(page, text).getByRole('button', { name: '@Bela Novak' });
    await mention.click();
    await page.getByRole('dialog', { name: 'Bela Novak' }).waitFor();
    await page.keyboard.press('Escape');
    await mention.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Bela Novak' }).waitFor();
    expect(iris.problems).toEqual([]);
  });

  test('a channel begins with its creator and description, and people can be added there', async () => {
    await using iris = await chat.enter('owner');
    const { page, person } = iris;
    const name = newName('boats');
    await person.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name, description: 'All **boats**' }] });
    await open(page, name);
    const start = page.getByRole('article', { name: `Start of #${name}` });
    await start.getByText(/^Created by Iris Haddad on /).waitFor();
    await start.getByText('All boats').waitFor();
    await start.getByRole('button', { name: 'Add people' }).click();
    await page.getByRole('dialog').getByRole('combobox', { name: 'Add people' }).waitFor();
    expect(iris.problems).toEqual([]);
  });

  test('the bar of a topic resolves, follows and mutes it', async () => {
    await using iris = await chat.enter('owner');
    const { page, person } = iris;
    const topic = newName('barred');
    await person.ok('POST', '/messages', { ...LAUNCH, topic, content: 'Here' });
    await open(page, 'website', topic);
    const bar = page.locator('.view-header');
    for (const [name, after] of [
      // Users follow the topics that they start.
      ['Unfollow topic', 'Follow topic'],
      ['Mute topic', 'Unmute topic'],
      ['Unmute topic', 'Mute topic'],
      ['Mark as resolved', 'Mark as unresolved'],
    ] as const) {
      await bar.getByRole('button', { name, exact: true }).click();
      await bar.getByRole('button', { name: after, exact: true }).waitFor();
    }
    await page.getByRole('heading', { level: 1, name: `✔ ${topic}` }).waitFor();
    expect(iris.problems).toEqual([]);
  });

  test('the day stays visible while its messages are read, and a wide table scrolls by itself', async () => {
    await using iris = await chat.enter('owner');
    const { page, person } = iris;
    const topic = newName('days');
    for (let i = 0; i < 25; i++)
      await person.ok('POST', '/messages', { ...LAUNCH, topic, content: `line ${i}\n\nmore` });
    const cells = Array.from({ length: 30 }, (_, i) => `column${i}`);
    const table = `| ${cells.join(' | ')} |\n|${' - |'.repeat(30)}\n| ${cells.join(' | ')} |`;
    await person.ok('POST', '/messages', { ...LAUNCH, topic, content: table });
    await open(page, 'website', topic);
    await message(page, 'column29').waitFor();
    const list = page.getByRole('feed');
    await list.evaluate((one) => one.scrollTo(0, one.scrollHeight));
    const day = page.locator('.sticky-day');
    await expect.poll(() => day.textContent()).toMatch(/\w+/);
    const widths = await page.locator('.message-content table').evaluate((one) => [one.scrollWidth, one.clientWidth]);
    expect(widths[0]).toBeGreaterThan(widths[1] ?? 0);
    expect(await list.evaluate((one) => one.scrollWidth <= one.clientWidth)).toBe(true);
    await list.evaluate((one) => one.scrollTo(0, 0));
    await expect.poll(() => day.count()).toBe(0);
    expect(iris.problems).toEqual([]);
  });
});
