import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { demoChat, newName, sidebarOf } from '../helpers/web.ts';

describe.runIf(hasChromium)(`the inbox${CHROMIUM_NOTE}`, () => {
  const chat = demoChat();

  test('lists topics and conversations with the last message, and follows new and read messages', async () => {
    const [iris, mona] = [chat.person('owner'), chat.person('moderator')];
    await iris.ok('POST', '/mark_all_as_read');
    await using here = await chat.enter('owner');
    const { page } = here;
    const rows = page
      .getByRole('main')
      .getByRole('listitem')
      .filter({ has: page.getByRole('time') });
    await page.getByText('No unread messages.').waitFor();
    const topic = newName('inbox topic');
    const website = { type: 'channel', to: 'website', topic };
    await mona.ok('POST', '/messages', { ...website, content: 'first' });
    await mona.ok('POST', '/messages', { ...website, content: '@**Iris Haddad** **second**\nline' });
    const row = rows.filter({ hasText: topic });
    await row.getByText('Mona Lindqvist: @Iris Haddad second line').waitFor();
    await row.getByText('#website').waitFor();
    await row.getByText('mentions you').waitFor();
    await row.getByText('2 unread').waitFor();
    await mona.ok('POST', '/messages', { type: 'direct', to: [iris.id], content: 'in person' });
    await expect.poll(() => rows.count()).toBe(2);
    expect(await rows.first().textContent()).toContain('Mona Lindqvist: in person');
    await row.getByRole('link').click();
    await page.getByRole('heading', { level: 1, name: new RegExp(topic) }).waitFor();
    await expect.poll(() => page.title()).toMatch(/^\(1\) /);
    await sidebarOf(page)
      .getByRole('link', { name: /^Inbox/ })
      .click();
    await expect.poll(() => rows.count()).toBe(1);
    await page.getByRole('navigation', { name: 'Inbox' }).getByRole('link', { name: 'Recent' }).click();
    await page.getByRole('heading', { level: 1, name: 'Recent conversations' }).waitFor();
    await expect.poll(async () => (await rows.nth(1).textContent())?.includes(topic)).toBe(true);
    await mona.ok('POST', '/messages', { ...website, content: 'third' });
    await expect.poll(async () => (await rows.first().textContent())?.includes('third')).toBe(true);
    expect(here.problems).toEqual([]);
  });

  test('leaves out muted topics', async () => {
    const [iris, mona] = [chat.person('owner'), chat.person('moderator')];
    await iris.ok('POST', '/mark_all_as_read');
    await using here = await chat.enter('owner');
    const topic = newName('muted topic');
    const { stream_id } = await iris.ok('GET', '/get_stream_id', { stream: 'website' });
    await iris.ok('POST', '/user_topics', { stream_id, topic, visibility_policy: 1 });
    await mona.ok('POST', '/messages', { type: 'channel', to: 'website', topic, content: 'not loud' });
    await mona.ok('POST', '/messages', { type: 'direct', to: [iris.id], content: 'loud' });
    const list = here.page.getByRole('main').getByRole('listitem');
    await list.filter({ hasText: 'loud' }).first().waitFor();
    expect(await list.filter({ hasText: topic }).count()).toBe(0);
    expect(here.problems).toEqual([]);
  });

  test('welcomes new users, until they close the card', async () => {
    await using here = await chat.enter('member');
    const { page } = here;
    const card = page.getByRole('region', { name: 'Welcome' });
    await card.getByRole('heading', { name: /^Welcome to / }).waitFor();
    await card.getByRole('link', { name: /Find your channels/ }).click();
    await page.getByRole('heading', { level: 1, name: 'Channels' }).waitFor();
    await sidebarOf(page)
      .getByRole('link', { name: /^Inbox/ })
      .click();
    await card.getByRole('button', { name: 'Close' }).click();
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
    expect(await card.count()).toBe(0);
    expect(here.problems).toEqual([]);
  });
});
