import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import type { Person } from '../helpers/person.ts';
import { channelLink, demoChat, message, newName, sidebarOf } from '../helpers/web.ts';

describe.runIf(hasChromium)(`the sidebar${CHROMIUM_NOTE}`, () => {
  const chat = demoChat();

  test('marks the current view, at each of its addresses', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    for (const [link, tabs, tab] of [
      ['People and groups', 'People and groups', 'Groups'],
      ['Drafts and scheduled', 'Drafts and scheduled', 'Snippets'],
    ] as const) {
      await sidebarOf(page).getByRole('link', { name: link }).click();
      await page.getByRole('navigation', { name: tabs }).getByRole('link', { name: tab }).click();
      await page.getByRole('heading', { name: tab, level: 1 }).waitFor();
      await expect.poll(() => current(page)).toEqual([link]);
    }
    expect(iris.problems).toEqual([]);
  });

  test('opens views, of which an empty one shows a hint', async () => {
    await using gus = await chat.enter('guest');
    await sidebarOf(gus.page).getByRole('link', { name: 'Starred' }).click();
    await gus.page.getByRole('main').getByText('You have no starred messages yet.').waitFor();
    // The page redirects from an unknown view to the inbox.
    await gus.page.goto(`${chat.server.url}/views/constructor`);
    await gus.page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();
    expect(gus.problems).toEqual([]);
  });

  test('has all channels in one list for screen readers, and the keyboard moves through it', async () => {
    const names = Array.from({ length: 60 }, (_, i) => `one of many ${i + 1}`);
    const subscriptions = names.map((name) => ({ name }));
    const principals = [chat.person('administrator').id];
    await chat.person('owner').ok('POST', '/users/me/subscriptions', { subscriptions, principals });
    await using aaron = await chat.enter('administrator');
    const { page } = aaron;
    const channels = page.getByRole('region', { name: 'Channels', exact: true });
    await expect.poll(() => channels.getByRole('listitem').count()).toBe(60);
    expect(await channels.getByRole('list').count()).toBe(1);
    expect(await channels.getByRole('link').allTextContents()).toEqual(names);
    await channels.getByRole('link', { name: 'one of many 51' }).click();
    await page.getByRole('heading', { level: 1, name: 'one of many 51' }).waitFor();
    await page.keyboard.press('Alt+ArrowUp');
    await page.getByRole('heading', { level: 1, name: 'one of many 50' }).waitFor();
    expect(aaron.problems).toEqual([]);
  });

  test('sections stay collapsed after a reload, and keep unread and open channels', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    const work = page.getByRole('region', { name: 'Work', exact: true });
    await work.getByRole('link', { name: /^website/ }).waitFor();
    await iris.person.ok('POST', '/mark_all_as_read');
    await expect.poll(() => work.getByText('unread').count()).toBe(0);
    await work.getByRole('button', { name: 'Work', expanded: true }).click();
    await expect.poll(() => work.getByRole('link').count()).toBe(0);
    await page.reload();
    await work.getByRole('button', { name: 'Work', expanded: false }).waitFor();
    expect(await work.getByRole('link').count()).toBe(0);
    const post = { type: 'channel', to: 'website', topic: 'launch', content: newName('unread') };
    await chat.person('moderator').ok('POST', '/messages', post);
    await work.getByRole('link', { name: /^website/ }).waitFor();
    await work.getByRole('button', { name: 'Work', expanded: false }).click();
    expect(iris.problems).toEqual([]);
  });

  test('the filter finds channels and people, and Enter opens the first', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    const filter = sidebarOf(page).getByRole('searchbox', { name: 'Filter channels and people' });
    await filter.fill('webs');
    await expect.poll(() => sidebarOf(page).getByRole('region').getByRole('link').count()).toBe(1);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'website' }).waitFor();
    expect(await filter.inputValue()).toBe('');
    await filter.fill('nothing like it');
    await sidebarOf(page).getByText('No channel or person matches.').waitFor();
    await page.keyboard.press('Escape');
    await sidebarOf(page)
      .getByRole('link', { name: /^website/ })
      .waitFor();
    expect(iris.problems).toEqual([]);
  });

  test('a new message can be written to several people', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await sidebarOf(page).getByRole('button', { name: 'New message' }).click();
    const to = page.getByRole('dialog', { name: 'New message' }).getByRole('combobox', { name: 'To' });
    for (const [text, name] of [
      ['mon', 'Mona Lindqvist'],
      ['bel', 'Bela Novak'],
    ] as const) {
      await to.fill(text);
      await page.getByRole('option', { name }).waitFor();
      await to.press('Enter');
      await page.getByRole('button', { name: `Remove ${name}` }).waitFor();
    }
    await page.getByRole('dialog').getByRole('button', { name: 'Write a message' }).click();
    await page.getByRole('heading', { level: 1, name: /Mona Lindqvist/ }).waitFor();
    const said = newName('to both of you');
    await page.getByLabel(/^Message /).fill(said);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await message(page, said).waitFor();
    expect(iris.problems).toEqual([]);
  });

  test('lists eight topics of a channel, and more on request', async () => {
    await using iris = await chat.enter('owner');
    const { page, person } = iris;
    const name = newName('topical');
    await person.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name }] });
    for (let i = 0; i < 12; i++) {
      await person.ok('POST', '/messages', { type: 'channel', to: name, topic: `topic ${i}`, content: 'x' });
    }
    await channelLink(page, name).click();
    const topics = sidebarOf(page).getByRole('list', { name: `Topics in ${name}` });
    await expect.poll(() => topics.getByRole('link', { name: /^topic / }).count()).toBe(8);
    await topics.getByRole('button', { name: 'More topics' }).click();
    await expect.poll(() => topics.getByRole('link', { name: /^topic / }).count()).toBe(12);
    expect(iris.problems).toEqual([]);
  });

  test('counts unread messages of unlisted conversations as well', async () => {
    const [iris, bela, mona] = [chat.person('owner'), chat.person('member'), chat.person('moderator')];
    await bela.ok('POST', '/mark_all_as_read');
    const toBela = { type: 'direct', to: [bela.id] };
    const { id } = await iris.ok('POST', '/messages', { ...toBela, content: 'Long ago, @**Bela Novak**' });
    await talkToMany(bela);
    await using here = await chat.enter('member');
    const { page } = here;
    const view = (name: string) => sidebarOf(page).getByRole('link', { name: new RegExp(`^${name}`) });
    const direct = page.getByRole('region', { name: 'Direct messages' }).getByRole('link');
    await expect.poll(() => view('Inbox').textContent()).toBe('Inbox1 unread');
    await expect.poll(() => view('Mentions').textContent()).toBe('Mentions1 unread');
    await expect.poll(() => direct.filter({ hasText: 'unread' }).count()).toBe(0);
    await mona.ok('POST', '/messages', { ...toBela, content: 'By the way' });
    await expect.poll(() => view('Inbox').textContent()).toBe('Inbox2 unread');
    await bela.ok('POST', '/messages/flags', { messages: [id], op: 'add', flag: 'read' });
    await expect.poll(() => view('Mentions').textContent()).toBe('Mentions');
    await expect.poll(() => view('Inbox').textContent()).toBe('Inbox1 unread');
    await bela.ok('POST', '/mark_all_as_read');
    await expect.poll(() => view('Inbox').textContent()).toBe('Inbox');
    expect(here.problems).toEqual([]);
  });

  test('lists the latest direct conversations, and all others on request', async () => {
    const bela = chat.person('member');
    const groups = await talkToMany(bela);
    expect(groups).toHaveLength(55);
    await using here = await chat.enter('member');
    const { page } = here;
    const rows = page.getByRole('region', { name: 'Direct messages' }).getByRole('link');
    await expect.poll(() => rows.count()).toBe(8);
    await sidebarOf(page).getByRole('button', { name: 'More conversations' }).click();
    await expect.poll(() => rows.count()).toBe(50);
    await sidebarOf(page).getByRole('button', { name: 'Older conversations' }).click();
    await expect.poll(() => rows.count()).toBeGreaterThanOrEqual(groups.length);
    const all = await addresses(page);
    expect(new Set(all).size).toBe(all.length);
    // The oldest conversation moves to the top when it gets a new message.
    const oldest = all.at(-1);
    const said = newName('Still so');
    await rows.last().click();
    await page.getByLabel(/^Message /).fill(said);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await message(page, said).waitFor();
    await expect.poll(() => addresses(page)).toEqual([oldest, ...all.slice(0, -1)]);
    expect(here.problems).toEqual([]);
  });
});

