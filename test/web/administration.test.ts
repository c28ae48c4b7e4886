import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { globalId } from '../helpers/global-ids.ts';
import { PNG } from '../helpers/pictures.ts';
import { chooseOption, demoChat, newName, optionNames } from '../helpers/web.ts';

describe.runIf(hasChromium)(`the administration of an organization in the chat${CHROMIUM_NOTE}`, () => {
  const chat = demoChat();

  const settings = async (page: Page, section: string) => {
    await page.goto(`${chat.server.url}/settings/${section}`);
    await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
  };

  test('an administrator sees at once which settings and permissions an owner changes, and can undo own changes', async () => {
    await using iris = await chat.enter('owner');
    await using aaron = await chat.enter('administrator');
    const [own, other] = [iris.page, aaron.page];
    await Promise.all([settings(own, 'organization'), settings(other, 'organization')]);

    await own.getByRole('searchbox', { name: 'Find a setting' }).fill('read receipts');
    const receipts = own.getByRole('checkbox', { name: 'Read receipts' });
    await expect.poll(() => own.getByRole('checkbox').count()).toBe(1);
    const before = await receipts.isChecked();
    await receipts.press('Space');
    await own.getByRole('button', { name: 'Undo' }).waitFor();
    const seen = other.getByRole('checkbox', { name: 'Read receipts' });
    await expect.poll(() => seen.isChecked()).toBe(!before);
    await own.getByRole('button', { name: 'Undo' }).press('Enter');
    await expect.poll(() => seen.isChecked()).toBe(before);
    await expect.poll(() => receipts.evaluate((element) => element === document.activeElement)).toBe(true);

    await own.getByRole('searchbox', { name: 'Find a setting' }).fill('');
    await chooseOption(own.getByRole('combobox', { name: 'Time limit for edits' }), 'Other…');
    await own.getByRole('spinbutton', { name: 'Time limit for edits, in minutes' }).fill('90');
    await own.keyboard.press('Enter');
    const limit = other.getByRole('combobox', { name: 'Time limit for edits' });
    await expect.poll(() => limit.innerText()).toBe('90 minutes');
    await own.getByRole('textbox', { name: 'Name', exact: true }).fill('Harbour & Sons');
    await own.getByRole('button', { name: 'Save Name' }).click();
    await expect
      .poll(() => other.getByRole('textbox', { name: 'Name', exact: true }).inputValue())
      .toBe('Harbour & Sons');

    const icon = (page: Page) => page.getByRole('group', { name: 'Icon' });
    await icon(own).getByLabel('Image file').setInputFiles({ name: 'icon.png', mimeType: 'image/png', buffer: PNG });
    const shownIcon = icon(other).locator('img');
    await expect.poll(() => shownIcon.getAttribute('src')).toMatch(/\?v=/);
    await icon(own).getByRole('button', { name: 'Remove image' }).click();
    await expect.poll(() => shownIcon.getAttribute('src')).not.toMatch(/\?v=/);

    // The settings of owners are shown to administrators, who cannot change them.
    expect(await other.getByRole('checkbox', { name: 'Require an invitation to join' }).isDisabled()).toBe(true);

    await Promise.all([settings(own, 'permissions'), settings(other, 'permissions')]);
    const creators = (page: Page) => page.getByRole('combobox', { name: 'Create public channels', exact: true });
    await chooseOption(creators(own), 'Moderators');
    const chosen = creators(other);
    await expect.poll(() => chosen.innerText()).toBe('Moderators');
    await chooseOption(creators(own), 'Specific users and groups…');
    const picker = own.getByRole('combobox', { name: 'Create public channels: users and groups' });
    await picker.fill('Mona');
    await own.getByRole('option', { name: 'Mona Lindqvist' }).click();
    await own.getByRole('button', { name: 'Save Create public channels' }).click();
    const listed = other.getByRole('list', { name: 'Create public channels: users and groups: chosen' });
    await listed.getByText('Mona Lindqvist').waitFor();
    await own.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(() => chosen.innerText()).toBe('Moderators');
    const webPublic = own.getByRole('combobox', { name: 'Create web-public channels' });
    expect(await optionNames(webPublic)).toEqual(['Moderators', 'Administrators', 'Owners', 'Nobody']);
    expect([...iris.problems, ...aaron.problems]).toEqual([]);
  });

  test('an owner turns weekly digests on and chooses their day, and a person turns them off', async () => {
    await using iris = await chat.enter('owner');
    await using cleo = await chat.enter('member');
    await Promise.all([settings(iris.page, 'organization'), settings(cleo.page, 'notifications')]);
    await iris.page.getByRole('checkbox', { name: 'Send weekly digests' }).press('Space');
    await chooseOption(iris.page.getByRole('combobox', { name: 'Day of weekly digests' }), 'Friday');
    await cleo.page.getByRole('checkbox', { name: /^Send a weekly digest/ }).press('Space');
    const state = async () => {
      const [organization, own] = await Promise.all([iris.person.register(), cleo.person.register()]);
      const { realm_digest_emails_enabled: isOn, realm_digest_weekday: weekday } = organization;
      return [isOn, weekday, own.user_settings.enable_digest_emails];
    };
    await expect.poll(state).toEqual([true, 4, false]);
    expect([...iris.problems, ...cleo.problems]).toEqual([]);
  });

  test('an owner ends a session, revokes a key, changes a role, and deactivates and reactivates a person', async () => {
    await using iris = await chat.enter('owner');
    await using mona = await chat.enter('moderator');
    const { page, problems } = iris;
    await settings(page, 'people');
    const people = page.getByRole('list', { name: 'People' });
    await chooseOption(page.getByRole('combobox', { name: 'Role' }), 'Moderator');
    const row = people.getByRole('listitem').filter({ hasText: 'Mona Lindqvist' });
    await row.getByText(/^Moderator, \S+@/).waitFor();
    await expect.poll(() => people.getByRole('listitem').count()).toBe(1);
    await row.getByText(/, no second factor$/).waitFor();
    const withFactor = page.getByRole('combobox', { name: 'Second factor' });
    await chooseOption(withFactor, 'Yes');
    await people.getByText('No people found.').waitFor();
    await chooseOption(withFactor, 'No');
    await row.waitFor();
    const choose = async (item: string) => {
      await row.getByRole('button', { name: 'Manage Mona Lindqvist' }).click();
      await page.getByRole('menuitem', { name: item }).click();
    };

    await choose('Sessions…');
    const sessions = page.getByRole('dialog', { name: 'Sessions of Mona Lindqvist' });
    await sessions.getByRole('button', { name: /^Sign out of/ }).click();
    await sessions.getByText('No active sessions.').waitFor();
    await mona.page.getByRole('button', { name: 'Sign in' }).first().waitFor();
    await page.keyboard.press('Escape');

    await mona.person.mutate('createApiKey', { name: 'Timetable', scopes: ['READ'] }, 'secret');
    await choose('API keys…');
    const keys = page.getByRole('dialog', { name: 'API keys of Mona Lindqvist' });
    await keys.getByRole('button', { name: 'Revoke Timetable' }).waitFor();
    await mona.person.mutate('createApiKey', { name: 'Departures', scopes: ['READ'] }, 'secret');
    await keys.getByRole('button', { name: 'Revoke Departures' }).waitFor();
    const { viewer } = await mona.person.query('{ viewer { apiKeys { nodes { id name } } } }');
    const { id: apiKeyId } = viewer.apiKeys.nodes.find(({ name }: { name: string }) => name === 'Departures');
    await mona.person.mutate('revokeApiKey', { apiKeyId }, 'apiKeyId');
    await expect.poll(() => keys.getByRole('button', { name: 'Revoke Departures' }).count()).toBe(0);
    await keys.getByRole('button', { name: 'Revoke Timetable' }).click();
    expect(await keys.getByRole('button', { name: 'Rename Timetable' }).count()).toBe(0);
    await page.getByRole('dialog', { name: 'Revoke Timetable?' }).getByRole('button', { name: 'Revoke' }).click();
    await keys.getByText('Only the default key.').waitFor();
    await page.keyboard.press('Escape');

    await choose('Change role…');
    await chooseOption(page.getByRole('dialog').getByRole('combobox', { name: 'Role' }), 'Member');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await people.getByText('No people found.').waitFor();
    await chooseOption(page.getByRole('combobox', { name: 'Role' }), 'Any');
    // Bots have no second factor, so the choice is hidden and no longer applies.
    await chooseOption(page.getByRole('combobox', { name: 'Show' }), 'Bots');
    await people.getByRole('listitem').filter({ hasText: 'Build Bot' }).waitFor();
    expect(await withFactor.count()).toBe(0);
    await chooseOption(page.getByRole('combobox', { name: 'Show' }), 'People');
    await expect.poll(() => withFactor.textContent()).toBe('Any');
    await page.getByRole('searchbox', { name: 'Find' }).fill('mona');
    await choose('Deactivate…');
    await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click();
    await people.getByText('No people found.').waitFor();
    await chooseOption(page.getByRole('combobox', { name: 'Show' }), 'Deactivated');
    await choose('Reactivate');
    await people.getByText('No people found.').waitFor();
    await iris.person.ok('PATCH', `/users/${mona.person.id}`, { role: 300 });
    expect(problems).toEqual([]);
  });

  test('a bot gets an owner and a new key, each key is shown once, and the bot is deactivated', async () => {
    await using iris = await chat.enter('owner');
    const { page, problems } = iris;
    await settings(page, 'bots');
    await page.getByRole('button', { name: 'Create bot' }).click();
    const dialog = page.getByRole('dialog');
    const name = newName('Deploy');
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill(name);
    await dialog.getByRole('textbox', { name: /^Short name/ }).fill(name.toLowerCase().replace(' ', '-'));
    await page.keyboard.press('Enter');
    const key = dialog.getByRole('textbox', { name: 'API key' });
    const first = await key.inputValue();
    expect(first).toMatch(/^\w{32}$/);
    await dialog.getByRole('button', { name: 'Done' }).click();
    const row = page.getByRole('list', { name: 'Bots' }).getByRole('listitem').filter({ hasText: name });
    await row.getByText(/owned by Iris Haddad/).waitFor();
    const choose = async (item: string) => {
      await row.getByRole('button', { name: `Manage ${name}` }).click();
      await page.getByRole('menuitem', { name: item }).click();
    };

    await choose('New API key…');
    await dialog.getByRole('button', { name: 'Replace key' }).click();
    expect(await key.inputValue()).not.toBe(first);
    await dialog.getByRole('button', { name: 'Done' }).click();
    await choose('Edit…');
    await dialog.getByRole('combobox', { name: 'Owner' }).fill('Aaron');
    await page.getByRole('option', { name: 'Aaron Weiss' }).click();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await row.getByText(/owned by Aaron Weiss/).waitFor();
    await choose('Deactivate…');
    await dialog.getByRole('button', { name: 'Deactivate' }).click();
    await expect.poll(() => row.count()).toBe(0);
    await chooseOption(page.getByRole('combobox', { name: 'Show' }), 'Deactivated');
    await row.waitFor();
    expect(problems).toEqual([]);
  });

  test('an administrator lists and revokes the named API keys of the bot of another person', async () => {
    await using aaron = await chat.enter('administrator');
    const { page, problems } = aaron;
    const member = chat.person('member');
    const name = newName('Ferry');
    const { user_id } = await member.ok('POST', '/bots', { full_name: name, short_name: name.replace(' ', '-') });
    const { email } = (await member.ok('GET', `/users/${user_id}`)).user;
    const input = { name: 'Timetable', scopes: ['READ'], botId: globalId('User', user_id) };
    const { secret } = await member.mutate('createApiKey', input, 'secret');
    const bot = member.as(`Basic ${Buffer.from(`${email}:${secret}`).toString('base64')}`);
    expect((await bot.rest('GET', '/users/me')).status).toBe(200);
    await settings(page, 'bots');
    await page.getByRole('button', { name: `Manage ${name}` }).click();
    await page.getByRole('menuitem', { name: 'API keys…' }).click();
    const dialog = page.getByRole('dialog', { name: `API keys of ${name}` });
    await dialog.getByText('Timetable').waitFor();
    await dialog.getByRole('button', { name: 'Revoke Timetable' }).click();
    const confirmation = page.getByRole('dialog', { name: 'Revoke Timetable?' });
    await confirmation.getByRole('button', { name: 'Revoke', exact: true }).click();
    await dialog.getByText('Only the default key.').waitFor();
    expect((await bot.rest('GET', '/users/me')).status).toBe(401);
    expect(problems).toEqual([]);
  });

  test('an administrator adds custom emoji, profile fields, default channels and folders', async () => {
    await using aaron = await chat.enter('administrator');
    const { page, problems } = aaron;
    const dialog = page.getByRole('dialog');
    await settings(page, 'emoji');
    const emoji = `ship_${Date.now()}`;
    const file = { name: `${emoji}.png`, mimeType: 'image/png', buffer: PNG };
    await page.getByLabel(/^Image/).setInputFiles(file);
    expect(await page.getByRole('textbox', { name: 'Name' }).inputValue()).toBe(emoji);
    await page.getByRole('button', { name: 'Add emoji' }).click();
    const added = page.getByRole('list', { name: 'Custom emoji' }).getByRole('listitem').filter({ hasText: emoji });
    await added.getByRole('button', { name: `Deactivate ${emoji}` }).click();
    await dialog.getByRole('button', { name: 'Deactivate' }).click();
    await expect.poll(() => added.count()).toBe(0);

    await settings(page, 'profile-fields');
    const fields = page.getByRole('list', { name: 'Profile fields' });
    const [team, floor] = [newName('Team'), newName('Floor')];
    for (const name of [team, floor]) {
      await page.getByRole('button', { name: 'Add a field' }).click();
      await dialog.getByRole('textbox', { name: 'Name' }).fill(name);
      await chooseOption(dialog.getByRole('combobox', { name: 'Type' }), 'List of options');
      await dialog.getByRole('textbox', { name: /^Options/ }).fill('One\nTwo');
      await dialog.getByRole('button', { name: 'Save' }).click();
      await fields.getByText(name).waitFor();
    }
    await fields.getByRole('button', { name: `Move ${floor} up` }).click();
    const names = async () =>
      (await fields.getByRole('strong').allInnerTexts()).filter((one) => [team, floor].includes(one));
    await expect.poll(names).toEqual([floor, team]);
    await fields.getByRole('button', { name: `Edit ${team}` }).click();
    await dialog.getByRole('textbox', { name: /^Options/ }).fill('One\nThree');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => dialog.count()).toBe(0);
    const { customProfileFields } = await aaron.person.query('{ customProfileFields { name choices { key text } } }');
    const { choices } = customProfileFields.find((one: { name: string }) => one.name === team);
    expect(choices).toEqual([
      { key: '0', text: 'One' },
      { key: '1', text: 'Three' },
    ]);
    for (const name of [team, floor]) {
      await fields.getByRole('button', { name: `Delete ${name}` }).click();
      await dialog.getByRole('button', { name: 'Delete' }).click();
      await expect.poll(() => fields.getByText(name).count()).toBe(0);
    }

    await settings(page, 'default-channels');
    const defaults = page.getByRole('list', { name: 'Default channels' });
    await page.getByRole('searchbox', { name: 'Find channels' }).fill('website');
    await page.getByRole('button', { name: 'Add website' }).click();
    await defaults.getByText('website').waitFor();
    await defaults.getByRole('button', { name: 'Remove website' }).click();
    await page.getByRole('button', { name: 'Add website' }).waitFor();
    expect(await defaults.getByText('website').count()).toBe(0);

    await settings(page, 'folders');
    const folders = page.getByRole('list', { name: 'Folders' });
    const folder = newName('Folder');
    await page.getByRole('textbox', { name: 'New folder' }).fill(folder);
    await page.keyboard.press('Enter');
    await folders.getByRole('button', { name: `Edit ${folder}` }).click();
    await dialog.getByRole('textbox', { name: /^Description/ }).fill('Old things');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await folders.getByText('Old things').waitFor();
    await folders.getByRole('button', { name: `Archive ${folder}` }).click();
    await expect.poll(() => folders.getByText(folder).count()).toBe(0);

    await settings(page, 'domains');
    await page.getByText('Only owners can change the domains.').waitFor();
    await settings(page, 'usage');
    await page.getByRole('row', { name: /^Channels .*\d \d/ }).waitFor();
    expect(problems).toEqual([]);
  });

  test('an owner begins at the card on the first screen, and allows a domain', async () => {
    await using iris = await chat.enter('owner');
    const { page, problems } = iris;
    const card = page.getByRole('region', { name: 'Welcome' });
    await card.getByRole('link', { name: /^Set the name and icon/ }).click();
    await page.getByRole('textbox', { name: 'Name', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Domains' }).click();
    const domain = `d${Date.now()}.example`;
    await page.getByRole('textbox', { name: 'Domain' }).fill(domain);
    await page.keyboard.press('Enter');
    const row = page.getByRole('list', { name: 'Domains' }).getByRole('listitem').filter({ hasText: domain });
    await row.getByRole('checkbox', { name: `Subdomains of ${domain}` }).check();
    await row.getByRole('button', { name: `Remove ${domain}` }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await expect.poll(() => row.count()).toBe(0);
    await page.goto(`${chat.server.url}/inbox`);
    await card.getByRole('button', { name: 'Close' }).click();
    await page.reload();
    await page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();
    expect(await card.count()).toBe(0);
    expect(problems).toEqual([]);
  });

  test('a member sees only the own settings', async () => {
    await using cleo = await chat.enter('member');
    const { page, problems } = cleo;
    await settings(page, 'permissions');
    await page.getByText('Only administrators can see these settings.').waitFor();
    const navigation = page.getByRole('navigation', { name: 'Settings' });
    await navigation.getByRole('link', { name: 'Profile' }).waitFor();
    for (const name of ['Profile and settings', 'Permissions', 'Audit log', 'Single sign-on']) {
      expect(await navigation.getByRole('link', { name }).count(), name).toBe(0);
    }
    expect(problems).toEqual([]);
  });

  test('narrow screens show the list of sections, or one section', async () => {
    await using iris = await chat.enter('owner', { viewport: { width: 390, height: 844 } });
    const { page } = iris;
    await page.goto(`${chat.server.url}/settings`);
    const navigation = page.getByRole('navigation', { name: 'Settings' });
    await navigation.getByRole('link', { name: 'Permissions' }).press('Enter');
    const heading = page.getByRole('heading', { name: 'Permissions', level: 2 });
    await expect.poll(() => heading.evaluate((element) => element === document.activeElement)).toBe(true);
    expect(await navigation.isVisible()).toBe(false);
    await page.getByRole('link', { name: 'All settings' }).press('Enter');
    await navigation.getByRole('link', { name: 'Audit log' }).waitFor();
    const profile = navigation.getByRole('link', { name: 'Profile', exact: true });
    await expect.poll(() => profile.evaluate((element) => element === document.activeElement)).toBe(true);
  });
});
