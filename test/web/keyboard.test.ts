import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { isGroupPicked } from '../helpers/part.ts';
import type { Person } from '../helpers/person.ts';
import { channelLink, DemoChat, message, open, sidebarOf } from '../helpers/web.ts';

describe.runIf(hasChromium && isGroupPicked('web/keyboard.test.ts'))(
  `the keyboard in the chat${CHROMIUM_NOTE}`,
  { timeout: 60_000 },
  () => {
    let chat: DemoChat;
    beforeAll(async () => {
      chat = await DemoChat.start();
    }, 60_000);
    afterAll(() => chat?.[Symbol.asyncDispose]());

    test('shows what the keys do, and gives the focus back', async () => {
      await using iris = await chat.enter('owner');
      const { page } = iris;
      await open(page, 'website', 'launch');
      await listOf(page);
      await page.keyboard.press('j');
      const before = await focused(page);
      await page.keyboard.press('?');
      const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
      for (const name of ['Everywhere', 'In a list of messages', 'On a message']) {
        await help.getByRole('region', { name }).waitFor();
      }
      await help.getByText('Go to the next unread topic or conversation').waitFor();
      // Keys are for the dialog alone while it is open.
      await page.keyboard.press('/');
      expect(await page.getByRole('dialog').count()).toBe(1);
      await page.keyboard.press('Escape');
      await help.waitFor({ state: 'detached' });
      expect(await focused(page)).toBe(before);
      expect(iris.problems).toEqual([]);
    });

    test('goes through the messages of a list, which is one stop of the Tab key', async () => {
      await using iris = await chat.enter('owner');
      const { page } = iris;
      for (const text of ['first of three', 'second of three', 'third of three']) {
        await say(iris.person, 'general', 'keys', text);
      }
      await open(page, 'general', 'keys');
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
        expect(await focused(page), key).toContain(text);
      }
    });

    test('acts on the message that has the focus', async () => {
      await using iris = await chat.enter('owner');
      const { page } = iris;
      await say(chat.person('member'), 'general', 'acts', 'by somebody else');
      await say(iris.person, 'general', 'acts', 'by myself');
      await open(page, 'general', 'acts');
      await message(page, 'by myself').waitFor();
      await page.keyboard.press('j');
      await page.keyboard.press('End');
      expect(await focused(page)).toContain('by myself');

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
      await page.getByRole('dialog', { name: 'Move the message' }).waitFor();
      await closed(page);

      await message(page, 'by somebody else').focus();
      await page.keyboard.press('u');
      await page.getByRole('dialog').getByRole('heading', { name: 'Bela Novak' }).waitFor();
      await closed(page);
      await message(page, 'by somebody else').focus();
      await page.keyboard.press('e');
      await page.getByText('You may not edit this message.').waitFor();
      await page.keyboard.press('r');
      const writing = page.getByRole('textbox', { name: /^Message / });
      await expect.poll(() => writing.evaluate((field) => field === document.activeElement)).toBe(true);
      // Where one writes, a letter is a letter.
      await page.keyboard.type('just/n?');
      await expect.poll(() => writing.inputValue()).toBe('just/n?');
      await page.keyboard.press('Escape');
      expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('ARTICLE');
      await writing.fill('');
      expect(iris.problems).toEqual([]);
    });

    test('replies and goes to the place of a message from a list of many places', async () => {
      await using iris = await chat.enter('owner');
      const { page } = iris;
      await say(chat.person('member'), 'website', 'far away', 'found from afar');
      for (const key of ['v', 'r']) {
        await sidebarOf(page).getByRole('link', { name: 'All messages' }).click();
        await message(page, 'found from afar').focus();
        await page.keyboard.press(key);
        await page.getByRole('feed', { name: 'Messages in website, far away' }).waitFor();
        if (key === 'v') await expect.poll(() => focused(page)).toContain('found from afar');
      }
      const writing = page.getByRole('textbox', { name: 'Message #website › far away' });
      await expect.poll(() => writing.evaluate((field) => field === document.activeElement)).toBe(true);
    });

    test('goes from one unread topic to the next, and marks the open place as read', async () => {
      await using gus = await chat.enter('guest');
      const { page } = gus;
      await gus.person.ok('POST', '/mark_all_as_read');
      const bela = chat.person('member');
      for (const [channel, topic] of [
        ['general', 'one'],
        ['general', 'two'],
        ['website', 'three'],
      ] as const) {
        await say(bela, channel, topic, `something in ${topic}`);
      }
      await channelLink(page, 'website').getByText('1').waitFor();
      await expect.poll(() => channelLink(page, 'general').textContent()).toBe('general2 unread');
      for (const topic of ['general, one', 'general, two', 'website, three']) {
        await page.keyboard.press('n');
        await page.getByRole('feed', { name: `Messages in ${topic}` }).waitFor();
        await page.locator('article[data-unread="false"]').filter({ hasText: 'something in' }).waitFor();
      }
      await expect.poll(() => channelLink(page, 'website').textContent()).toBe('website');
      await page.keyboard.press('n');
      await page.getByText('Nothing else is unread.').waitFor();

      await open(page, 'website', 'launch');
      await say(bela, 'general', 'one', 'and once more');
      await channelLink(page, 'general').getByText('1').waitFor();
      await page.keyboard.press('Alt+Shift+ArrowUp');
      await page.getByRole('feed', { name: 'Messages in general' }).waitFor();
      await page.keyboard.press('Shift+M');
      await expect.poll(() => channelLink(page, 'general').textContent()).toBe('general');
      expect(gus.problems).toEqual([]);
    });

    test('walks the places of the sidebar and the sections of the page', async () => {
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
      expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('ARTICLE');
      await page.keyboard.press('F6');
      expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('TEXTAREA');
      await page.keyboard.press('F6');
      expect(await page.evaluate(() => document.activeElement?.closest('nav')?.getAttribute('aria-label'))).toBe(
        'Sidebar',
      );
    });
  },
);

const say = (person: Person, to: string, topic: string, content: string) =>
  person.ok('POST', '/messages', { type: 'channel', to, topic, content, read_by_sender: true });

const listOf = (page: Page) => page.locator('[role=feed]:not([aria-busy=true]) article').first().waitFor();

/** Closes what lies above the page. */
async function closed(page: Page): Promise<void> {
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

/** What the element with the focus says. */
const focused = (page: Page): Promise<string> => page.evaluate(() => document.activeElement?.textContent ?? '');
