import type { Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { ROLES } from '../helpers/server.ts';
import { chooseOption, demoChat, newName, sidebarOf } from '../helpers/web.ts';

describe.runIf(hasChromium)(`the directory and the groups of the chat${CHROMIUM_NOTE}`, () => {
  const chat = demoChat();

  test('users are found by name and role, bots and deactivated users separately, and their cards open', async () => {
    await using bela = await chat.enter('member');
    const { page } = bela;
    await directory(page);
    const names = () => nameButtons(page, 'People');
    await expect.poll(names).toContain('Iris Haddad');
    expect(await names()).not.toContain('Build Bot');
    await chooseOption(page.getByRole('combobox', { name: 'Role' }), 'Guest');
    await expect.poll(names).toEqual(['Gus Marino']);
    await chooseOption(page.getByRole('combobox', { name: 'Role' }), 'Any');
    await page.getByRole('searchbox', { name: 'Find' }).fill('lindq');
    await expect.poll(names).toEqual(['Mona Lindqvist']);
    await page.getByRole('button', { name: 'Mona Lindqvist' }).click();
    await page.getByRole('dialog', { name: 'Mona Lindqvist' }).getByText('Moderator').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('searchbox', { name: 'Find' }).fill('');
    await chooseOption(page.getByRole('combobox', { name: 'Show' }), 'Bots');
    await expect.poll(names).toContain('Build Bot');
    expect(await page.getByRole('button', { name: /^Manage/ }).count()).toBe(0);
    expect(bela.problems).toEqual([]);
  });

  test('administrators change roles, deactivate and reactivate users, which others see immediately', async () => {
    await using aaron = await chat.enter('administrator');
    await using bela = await chat.enter('member');
    const { users } = await chat
      .person('owner')
      .query('{ users(first: 1, nameContains: "Dana") { nodes { databaseId } } }');
    await chat.person('owner').ok('PATCH', `/users/${users.nodes[0].databaseId}`, { role: ROLES.member });
    await directory(aaron.page);
    await directory(bela.page);
    const manage = async (name: string, item: string) => {
      await aaron.page.getByRole('button', { name: `Manage ${name}` }).click();
      await aaron.page.getByRole('menuitem', { name: item }).click();
    };
    const rowOf = (name: string) =>
      bela.page.getByRole('list', { name: 'People' }).getByRole('listitem').filter({ hasText: name });

    await manage('Dana Okafor', 'Change role…');
    const form = aaron.page.getByRole('dialog', { name: 'Role of Dana Okafor' });
    await chooseOption(form.getByRole('combobox', { name: 'Role' }), 'Owner');
    await form.getByRole('button', { name: 'Save' }).click();
    // The user is not an owner. Only owners can appoint owners, so the service returns an error.
    await form.getByRole('alert').waitFor();
    await chooseOption(form.getByRole('combobox', { name: 'Role' }), 'Moderator');
    await form.getByRole('button', { name: 'Save' }).click();
    await rowOf('Dana Okafor').getByText('Moderator').waitFor();

    await manage('Dana Okafor', 'Deactivate…');
    await aaron.page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click();
    await expect.poll(() => rowOf('Dana Okafor').count()).toBe(0);
    for (const { page } of [aaron, bela]) {
      await chooseOption(page.getByRole('combobox', { name: 'Show' }), 'Deactivated');
    }
    await rowOf('Dana Okafor').waitFor();
    await manage('Dana Okafor', 'Reactivate');
    await expect.poll(() => rowOf('Dana Okafor').count()).toBe(0);
    expect([...aaron.problems, ...bela.problems]).toEqual([]);
  });

  test('administrators deactivate and reactivate bots', async () => {
    await using aaron = await chat.enter('administrator');
    const { page } = aaron;
    const name = newName('Crane');
    const bot = { full_name: name, short_name: name.toLowerCase().replace(' ', '-') };
    await chat.person('owner').ok('POST', '/bots', bot);
    const shows = (kind: string) => chooseOption(page.getByRole('combobox', { name: 'Show' }), kind);
    const row = page.getByRole('list', { name: 'People' }).getByRole('listitem').filter({ hasText: name });
    const manage = async (item: string) => {
      await page.getByRole('button', { name: `Manage ${name}` }).click();
      await page.getByRole('menuitem', { name: item }).click();
    };
    await directory(page);
    await shows('Bots');
    await manage('Deactivate…');
    await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click();
    await expect.poll(() => row.count()).toBe(0);
    await shows('Deactivated');
    await row.waitFor();
    await manage('Reactivate');
    await expect.poll(() => row.count()).toBe(0);
    await shows('Bots');
    await row.waitFor();
    expect(aaron.problems).toEqual([]);
  });

  test('a list of more than a hundred entries is continued on request', async () => {
    await using iris = await chat.enter('owner');
    // If the test is retried, the bots of its first run still exist, and a user can have at most 200 bots.
    const { bots } = await iris.person.ok('GET', '/bots');
    const there = new Set(bots.map(({ full_name: name }: { full_name: string }) => name));
    const numbers = Array.from({ length: 104 }, (_, i) => String(i + 1).padStart(3, '0'));
    for (const number of numbers.filter((one) => !there.has(`Robot ${one}`))) {
      await iris.person.ok('POST', '/bots', { full_name: `Robot ${number}`, short_name: `robot${number}` });
    }
    await directory(iris.page);
    await chooseOption(iris.page.getByRole('combobox', { name: 'Show' }), 'Bots');
    await iris.page.getByRole('searchbox', { name: 'Find' }).fill('Robot');
    const names = () => nameButtons(iris.page, 'People');
    await expect.poll(async () => (await names()).length).toBe(100);
    await iris.page.getByRole('button', { name: 'More people' }).click();
    await expect.poll(async () => (await names()).at(-1)).toBe('Robot 104');
    await expect.poll(() => iris.page.getByRole('button', { name: 'More people' }).count()).toBe(0);
    expect(iris.problems).toEqual([]);
  });

  test('a group is created, renamed and filled, which others see immediately', async () => {
    await using iris = await chat.enter('owner');
    await using bela = await chat.enter('member');
    const [crew, deckCrew] = [newName('crew'), newName('deck crew')];
    await groups(iris.page);
    await groups(bela.page);
    const own = await make(iris.page, crew, ['Mona Lindqvist']);
    await groupButton(bela.page, crew).click();
    const seen = bela.page.getByRole('dialog');
    const members = () => nameButtons(bela.page, 'Members');
    await expect.poll(members).toEqual(['Iris Haddad', 'Mona Lindqvist']);

    await choose(iris.page, 'Add people and groups', 'Cleo Dumas');
    await choose(iris.page, 'Add people and groups', 'Moderators');
    await own.getByRole('button', { name: 'Add', exact: true }).click();
    await expect.poll(members).toEqual(['Cleo Dumas', 'Iris Haddad', 'Mona Lindqvist']);
    await seen.getByRole('list', { name: 'Subgroups' }).getByRole('button', { name: 'Moderators' }).waitFor();
    await own.getByRole('button', { name: 'Remove Mona Lindqvist' }).click();
    await own.getByRole('button', { name: 'Remove Moderators' }).click();
    await expect.poll(members).toEqual(['Cleo Dumas', 'Iris Haddad']);
    await expect.poll(() => seen.getByRole('button', { name: 'Moderators' }).count()).toBe(0);

    await own.getByRole('button', { name: 'General' }).click();
    await own.getByRole('textbox', { name: 'Name' }).fill(deckCrew);
    await own.getByRole('textbox', { name: 'Description' }).fill('Ropes and paint.');
    await own.getByRole('button', { name: 'Save' }).click();
    await iris.page.getByRole('dialog', { name: deckCrew }).getByRole('status').getByText('Saved.').waitFor();
    await bela.page.getByRole('dialog', { name: deckCrew }).getByText('Ropes and paint.').waitFor();
    // Users who cannot manage the group cannot edit its fields either.
    expect(await bela.page.getByRole('button', { name: /^(Remove|Add)/ }).count()).toBe(0);
    await bela.page.getByRole('button', { name: 'General' }).click();
    await expect.poll(() => bela.page.getByRole('textbox', { name: 'Name' }).isDisabled()).toBe(true);
    expect([...iris.problems, ...bela.problems]).toEqual([]);
  });

  test('users join and leave groups, and add others, as the current permissions allow', async () => {
    await using iris = await chat.enter('owner');
    await using bela = await chat.enter('member');
    const divers = newName('divers');
    await groups(iris.page);
    await groups(bela.page);
    const own = await make(iris.page, divers, []);
    await groupButton(bela.page, divers).waitFor();
    expect(await bela.page.getByRole('button', { name: `Join ${divers}` }).count()).toBe(0);
    await own.getByRole('button', { name: 'Permissions' }).click();
    await chooseOption(own.getByRole('combobox', { name: 'Join the group' }), 'Members');
    await own.getByRole('button', { name: 'Save permissions' }).click();
    await bela.page.getByRole('button', { name: `Join ${divers}` }).click();
    await own.getByRole('button', { name: 'Members' }).click();
    await expect.poll(() => nameButtons(iris.page, 'Members')).toEqual(['Bela Novak', 'Iris Haddad']);
    await bela.page.getByRole('button', { name: `Leave ${divers}` }).click();
    await expect.poll(() => nameButtons(iris.page, 'Members')).toEqual(['Iris Haddad']);

    const seen = await openGroup(bela.page, divers);
    expect(await seen.getByRole('combobox', { name: 'Add people and groups' }).count()).toBe(0);
    await own.getByRole('button', { name: 'Permissions' }).click();
    await chooseOption(own.getByRole('combobox', { name: 'Add members', exact: true }), 'Members');
    await own.getByRole('button', { name: 'Save permissions' }).click();
    await choose(bela.page, 'Add people and groups', 'Cleo Dumas');
    await seen.getByRole('button', { name: 'Add', exact: true }).click();
    await expect.poll(() => nameButtons(bela.page, 'Members')).toEqual(['Cleo Dumas', 'Iris Haddad']);
    expect(await seen.getByRole('button', { name: /^Remove Cleo/ }).count()).toBe(0);
    expect([...iris.problems, ...bela.problems]).toEqual([]);
  });

  test('a user is warned about a permission that was changed meanwhile, and can overwrite it', async () => {
    await using iris = await chat.enter('owner');
    const { page, person } = iris;
    const name = newName('riggers');
    await groups(page);
    const own = await make(page, name, []);
    await own.getByRole('button', { name: 'Permissions' }).click();
    const join = own.getByRole('combobox', { name: 'Join the group' });
    await chooseOption(join, 'Members');
    const { user_groups: all } = await person.ok('GET', '/user_groups');
    const byName = (wanted: string) => all.find((one: { name: string }) => one.name === wanted);
    const [{ id }, moderators, members] = [name, 'role:moderators', 'role:members'].map(byName);
    const joiners = async () => {
      const { user_groups: now } = await person.ok('GET', '/user_groups');
      return now.find((one: { id: number }) => one.id === id).can_join_group;
    };
    await person.ok('PATCH', `/user_groups/${id}`, { can_join_group: { new: moderators.id } });
    await own.getByText('Another user has changed this to: Moderators').waitFor();
    await own.getByRole('button', { name: 'Save permissions' }).click();
    await own
      .getByRole('alert')
      .getByText('Another user has changed this in the meantime. Your change was not saved.')
      .waitFor();
    expect(await joiners()).toBe(moderators.id);
    await own.getByRole('button', { name: 'Save permissions' }).click();
    await expect.poll(joiners).toBe(members.id);
    await expect.poll(() => own.getByText('Another user has changed this').count()).toBe(0);
    expect(iris.problems).toEqual([]);
  });

  test('a group is deactivated once nothing uses it, and reactivated', async () => {
    await using iris = await chat.enter('owner');
    await using bela = await chat.enter('member');
    const [outerName, innerName] = [newName('outer'), newName('inner')];
    await groups(iris.page);
    await groups(bela.page);
    await make(iris.page, innerName, []);
    await iris.page.keyboard.press('Escape');
    const outer = await make(iris.page, outerName, []);
    await choose(iris.page, 'Add people and groups', innerName);
    await outer.getByRole('button', { name: 'Add', exact: true }).click();
    await outer.getByRole('button', { name: `Remove ${innerName}` }).waitFor();
    await iris.page.keyboard.press('Escape');

    const inner = await openGroup(iris.page, innerName);
    await inner.getByRole('button', { name: 'General' }).click();
    await inner.getByRole('button', { name: 'Deactivate group' }).click();
    const question = iris.page.getByRole('dialog', { name: `Deactivate ${innerName}?` });
    await question.getByRole('button', { name: 'Deactivate' }).click();
    // The alert names the group of which this group is a subgroup.
    await question
      .getByRole('alert')
      .filter({ hasText: `The group is a subgroup of ${outerName}.` })
      .waitFor();
    await question.getByRole('button', { name: 'Cancel' }).click();
    await iris.page.keyboard.press('Escape');
    await openGroup(iris.page, outerName);
    await outer.getByRole('button', { name: `Remove ${innerName}` }).click();
    await expect.poll(() => outer.getByRole('button', { name: `Remove ${innerName}` }).count()).toBe(0);
    await iris.page.keyboard.press('Escape');

    await openGroup(iris.page, innerName);
    await inner.getByRole('button', { name: 'General' }).click();
    await inner.getByRole('button', { name: 'Deactivate group' }).click();
    await question.getByRole('button', { name: 'Deactivate' }).click();
    await expect.poll(() => groupButton(bela.page, innerName).count()).toBe(0);
    await inner.getByRole('button', { name: 'Reactivate group' }).click();
    await groupButton(bela.page, innerName).waitFor();
    expect([...iris.problems, ...bela.problems]).toEqual([]);
  });
});

async function directory(page: Page): Promise<void> {
  await sidebarOf(page).getByRole('link', { name: 'People and groups' }).click();
  await page.getByRole('heading', { level: 1, name: 'People' }).waitFor();
}

async function groups(page: Page): Promise<void> {
  await directory(page);
  await page.getByRole('link', { name: 'Groups', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Groups' }).waitFor();
}

/** Matches the names of buttons that show a user or group, but not of buttons with actions. */
const NAMED = /^(?!(Manage|Remove) |More people$)/;

/** Returns the names of users and groups that are buttons in a list. */
const nameButtons = (page: Page, list: string): Promise<string[]> =>
  page.getByRole('list', { name: list, exact: true }).getByRole('button', { name: NAMED }).allTextContents();

const groupButton = (page: Page, name: string) =>
  page.getByRole('list', { name: 'Groups', exact: true }).getByRole('button', { name, exact: true });

async function openGroup(page: Page, name: string) {
  await groupButton(page, name).click();
  const dialog = page.getByRole('dialog', { name });
  await dialog.waitFor();
  return dialog;
}

/** Creates a group. @returns The dialog of the group, which opens after the creation. */
async function make(page: Page, name: string, people: readonly string[]): Promise<Locator> {
  await page.getByRole('button', { name: 'Create a group' }).click();
  const form = page.getByRole('dialog', { name: 'Create a group' });
  await form.getByRole('textbox', { name: 'Name' }).fill(name);
  for (const person of people) await choose(page, 'Members', person);
  await form.getByRole('button', { name: 'Create' }).click();
  const dialog = page.getByRole('dialog', { name });
  await dialog.waitFor();
  await groupButton(page, name).waitFor();
  return dialog;
}

async function choose(page: Page, label: string, name: string): Promise<void> {
  await page.getByRole('combobox', { name: label }).fill(name.slice(0, 4));
  await page.getByRole('option', { name }).click();
}