/** Sends direct messages in more conversations than the sidebar lists at first. */
async function talkToMany(person: Person) {
  const { users } = await person.query('{ users(first: 10, isActive: true) { nodes { databaseId } } }');
  const ids: number[] = users.nodes.map(({ databaseId }: { databaseId: number }) => databaseId);
  const groups = groupsOf(ids.filter((id) => id !== person.id)).slice(0, 55);
  const said = { type: 'direct', content: 'Just so', read_by_sender: true };
  for (const to of groups) await person.ok('POST', '/messages', { ...said, to });
  return groups;
}

/** Returns all combinations of one, two or three ids. */
function groupsOf(ids: readonly number[]): readonly (readonly number[])[] {
  const longer = (group: readonly number[]) =>
    ids.filter((id) => id > Math.max(0, ...group)).map((id) => [...group, id]);
  const ones = longer([]);
  const twos = ones.flatMap(longer);
  return [...ones, ...twos, ...twos.flatMap(longer)];
}

/** Returns the links that the sidebar marks as the current page. */
const current = (page: Page): Promise<string[]> => sidebarOf(page).locator('[aria-current=page]').allTextContents();

const addresses = (page: Page): Promise<(string | null)[]> =>
  page
    .getByRole('region', { name: 'Direct messages' })
    .getByRole('link')
    .evaluateAll((links) => links.map((link) => link.getAttribute('href')));
