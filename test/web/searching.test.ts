import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import type { Person } from '../helpers/person.ts';
import { type Chatter, demoChat, message, newName, open, sidebarOf } from '../helpers/web.ts';

describe.runIf(hasChromium)(`searching in the chat${CHROMIUM_NOTE}`, () => {
  const chat = demoChat(async (one) => {
    const [iris, bela] = [one.person('owner'), one.person('member')];
    await say(iris, 'general', 'boats', 'The lighthouses are painted, see https://example.com/white');
    await say(bela, 'general', 'boats', 'One lighthouse is not');
    await say(bela, 'website', 'launch', 'A lighthouse on the front page');
    await say(bela, 'website', 'launch', 'Nothing about towers');
    await say(bela, 'website', 'fog', 'The foghorn is loud');
    await say(one.person('member', 2), 'general', 'boats', 'An anchor of long ago');
    await bela.ok('POST', '/messages', { type: 'direct', to: [iris.id], content: 'A foghorn at night?' });
    for (const content of [
      '浮き桟橋と灯台の点検',
      'Café (Größe), ITEM it',
      'see https://example.com/HullSurvey?sheet=keel',
    ]) {
      await say(bela, 'general', 'scripts', content);
    }
  });

  test('finds words in all their forms, by topic, with highlights, at a URL that others can open', async () => {
    await using iris = await chat.enter('owner');
    await search(iris.page, 'lighthouse');
    await expect
      .poll(() => found(iris.page))
      .toEqual([
        'The lighthouses are painted, see https://example.com/white',
        'One lighthouse is not',
        'A lighthouse on the front page',
      ]);
    for (const place of ['#general', '#website']) await iris.page.getByRole('link', { name: place }).waitFor();
    await expect.poll(() => marked(iris.page)).toEqual(['lighthouses', 'lighthouse', 'lighthouse']);
    await using bela = await chat.enter('member');
    await bela.page.goto(iris.page.url());
    await expect.poll(() => found(bela.page)).toHaveLength(3);
    expect([...iris.problems, ...bela.problems]).toEqual([]);
  });

  test('highlights the matches in every script, and parts of words only for quoted texts', async () => {
    await using iris = await chat.enter('owner');
    const cases = [
      ['灯台', ['灯台']],
      ['cafe grosse', ['Café', 'Größe']],
      ['"it" cafe', ['Café', 'IT', 'it']],
      ['"lsurv"', ['lSurv']],
      ['scripts survey', []],
      ['scripts cafe', ['Café', 'scripts']],
    ] as const;
    for (const [text, matches] of cases) {
      await search(iris.page, text);
      await expect
        .poll(async () => (await marked(iris.page)).toSorted(), { message: text })
        .toEqual([...matches].toSorted());
    }
    expect(iris.problems).toEqual([]);
  });

  test('counts the found messages, and offers the channels and senders with the most of them', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await search(page, 'lighthouse');
    const facets = page.getByRole('navigation', { name: 'Refine the search' });
    await facets.getByText('3 messages').waitFor();
    const names = ['general 2', 'website 1', 'Bela Novak 2', 'Iris Haddad 1'];
    expect(await facets.getByRole('link').allTextContents()).toEqual(names);
    await facets.getByRole('link', { name: 'general 2' }).click();
    await expect.poll(() => found(page)).toHaveLength(2);
    await expect.poll(() => facets.getByRole('link').allTextContents()).toEqual(['Iris Haddad 1', 'Bela Novak 1']);
    await facets.getByRole('link', { name: 'Bela Novak 1' }).click();
    await expect.poll(() => found(page)).toEqual(['One lighthouse is not']);
    await expect.poll(() => facets.textContent()).toBe('1 message');
    await search(page, 'lighthouse after:2001-01-31');
    await expect.poll(() => found(page)).toHaveLength(3);
    expect(await facets.count()).toBe(0);
    expect(iris.problems).toEqual([]);
  });

  test('filters by channel, sender, state, content and day, and by negated terms', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    const cases = [
      ['lighthouse channel:general', ['The lighthouses are', 'One lighthouse']],
      ['lighthouse -channel:general', ['A lighthouse on']],
      ['lighthouse sender:"Bela Novak"', ['One lighthouse', 'A lighthouse on']],
      ['lighthouse sender:novak', ['One lighthouse', 'A lighthouse on']],
      ['lighthouse from:me has:link', ['The lighthouses are']],
      ['"lighthouse on the" topic:launch', ['A lighthouse on']],
      ['lighthouse before:2001-01-31', []],
      ['lighthouse before:2999-01-31 channel:website', ['A lighthouse on']],
      ['foghorn dm:"Bela Novak"', ['A foghorn at']],
      ['foghorn is:unread -is:dm', ['The foghorn is']],
      ['lighthouse channel:website after:2001-01-31', ['A lighthouse on']],
    ] as const;
    for (const [text, wanted] of cases) {
      await search(page, text);
      const beginnings = wanted.map((beginning) => expect.stringMatching(`^${beginning}`));
      await expect.poll(() => found(page), { message: text }).toEqual(beginnings);
      if (wanted.length === 0) await page.getByText('No messages found.').first().waitFor();
    }
  });

  test('explains what is wrong with an invalid term', async () => {
    await using iris = await chat.enter('owner');
    const cases = [
      [
        'colour:red',
        'Unknown filter “colour:”. Available filters: channel:, topic:, sender:, dm:, dm-including:, mentions:, is:, has:, ' +
          'channels:, before:, and after:. To search for this text, put it in quotes.',
      ],
      [
        'is:blue',
        'Unknown value “blue” for “is:”. Use starred, unread, mentioned, alerted, dm, followed, resolved, or muted.',
      ],
      ['sender:"Nobody At All"', 'No user is named “Nobody At All”.'],
      ['before:soon', '“before:soon” is not a valid day. Use the format 2026-01-31.'],
      ['channel:nowhere', 'There is no channel “nowhere”.'],
      ['-channel:"no where"', 'There is no channel “no where”.'],
      ['from:|999999', 'There is no such user.'],
      ['mentions:|999999', 'There is no such user.'],
      ['dm:me,|999999', 'There is no such user.'],
      ['sender:|99999999999', 'There is no such user.'],
      ['channel:general dm:me', 'No message can be both a channel message and direct message.'],
    ] as const;
    const alert = iris.page.getByRole('main').getByRole('alert');
    for (const [text, said] of cases) {
      await search(iris.page, text);
      await expect.poll(() => alert.allTextContents(), { message: text }).toEqual([said]);
    }
    // These links have the format of other clients.
    for (const operator of ['sender', 'dm-including']) {
      await iris.page.goto(new URL(`/#narrow/${operator}/999999-gone`, iris.page.url()).href);
      await iris.page.getByRole('main').getByText(`${operator}:|999999`, { exact: true }).waitFor();
      await expect.poll(() => alert.allTextContents(), { message: operator }).toEqual(['There is no such user.']);
    }
  });

  test('finds topics and users with quotes or commas in their names, and users by their current name', async () => {
    await using iris = await chat.enter('owner');
    const { page, person } = iris;
    const gus = chat.person('guest');
    const [barge, day] = ['barge', 'day'].map((word) => newName(word).replace(' ', ''));
    const topic = `the "big" ${day}`;
    await say(person, 'general', topic, `The ${barge} is late`);
    await say(gus, 'general', 'boats', `A ${barge} of my own`);
    await gus.ok('POST', '/messages', { type: 'direct', to: [person.id], content: `Whose ${barge}?` });
    const call = (name: string) => person.ok('PATCH', `/users/${gus.id}`, { full_name: name });

    await open(page, 'general', topic);
    await page.keyboard.press('/');
    const line = page.getByRole('combobox', { name: 'Search messages' });
    await page
      .getByRole('option', { name: String.raw`channel:general topic:"the \"big\" ${day}" current view` })
      .click();
    await line.pressSequentially(`${barge}`);
    await line.press('Enter');
    await expect.poll(() => found(page)).toEqual([`The ${barge} is late`]);
    await search(page, String.raw`"\"big\" ${day}"`);
    await expect.poll(() => found(page)).toEqual([`The ${barge} is late`]);

    await search(page, `sender:"Marino, Gus" ${barge}`);
    await page.getByRole('main').getByText('No user is named “Marino, Gus”.').waitFor();
    await call('Marino, Gus');
    await search(page, `${barge} sender:"Marino, Gus" channel:general`);
    await expect.poll(() => found(page)).toEqual([`A ${barge} of my own`]);
    await page.keyboard.press('/');
    await line.pressSequentially('dm:marino');
    await page.getByRole('option', { name: String.raw`dm:"Marino\, Gus"` }).click();
    await line.pressSequentially(`${barge}`);
    await line.press('Enter');
    await expect.poll(() => found(page)).toEqual([`Whose ${barge}?`]);
    await call('Zoë Màrino');
    for (const written of ['zoe', '"zoe mar"', 'marino']) {
      await search(page, `${barge} sender:${written} channel:general`);
      await expect.poll(() => found(page)).toEqual([`A ${barge} of my own`]);
    }
    await call('Gus Marino');
  });

  test('suggests operators, channels and users while the user types', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await page.keyboard.press('/');
    const line = page.getByRole('combobox', { name: 'Search messages' });
    await line.pressSequentially('chan');
    await page.getByRole('option', { name: 'channel: in a channel' }).waitFor();
    // The announcement is within the dialog, because screen readers do not read the page behind a modal dialog.
    await page.locator('dialog [aria-live="polite"]').getByText('suggestion').waitFor({ state: 'attached' });
    await line.press('ArrowDown');
    await line.press('Enter');
    await line.pressSequentially('web');
    await page.getByRole('option', { name: 'channel:website' }).waitFor();
    await line.press('ArrowDown');
    await line.press('Tab');
    await expect.poll(() => line.inputValue()).toBe('channel:website ');
    await line.pressSequentially('from:bel');
    await page.getByRole('option', { name: 'from:"Bela Novak"' }).click();
    await expect.poll(() => line.inputValue()).toBe('channel:website from:"Bela Novak" ');
    // The suggestions also contain the topic that is open.
    await page.keyboard.press('Escape');
    await line.waitFor({ state: 'detached' });
    await open(page, 'website', 'launch');
    await page.keyboard.press('/');
    await page.getByRole('option', { name: 'channel:website topic:launch current view' }).click();
    await line.pressSequentially('lighthouse');
    await line.press('Enter');
    await expect.poll(() => found(page)).toEqual(['A lighthouse on the front page']);
  });

  test('finds messages of deactivated users, and suggests these users, marked as such, after all others', async () => {
    await using iris = await chat.enter('owner');
    const { page, person } = iris;
    const dana = chat.person('member', 2);
    const call = (name: string) => person.ok('PATCH', `/users/${dana.id}`, { full_name: name });
    await call('Zoë Okafor');
    await person.ok('DELETE', `/users/${dana.id}`);
    await page.keyboard.press('/');
    const line = page.getByRole('combobox', { name: 'Search messages' });
    await line.pressSequentially('anchor from:zoe');
    const suggested = page.getByRole('option', { name: /^from:/ });
    await expect.poll(() => suggested.last().textContent()).toMatch(/^from:"Zoë Okafor".*deactivated$/);
    await suggested.last().click();
    await line.press('Enter');
    await expect.poll(() => found(page)).toEqual(['An anchor of long ago']);
    await search(page, 'anchor sender:"zoe oka"');
    await expect.poll(() => found(page)).toEqual(['An anchor of long ago']);
    await person.ok('POST', `/users/${dana.id}/reactivate`);
    await call('Dana Okafor');
    expect(iris.problems).toEqual([]);
  });

  test('opens a found message in its topic', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await search(page, 'lighthouse channel:website');
    await message(page, 'A lighthouse on').getByRole('link', { name: 'View in context' }).click();
    await page.getByRole('feed', { name: 'Messages in website, launch' }).waitFor();
    await message(page, 'Nothing about towers').waitFor();
    await expect.poll(() => focusedText(page)).toContain('A lighthouse on the front page');
  });

  test('does not mark found messages as read', async () => {
    await using gus = await chat.enter('guest');
    const heliograph = newName('heliograph').replace(' ', '');
    await say(chat.person('owner'), 'general', 'unread things', `a ${heliograph} to look for`);
    await search(gus.page, heliograph);
    await message(gus.page, heliograph).waitFor();
    // The message stays unread, although most views mark displayed messages as read soon.
    await search(gus.page, `${heliograph} is:unread`);
    await message(gus.page, heliograph).waitFor();
    expect(await isUnread(gus, heliograph)).toBe(true);
  });

  test('jumps to a channel, a user or a view by a few letters', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    const jump = async (text: string, name: string | RegExp) => {
      await page.keyboard.press('Control+k');
      const line = page.getByRole('combobox', { name: 'Jump to' });
      await line.pressSequentially(text);
      await page.getByRole('option', { name, selected: true }).waitFor();
      await line.press('Enter');
    };
    await jump('webs', 'website');
    await page.getByRole('feed', { name: 'Messages in website' }).waitFor();
    await jump('dana', /^Dana Okafor/);
    await page.getByRole('region', { name: 'Messages with Dana Okafor' }).waitFor();
    await jump('star', 'Starred');
    await page.getByRole('heading', { name: 'Starred', level: 1 }).waitFor();
    expect(iris.problems).toEqual([]);
  });

  test('Mentions and Starred follow changes made elsewhere, without a reload', async () => {
    await using bela = await chat.enter('member');
    await using again = await chat.enter('member');
    const [{ page }, { page: other }] = [bela, again];
    const asked = newName('which harbour is it?');
    await view(page, 'Mentions');
    await view(other, 'Starred');
    const { id } = await say(chat.person('owner'), 'general', 'boats', `@**Bela Novak** ${asked}`);
    await message(page, asked).waitFor();
    expect(await message(other, asked).count()).toBe(0);
    await flag(bela.person, 'add', id);
    await message(other, asked).waitFor();
    await message(page, asked).getByText('starred').waitFor();
    await flag(bela.person, 'remove', id);
    await expect.poll(() => message(other, asked).count()).toBe(0);
    await expect.poll(() => message(page, asked).count()).toBe(1);
    expect([...bela.problems, ...again.problems]).toEqual([]);
  });

  test('an edit adds a message to Mentions, and another edit removes it', async () => {
    await using bela = await chat.enter('member');
    await view(bela.page, 'Mentions');
    const iris = chat.person('owner');
    const asked = newName('who has the paint?');
    const { id } = await say(iris, 'general', 'boats', asked);
    await iris.ok('PATCH', `/messages/${id}`, { content: `@**Bela Novak** ${asked}` });
    await message(bela.page, asked).waitFor();
    await iris.ok('PATCH', `/messages/${id}`, { content: asked });
    await expect.poll(() => message(bela.page, asked).count()).toBe(0);
  });

  test('a user pins, hides and saves views, in all windows immediately', async () => {
    await forgetViews(chat.person('moderator'));
    await using mona = await chat.enter('moderator');
    await using again = await chat.enter('moderator');
    const views = (page: Page) => sidebarOf(page).getByRole('list', { name: 'Views' }).getByRole('link');
    const names = async (page: Page) => (await views(page).allTextContents()).map((text) => text.replace(/\d+.*/, ''));
    const usual = ['Inbox', 'All messages', 'Mentions', 'Starred', 'Drafts and scheduled'];
    await expect.poll(() => names(mona.page)).toEqual(usual);

    await arrange(mona.page, 'Unpin Starred');
    for (const { page } of [mona, again]) {
      await expect.poll(() => names(page)).toEqual(usual.filter((name) => name !== 'Starred'));
    }
    await sidebarOf(mona.page).getByRole('button', { name: 'More views' }).click();
    await sidebarOf(mona.page).getByRole('link', { name: 'Starred' }).click();
    await mona.page.getByRole('heading', { name: 'Starred', level: 1 }).waitFor();

    await search(mona.page, 'channel:website is:mentioned');
    await mona.page.getByRole('button', { name: 'Save search to sidebar' }).click();
    await mona.page.getByRole('textbox', { name: 'Name' }).fill('Asked of me');
    await mona.page.getByRole('button', { name: 'Save', exact: true }).click();
    await views(again.page).getByText('Asked of me').click();
    await again.page.getByRole('main').getByText('channel:website is:mentioned').waitFor();

    await arrange(again.page, 'Pin Starred');
    await expect.poll(() => names(again.page)).toEqual([...usual, 'Asked of me']);
    // Saves a view in the format of another client.
    const other = { fragment: 'narrow/channel/3-website/has/link', is_pinned: true, name: 'Links' };
    await mona.person.ok('POST', '/navigation_views', other);
    await views(again.page).getByText('Links').click();
    await again.page.getByRole('main').getByText('channel:website has:link').waitFor();
    await forgetView(mona.person, await fragmentOf(mona.person));
    for (const { page } of [mona, again]) await expect.poll(() => names(page)).not.toContain('Asked of me');
    expect([...mona.problems, ...again.problems]).toEqual([]);
  });
});

