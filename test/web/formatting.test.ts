import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { PNG } from '../helpers/pictures.ts';
import { demoChat, message, newName, open, write } from '../helpers/web.ts';
import { startWebsite } from '../helpers/website.ts';

/**
 * Cases of formatting: name of a button, and the text before and after a click on it. Vertical bars enclose the selected part
 * of the text.
 */
const CASES = [
  ['Bold', 'a |word| here', 'a **|word|** here'],
  ['Bold', 'a **|word|** here', 'a |word| here'],
  ['Bold', 'a |**word**| here', 'a |word| here'],
  ['Bold', 'a | word |here', 'a  **|word|** here'],
  ['Bold', 'so ||', 'so **||**'],
  ['Italic', 'a **|word|** here', 'a ***|word|*** here'],
  ['Italic', 'a ***|word|*** here', 'a **|word|** here'],
  ['Strikethrough', '|gone|', '~~|gone|~~'],
  ['Code', 'the |x| axis', 'the `|x|` axis'],
  ['Code', 'so:\n|one\ntwo|', 'so:\n```\n|one\ntwo|\n```'],
  ['Code', '```\n|one\ntwo|\n```', '|one\ntwo|'],
  ['Link', 'see |the page|', 'see [the page](|https://|)'],
  ['Link', '|https://example.com|', '[||](https://example.com)'],
  ['Quote', 'a\nb|c\nd|\ne', 'a\n|> bc\n> d|\ne'],
  ['Quote', '|> bc\n> d|', '|bc\nd|'],
  ['List', 'one||', '- one||'],
  ['Spoiler', '|The end|', '```spoiler\n|The end|\n```'],
  ['Spoiler', '```spoiler\n|The end|\n```', '|The end|'],
  ['Formula', 'with |x^2|', 'with $$|x^2|$$'],
] as const;

