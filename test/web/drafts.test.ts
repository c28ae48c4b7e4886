import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import type { Person } from '../helpers/person.ts';
import { demoChat, message, newName, notSent, open, sidebarOf, write } from '../helpers/web.ts';

describe.runIf(hasChromium)(`drafts in the chat${CHROMIUM_NOTE}`, () => {
  const chat = demoChat();

  test('a draft appears in a second window, can be continued there, and disappears from both when it is sent', async () => {
    await using here = await chat.enter('member');
    await using there = await chat.enter('member');
    for (const { page } of [here, there]) await open(page, 'website', 'launch');
    await field(here.page).fill('Half a thought');
    await expect.poll(() => field(there.page).inputValue()).toBe('Half a thought');
    const whole = newName('A whole thought');
    await field(there.page).fill(whole);
    await expect.poll(() => field(here.page).inputValue()).toBe(whole);
    await field(there.page).press('Control+Enter');
    await message(here.page, whole).waitFor();
    await expect.poll(() => field(here.page).inputValue()).toBe('');
    await expect.poll(() => draftsOf(here.person)).not.toContain(whole);
    expect([...here.problems, ...there.problems]).toEqual([]);
  });

  test('a draft is kept for each conversation, over an immediate reload, and in a list that opens it again', async () => {
    await using iris = await chat.enter('owner');
    const { page, person } = iris;
    const [launch, build] = [await newTopic(person, 'first'), await newTopic(person, 'second')];
    const { count } = await person.ok('GET', '/drafts');
    await open(page, 'website', launch);
    await field(page).fill('about the launch');
    await open(page, 'website', build);
    await expect.poll(() => field(page).inputValue()).toBe('');
    await field(page).fill('about the build');
    await page.reload();
    await expect.poll(() => field(page).inputValue()).toBe('about the build');
    await expect.poll(async () => (await person.ok('GET', '/drafts'))['count']).toBe(count + 2);
    await sidebarOf(page).getByRole('link', { name: 'Drafts and scheduled' }).click();
    const list = page.getByRole('list', { name: 'Drafts' });
    const draftIn = (topic: string) => list.getByRole('listitem').filter({ hasText: topic });
    await draftIn(build).getByText('about the build').waitFor();
    await draftIn(launch)
      .getByRole('link', { name: `#website › ${launch}` })
      .click();
    await expect.poll(() => field(page).inputValue()).toBe('about the launch');
    await page.goBack();
    await draftIn(launch).getByRole('button', { name: 'Delete' }).click();
    await expect.poll(() => list.getByRole('listitem').count()).toBe(count + 1);
    await open(page, 'website', launch);
    await expect.poll(() => field(page).inputValue()).toBe('');
    expect(iris.problems).toEqual([]);
  });

  test('a draft is saved after a reload shortly after the user has left its topic', async () => {
    await using iris = await chat.enter('owner');
    const { page, person } = iris;
    const [left, other] = [await newTopic(person, 'left'), await newTopic(person, 'other')];
    await open(page, 'website', left);
    await page.route('**/graphql', (route) =>
      route.request().postData()?.includes('mutation CreateDraft') === true ? route.abort() : route.continue(),
    );
    await field(page).fill('about to leave');
    await open(page, 'website', other);
    await page.reload();
    await page.unroute('**/graphql');
    await expect.poll(() => draftsOf(person), { timeout: 20_000 }).toContain('about to leave');
  });

  test('a draft is saved at sign-out, hidden from the next user, and restored at the next sign-in', async () => {
    await using gus = await chat.enter('guest');
    const { page, person } = gus;
    const signIn = async (name: string) => {
      await page.getByRole('region', { name: 'The demo' }).getByRole('button', { name }).click();
      await open(page, 'website', 'launch');
    };
    const said = newName('Just before I go');
    const next = chat.person('member');
    const before = await next.ok('GET', '/drafts');
    await open(page, 'website', 'launch');
    await field(page).fill(said);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn('Bela Novak');
    expect(await field(page).inputValue()).not.toBe(said);
    expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage }))).not.toContain(said);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn('Gus Marino');
    await expect.poll(() => field(page).inputValue()).toBe(said);
    expect((await next.ok('GET', '/drafts'))['count']).toBe(before['count']);
    expect((await draftsOf(person)).filter((text) => text === said)).toHaveLength(1);
  });

  test('an unsent message stays in the tab for its author while another user signs in and out', async () => {
    await using gus = await chat.enter('guest');
    const { page } = gus;
    const signIn = async (name: string) => {
      await page.getByRole('region', { name: 'The demo' }).getByRole('button', { name }).click();
      await open(page, 'website', 'launch');
    };
    const inTab = () => page.evaluate(() => JSON.stringify({ ...sessionStorage }));
    const [kept, lost] = [newName('For when I am back'), newName('Of no use any more')];
    let isRefused = true;
    await page.route('**/graphql', (route) =>
      isRefused && route.request().postData()?.includes('SendMessage') ? route.abort() : route.fallback(),
    );
    await open(page, 'website', 'launch');
    await write(page, kept);
    await notSent(page).getByText(kept).waitFor();
    // Ends the session without a click on "Sign out".
    await page.context().clearCookies();
    await page.goto(chat.startUrl);
    await signIn('Bela Novak');
    await expect.poll(() => notSent(page).count()).toBe(0);
    await write(page, lost);
    await notSent(page).getByText(lost).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('region', { name: 'The demo' }).waitFor();
    expect(await inTab()).toContain(kept);
    expect(await inTab()).not.toContain(lost);
    isRefused = false;
    await signIn('Gus Marino');
    await message(page, kept).waitFor();
    await expect.poll(() => notSent(page).count()).toBe(0);
  });

  test('a draft is created once with the latest text, even if the response to its creation is lost', async () => {
    await using bela = await chat.enter('member');
    const { page, person } = bela;
    const keys: (string | undefined)[] = [];
    await page.route('**/graphql', async (route) => {
      if (!route.request().postData()?.includes('CreateDraft')) return route.fallback();
      keys.push(route.request().headers()['idempotency-key']);
      const response = await route.fetch();
      return keys.length === 1 ? route.abort() : route.fulfill({ response });
    });
    const thought = newName('A thought');
    const { count } = await person.ok('GET', '/drafts');
    await open(page, 'website', await newTopic(person, 'thoughts'));
    await field(page).fill(thought);
    await expect.poll(() => keys.length).toBe(1);
    await field(page).fill(`${thought} that goes on`);
    const saved = async () => (await draftsOf(person)).filter((text) => text.startsWith(thought));
    await expect.poll(saved).toEqual([`${thought} that goes on`]);
    expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
    await field(page).press('Control+Enter');
    await message(page, `${thought} that goes on`).waitFor();
    await expect.poll(async () => (await person.ok('GET', '/drafts'))['count']).toBe(count);
    await expect.poll(() => field(page).inputValue()).toBe('');
  });

  test('without synchronization, text stays in its tab and drafts of other devices are not shown', async () => {
    await using mona = await chat.enter('moderator');
    const { page, person } = mona;
    const [mine, theirs] = [await newTopic(person, 'mine', 'general'), await newTopic(person, 'theirs', 'general')];
    const { stream_id } = await person.ok('GET', '/get_stream_id', { stream: 'general' });
    const said = newName('Only here');
    const elsewhere = { type: 'stream', to: [stream_id], topic: theirs, content: 'On another device' };
    await person.ok('POST', '/drafts', { drafts: [elsewhere] });
    await open(page, 'general', mine);
    await field(page).fill(said);
    await expect.poll(() => draftsOf(person)).toEqual(expect.arrayContaining([said, 'On another device']));

    const synchronize = (enable_drafts_synchronization: boolean) =>
      person.ok('PATCH', '/settings', { enable_drafts_synchronization });
    await synchronize(false);
    // The page has received the change of the setting when it shows this message.
    await person.ok('POST', '/messages', { type: 'channel', to: 'general', topic: mine, content: 'It is off' });
    await message(page, 'It is off').waitFor();
    expect(await field(page).inputValue()).toBe(said);
    await open(page, 'general', theirs);
    await message(page, 'Here it begins').waitFor();
    expect(await field(page).inputValue()).toBe('');
    await page.reload();
    await open(page, 'general', mine);
    await expect.poll(() => field(page).inputValue()).toBe(said);

    await synchronize(true);
    await expect.poll(() => draftsOf(person)).toEqual([said]);
    await person.ok('POST', '/drafts', { drafts: [elsewhere] });
    await open(page, 'general', theirs);
    await expect.poll(() => field(page).inputValue()).toBe('On another device');
    await open(page, 'general', mine);
    expect([await field(page).inputValue(), mona.problems]).toEqual([said, []]);
  });
});

/** Returns the contents of a user's drafts. */
async function draftsOf(person: Person): Promise<string[]> {
  const { drafts } = await person.ok('GET', '/drafts');
  return drafts.map(({ content }: { content: string }) => content);
}

/** Returns the name of a new topic after creating it. The name is unique, so no draft belongs to the topic. */
async function newTopic(person: Person, word: string, channel = 'website'): Promise<string> {
  const topic = newName(word);
  await person.ok('POST', '/messages', { type: 'channel', to: channel, topic, content: 'Here it begins' });
  return topic;
}

/** Returns the text field in which a message is written. */
const field = (page: Page) => page.getByRole('form', { name: 'Write a message' }).getByLabel(/^Message /);
