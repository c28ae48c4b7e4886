import type { Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { demoChat, message, newName, notSent, open, sidebarOf } from '../helpers/web.ts';

describe.runIf(hasChromium)(`writing a message${CHROMIUM_NOTE}`, () => {
  const chat = demoChat();

  test('suggests users, channels, topics and emoji while a name is typed, by keyboard only', async () => {
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

  test('does not interfere with text that is not a name', async () => {
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

  test('leaves Enter to the input method during composition', async () => {
    await using iris = await chat.enter('owner');
    const { page, person } = iris;
    await person.ok('PATCH', '/settings', { enter_sends: true });
    await sidebarOf(page).getByRole('link', { name: 'All channels' }).click();
    await page.getByRole('button', { name: 'Create a channel' }).click();
    const picker = page.getByRole('dialog').getByRole('combobox', { name: 'Subscribers besides you' });
    await picker.fill('bel');
    await page.getByRole('option', { name: 'Bela Novak' }).waitFor();
    for (const key of COMPOSING) expect(await press(picker, key), JSON.stringify(key)).toBe(true);
    await page.getByRole('option', { name: 'Bela Novak' }).waitFor();
    expect(await page.getByRole('button', { name: 'Remove Bela Novak' }).count()).toBe(0);
    expect(await press(picker, {})).toBe(false);
    await page.getByRole('button', { name: 'Remove Bela Novak' }).waitFor();
    await page.keyboard.press('Escape');

    await open(page, 'website', 'launch');
    await page.getByRole('switch', { name: 'Enter sends', checked: true }).waitFor();
    await field(page).fill('@bel');
    await page.getByRole('option', { name: 'Bela Novak', selected: true }).waitFor();
    for (const key of COMPOSING) expect(await press(field(page), key), JSON.stringify(key)).toBe(true);
    expect(await field(page).inputValue()).toBe('@bel');
    await page.keyboard.press('Escape');
    const text = newName('composed');
    await field(page).fill(text);
    for (const key of COMPOSING) expect(await press(field(page), key), JSON.stringify(key)).toBe(true);
    expect(await field(page).inputValue()).toBe(text);

    // Simulates the composition of a word with an input method.
    const browser = await page.context().newCDPSession(page);
    await field(page).fill('');
    await browser.send('Input.imeSetComposition', { text: 'とうだい', selectionStart: 4, selectionEnd: 4 });
    await expect.poll(() => field(page).inputValue()).toBe('とうだい');
    await page.keyboard.press('Enter');
    expect(await notSent(page).or(message(page, 'とうだい')).count()).toBe(0);
    await browser.send('Input.insertText', { text });
    await page.keyboard.press('Enter');
    await message(page, text).waitFor();
    await person.ok('PATCH', '/settings', { enter_sends: false });
    expect(iris.problems).toEqual([]);
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

  test('sends consecutive messages to the topic chosen in a channel, even after a reload', async () => {
    await using bela = await chat.enter('member');
    const { page, person } = bela;
    await open(page, 'website');
    const topic = page.getByRole('combobox', { name: 'Topic' });
    const name = newName('hull');
    await topic.fill(name);
    const sent: string[] = [];
    const send = async (how: () => Promise<void>) => {
      const said = newName(`message ${sent.length + 1}`);
      await field(page).fill(said);
      await how();
      await message(page, said).waitFor();
      sent.push(said);
      await expect.poll(() => field(page).inputValue()).toBe('');
      expect(await topic.inputValue()).toBe(name);
    };
    const byKey = () => field(page).press('Control+Enter');
    const byButton = () => page.getByRole('button', { name: 'Send', exact: true }).click();
    for (const how of [byKey, byButton]) await send(how);
    await open(page, 'general');
    expect(await topic.inputValue()).toBe('');
    await open(page, 'website');
    await send(byKey);
    await page.reload();
    await send(byKey);
    const narrow = [{ operator: 'topic', operand: name }];
    const found = await person.ok('GET', '/messages', { anchor: 'newest', num_before: 9, num_after: 0, narrow });
    expect(found.messages.map(({ content }: { content: string }) => content)).toEqual(
      sent.map((said) => `<p>${said}</p>`),
    );
  });

  test('keeps a text that is too long, and shows an error instead of sending it', async () => {
    await using gus = await chat.enter('guest');
    const { page } = gus;
    await open(page, 'website', 'launch');
    const send = page.getByRole('button', { name: 'Send', exact: true });
    // The limit counts characters, so 10,000 characters of two UTF-16 units each can be sent.
    await field(page).fill('🚢'.repeat(10_000));
    await expect.poll(() => send.isEnabled()).toBe(true);
    await field(page).fill('x'.repeat(12_000));
    await page.getByText('The message has 12,000 characters. The maximum is 10,000.').waitFor();
    expect((await field(page).inputValue()).length).toBe(12_000);
    expect(await send.isDisabled()).toBe(true);
    await field(page).press('Control+Enter');
    await expect.poll(() => notSent(page).count()).toBe(0);
    expect((await field(page).inputValue()).length).toBe(12_000);
    await field(page).fill('');
    await expect.poll(() => page.getByText('The message has').count()).toBe(0);
  });

  test('sets the text direction of each block, name and field by its content', async () => {
    await using iris = await chat.enter('owner');
    const { page, person } = iris;
    const topic = newName('ספינה');
    const content = 'ראשון\n\nsecond\n\n- أول\n- ثانٍ\n\n```\nשלוש\n```';
    await person.ok('POST', '/messages', { type: 'channel', to: 'general', topic, content });
    await open(page, 'general', topic);
    const shown = message(page, 'second');
    const directionOf = (what: Locator) => what.evaluate((element) => getComputedStyle(element).direction);
    await shown.getByText('ראשון').waitFor();
    for (const [text, direction] of [
      ['ראשון', 'rtl'],
      ['second', 'ltr'],
      ['ثانٍ', 'rtl'],
      ['שלוש', 'ltr'],
    ] as const) {
      expect(await directionOf(shown.getByText(text)), text).toBe(direction);
    }
    const heading = page.getByRole('heading', { level: 1 });
    expect(await directionOf(heading.locator('bdi'))).toBe('rtl');
    for (const [text, direction] of [
      ['שלום world', 'rtl'],
      ['hello עולם', 'ltr'],
    ] as const) {
      await field(page).fill(text);
      await expect.poll(() => directionOf(field(page))).toBe(direction);
    }
    await field(page).fill('');
    await open(page, 'general');
    await page.getByRole('combobox', { name: 'Topic' }).fill('נושא');
    expect(await directionOf(page.getByRole('combobox', { name: 'Topic' }))).toBe('rtl');
    expect(iris.problems).toEqual([]);
  });

  test('shows the users who are writing or editing a message, until they stop', async () => {
    await using iris = await chat.enter('owner');
    await using bela = await chat.enter('member');
    for (const { page } of [iris, bela]) await open(page, 'website', 'launch');
    const line = bela.page.getByText('Iris Haddad is typing…');
    await field(iris.page).pressSequentially('On it');
    await line.waitFor();
    await expect.poll(() => iris.page.getByText('is typing…').count()).toBe(0);
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
});

/**
 * Properties of an Enter key event while an input method composes text. Safari sends `keyCode` 229 for the key that ends the
 * composition.
 */
const COMPOSING = [{ isComposing: true }, { keyCode: 229 }] as const;

/**
 * Presses Enter in a field.
 *
 * @returns True if the page did not prevent the browser's default action.
 */
const press = (where: Locator, as: { readonly isComposing?: boolean; readonly keyCode?: number }): Promise<boolean> =>
  where.evaluate(
    (element, init) =>
      element.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true, ...init })),
    as,
  );

/** Returns the text field in which a message is written. */
const field = (page: Page) => page.getByRole('form', { name: 'Write a message' }).getByLabel(/^Message /);