describe.runIf(hasChromium)(`formatting of messages${CHROMIUM_NOTE}`, () => {
  const chat = demoChat();

  test('buttons format the selection, or remove its format', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await open(page, 'website', 'launch');
    await turnFormats(page);
    for (const [button, before, after] of CASES) {
      await select(page, before);
      await toolbar(page, 'Formatting').getByRole('button', { name: button }).click();
      await expect.poll(() => selected(page), { message: `${button} of ${before}` }).toBe(after);
    }
    await page.keyboard.press('Control+Z');
    await expect.poll(() => field(page).inputValue()).toBe('with x^2');
    expect(iris.problems).toEqual([]);
  });

  test('an image of another website is loaded from the service, emoji are in color and a wide table scrolls', async () => {
    await using iris = await chat.enter('owner');
    const { page, person } = iris;
    const topic = newName('looks');
    await using website = await startWebsite();
    const image = website.file('/dock.png', 'image/png', PNG);
    const columns = Array.from({ length: 24 }, (_, i) => `column${i}`);
    const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
    const content = [
      `[the dock](${image})`,
      ':heart: :sunny: :one: :tada: :rainbow_flag: :+1:',
      [row(columns), row(columns.map(() => '---')), row(columns.map((_, i) => `cell${i}`))].join('\n'),
    ].join('\n\n');
    await person.ok('POST', '/messages', { type: 'channel', to: 'general', topic, content });
    await open(page, 'general', topic);
    const shown = message(page, 'column1');
    await shown.waitFor();
    const links = await shown.locator(`a[href="${image}"]`).allTextContents();
    expect(links).not.toEqual([]);
    const picture = shown.locator('.message-content img');
    expect(await picture.getAttribute('src')).toMatch(/^\/external_content\//);
    await expect.poll(() => picture.evaluate((one) => (one as HTMLImageElement).naturalWidth)).toBe(8);
    expect(await shown.locator('.emoji').allTextContents()).toEqual(['❤️', '☀️', '1️⃣', '🎉', '🏳️‍🌈', '👍']);
    const table = shown.locator('table');
    const { scroll, client } = await table.evaluate((one) => ({ scroll: one.scrollWidth, client: one.clientWidth }));
    expect(scroll).toBeGreaterThan(client);
    const heights = await table.locator('td').evaluateAll((cells) => cells.map((cell) => cell.clientHeight));
    expect(Math.max(...heights)).toBeLessThan(40);
    expect(iris.problems).toEqual([]);
  });

  test('keyboard shortcuts format text in the composer and in an edited message', async () => {
    await using bela = await chat.enter('member');
    const { page } = bela;
    await open(page, 'website', 'launch');
    for (const [keys, after] of [
      ['Control+b', '**|word|**'],
      ['Control+i', '*|word|*'],
      ['Control+Shift+K', '[word](|https://|)'],
    ] as const) {
      await select(page, '|word|');
      await page.keyboard.press(keys);
      await expect.poll(() => selected(page)).toBe(after);
    }
    await field(page).fill('');
    const plain = newName('plain');
    await write(page, plain);
    const edit = await beginToEdit(page, plain);
    await edit.getByRole('textbox').selectText();
    await page.keyboard.press('Control+b');
    await edit.getByRole('button', { name: 'Save' }).click();
    await message(page, plain).getByRole('strong').waitFor();
  });

  test('one button shows and hides the format buttons, which the device remembers', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await open(page, 'website', 'launch');
    const tools = toolbar(page, 'Tools');
    for (const name of ['Attach files', 'Emoji']) await tools.getByRole('button', { name }).waitFor();
    expect(await toolbar(page, 'Formatting').count()).toBe(0);
    await turnFormats(page);
    await toolbar(page, 'Formatting').getByRole('button', { name: 'Bold' }).waitFor();
    await page.reload();
    await toolbar(page, 'Formatting').getByRole('button', { name: 'Bold' }).waitFor();
    // Forms that edit messages show the same buttons.
    const plain = newName('plain');
    await write(page, plain);
    const edit = await beginToEdit(page, plain);
    await edit.getByRole('button', { name: 'Bold' }).waitFor();
    await edit.getByRole('button', { name: 'Cancel' }).click();
    await turnFormats(page);
    await expect.poll(() => page.getByRole('button', { name: 'Bold' }).count()).toBe(0);
    await page.reload();
    await tools.waitFor();
    expect(await toolbar(page, 'Formatting').count()).toBe(0);
    expect(iris.problems).toEqual([]);
  });

  test('each toolbar is one tab stop, with arrow keys to move inside', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await open(page, 'website', 'launch');
    await turnFormats(page);
    await field(page).fill('Something');
    await page.keyboard.press('Tab');
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label'));
    await expect.poll(focused).toBe('Bold');
    await page.keyboard.press('ArrowRight');
    await expect.poll(focused).toBe('Italic');
    await page.keyboard.press('End');
    await expect.poll(focused).toBe('Formula');
    await page.keyboard.press('Tab');
    await expect.poll(focused).toBe('Format');
    await page.keyboard.press('End');
    await expect.poll(focused).toBe('Preview');
    await page.keyboard.press('Tab');
    const enters = page.getByRole('switch', { name: 'Enter sends' });
    await expect.poll(() => enters.evaluate((one) => one === document.activeElement)).toBe(true);
    await page.keyboard.press('Tab');
    await expect.poll(focused).toBe('Send later');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Shift+Tab');
    await expect.poll(focused).toBe('Preview');
  });

  test('the preview shows the message as readers will see it, and can be sent', async () => {
    await using iris = await chat.enter('owner');
    await using bela = await chat.enter('member');
    const { page } = iris;
    await open(page, 'website', 'launch');
    await open(bela.page, 'website', 'launch');
    const look = newName('look');
    await field(page).fill(`Dear @**Bela Novak**, **${look}**: $$x^2$$\n\`\`\`spoiler Ending\nAll is well\n\`\`\``);
    const button = toolbar(page, 'Tools').getByRole('button', { name: 'Preview' });
    await button.click();
    const preview = page.getByRole('region', { name: 'Preview' });
    await preview.getByText('@Bela Novak').waitFor();
    await preview.getByRole('strong').getByText(look).waitFor();
    await preview.getByRole('math').waitFor();
    await expect.poll(() => preview.getByText('All is well').isVisible()).toBe(false);
    await preview.locator('summary').press('Enter');
    await preview.getByText('All is well').waitFor();
    await expect.poll(() => field(page).isVisible()).toBe(false);
    await button.click();
    await field(page).press('End');
    await button.click();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await message(bela.page, `Dear @Bela Novak, ${look}`).waitFor();
    await expect.poll(() => field(page).inputValue()).toBe('');
    expect(iris.problems).toEqual([]);
  });

  test('code keeps its whitespace, is highlighted, and a long line does not change the layout', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await open(page, 'website', 'launch');
    const name = newName('f').replace(' ', '_').replaceAll('-', '_');
    const code = `const ${name} = (x) => {\n    return x; // ${'and on '.repeat(35)}end\n};\n`;
    await write(page, `\`\`\`js\n${code}\`\`\``);
    const block = message(page, name).getByRole('code');
    await block.waitFor();
    expect(await block.evaluate((element) => (element as HTMLElement).innerText)).toBe(code);
    const colorOf = (element: Element) => getComputedStyle(element).color;
    const tokens = [block, block.getByText('const', { exact: true }), block.getByText('// and on')];
    expect(new Set(await Promise.all(tokens.map((one) => one.evaluate(colorOf)))).size).toBe(3);
    const isWider = (element: Element) => element.scrollWidth > element.clientWidth;
    expect(await block.locator('xpath=ancestor::pre').evaluate(isWider)).toBe(true);
    expect(await page.getByRole('feed').evaluate(isWider)).toBe(false);
    expect(iris.problems).toEqual([]);
  });

  test('a key stroke does not render messages', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await open(page, 'website', 'launch');
    await field(page).focus();
    const feed = page.locator('[role=feed]:not([aria-busy=true])');
    await feed.evaluate((element) => {
      const count = (drawn: MutationRecord[]) => element.setAttribute('data-drawn', String(drawn.length));
      new MutationObserver(count).observe(element, { subtree: true, childList: true, characterData: true });
    });
    await page.keyboard.type('Quite a few words of a message');
    expect(await feed.getAttribute('data-drawn')).toBeNull();
    await field(page).fill('');
  });

  test('other users see that a message is being edited, until the edit ends', async () => {
    await using iris = await chat.enter('owner');
    await using bela = await chat.enter('member');
    for (const { page } of [iris, bela]) await open(page, 'website', 'launch');
    const there = newName('There it is,');
    await write(iris.page, `${there}: a mitsake`);
    const row = message(bela.page, there);
    await row.waitFor();
    const edit = await beginToEdit(iris.page, there);
    await edit.getByRole('textbox').fill(`${there}: a mistake`);
    await row.getByText('Iris Haddad is editing…').waitFor();
    await expect.poll(() => iris.page.getByText('is editing…').count()).toBe(0);
    await edit.getByRole('button', { name: 'Save' }).click();
    await row.getByText('mistake').waitFor();
    await expect.poll(() => row.getByText('is editing…').count()).toBe(0);
    await beginToEdit(iris.page, there);
    await edit.getByRole('textbox').press('End');
    await edit.getByRole('textbox').pressSequentially('!');
    await row.getByText('is editing…').waitFor();
    await edit.getByRole('textbox').press('Escape');
    await expect.poll(() => row.getByText('is editing…').count()).toBe(0);
    expect([...iris.problems, ...bela.problems]).toEqual([]);
  });

  test('a custom emoji is available immediately after it is added, until it is removed', async () => {
    await using bela = await chat.enter('member');
    const { page } = bela;
    const owner = chat.person('owner');
    const emoji = newName('parr').replace(' ', '-');
    const say = async (text: string) => {
      const content = newName(text);
      await owner.ok('POST', '/messages', { type: 'channel', to: 'website', topic: 'launch', content });
      await message(page, content).waitFor();
    };
    const named = async () => {
      await field(page).fill('');
      await field(page).pressSequentially(':parr');
      await list.getByRole('option', { name: ':parrot:' }).waitFor();
      return list.getByRole('option').allTextContents();
    };
    const list = page.getByRole('listbox', { name: 'Suggestions' });
    await open(page, 'website', 'launch');
    await expect.poll(named).not.toContain(`:${emoji}:`);
    await owner.ok('POST', `/realm/emoji/${emoji}`, { file: PNG });
    await say('There is a new emoji');
    await expect.poll(named).toContain(`:${emoji}:`);
    await owner.ok('DELETE', `/realm/emoji/${emoji}`);
    await say('It is gone again');
    await expect.poll(named).not.toContain(`:${emoji}:`);
    expect(bela.problems).toEqual([]);
  });
});

