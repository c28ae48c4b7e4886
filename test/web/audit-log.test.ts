import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { chooseOption, demoChat } from '../helpers/web.ts';

describe.runIf(hasChromium)(`the audit log in the chat${CHROMIUM_NOTE}`, () => {
  const chat = demoChat();

  test('lists who changed what, with filters, details and a download', async () => {
    await using iris = await chat.enter('owner');
    const { page, person, problems } = iris;
    const mona = chat.person('moderator');
    for (const role of [400, 300]) await person.ok('PATCH', `/users/${mona.id}`, { role });
    await person.ok('PATCH', '/realm', { description: 'Ships and sails' });

    await page.goto(new URL('/settings/audit-log', page.url()).href);
    const entries = page.getByRole('list', { name: 'Entries' });
    const changed = entries.getByRole('listitem').filter({ hasText: 'Iris Haddad changed the role of Mona Lindqvist' });
    await changed.first().waitFor();
    await entries.getByText('changed settings of the organization').first().waitFor();

    await chooseOption(page.getByRole('combobox', { name: 'Action' }), 'Changed the role');
    await expect.poll(() => entries.getByText('changed settings of the organization').count()).toBe(0);
    const newest = changed.first();
    await newest.locator('summary').focus();
    await page.keyboard.press('Enter');
    await newest.getByText('role', { exact: true }).waitFor();
    await newest.locator('del', { hasText: 'Member' }).waitFor();
    await newest.locator('ins', { hasText: 'Moderator' }).waitFor();

    await page.getByText('Entries are deleted after 365 days.').waitFor();
    await chooseOption(page.getByRole('combobox', { name: 'Action' }), 'All actions');
    const objects = page.getByRole('combobox', { name: 'Object' });
    await chooseOption(objects, 'Organization');
    await entries.getByText('changed settings of the organization').first().waitFor();
    await expect.poll(() => changed.count()).toBe(0);
    await chooseOption(objects, 'Users');
    await changed.first().locator('summary').click();
    await changed.first().getByRole('button', { name: 'Only entries about Mona Lindqvist' }).press('Enter');
    const only = page.getByText('Only entries about Mona Lindqvist');
    await expect.poll(() => only.evaluate((element) => element === document.activeElement)).toBe(true);
    const others = entries.getByRole('listitem').filter({ hasNotText: 'Mona Lindqvist' });
    await changed.first().waitFor();
    await expect.poll(() => others.count()).toBe(0);
    const download = new URL((await page.getByRole('link', { name: 'CSV' }).getAttribute('href')) ?? '', page.url());
    expect(Object.fromEntries(download.searchParams)).toEqual({
      ...{ format: 'csv', object_type: 'user', object_id: String(mona.id) },
    });
    await page.getByRole('button', { name: 'Show all objects' }).press('Enter');
    await expect.poll(() => objects.evaluate((element) => element === document.activeElement)).toBe(true);
    await chooseOption(objects, 'All objects');

    // The filter also works for an object that no longer exists.
    const { apiKey } = await person.mutate('createApiKey', { name: 'Timetable', scopes: ['READ'] }, 'apiKey { id }');
    await person.mutate('revokeApiKey', { apiKeyId: apiKey.id }, 'apiKeyId');
    await page.reload();
    await chooseOption(objects, 'API keys');
    const revoked = entries.getByRole('listitem').filter({ hasText: 'Iris Haddad revoked the API key Timetable' });
    await revoked.locator('summary').click();
    await revoked.getByRole('button', { name: 'Only entries about Timetable' }).click();
    await page.getByText('Only entries about Timetable').waitFor();
    await entries.getByText('created the API key').waitFor();
    await expect.poll(() => entries.getByRole('listitem').count()).toBe(2);
    await page.getByRole('button', { name: 'Show all objects' }).click();
    await chooseOption(objects, 'All objects');
    await chooseOption(page.getByRole('combobox', { name: 'Action' }), 'Changed the role');

    const people = page.getByRole('combobox', { name: 'People' });
    await people.fill('Mona');
    await page.getByRole('option', { name: 'Mona Lindqvist' }).click();
    await entries.getByText('No entries.').waitFor();
    await page.getByRole('button', { name: 'Remove Mona Lindqvist' }).click();
    await changed.first().waitFor();

    const downloading = page.waitForEvent('download');
    await page.getByRole('link', { name: 'CSV' }).click();
    const file = await downloading;
    expect(file.suggestedFilename()).toMatch(/^audit-log-[\d-]+\.csv$/);
    const text = await readFile(await file.path(), 'utf8');
    const [head, ...rows] = text.trim().split('\r\n');
    expect(head).toMatch(/^id,time,actor_kind/);
    expect(rows.length).toBeGreaterThanOrEqual(2);
    expect(rows.every((row) => row.includes('user_role_changed'))).toBe(true);
    await chooseOption(page.getByRole('combobox', { name: 'Action' }), 'All actions');
    await entries.getByText('exported the audit log').first().waitFor();
    expect(problems).toEqual([]);
  });

  test('is not offered to other members', async () => {
    await using cleo = await chat.enter('member');
    await cleo.page.goto(new URL('/settings/audit-log', cleo.page.url()).href);
    await cleo.page.getByText('Only administrators can read the audit log.').waitFor();
    const tabs = cleo.page.getByRole('navigation', { name: 'Settings' });
    await tabs.getByRole('link', { name: 'Preferences' }).waitFor();
    expect(await tabs.getByRole('link', { name: 'Audit log' }).count()).toBe(0);
  });
});
