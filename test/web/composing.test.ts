import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { isGroupPicked } from '../helpers/part.ts';
import { demoChat, message, newName, open } from '../helpers/web.ts';

describe.runIf(hasChromium && isGroupPicked('web/composing.test.ts'))(
  `writing a message${CHROMIUM_NOTE}`,
  { timeout: 60_000 },
  () => {
    const chat = demoChat();

    test('suggests people, channels, topics and emoji to whoever begins a name, by the keyboard alone', async () => {
      await using iris = await chat.enter('owner');
      const { page } = iris;
      await open(page, 'website', 'launch');
      await field(page).focus();
      await page.keyboard.type('Dear @bel');
      const list = page.getByRole('listbox', { name: 'Suggestions' });
      await list.getByRole('option', { name: 'Bela Novak', selected: true }).waitFor();
      const combobox = page.getByRole('combobox', { name: 'Message #website › launch', expanded: true });
      const marked = await combobox.getAttribute('aria-activedescendant');
      await expect.poll(() => page.getByRole('option', { selected: true }).getAttribute('id')).toBe(marked);
      await page.keyboard.press('Enter');
      await page.keyboard.type(' see #gener');
      await list.getByRole('option', { name: 'general' }).waitFor();
      await page.keyboard.type('>summer');
      await list.getByRole('option', { name: /^summer party/ }).waitFor();
      await page.keyboard.press('Tab');
      await page.keyboard.type(':tad');
      await list.getByRole('option', { name: ':tada:' }).waitFor();
      await page.keyboard.press('Enter');
      await expect
        .poll(() => field(page).inputValue())
        .toBe('Dear @**Bela Novak** see #**general>summer party** :tada: ');
      const end = newName('is it');
      await page.keyboard.type(end);
      await page.keyboard.press('Control+Enter');
      await message(page, `Dear @Bela Novak see #general > summer party 🎉 ${end}`).waitFor();
      expect(iris.problems).toEqual([]);
    });

    test('does not hinder whoever means no name', async () => {
      await using bela = await chat.enter('member');
      const { page } = bela;
      await open(page, 'website', 'launch');
      await field(page).focus();
      for (const text of ['at 5 @ noon', '`@bel', '#12', 'a@bel', 'me:bel', '@nobody']) {
        await field(page).fill('');
        await page.keyboard.type(text);
        await page.keyboard.press('Shift+Enter');
        await expect.poll(() => field(page).inputValue()).toBe(`${text}\n`);
      }
      await field(page).fill('');
      await page.keyboard.type('@bel');
      await page.getByRole('option', { name: 'Bela Novak' }).waitFor();
      await page.keyboard.press('Escape');
      await page.keyboard.type('a');
      await expect.poll(() => page.getByRole('listbox').count()).toBe(0);
      await expect.poll(() => field(page).inputValue()).toBe('@bela');
    });

    test('suggests the topics of a channel for a new message in it', async () => {
      await using iris = await chat.enter('owner');
      const { page } = iris;
      await open(page, 'website');
      const topic = page.getByRole('combobox', { name: 'Topic' });
      await topic.fill('lau');
      await page.getByRole('listbox', { name: 'Topics' }).getByRole('option', { name: 'launch' }).click();
      await expect.poll(() => topic.inputValue()).toBe('launch');
    });

    test('shows who is writing, or editing a message, for as long as they do', async () => {
      await using iris = await chat.enter('owner');
      await using bela = await chat.enter('member');
      for (const { page } of [iris, bela]) await open(page, 'website', 'launch');
      const line = bela.page.getByText('Iris Haddad is writing…');
      await field(iris.page).pressSequentially('On it');
      await line.waitFor();
      await expect.poll(() => iris.page.getByText('is writing…').count()).toBe(0);
      await field(iris.page).fill('');
      await expect.poll(() => line.count()).toBe(0);
      const said = newName('Is that shown?');
      await field(iris.page).pressSequentially(said);
      await line.waitFor();
      await iris.page.keyboard.press('Control+Enter');
      await message(bela.page, said).waitFor();
      await expect.poll(() => line.count()).toBe(0);
      const { messages } = await iris.person.ok('GET', '/messages', { anchor: 'newest', num_before: 1, num_after: 0 });
      await iris.person.ok('POST', `/messages/${messages[0].id}/typing`, { op: 'start' });
      await message(bela.page, said).getByText('Iris Haddad is editing…').waitFor();
      await iris.person.ok('POST', `/messages/${messages[0].id}/typing`, { op: 'stop' });
      await expect.poll(() => bela.page.getByText('is editing…').count()).toBe(0);
    });
  },
);

/** Where one writes. */
const field = (page: Page) => page.getByRole('form', { name: 'Write a message' }).getByLabel(/^Message /);