async function beginToEdit(page: Page, text: string) {
  await message(page, text).hover();
  await message(page, text).getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Edit', exact: true }).click();
  return page.getByRole('form', { name: 'Edit message' });
}

/** Fills the text field with `text` without its vertical bars, and selects the part between the bars. */
async function select(page: Page, text: string): Promise<void> {
  const [before = '', inside = '', after = ''] = text.split('|');
  await field(page).fill(before + inside + after);
  const range = [before.length, before.length + inside.length] as const;
  await field(page).evaluate(
    (element, [from, to]) => (element as HTMLTextAreaElement).setSelectionRange(from, to),
    range,
  );
}

/** Returns the text of the field, with vertical bars around the selected part. */
const selected = (page: Page) =>
  field(page).evaluate((element) => {
    const { value, selectionStart: from, selectionEnd: to } = element as HTMLTextAreaElement;
    return `${value.slice(0, from)}|${value.slice(from, to)}|${value.slice(to)}`;
  });

const toolbar = (page: Page, name: 'Formatting' | 'Tools') =>
  page.getByRole('form', { name: 'Write a message' }).getByRole('toolbar', { name });

/** Shows or hides the buttons that format the text. */
const turnFormats = (page: Page) => toolbar(page, 'Tools').getByRole('button', { name: 'Format' }).click();

/** Returns the text field in which a message is written. */
const field = (page: Page) => page.getByRole('form', { name: 'Write a message' }).getByLabel(/^Message /);
