import { setTimeout as sleep } from 'node:timers/promises';
import type { Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import type { Person } from '../helpers/person.ts';
import { channelLink, chooseOption, demoChat, message, newName, open, sidebarOf } from '../helpers/web.ts';

describe.runIf(hasChromium)(`messages in the chat${CHROMIUM_NOTE}`, () => {
  const chat = demoChat();

  test('an edit is shown to others, with its history and the differences', async () => {
    await using iris = await chat.enter('owner');
    await using bela = await chat.enter('member');
    const topic = newName('prices');
    await say(iris.person, topic, 'It costs **five** pounds');
    for (const { page } of [iris, bela]) await open(page, 'general', topic);
    await act(iris.page, 'It costs', 'Edit');
    const form = iris.page.getByRole('form', { name: 'Edit message' });
    await form.getByRole('textbox').fill('It costs **seven** pounds');
    await form.getByRole('button', { name: 'Save' }).click();
    await message(bela.page, 'It costs seven pounds').waitFor();
    await act(bela.page, 'It costs', 'Edit history');
    const steps = bela.page.getByRole('dialog', { name: 'Edit history' }).getByRole('listitem');
    await steps.nth(1).waitFor();
    expect(await steps.nth(0).textContent()).toMatch(/^Iris Haddad sent it .*It costs five pounds$/s);
    expect(await steps.nth(1).textContent()).toMatch(/^Iris Haddad edited it /);
    expect(await steps.nth(1).getByRole('deletion').allTextContents()).toEqual(['five']);
    expect(await steps.nth(1).getByRole('insertion').allTextContents()).toEqual(['seven']);
    expect([...iris.problems, ...bela.problems]).toEqual([]);
  });

  test('messages that arrived while the window was in the background are marked as read when it is focused', async () => {
    await using bela = await chat.enter('member');
    const iris = chat.person('owner');
    const topic = newName('much');
    await say(iris, topic, 'Beginning');
    await bela.person.ok('POST', '/mark_all_as_read');
    await open(bela.page, 'general', topic);
    await message(bela.page, 'Beginning').waitFor();
    // Simulates that the window loses or gets the focus. In tests, the page always has the focus otherwise.
    const look = (looks: boolean) =>
      bela.page.evaluate((isLookedAt) => {
        document.hasFocus = () => isLookedAt;
        if (isLookedAt) dispatchEvent(new Event('focus'));
      }, looks);
    await look(false);
    for (let i = 1; i <= 250; i++) {
      await say(iris, topic, `Number ${i}.`);
      // Waits after each five messages, because no more fit on the screen. So every message has been displayed.
      if (i % 5 > 0) continue;
      await message(bela.page, `Number ${i}.`).waitFor();
      await bela.page.evaluate(() => new Promise((resolve) => setTimeout(() => requestAnimationFrame(resolve))));
    }
    await channelLink(bela.page, 'general').getByText('250 unread').waitFor();
    await look(true);
    await expect.poll(() => channelLink(bela.page, 'general').textContent(), { timeout: 10_000 }).toBe('general');
    expect(bela.problems).toEqual([]);
  });

  test('the readers of a message are listed, except those who have disabled read receipts', async () => {
    await using iris = await chat.enter('owner');
    const [bela, gus] = [chat.person('member'), chat.person('guest')];
    const topic = newName('read by');
    const { id } = await say(iris.person, topic, 'Read this');
    await gus.ok('PATCH', '/settings', { send_read_receipts: false });
    for (const reader of [bela, gus]) {
      await reader.ok('POST', '/messages/flags', { messages: [id], op: 'add', flag: 'read' });
    }
    await open(iris.page, 'general', topic);
    await act(iris.page, 'Read this', 'Read receipts');
    const dialog = iris.page.getByRole('dialog', { name: 'Read receipts' });
    await dialog.getByRole('listitem').first().waitFor();
    const names = await dialog.getByRole('listitem').allTextContents();
    expect(names).toHaveLength(1);
    expect(names[0]).toContain('Bela Novak');

    await iris.person.ok('PATCH', '/realm', { enable_read_receipts: false });
    await iris.page.keyboard.press('Escape');
    await act(iris.page, 'Read this', 'Read receipts');
    await dialog.getByText('This organization does not show read receipts.').waitFor();
    await iris.person.ok('PATCH', '/realm', { enable_read_receipts: true });
    expect(iris.problems).toEqual([]);
  });

  test('a message is moved to another topic with later ones, which others see immediately', async () => {
    await using iris = await chat.enter('owner');
    await using bela = await chat.enter('member');
    const [from, to] = [newName('garden'), newName('shed')];
    for (const text of ['stays here', 'goes first', 'goes second']) await say(iris.person, from, text);
    for (const { page } of [iris, bela]) await open(page, 'general', from);
    await act(iris.page, 'goes first', 'Move…');
    const dialog = iris.page.getByRole('dialog', { name: 'Move message' });
    await dialog.getByRole('combobox', { name: 'Topic' }).fill(to);
    await chooseOption(
      dialog.getByRole('combobox', { name: 'Messages to move' }),
      'This message and all later ones in the topic',
    );
    await dialog.getByRole('button', { name: 'Move', exact: true }).click();
    for (const { page } of [iris, bela]) {
      for (const text of ['goes first', 'goes second']) await expect.poll(() => message(page, text).count()).toBe(0);
      await message(page, 'stays here').waitFor();
      await open(page, 'general', to);
      for (const text of ['goes first', 'goes second']) await message(page, text).waitFor();
      expect(await message(page, 'stays here').count()).toBe(0);
    }
    expect([...iris.problems, ...bela.problems]).toEqual([]);
  });

  test('a message disappears from all windows when it is deleted after a confirmation', async () => {
    await using iris = await chat.enter('owner');
    await using bela = await chat.enter('member');
    const topic = newName('regrets');
    for (const text of ['to be kept', 'to be gone']) await say(iris.person, topic, text);
    for (const { page } of [iris, bela]) await open(page, 'general', topic);
    await act(iris.page, 'to be gone', 'Delete…');
    const dialog = iris.page.getByRole('dialog', { name: 'Delete this message?' });
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    await message(bela.page, 'to be gone').waitFor();
    await act(iris.page, 'to be gone', 'Delete…');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    for (const { page } of [iris, bela]) {
      await expect.poll(() => message(page, 'to be gone').count()).toBe(0);
      await message(page, 'to be kept').waitFor();
    }
    expect([...iris.problems, ...bela.problems]).toEqual([]);
  });

  test('stars and reactions, also of other users, are added and removed', async () => {
    await using iris = await chat.enter('owner');
    await using bela = await chat.enter('member');
    const topic = newName('applause');
    await say(iris.person, topic, 'We made it');
    for (const { page } of [iris, bela]) await open(page, 'general', topic);
    await act(iris.page, 'We made it', 'Star');
    await message(iris.page, 'We made it').getByText('starred').waitFor();
    await act(iris.page, 'We made it', 'Unstar');
    await expect.poll(() => message(iris.page, 'We made it').getByText('starred').count()).toBe(0);

    await message(bela.page, 'We made it').hover();
    await bela.page.getByRole('button', { name: 'Add a reaction' }).click();
    await bela.page.getByRole('combobox', { name: 'Search emoji' }).fill('tada');
    await bela.page.getByRole('option', { name: 'tada' }).first().click();
    const reaction = (page: Page, isOwn: boolean) =>
      message(page, 'We made it').getByRole('button', { name: /reacted with tada/, pressed: isOwn });
    await reaction(bela.page, true).waitFor();
    await reaction(iris.page, false).click();
    await expect.poll(() => reaction(bela.page, true).textContent()).toBe('🎉You and Iris Haddad');
    await reaction(bela.page, true).click();
    await expect.poll(() => reaction(iris.page, true).textContent()).toBe('🎉You');
    expect([...iris.problems, ...bela.problems]).toEqual([]);
  });

  test('a list opens at the first unread message, below a line, and loads newer ones without announcing them', async () => {
    await using gus = await chat.enter('guest');
    const iris = chat.person('owner');
    const topic = newName('long');
    const ids: number[] = [];
    for (let i = 0; i < 150; i++) ids.push((await say(iris, topic, `number ${i} of many`)).id);
    await gus.person.ok('POST', '/messages/flags', { messages: ids.slice(0, 30), op: 'add', flag: 'read' });
    const { page } = gus;
    await open(page, 'general', topic);
    await message(page, 'number 30 of many').waitFor();
    const feed = page.getByRole('feed', { name: `Messages in general, ${topic}` });
    const [line, last, first] = [
      feed.getByRole('separator', { name: 'New messages' }),
      'number 29 of many',
      'number 30 of many',
    ];
    await expect.poll(async () => (await topOf(line)) > (await topOf(message(page, last)))).toBe(true);
    expect(await topOf(line)).toBeLessThan(await topOf(message(page, first)));
    expect(await isShown(feed, message(page, first))).toBe(true);
    expect(await message(page, 'number 149 of many').count()).toBe(0);

    const announced = page.locator('[aria-live="polite"]');
    await message(page, first).focus();
    await expect
      .poll(async () => {
        await page.keyboard.press('End');
        return message(page, 'number 149 of many').count();
      })
      .toBe(1);
    expect(await announced.textContent()).not.toContain('of many');
    await say(iris, topic, 'And one that is new');
    await expect.poll(() => announced.textContent()).toContain('Iris Haddad: And one that is new');
    expect(gus.problems).toEqual([]);
  });

  test('a line before the first message of a day shows the date', async () => {
    await using iris = await chat.enter('owner');
    const { page, person } = iris;
    const topic = newName('diary');
    for (const text of ['dear diary', 'a day later', 'and that evening']) await say(person, topic, text);
    await person.ok('POST', '/mark_all_as_read');
    // Changes the time of the first message in the responses to a week earlier.
    await page.route('**/graphql', async (route) => {
      if (!route.request().postData()?.includes('query Timeline(')) return route.fallback();
      const response = await route.fetch();
      const json = JSON.parse(await response.text(), (_, value) =>
        value?.renderedContent?.includes('dear diary') ? { ...value, sentAt: weekBefore(value.sentAt) } : value,
      );
      return route.fulfill({ response, json });
    });
    await open(page, 'general', topic);
    await message(page, 'and that evening').waitFor();
    const days = await page.evaluate(() => {
      const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'full' });
      return [7, 0].map((before) => format.format(Date.now() - before * 24 * 60 * 60_000));
    });
    const lines = page.getByRole('feed').getByRole('separator');
    expect(await lines.evaluateAll((all) => all.map((one) => one.ariaLabel))).toEqual(days);
    expect(await lines.allTextContents()).toEqual(days);
    const tops = [lines.nth(0), message(page, 'dear diary'), lines.nth(1), message(page, 'a day later')].map(topOf);
    const found = await Promise.all(tops);
    expect(found).toEqual(found.toSorted((a, b) => a - b));
    // The line between the days does not overlap the messages.
    const [line, above] = [await boxOf(lines.nth(1)), await boxOf(message(page, 'dear diary'))];
    expect(line.y).toBeGreaterThanOrEqual(above.y + above.height);
    expect(line.y + line.height).toBeLessThanOrEqual(await topOf(message(page, 'a day later')));
    expect(iris.problems).toEqual([]);
  });

  test('displayed messages are marked as read, even if new ones arrive fast', async () => {
    await using gus = await chat.enter('guest');
    const iris = chat.person('owner');
    const topic = newName('lively');
    await say(iris, topic, 'before all others');
    await open(gus.page, 'general', topic);
    await message(gus.page, 'before all others').waitFor();
    const { id } = await say(iris, topic, 'one of many');
    for (let i = 0; i < 20; i++) {
      await say(iris, topic, `another ${i}`);
      await sleep(100);
    }
    const read = gus.person.ok('GET', `/messages/${id}`);
    await say(iris, topic, 'the last');
    expect((await read).message.flags).toContain('read');
  });

  test('displayed messages are marked as read, even if the first request fails', async () => {
    await using gus = await chat.enter('guest');
    const topic = newName('unheard');
    const { id } = await say(chat.person('owner'), topic, 'seen in a tunnel');
    let failures = 0;
    await gus.page.route('**/graphql', (route) =>
      failures === 0 && route.request().postData()?.includes('mutation MarkRead(')
        ? route.abort().then(() => void failures++)
        : route.fallback(),
    );
    await open(gus.page, 'general', topic);
    await message(gus.page, 'seen in a tunnel').waitFor();
    const flags = async () => (await gus.person.ok('GET', `/messages/${id}`)).message.flags;
    await expect.poll(flags).toContain('read');
    expect(failures).toBe(1);
  });

  test('messages are marked as unread from one on, and stay unread until the topic is opened again', async () => {
    await using gus = await chat.enter('guest');
    const { page } = gus;
    const topic = newName('again');
    const ids: number[] = [];
    for (const text of ['one to read', 'two to read', 'three to read']) {
      ids.push((await say(chat.person('owner'), topic, text)).id);
    }
    await gus.person.ok('POST', '/mark_all_as_read');
    await open(page, 'general', topic);
    const link = sidebarOf(page)
      .getByRole('list', { name: 'Topics in general' })
      .getByRole('link', { name: new RegExp(`^${topic}`) });
    await act(page, 'two to read', 'Mark as unread from here');
    await expect.poll(() => link.textContent()).toBe(`${topic}2 unread`);
    const line = page.getByRole('feed').getByRole('separator', { name: 'New messages' });
    expect(await topOf(line)).toBeLessThan(await topOf(message(page, 'two to read')));
    expect(await topOf(line)).toBeGreaterThan(await topOf(message(page, 'one to read')));
    // The accessible name of an unread message contains "unread".
    const heard = (name: string) => page.getByRole('article', { name, exact: true }).filter({ hasText: 'to read' });
    await expect.poll(() => heard('Iris Haddad unread').count()).toBe(2);
    expect(await heard('Iris Haddad').count()).toBe(1);
    await open(page, 'website', 'launch');
    await open(page, 'general', topic);
    await expect.poll(() => link.textContent()).toBe(topic);
    await expect.poll(() => heard('Iris Haddad').count()).toBe(3);
    expect(gus.problems).toEqual([]);
  });

  test('all messages are marked as read or unread, even if one mutation cannot mark them all', async () => {
    await using gus = await chat.enter('guest');
    const { page, person } = gus;
    const [owner, { id: self }] = [chat.person('owner'), person];
    const ids: number[] = [];
    for (let i = 1; i <= 7; i++) {
      ids.push((await owner.ok('POST', '/messages', { type: 'direct', to: [self], content: `counted ${i}` })).id);
    }
    // One mutation marks three messages instead of 5,000.
    const sizes: unknown[] = [];
    await page.route('**/graphql', async (route) => {
      const postData = route.request().postData() ?? '';
      if (!postData.includes('mutation MarkInNarrow(')) return route.fallback();
      sizes.push(postData.match(/"count(Before|After)":5000/)?.[1]);
      return route.fallback({ postData: postData.replace(/("count(?:Before|After)"):5000/, '$1:3') });
    });
    const unread = async () => {
      const narrow = [
        ['dm', owner.email],
        ['is', 'unread'],
      ];
      const { messages } = await person.ok('GET', '/messages', { anchor: 'newest', num_before: 100, narrow });
      return messages.map(({ id }: { id: number }) => id);
    };
    const noticed = (text: string) => page.getByText(text, { exact: true }).waitFor();

    expect(await unread()).toEqual(ids);
    await sidebarOf(page).getByRole('link', { name: 'Mentions' }).waitFor();
    await page.goto(`${chat.server.url}/views/all`);
    await page.getByRole('heading', { name: 'All messages', level: 1 }).waitFor();
    await page.keyboard.press('Shift+M');
    await noticed('All messages here are marked as read.');
    expect([await unread(), new Set(sizes)]).toEqual([[], new Set(['Before'])]);
    expect(sizes.length).toBeGreaterThan(2);
    sizes.length = 0;
    await act(page, 'counted 1', 'Mark as unread from here');
    await noticed('All messages from here on are unread.');
    expect([await unread(), sizes]).toEqual([ids, ['After', 'After', 'After']]);
    expect(gus.problems).toEqual([]);
  });
});

const weekBefore = (at: string): string => new Date(Date.parse(at) - 7 * 24 * 60 * 60_000).toISOString();

const say = (person: Person, topic: string, content: string) =>
  person.ok('POST', '/messages', { type: 'channel', to: 'general', topic, content });

/** Runs an action from the menu of a message. */
async function act(page: Page, text: string, action: string): Promise<void> {
  await message(page, text).hover();
  await message(page, text).getByRole('button', { name: 'More actions' }).click();
  await page
    .getByRole('menu', { name: 'Message' })
    .getByRole('menuitem', { name: new RegExp(`^${action}`) })
    .click();
}

async function boxOf(what: Locator) {
  const box = await what.boundingBox();
  if (box === null) throw new Error('It is not there to be seen');
  return box;
}

const topOf = async (what: Locator): Promise<number> => (await boxOf(what)).y;

/** Returns whether an element is completely inside the visible part of the list. */
async function isShown(list: Locator, what: Locator): Promise<boolean> {
  const [outer, inner] = [await boxOf(list), await boxOf(what)];
  return inner.y >= outer.y && inner.y + inner.height <= outer.y + outer.height;
}
