import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { demoChat, message, newName, open } from '../helpers/web.ts';

const LAUNCH = { type: 'channel', to: 'website', topic: 'launch' };

describe.runIf(hasChromium)(`the toolbar of a message${CHROMIUM_NOTE}`, () => {
  const chat = demoChat();

  test('is beside the text, and adds and removes a reaction with one click', async () => {
    const mona = chat.person('moderator');
    await using iris = await chat.enter('owner');
    const { page } = iris;
    const text = newName('react to this');
    await mona.ok('POST', '/messages', { ...LAUNCH, content: `${'many words '.repeat(40)}${text}` });
    await open(page, 'website', 'launch');
    await message(page, text).hover();
    const toolbar = message(page, text).getByRole('toolbar', { name: 'Actions on the message' });
    const names = await toolbar
      .getByRole('button')
      .evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')));
    expect(names.slice(3)).toEqual(['Add a reaction', 'Quote and reply', 'Star', 'More actions']);
    expect(names.slice(0, 3).every((name) => name?.startsWith('React with '))).toBe(true);
    const box = await toolbar.boundingBox();
    const words = await message(page, text).getByRole('paragraph').boundingBox();
    expect(box?.height).toBe(32);
    expect(box?.x).toBeGreaterThanOrEqual((words?.x ?? 0) + (words?.width ?? 0));
    const quick = toolbar.getByRole('button', { name: 'React with thumbs up' });
    await quick.click();
    const reaction = message(page, text).getByRole('button', { name: 'You reacted with thumbs up' });
    await reaction.waitFor();
    await expect.poll(() => quick.getAttribute('aria-pressed')).toBe('true');
    await quick.click();
    await expect.poll(() => reaction.count()).toBe(0);
    expect(iris.problems).toEqual([]);
  });

  test('quotes a message into the composer, also from another view, and the quote notifies no user', async () => {
    const mona = chat.person('moderator');
    await using iris = await chat.enter('owner');
    const { page } = iris;
    const text = newName('quote this');
    await mona.ok('POST', '/messages', { ...LAUNCH, content: `${text}\n\`\`\`\ncode\n\`\`\`` });
    await open(page, 'website', 'launch');
    await field(page).fill('Before');
    await message(page, text).hover();
    await message(page, text).getByRole('button', { name: 'Quote and reply' }).click();
    await expect.poll(() => field(page).inputValue()).toContain(`${text}\n\`\`\`\ncode\n\`\`\`\n\`\`\`\`\n`);
    const written = await field(page).inputValue();
    expect(written).toMatch(/^Before\n@_\*\*Mona Lindqvist\|\d+\*\* \[said\]\(http\S+\):\n````quote\n/);
    expect(await field(page).evaluate((element) => element === document.activeElement)).toBe(true);
    await field(page).fill('');

    await open(page, 'website');
    await message(page, text).hover();
    await message(page, text).getByRole('button', { name: 'Quote and reply' }).click();
    await page.getByRole('heading', { level: 1, name: /launch/ }).waitFor();
    await expect.poll(() => field(page).inputValue()).toContain('[said](');
    const reply = newName('a reply');
    await page.keyboard.type(reply);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await message(page, reply).getByText(text).waitFor();
    await message(page, reply).getByRole('link', { name: 'said' }).waitFor();
    expect(iris.problems).toEqual([]);
  });

  test('the menu begins with quote, copy text and copy link', async () => {
    const mona = chat.person('moderator');
    await using iris = await chat.enter('owner', { permissions: ['clipboard-read', 'clipboard-write'] });
    const { page } = iris;
    const text = newName('copy this');
    await mona.ok('POST', '/messages', { ...LAUNCH, content: `**${text}**` });
    await open(page, 'website', 'launch');
    const choose = async (item: string) => {
      await message(page, text).hover();
      await message(page, text).getByRole('button', { name: 'More actions' }).click();
      const items = page.getByRole('menu', { name: 'Message' }).getByRole('menuitem');
      await items.first().waitFor();
      const first = await items.evaluateAll((all) =>
        all.slice(0, 3).map((one) => one.querySelector('span')?.textContent),
      );
      expect(first).toEqual(['Quote and reply', 'Copy text', 'Copy link']);
      await items.filter({ hasText: item }).click();
      return page.evaluate(() => navigator.clipboard.readText());
    };
    expect(await choose('Copy text')).toBe(`**${text}**`);
    expect(await choose('Copy link')).toMatch(/\/messages\/\w+/);
    expect(iris.problems).toEqual([]);
  });

  test('ArrowUp in the empty message field edits the last own message', async () => {
    await using iris = await chat.enter('owner');
    const { page, person } = iris;
    const [own, edited] = [newName('own'), newName('edited')];
    await person.ok('POST', '/messages', { ...LAUNCH, content: own });
    await chat.person('moderator').ok('POST', '/messages', { ...LAUNCH, content: newName('not own') });
    await open(page, 'website', 'launch');
    await message(page, own).waitFor();
    await field(page).fill('x');
    await page.keyboard.press('ArrowUp');
    await field(page).fill('');
    expect(await page.getByRole('form', { name: 'Edit message' }).count()).toBe(0);
    await page.keyboard.press('ArrowUp');
    const form = page.getByRole('form', { name: 'Edit message' });
    await expect.poll(() => form.getByRole('textbox').inputValue()).toBe(own);
    await form.getByRole('textbox').fill(edited);
    await form.getByRole('button', { name: 'Save' }).click();
    await message(page, edited).waitFor();
    expect(iris.problems).toEqual([]);
  });
});

const field = (page: Page) =>
  page.getByRole('form', { name: 'Write a message' }).getByRole('textbox', { name: /^Message / });
