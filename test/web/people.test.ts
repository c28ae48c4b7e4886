import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { runCommand } from '../helpers/control.ts';
import { chooseOption, demoChat, message, newName, open, optionNames, sidebarOf } from '../helpers/web.ts';

describe.runIf(hasChromium)(`people in the chat${CHROMIUM_NOTE}`, () => {
  const chat = demoChat();

  test('shows status and presence to others, who open the user card from a message and write from there', async () => {
    await using mona = await chat.enter('moderator');
    await using iris = await chat.enter('owner');
    const content = newName('who writes this?');
    await mona.person.ok('POST', '/messages', { ...LAUNCH, content });
    const own = mona.page.getByRole('button', { name: 'Set your status' });
    await own.click();
    const form = mona.page.getByRole('dialog', { name: 'Your status' });
    await expect.poll(() => form.getByRole('textbox', { name: 'Status' }).evaluate(isFocused)).toBe(true);
    await form.getByRole('button', { name: 'On holiday' }).click();
    await form.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => own.evaluate(isFocused)).toBe(true);

    await open(iris.page, 'website', 'launch');
    const sender = message(iris.page, content).getByRole('button', { name: 'Mona Lindqvist' });
    await sender.click();
    const card = iris.page.getByRole('dialog', { name: 'Mona Lindqvist' });
    for (const text of ['Moderator', 'On holiday', 'Active']) await card.getByText(text).waitFor();
    await card.getByRole('link', { name: 'Message' }).click();
    await iris.page.getByRole('heading', { level: 1, name: 'Mona Lindqvist' }).waitFor();
    await expect.poll(() => card.count()).toBe(0);
    expect([...iris.problems, ...mona.problems]).toEqual([]);
  });

  test('hides the presence of invisible users', async () => {
    await chat.person('member').ok('PATCH', '/settings', { presence_enabled: true });
    await using bela = await chat.enter('member');
    const line = sidebarOf(bela.page).getByRole('paragraph').filter({ hasText: 'Bela Novak' });
    const own = (presence: string) => line.getByText(presence, { exact: true });
    await own('active').waitFor();
    await bela.page.getByRole('button', { name: 'Set your status' }).click();
    await bela.page.getByRole('checkbox', { name: /^Invisible/ }).check();
    await bela.page.getByRole('button', { name: 'Save' }).click();
    await own('offline').waitFor();
  });

  test('saves profile, image and settings, which another window shows immediately', async () => {
    await using cleo = await chat.enter('member');
    const { page, person } = cleo;
    const [field, gull] = [newName('Boat'), newName('Gull')];
    await person.ok('PATCH', '/settings', { color_scheme: 1, enter_sends: false });
    const version = async () => {
      const { user } = await person.ok('GET', `/users/${person.id}`);
      return Number(/v=(\d+)$/.exec(user.avatar_url)?.[1]);
    };
    const before = await version();
    await chat.person('owner').ok('POST', '/realm/profile_fields', { name: field, field_type: 1 });
    const elsewhere = await page.context().newPage();
    await elsewhere.goto(new URL('/settings/preferences', page.url()).href);

    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('textbox', { name: field }).fill(`the *${gull}*`);
    await page.getByRole('button', { name: 'Save profile' }).click();
    await page.getByRole('status', { name: 'Notices' }).getByText('Saved.').waitFor();
    await page
      .getByLabel('Image file')
      .setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: await picture() });
    await page.getByRole('button', { name: 'Remove image' }).waitFor();
    await page.getByRole('button', { name: 'Preview profile' }).click();
    await page.getByRole('dialog').getByText(`the ${gull}`).waitFor();
    await page.keyboard.press('Escape');

    await page.getByRole('link', { name: 'Preferences' }).click();
    await chooseOption(page.getByRole('combobox', { name: 'Theme' }), 'Dark');
    await page.getByRole('checkbox', { name: 'Enter sends a message' }).check();
    await expect.poll(() => elsewhere.getByRole('combobox', { name: 'Theme' }).textContent()).toBe('Dark');
    await expect.poll(() => elsewhere.evaluate(() => document.documentElement.dataset['theme'])).toBe('dark');
    await expect.poll(() => elsewhere.getByRole('checkbox', { name: 'Enter sends a message' }).isChecked()).toBe(true);
    expect(await version()).toBeGreaterThan(before);
    expect(cleo.problems).toEqual([]);
  });

  test('shows all times in the chosen clock format immediately', async () => {
    await using bela = await chat.enter('member', { locale: 'en-US' });
    const { page, person } = bela;
    const content = newName('what time is it?');
    await chat.person('owner').ok('POST', '/messages', { ...LAUNCH, content });
    await open(page, 'website', 'launch');
    const time = message(page, content).getByRole('time');
    await expect.poll(() => time.textContent()).toMatch(/^\d+:\d\d\s(AM|PM)$/);
    await person.ok('PATCH', '/settings', { twenty_four_hour_time: true });
    await expect.poll(() => time.textContent()).toMatch(/^\d\d:\d\d$/);
    await person.ok('PATCH', '/settings', { twenty_four_hour_time: false });
    await expect.poll(() => time.textContent()).toMatch(/(AM|PM)$/);
  });

  test('reports a message, and shows the result', async () => {
    await using bela = await chat.enter('member');
    const { page } = bela;
    const iris = chat.person('owner');
    await iris.ok('PATCH', '/realm', { moderation_request_channel_id: -1 });
    const [content, why] = [newName('buy my boats'), newName('Boats are not for sale here.')];
    await iris.ok('POST', '/messages', { ...LAUNCH, content });
    await open(page, 'website', 'launch');
    await message(page, content).hover();
    await message(page, content).getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Report…' }).click();
    const form = page.getByRole('dialog', { name: 'Report this message' });
    const reasons = await optionNames(form.getByRole('combobox', { name: 'Reason' }));
    expect(reasons).toHaveLength(5);
    await chooseOption(form.getByRole('combobox', { name: 'Reason' }), 'Another reason');
    await form.getByRole('textbox', { name: 'Describe the problem' }).fill(why);
    await form.getByRole('button', { name: 'Report' }).click();
    // No channel for moderation requests is configured yet, so reporting fails.
    await form.getByRole('alert').waitFor();
    const { channels } = await iris.query('{ channels(first: 1, nameContains: "leads") { nodes { databaseId } } }');
    await iris.ok('PATCH', '/realm', { moderation_request_channel_id: channels.nodes[0].databaseId });
    await form.getByRole('button', { name: 'Report' }).click();
    await page.getByText('The message by Iris Haddad was reported to the moderators.').waitFor();
    await expect.poll(() => form.count()).toBe(0);
    const { messages } = await iris.ok('GET', '/messages', { anchor: 'newest', num_before: 1, num_after: 0 });
    expect(messages[0].content).toContain(why);
  });

  test('signs in with the new password, and shows that the old one is wrong', async () => {
    const [first, second] = [newName('correct horse'), newName('battery staple')];
    const { email } = chat.person('administrator');
    await runCommand(chat.server.dataDir, 'user password', { user: email, password: first });
    await using aaron = await chat.enter('administrator');
    const { page } = aaron;
    await page.goto(new URL('/settings/account', page.url()).href);
    const form = page.getByRole('form', { name: 'Password' });
    await form.getByRole('textbox', { name: 'Old password' }).fill(first);
    await form.getByRole('textbox', { name: 'New password' }).fill(second);
    await form.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('Your password was changed.').waitFor();
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    // Waits for the sign-in page first. Until it is displayed, the settings are visible, which have fields with these names
    // too.
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.getByRole('textbox', { name: 'Email' }).fill(email);
    await page.getByRole('textbox', { name: 'Password' }).fill(first);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByRole('textbox', { name: 'Password' }).fill(second);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await sidebarOf(page).waitFor();
  });

  test('lists the sessions of the user, and ends them', async () => {
    await using here = await chat.enter('guest');
    await using there = await chat.enter('guest');
    await here.page.goto(new URL('/settings/account', here.page.url()).href);
    await here.page.getByText(/^This browser/).waitFor();
    const said = there.page.getByRole('alert').filter({ hasText: 'You were signed out' });
    await open(there.page, 'website', 'launch');
    const draft = newName('not sent yet');
    await there.page.getByRole('textbox', { name: /^Message #website/ }).fill(draft);
    await here.page.getByRole('button', { name: 'Sign out everywhere else' }).click();
    await there.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await said.waitFor();
    await expect.poll(() => here.page.getByRole('button', { name: /^Sign out of Chrome/ }).count()).toBe(0);
    // The draft still exists after the user has signed in again.
    await there.page.getByRole('button', { name: 'Gus Marino' }).click();
    await expect.poll(() => there.page.getByRole('textbox', { name: /^Message #website/ }).inputValue()).toBe(draft);
    // After a sign-out by the user, the sign-in page does not say that the session has ended.
    await there.page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await there.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await said.count()).toBe(0);
  });

  test.for([
    ['/direct/VXNlcjo5OTk5OTk=', 'User not found'],
    ['/direct/nobody', 'User not found'],
    ['/direct/VXNlcjoy.VXNlcjo5OTk5OTk=', 'Some users were not found'],
    ['/channels/Q2hhbm5lbDo5OTk5OTk=/x', 'Channel not found'],
    ['/channels/nothing/x/.topic', 'Channel not found'],
    ['/channels/nothing/x/topics', 'Channel not found'],
    ['/messages/TWVzc2FnZTo5OTk5OTk=', 'Message not found'],
    ['/messages/nothing', 'Message not found'],
  ] as const)('shows what is missing at an unknown address: %s', async ([address, said]) => {
    await using bela = await chat.enter('member');
    const { page } = bela;
    await page.goto(new URL(address, page.url()).href);
    await page.getByRole('heading', { level: 1, name: said }).waitFor();
    expect(await page.getByRole('main').getByRole('alert').count()).toBe(0);
    expect(await page.getByRole('form', { name: 'Write a message' }).count()).toBe(0);
  });
});

const LAUNCH = { type: 'channel', to: 'website', topic: 'launch' } as const;

const picture = () =>
  sharp({ create: { width: 64, height: 64, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();

const isFocused = (element: Element) => element === document.activeElement;
