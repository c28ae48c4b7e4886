import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { demoChat, message, newName, open, sidebarOf, write } from '../helpers/web.ts';

describe.runIf(hasChromium)(`scheduled messages, snippets and reminders${CHROMIUM_NOTE}`, () => {
  const chat = demoChat();

  describe('a scheduled message', () => {
    test('is sent at a chosen time, and until then is in a list where it can be edited and deleted', async () => {
      await using here = await chat.enter('member');
      await using there = await chat.enter('member');
      await open(here.page, 'website', 'launch');
      await goTo(there.page, 'Scheduled');
      await there.page.getByText('You have no scheduled messages.').waitFor();
      const later = here.page.getByRole('button', { name: 'Send later' });
      await field(here.page).fill('');
      await expect.poll(() => later.getAttribute('aria-disabled')).toBe('true');
      await field(here.page).fill('Not before **tomorrow**');
      await later.click();
      await here.page
        .getByRole('menu', { name: 'Send later' })
        .getByRole('menuitem', { name: /^Tomorrow/ })
        .click();
      await notice(here.page)
        .getByText(/^The message will be sent on /)
        .waitFor();
      await expect.poll(() => field(here.page).inputValue()).toBe('');

      const list = there.page.getByRole('list', { name: 'Scheduled messages' });
      const item = list.getByRole('listitem').filter({ hasText: 'Not before tomorrow' });
      await item.getByRole('link', { name: '#website › launch' }).waitFor();
      await item.getByRole('button', { name: 'Edit' }).click();
      const dialog = there.page.getByRole('dialog', { name: 'Edit scheduled message' });
      await dialog.getByLabel('Message').fill('Not before next year');
      await dialog.getByLabel('Date and time').fill('2099-01-02T10:30');
      await dialog.getByRole('button', { name: 'Save' }).click();
      await goTo(here.page, 'Scheduled');
      const changed = here.page.getByRole('listitem').filter({ hasText: 'Not before next year' });
      await changed.getByText(/Jan 2, 2099/).waitFor();
      await changed.getByRole('button', { name: 'Delete' }).click();
      await here.page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await there.page.getByText('You have no scheduled messages.').waitFor();
      expect([...here.problems, ...there.problems]).toEqual([]);
    });

    test('is sent at an entered time, and an error of the service is shown and keeps the text', async () => {
      await using iris = await chat.enter('owner');
      const { page } = iris;
      await open(page, 'website', 'launch');
      await field(page).fill('To the minute');
      await page.getByRole('button', { name: 'Send later' }).click();
      await page.getByRole('menuitem', { name: 'Another time…' }).click();
      const dialog = page.getByRole('dialog', { name: 'Send later' });
      await dialog.getByLabel('Date and time').fill('2099-05-06T07:08');
      await dialog.getByRole('button', { name: 'Schedule' }).click();
      await notice(page)
        .getByText(/^The message will be sent on May 6, 2099/)
        .waitFor();
      const { scheduled_messages: scheduled } = await iris.person.ok('GET', '/scheduled_messages');
      expect(scheduled).toContainEqual(expect.objectContaining({ content: 'To the minute', topic: 'launch' }));
      const { stream_id: id } = await iris.person.ok('GET', '/get_stream_id', { stream: 'website' });
      await iris.person.ok('PATCH', `/streams/${id}`, { topics_policy: 'disable_empty_topic' });
      await open(page, 'website');
      await page.getByLabel('Message #website').fill('Without a topic');
      await page.getByRole('button', { name: 'Send later' }).click();
      await page.getByRole('menuitem', { name: 'In an hour' }).click();
      await notice(page)
        .getByText(/general chat is not allowed/)
        .waitFor();
      await expect.poll(() => page.getByLabel('Message #website').inputValue()).toBe('Without a topic');
    });

    test('leaves the list when it is sent, and shows an error if it could not be sent', async () => {
      await using iris = await chat.enter('owner');
      const { page, person } = iris;
      await goTo(page, 'Scheduled');
      const [name, goes, stays] = ['short-lived', 'This goes', 'This does not'].map(newName);
      const { id } = await person.ok('POST', '/channels/create', { name, subscribers: [person.id] });
      const soon = { scheduled_delivery_timestamp: Math.floor(Date.now() / 1000) + 4 };
      const toSelf = { type: 'direct', to: [person.id], content: goes, ...soon };
      await person.ok('POST', '/scheduled_messages', toSelf);
      const list = page.getByRole('list', { name: 'Scheduled messages' });
      await list.getByText(`${goes}`).waitFor();
      const toChannel = { type: 'channel', to: id, topic: 'x', content: stays, ...soon };
      await person.ok('POST', '/scheduled_messages', toChannel);
      await person.ok('DELETE', `/streams/${id}`);
      const failed = list.getByRole('listitem').filter({ hasText: `${stays}` });
      await failed.getByText(/^Couldn't send: /).waitFor();
      await expect.poll(() => list.getByText(`${goes}`).count()).toBe(0);
      await failed.getByRole('button', { name: 'Reschedule' }).waitFor();
    });
  });

  describe('a snippet', () => {
    test('is saved, edited and deleted in a list, and inserted into the text from a menu', async () => {
      await using here = await chat.enter('owner');
      await using there = await chat.enter('owner');
      const [thanks, manyThanks, greeting, asking] = ['Thanks', 'Many thanks', 'Greeting', 'asking'].map(newName);
      await goTo(here.page, 'Snippets');
      await open(there.page, 'website', 'launch');
      await here.page.getByRole('button', { name: 'New snippet' }).click();
      const make = here.page.getByRole('dialog', { name: 'New snippet' });
      await make.getByLabel('Title').fill(`${thanks}`);
      await make.getByLabel('Text').fill(`Thank you for **${asking}**`);
      await make.getByRole('button', { name: 'Save' }).click();
      const items = here.page.getByRole('list', { name: 'Saved snippets' }).getByRole('listitem');
      const item = items.filter({ hasText: `${asking}` });
      await item.getByRole('heading', { name: `${thanks}` }).waitFor();

      await field(there.page).fill('Hello! ');
      await there.page.getByRole('button', { name: 'Saved snippets' }).click();
      await there.page
        .getByRole('menu', { name: 'Saved snippets' })
        .getByRole('menuitem', { name: `${thanks}` })
        .click();
      await expect.poll(() => field(there.page).inputValue()).toBe(`Hello! Thank you for **${asking}**`);

      await item.getByRole('button', { name: 'Edit' }).click();
      const edit = here.page.getByRole('dialog', { name: 'Edit snippet' });
      await edit.getByLabel('Title').fill(`${manyThanks}`);
      await edit.getByRole('button', { name: 'Save' }).click();
      await there.page.getByRole('button', { name: 'Saved snippets' }).click();
      await there.page.getByRole('menuitem', { name: `${manyThanks}` }).waitFor();
      await there.page.getByRole('menuitem', { name: 'Save as a snippet…' }).click();
      const keep = there.page.getByRole('dialog', { name: 'New snippet' });
      await expect.poll(() => keep.getByLabel('Text').inputValue()).toBe(`Hello! Thank you for **${asking}**`);
      await keep.getByLabel('Title').fill(`${greeting}`);
      await keep.getByRole('button', { name: 'Save' }).click();

      await items.getByRole('heading', { name: `${greeting}` }).waitFor();
      await item
        .filter({ hasText: `${manyThanks}` })
        .getByRole('button', { name: 'Delete' })
        .click();
      await here.page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await expect.poll(() => item.count()).toBe(1);
      await expect.poll(() => item.getByRole('heading').textContent()).toBe(greeting);
      expect([...here.problems, ...there.problems]).toEqual([]);
    });

    test('is saved once, even if the request was repeated', async () => {
      await using bela = await chat.enter('member');
      const { page, person } = bela;
      const title = newName('Once');
      const keys: (string | undefined)[] = [];
      await page.route('**/graphql', async (route) => {
        if (!route.request().postData()?.includes('CreateSavedSnippet')) return route.fallback();
        keys.push(route.request().headers()['idempotency-key']);
        const response = await route.fetch();
        return keys.length === 1 ? route.abort() : route.fulfill({ response });
      });
      await goTo(page, 'Snippets');
      await page.getByRole('button', { name: 'New snippet' }).click();
      const make = page.getByRole('dialog', { name: 'New snippet' });
      await make.getByLabel('Title').fill(title);
      await make.getByLabel('Text').fill('and only once');
      await make.getByRole('button', { name: 'Save' }).click();
      await make.getByRole('alert').waitFor();
      await make.getByRole('button', { name: 'Save' }).click();
      await expect.poll(() => make.count()).toBe(0);
      expect(keys).toEqual([expect.stringMatching(/./), keys[0]]);
      const { saved_snippets: snippets } = await person.ok('GET', '/saved_snippets');
      expect(snippets.filter((one: { title: string }) => one.title === title)).toHaveLength(1);
    });
  });

  describe('a reminder', () => {
    test('is set in the menu of a message, and listed with a link to it', async () => {
      await using here = await chat.enter('owner');
      await using there = await chat.enter('owner');
      await open(here.page, 'website', 'launch');
      const [text, note] = [newName('Do not forget this'), newName('really')];
      await write(here.page, text);
      await goTo(there.page, 'Reminders');
      const row = message(here.page, text);
      await openMenu(row);
      await here.page.getByRole('menuitem', { name: 'Remind me…' }).click();
      await here.page.getByRole('menu', { name: 'Remind me' }).getByRole('menuitem', { name: 'In an hour' }).click();
      await notice(here.page)
        .getByText(/^You will be reminded on /)
        .waitFor();

      const list = there.page.getByRole('list', { name: 'Reminders' });
      await list.getByText(text).waitFor();
      await openMenu(row);
      await here.page.getByRole('menuitem', { name: 'Remind me…' }).click();
      await here.page.getByRole('menuitem', { name: 'Another time…' }).click();
      const dialog = here.page.getByRole('dialog', { name: 'Remind me of this message' });
      await dialog.getByLabel('Date and time').fill('2099-01-02T10:30');
      await dialog.getByLabel('Note').fill(note);
      await dialog.getByRole('button', { name: 'Remind me' }).click();
      const noted = list.getByRole('listitem').filter({ hasText: note });
      await noted.getByText(/Jan 2, 2099/).waitFor();
      await noted.getByRole('link', { name: 'Message by Iris Haddad' }).click();
      await message(there.page, text).waitFor();

      await goTo(here.page, 'Reminders');
      const items = here.page.getByRole('list', { name: 'Reminders' }).getByRole('listitem');
      await goTo(there.page, 'Reminders');
      await items.filter({ hasText: note }).getByRole('button', { name: 'Delete' }).click();
      await expect.poll(() => list.getByText(text).count()).toBe(1);
      expect([...here.problems, ...there.problems]).toEqual([]);
    });
  });
});

/** Opens one of the lists under "Drafts and scheduled". */
async function goTo(page: Page, list: string): Promise<void> {
  await sidebarOf(page).getByRole('link', { name: 'Drafts and scheduled' }).click();
  await page.getByRole('navigation', { name: 'Drafts and scheduled' }).getByRole('link', { name: list }).click();
  await page.getByRole('heading', { name: list, level: 1 }).waitFor();
}

async function openMenu(row: ReturnType<typeof message>): Promise<void> {
  await row.hover();
  await row.getByRole('button', { name: 'More actions' }).click();
}

const notice = (page: Page) => page.getByRole('status', { name: 'Notices' });

/** Returns the text field in which a message is written. */
const field = (page: Page) => page.getByRole('form', { name: 'Write a message' }).getByLabel(/^Message /);