const say = (person: Person, to: string, topic: string, content: string) =>
  person.ok('POST', '/messages', { type: 'channel', to, topic, content, read_by_sender: true });

const flag = (person: Person, op: string, id: number) =>
  person.ok('POST', '/messages/flags', { messages: [id], op, flag: 'starred' });

/** Removes all saved views of a user, so that the defaults apply. */
async function forgetViews(person: Person): Promise<void> {
  const { navigation_views: views } = await person.ok('GET', '/navigation_views');
  for (const { fragment } of views) await forgetView(person, fragment);
}

const forgetView = (person: Person, fragment: string) =>
  person.ok('DELETE', `/navigation_views/${encodeURIComponent(fragment)}`);

async function fragmentOf(person: Person): Promise<string> {
  const { navigation_views: views } = await person.ok('GET', '/navigation_views');
  return views.find(({ name }: { name: string | null }) => name === 'Asked of me').fragment;
}

async function search(page: Page, text: string): Promise<void> {
  await sidebarOf(page).getByRole('button', { name: 'Search messages' }).click();
  const line = page.getByRole('combobox', { name: 'Search messages' });
  await line.fill(text);
  await line.press('Enter');
  await page.getByRole('main').getByText(text, { exact: true }).waitFor();
}

const view = async (page: Page, name: string) => {
  await sidebarOf(page)
    .getByRole('link', { name: new RegExp(`^${name}`) })
    .click();
  // Waits until the view is loaded. It has a feed if there are messages, and a region otherwise.
  await page.locator('main :is([role=feed], [role=region]):not([aria-busy=true])').waitFor();
};

async function arrange(page: Page, choice: string): Promise<void> {
  await sidebarOf(page).getByRole('button', { name: 'Arrange views' }).click();
  await page.getByRole('menuitem', { name: choice }).click();
}

/** Returns the texts of the messages that the search has found. */
const found = (page: Page): Promise<string[]> => page.getByRole('article').getByRole('paragraph').allTextContents();

/** Returns the texts that are highlighted as matches of the search. */
const marked = (page: Page): Promise<string[]> =>
  page.evaluate(() => [...(CSS.highlights.get('found') ?? [])].map(String));

const focusedText = (page: Page): Promise<string> => page.evaluate(() => document.activeElement?.textContent ?? '');

async function isUnread({ person }: Chatter, text: string): Promise<boolean> {
  const { messages } = await person.ok('GET', '/messages', { anchor: 'newest', num_before: 50, num_after: 0 });
  const one = messages.find(({ content }: { content: string }) => content.includes(text));
  return !one.flags.includes('read');
}
