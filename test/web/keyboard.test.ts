import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import type { Person } from '../helpers/person.ts';
import { channelLink, demoChat, message, newName, open, sidebarOf } from '../helpers/web.ts';

describe.runIf(hasChromium)(`the keyboard in the chat${CHROMIUM_NOTE}`, () => {
  const chat = demoChat();

  test('shows the keyboard shortcuts, and restores the focus', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await open(page, 'website', 'launch');
    await listOf(page);
    await page.keyboard.press('j');
    const before = await focusedMessage(page);
    await page.keyboard.press('?');
    const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    for (const name of ['Everywhere', 'In a list of messages', 'On a message']) {
      await help.getByRole('region', { name }).waitFor();
    }
    await help.getByText('Go to the next unread topic or conversation').waitFor();
    // While the dialog is open, the keyboard shortcuts of the page do nothing.
    await page.keyboard.press('/');
    expect(await page.getByRole('dialog').count()).toBe(1);
    await page.keyboard.press('Escape');
    await help.waitFor({ state: 'detached' });
    expect(before).toBeTruthy();
    await expect.poll(() => focusedMessage(page)).toBe(before);
    expect(iris.problems).toEqual([]);
  });

  test('moves through the messages of a list, which is one tab stop', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    const topic = newName('keys');
    for (const text of ['first of three', 'second of three', 'third of three']) {
      await say(iris.person, 'general', topic, text);
    }
    await open(page, 'general', topic);
    await message(page, 'third of three').waitFor();
    const stops = await page
      .getByRole('feed')
      .evaluate(
        (feed) =>
          [...feed.querySelectorAll<HTMLElement>('*')].filter((one) => one.tabIndex >= 0 && one.checkVisibility())
            .length,
      );
    expect(stops).toBe(1);
    await page.keyboard.press('j');
    await page.keyboard.press('End');
    const keys = [
      ['k', 'second of three'],
      ['ArrowUp', 'first of three'],
      ['j', 'second of three'],
      ['PageDown', 'third of three'],
      ['Home', 'first of three'],
      ['End', 'third of three'],
    ] as const;
    for (const [key, text] of keys) {
      await page.keyboard.press(key);
      await expect.poll(() => focused(page), { message: key }).toContain(text);
    }
  });

  test('acts on the focused message', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    const topic = newName('acts');
    await say(chat.person('member'), 'general', topic, 'by somebody else');
    await say(iris.person, 'general', topic, 'by myself');
    await open(page, 'general', topic);
    await message(page, 'by myself').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('End');
    await expect.poll(() => focused(page)).toContain('by myself');

    await page.keyboard.press('s');
    await message(page, 'by myself').getByText('starred').waitFor();
    await page.keyboard.press('+');
    const emoji = page.getByRole('combobox', { name: 'Search emoji' });
    await emoji.waitFor();
    await page.keyboard.press('Escape');
    await emoji.waitFor({ state: 'detached' });
    await page.keyboard.press('e');
    const edit = message(page, 'by myself').getByRole('textbox');
    await edit.fill('by myself, edited with n and j');
    await page.keyboard.press('Escape');
    await edit.waitFor({ state: 'detached' });
    await message(page, 'by myself').focus();
    await page.keyboard.press('m');
    await page.getByRole('dialog', { name: 'Move message' }).waitFor();
    await closed(page);

    await message(page, 'by somebody else').focus();
    await page.keyboard.press('u');
    await page.getByRole('dialog').getByRole('heading', { name: 'Bela Novak' }).waitFor();
    await closed(page);
    await message(page, 'by somebody else').focus();
    await page.keyboard.press('e');
    await page.getByText('You do not have permission to edit this message.').waitFor();
    await page.keyboard.press('r');
    const writing = page.getByRole('textbox', { name: /^Message / });
    await expect.poll(() => writing.evaluate((field) => field === document.activeElement)).toBe(true);
    // In the text field, letters are typed and trigger no shortcut.
    await page.keyboard.type('just/n?');
    await expect.poll(() => writing.inputValue()).toBe('just/n?');
    await page.keyboard.press('Escape');
    await expect.poll(() => focusedTag(page)).toBe('ARTICLE');
    await writing.fill('');
    expect(iris.problems).toEqual([]);
  });

  test('replies to a message, and opens its topic, from a list of messages of many topics', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    const [topic, text] = [newName('far away'), newName('found from afar')];
    await say(chat.person('member'), 'website', topic, text);
    for (const key of ['v', 'r']) {
      await sidebarOf(page).getByRole('link', { name: 'All messages' }).click();
      await message(page, text).focus();
      await page.keyboard.press(key);
      await page.getByRole('feed', { name: `Messages in website, ${topic}` }).waitFor();
      if (key === 'v') await expect.poll(() => focused(page)).toContain(text);
    }
    const writing = page.getByRole('textbox', { name: `Message #website › ${topic}` });
    await expect.poll(() => writing.evaluate((field) => field === document.activeElement)).toBe(true);
  });

  test('opens the next unread topic, and marks the open channel as read', async () => {
    await using gus = await chat.enter('guest');
    const { page } = gus;
    await gus.person.ok('POST', '/mark_all_as_read');
    const bela = chat.person('member');
    const places = [
      ['general', newName('one')],
      ['general', newName('two')],
      ['website', newName('three')],
    ] as const;
    for (const [channel, topic] of places) await say(bela, channel, topic, `something in ${topic}`);
    await expect.poll(() => channelLink(page, 'website').textContent()).toBe('website1 unread');
    await expect.poll(() => channelLink(page, 'general').textContent()).toBe('general2 unread');
    for (const place of places) {
      await page.keyboard.press('n');
      await page.getByRole('feed', { name: `Messages in ${place.join(', ')}` }).waitFor();
      await page
        .getByRole('article', { name: 'Bela Novak', exact: true })
        .filter({ hasText: 'something in' })
        .waitFor();
    }
    await expect.poll(() => channelLink(page, 'website').textContent()).toBe('website');
    await page.keyboard.press('n');
    await page.getByText('There are no more unread messages.').waitFor();

    // This topic is taller than the screen, so some of its messages stay unread. The shortcut opens it again after all other
    // unread topics.
    const tall = ['general', newName('tall')] as const;
    const line = 'so long\n'.repeat(60);
    for (let i = 0; i < 4; i++) await say(bela, ...tall, line);
    for (const place of [places[0], places[1]]) await say(bela, ...place, 'once more');
    await expect.poll(() => channelLink(page, 'general').textContent()).toBe('general6 unread');
    for (const place of [tall, places[0], places[1], tall]) {
      await page.keyboard.press('n');
      await page.getByRole('feed', { name: `Messages in ${place.join(', ')}` }).waitFor();
    }
    await gus.person.ok('POST', '/mark_all_as_read');
    await expect.poll(() => channelLink(page, 'general').textContent()).toBe('general');

    await open(page, 'website', 'launch');
    await say(bela, ...places[0], 'and once more');
    await expect.poll(() => channelLink(page, 'general').textContent()).toBe('general1 unread');
    await page.keyboard.press('Alt+Shift+ArrowUp');
    await page.getByRole('feed', { name: 'Messages in general' }).waitFor();
    await page.keyboard.press('Shift+M');
    await expect.poll(() => channelLink(page, 'general').textContent()).toBe('general');
    expect(gus.problems).toEqual([]);
  });

  test('moves through the links of the sidebar and the sections of the page', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await sidebarOf(page).getByRole('link', { name: 'All messages' }).click();
    await page.keyboard.press('Alt+ArrowDown');
    await page.getByRole('heading', { name: 'Mentions', level: 1 }).waitFor();
    await page.keyboard.press('Alt+ArrowUp');
    await page.getByRole('heading', { name: 'All messages', level: 1 }).waitFor();
    await open(page, 'website', 'launch');
    await listOf(page);
    await page.getByRole('textbox', { name: /^Message / }).focus();
    await page.keyboard.press('Shift+F6');
    await expect.poll(() => focusedTag(page)).toBe('ARTICLE');
    await page.keyboard.press('F6');
    await expect.poll(() => focusedTag(page)).toBe('TEXTAREA');
    await page.keyboard.press('F6');
    const around = () => page.evaluate(() => document.activeElement?.closest('nav')?.getAttribute('aria-label'));
    await expect.poll(around).toBe('Sidebar');
  });
});

const say = (person: Person, to: string, topic: string, content: string) =>
  person.ok('POST', '/messages', { type: 'channel', to, topic, content, read_by_sender: true });

const listOf = (page: Page) => page.locator('[role=feed]:not([aria-busy=true]) article').first().waitFor();

/** Closes the topmost dialog or menu, and waits until no dialog is open. */
async function closed(page: Page): Promise<void> {
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

/** Returns the text of the focused element. */
const focused = (page: Page): Promise<string> => page.evaluate(() => document.activeElement?.textContent ?? '');

/** Returns the id of the focused message. Undefined if none has the focus. */
const focusedMessage = (page: Page): Promise<string | undefined> =>
  page.evaluate(() => (document.activeElement as HTMLElement | null)?.dataset['id']);

const focusedTag = (page: Page): Promise<string | undefined> => page.evaluate(() => document.activeElement?.tagName);
