import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { faultsOf } from '../helpers/axe.ts';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { channelLink, chooseOption, demoChat, newName, open, optionNames, sidebarOf } from '../helpers/web.ts';

describe.runIf(hasChromium)(`channels in the chat${CHROMIUM_NOTE}`, () => {
  const chat = demoChat();

  test('a channel is created with a folder and subscribers, who see it immediately, and archived', async () => {
    await using iris = await chat.enter('owner');
    await using bela = await chat.enter('member');
    const boats = newName('boats');
    await browse(iris.page);
    await iris.page.getByRole('button', { name: 'Create a channel' }).click();
    const form = iris.page.getByRole('dialog', { name: 'Create a channel' });
    await form.getByRole('textbox', { name: 'Name' }).fill(boats);
    await chooseOption(
      form.getByRole('combobox', { name: 'Visibility' }),
      'Private: new subscribers see the full history',
    );
    await chooseOption(form.getByRole('combobox', { name: 'Folder' }), 'Work');
    await choose(form.page(), 'Subscribers besides you', 'Bela Novak');
    await form.getByRole('button', { name: 'Create' }).click();
    for (const { page } of [iris, bela]) {
      await sidebarOf(page).getByRole('region', { name: 'Work' }).getByRole('link', { name: boats }).waitFor();
    }
    // The page opens the channel for the user who created it.
    await iris.page.getByRole('heading', { level: 1, name: boats }).waitFor();
    await iris.page.getByRole('textbox', { name: `Message #${boats}` }).waitFor();
    const settings = await openSettings(iris.page);
    await settings.getByRole('button', { name: 'Permissions' }).click();
    await chooseOption(settings.getByRole('combobox', { name: 'Send messages' }), 'Moderators');
    await open(bela.page, boats);
    const composer = bela.page.getByRole('form', { name: 'Write a message' });
    await composer.waitFor();
    await settings.getByRole('button', { name: 'Save permissions' }).click();
    await composer.waitFor({ state: 'detached' });
    // The notice is within the dialog, because screen readers read only the dialog while it is open.
    await settings.getByRole('status', { name: 'Notices' }).getByText('Saved.').waitFor();
    // The notice stays visible after the dialog is closed.
    await iris.page.keyboard.press('Escape');
    await iris.page.getByRole('status', { name: 'Notices' }).getByText('Saved.').waitFor();
    await openSettings(iris.page);

    await settings.getByRole('button', { name: 'General' }).click();
    await settings.getByRole('button', { name: 'Archive channel' }).click();
    await settings.getByRole('button', { name: /^Yes, archive/ }).click();
    for (const { page } of [iris, bela]) await expect.poll(() => channelLink(page, boats).count()).toBe(0);
    expect([...iris.problems, ...bela.problems]).toEqual([]);
  });

  test('a new public channel is announced if its creator chooses so', async () => {
    await using iris = await chat.enter('owner');
    const { stream_id: general } = await iris.person.ok('GET', '/get_stream_id', { stream: 'general' });
    const announceIn = (id: number) => iris.person.ok('PATCH', '/realm', { new_stream_announcements_stream_id: id });
    const form = iris.page.getByRole('dialog', { name: 'Create a channel' });
    const announce = form.getByRole('checkbox', { name: 'Announce the channel in #general' });
    await announceIn(-1);
    await browse(iris.page);
    await iris.page.getByRole('button', { name: 'Create a channel' }).click();
    await form.getByRole('textbox', { name: 'Name' }).waitFor();
    expect(await announce.count()).toBe(0);
    await announceIn(general);
    await announce.waitFor();
    const choosePrivacy = (name: string) => chooseOption(form.getByRole('combobox', { name: 'Visibility' }), name);
    await choosePrivacy('Private: new subscribers see only messages sent after they join');
    await announce.waitFor({ state: 'detached' });
    await choosePrivacy('Public: all users except guests can find and join it');
    expect(await announce.isChecked()).toBe(false);
    const [quays, piers] = [newName('quays'), newName('piers')];
    await form.getByRole('textbox', { name: 'Name' }).fill(quays);
    await form.getByRole('button', { name: 'Create' }).click();
    await iris.page.getByRole('heading', { level: 1, name: quays }).waitFor();
    await browse(iris.page);
    await iris.page.getByRole('button', { name: 'Create a channel' }).click();
    await form.getByRole('textbox', { name: 'Name' }).fill(piers);
    await announce.check();
    await form.getByRole('button', { name: 'Create' }).click();
    await iris.page.getByRole('heading', { level: 1, name: piers }).waitFor();
    const narrow = [{ operator: 'channel', operand: 'general' }];
    const window = { narrow, anchor: 'newest', num_before: 20, num_after: 0, apply_markdown: false };
    const { messages } = await iris.person.ok('GET', '/messages', window);
    const announced = messages.map(({ content }: { content: string }) => content).join('\n');
    expect([quays, piers].map((name) => announced.includes(name))).toEqual([false, true]);
    expect(iris.problems).toEqual([]);
  });

  test('users subscribe, unsubscribe, pin and mute for themselves', async () => {
    const harbour = newName('harbour');
    const principals = [chat.person('member').id];
    await chat
      .person('owner')
      .ok('POST', '/users/me/subscriptions', { subscriptions: [{ name: harbour }], principals });
    await using bela = await chat.enter('member');
    await open(bela.page, harbour);
    const settings = await openSettings(bela.page);
    await settings.getByRole('checkbox', { name: 'Pin to top' }).click();
    await sidebarOf(bela.page).getByRole('region', { name: 'Pinned' }).getByRole('link', { name: harbour }).waitFor();
    await settings.getByRole('checkbox', { name: 'Mute channel' }).click();
    await sidebarOf(bela.page)
      .getByRole('link', { name: `${harbour} muted` })
      .waitFor();
    await settings.getByRole('button', { name: 'Permissions' }).click();
    await settings.getByText('Send messages').waitFor();
    await expect.poll(() => settings.getByRole('button', { name: 'Save permissions' }).count()).toBe(0);
    await bela.page.keyboard.press('Escape');
    await browse(bela.page);
    await bela.page.getByRole('button', { name: `Unsubscribe from ${harbour}` }).click();
    await expect.poll(() => channelLink(bela.page, harbour).count()).toBe(0);
    await bela.page.getByRole('button', { name: `Subscribe to ${harbour}` }).click();
    await channelLink(bela.page, harbour).waitFor();
  });

  test('users are offered only the kinds of channels that they can currently create', async () => {
    await using iris = await chat.enter('owner');
    await using bela = await chat.enter('member');
    await using gus = await chat.enter('guest');
    const create = (page: Page) => page.getByRole('button', { name: 'Create a channel' });
    for (const { page } of [bela, gus]) await browse(page);
    await create(bela.page).click();
    const privacies = bela.page.getByRole('dialog').getByRole('combobox', { name: 'Visibility' });
    const offered = async () => (await optionNames(privacies)).map((name) => name.replace(/: .*/, ''));
    await expect.poll(offered).toEqual(['Public', 'Private', 'Private']);
    await allow(iris.page, 'private', 'nobody');
    await expect.poll(offered).toEqual(['Public']);
    await bela.page.keyboard.press('Escape');
    await allow(iris.page, 'public', 'nobody');
    await expect.poll(() => create(bela.page).count()).toBe(0);
    expect(await create(gus.page).count()).toBe(0);
    for (const kind of ['private', 'public']) await allow(iris.page, kind, 'members');
    await create(bela.page).waitFor();
    expect([bela.problems, gus.problems]).toEqual([[], []]);
  });

  test('the members of a channel are listed beside it, found by name, and current', async () => {
    await using iris = await chat.enter('owner');
    const { page, person } = iris;
    const crew = newName('crew');
    const [bela, cleo] = [chat.person('member'), chat.person('member', 1)];
    const subscribe = (principals: readonly number[]) =>
      person.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name: crew }], principals });
    await subscribe([person.id, bela.id]);
    await open(page, crew);
    await page.getByRole('button', { name: 'Members, 2', exact: true }).press('Enter');
    const column = page.getByRole('complementary', { name: 'Members' });
    const names = () => column.getByRole('list', { name: 'Members' }).getByRole('button').allTextContents();
    await expect.poll(names).toEqual(['Bela Novak', 'Iris Haddad']);
    await column.getByRole('listitem').filter({ hasText: 'Iris Haddad' }).getByText('Owner').waitFor();
    const { full_name: cleoName } = (await cleo.ok('GET', '/users/me')) as { full_name: string };
    await subscribe([cleo.id]);
    await expect.poll(names).toEqual(['Bela Novak', cleoName, 'Iris Haddad'].sort());
    await page.getByRole('button', { name: 'Members, 3', exact: true }).waitFor();
    await column.getByRole('searchbox', { name: 'Find members' }).fill('bel');
    await expect.poll(names).toEqual(['Bela Novak']);
    expect(await faultsOf(page)).toEqual([]);
    await column.getByRole('button', { name: 'Bela Novak' }).click();
    await page.getByRole('dialog').getByText('Bela Novak').first().waitFor();
    await page.keyboard.press('Escape');
    // The section is reached with F6, and the device remembers that it is open.
    await page.reload();
    await expect.poll(names).toHaveLength(3);
    await page.getByRole('textbox', { name: `Message #${crew}` }).focus();
    await page.keyboard.press('F6');
    await expect.poll(() => column.evaluate((one) => one.contains(document.activeElement))).toBe(true);
    await column.getByRole('button', { name: 'Hide members' }).click();
    await column.waitFor({ state: 'detached' });
    const button = page.getByRole('button', { name: 'Members, 3', exact: true });
    expect(await button.evaluate((one) => one === document.activeElement)).toBe(true);
    // Without space for a column, the members are in a dialog.
    await page.setViewportSize({ width: 390, height: 800 });
    await button.click();
    await page.getByRole('dialog', { name: 'Members' }).getByRole('button', { name: 'Bela Novak' }).click();
    await page.getByRole('dialog').getByRole('heading', { name: 'Bela Novak' }).waitFor();
    expect(iris.problems).toEqual([]);
  });

  test('administrators create and reorder folders, which all users see', async () => {
    await using aaron = await chat.enter('administrator');
    await using bela = await chat.enter('member');
    for (const { page } of [aaron, bela]) {
      await browse(page);
      await page.getByRole('button', { name: 'Folders' }).click();
    }
    const folders = (page: Page) => page.getByRole('list', { name: 'Folders' }).getByRole('strong').allTextContents();
    await expect.poll(() => folders(bela.page)).toContain('Work');
    const [before, ships] = [await folders(bela.page), newName('Ships')];
    await aaron.page.getByRole('textbox', { name: 'New folder' }).fill(ships);
    await aaron.page.getByRole('button', { name: 'Create folder' }).click();
    await expect.poll(() => folders(bela.page)).toEqual([...before, ships]);
    await aaron.page.getByRole('button', { name: `Move ${ships} up` }).click();
    await expect.poll(() => folders(bela.page)).toEqual(before.toSpliced(-1, 0, ships));
    expect(await bela.page.getByRole('button', { name: /^Move/ }).count()).toBe(0);
  });
});

const browse = (page: Page) => sidebarOf(page).getByRole('link', { name: 'All channels' }).click();

/** Permits only one role to create channels of a kind. Makes the request as the user who is signed in to the page. */
const allow = (page: Page, kind: string, role: string): Promise<void> =>
  page.evaluate(
    async ([name, group]) => {
      const { user_groups } = await (await fetch('/api/v1/user_groups')).json();
      const { id } = user_groups.find((one: { name: string }) => one.name === group);
      const body = new URLSearchParams({ [`${name}`]: JSON.stringify({ new: id }) });
      const { status } = await fetch('/api/v1/realm', { method: 'PATCH', body });
      if (status !== 200) throw new Error(`Answered ${status}`);
    },
    [`can_create_${kind}_channel_group`, `role:${role}`],
  );

async function openSettings(page: Page) {
  await page.getByRole('button', { name: 'Channel settings' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  return dialog;
}

async function choose(page: Page, label: string, name: string) {
  await page.getByRole('combobox', { name: label }).fill(name.slice(0, 3));
  await page.getByRole('option', { name }).click();
}
