import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { type Mailbox, openMailbox } from '../helpers/mailbox.ts';
import { type OpenIdProvider, startOpenIdProvider } from '../helpers/openid-provider.ts';
import { PNG } from '../helpers/pictures.ts';
import { chooseOption, DemoChat, sidebarOf } from '../helpers/web.ts';

const PASSWORD = 'correct horse battery';
const NEW_PASSWORD = 'another good battery';
const DOMAIN = 'harbour.example';

/** People whom the owner invites. Eli signs in with the provider of the organization. */
const PEOPLE = ['Ada', 'Ben', 'Cal', 'Dee', 'Eli'] as const;
type Name = (typeof PEOPLE)[number];
const PASSWORD_USERS = PEOPLE.slice(0, -1);
/** The form of the provider has no icon, for which the browser asks. */
const NO_ICON = 'Failed to load resource: the server responded with a status of 404 (Not Found)';
const addressOf = (name: string): string => `${name.toLowerCase()}@${DOMAIN}`;

/** A person in a browser of their own. */
type Visitor = Awaited<ReturnType<DemoChat['openStranger']>>;

describe.runIf(hasChromium)(`the first day of an organization${CHROMIUM_NOTE}`, { timeout: 240_000 }, () => {
  let mailbox: Mailbox;
  let provider: OpenIdProvider;
  let chat: DemoChat;
  const visitors: Visitor[] = [];

  beforeAll(async () => {
    mailbox = await openMailbox();
    provider = await startOpenIdProvider();
    chat = new DemoChat({ SMTP_URL: mailbox.url, ORGANIZATION_CREATION: 'on' });
    await chat.start();
  });
  afterAll(async () => {
    for (const { close } of visitors) await close();
    await chat[Symbol.asyncDispose]();
    await provider[Symbol.asyncDispose]();
    await mailbox[Symbol.asyncDispose]();
  });

  async function visitor(): Promise<Visitor> {
    const made = await chat.openStranger();
    visitors.push(made);
    return made;
  }

  /** Waits for an email to a person. @returns The link in it. */
  async function linkTo(name: string, path: string): Promise<string> {
    const found = () =>
      mailbox.mails
        .filter(({ to }) => to.includes(addressOf(name)))
        .map(({ raw }) => raw.replace(/=\r?\n/g, '').replaceAll('=3D', '='))
        .flatMap((raw) => new RegExp(`http://\\S+${path}\\S+`).exec(raw)?.[0] ?? [])
        .at(-1);
    await expect.poll(found, { timeout: 20_000 }).toBeDefined();
    return found() ?? '';
  }

  const inbox = (page: Page) => page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();
  const button = (within: Page | Locator, name: string | RegExp) => within.getByRole('button', { name, exact: true });

  async function account(page: Page, name: string, action: string): Promise<void> {
    await page.getByText(`Your email address: ${addressOf(name)}`).waitFor();
    await page.getByRole('textbox', { name: 'Full name' }).fill(name);
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await page.getByLabel('Repeat the password').fill(PASSWORD);
    await button(page, action).click();
    await inbox(page);
  }

  async function section(page: Page, name: string): Promise<void> {
    const navigation = page.getByRole('navigation', { name: 'Settings' });
    if (!(await navigation.isVisible())) await sidebarOf(page).getByRole('link', { name: 'Settings' }).click();
    await navigation.getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { name, level: 2 }).waitFor();
  }

  test('an owner founds it, invites five people who join, administers it, and finds all of it in the audit log', async () => {
    const owner = await visitor();
    const { page } = owner;
    await page.goto(chat.server.url);
    await page.getByRole('link', { name: 'Create an organization' }).click();
    await page.getByRole('textbox', { name: 'Name of the organization' }).fill('Harbour & Sons');
    await page.getByRole('textbox', { name: 'Subdomain' }).fill('harbour');
    await page.getByRole('textbox', { name: 'Email' }).fill(addressOf('Ora'));
    await button(page, 'Continue').click();
    await page.getByRole('heading', { name: 'Check your email' }).waitFor();
    await page.goto(await linkTo('Ora', '/sign-up/'));
    await page.getByText('You become the owner of Harbour & Sons.').waitFor();
    await account(page, 'Ora', 'Create account');

    // The provider of the company, which signs in people with an account or an invitation only.
    await section(page, 'Single sign-on');
    await button(page, 'Add a provider').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name on the button').fill('Sign in with Harbour');
    await dialog.getByLabel(/^Identifier/).fill('company');
    const { clientId, clientSecret } = await provider.register(await dialog.getByLabel(/^Redirect URI/).inputValue());
    await dialog.getByLabel(/^Issuer/).fill(provider.issuer);
    await dialog.getByLabel('Client id').fill(clientId);
    await dialog.getByLabel(/^Client secret/).fill(clientSecret);
    await button(dialog, 'Save').click();
    await page.getByRole('list', { name: 'Identity providers' }).getByText('Sign in with Harbour').waitFor();

    await sidebarOf(page)
      .getByRole('link', { name: /^Inbox/ })
      .click();
    await page
      .getByRole('region', { name: 'Welcome' })
      .getByRole('link', { name: /^Invite people/ })
      .click();
    await button(page, 'Invite people').click();
    await dialog.getByRole('textbox', { name: 'Email addresses' }).fill(PEOPLE.map(addressOf).join('\n'));
    await button(dialog, 'Send invitations').click();
    const invitations = page.getByRole('list', { name: 'Invitations' });
    for (const name of PEOPLE) await invitations.getByText(addressOf(name)).waitFor();

    // Each person follows the link of their email. Ben signs out and chooses a new password by email.
    const pages = new Map<Name, Page>();
    for (const name of PEOPLE) {
      const one = await visitor();
      pages.set(name, one.page);
      await one.page.goto(await linkTo(name, '/join/'));
      await one.page.getByText('Ora invites you to Harbour & Sons.').waitFor();
      if (name !== 'Eli') await account(one.page, name, 'Join');
    }
    const [ben, eli] = [pages.get('Ben'), pages.get('Eli')];
    if (ben === undefined || eli === undefined) throw new Error('A person is missing');
    provider.people.set('eli', { name: 'Eli', email: addressOf('Eli'), email_verified: true });
    await eli.getByRole('link', { name: 'Sign in with Harbour' }).click();
    await eli.getByLabel('Person').fill('eli');
    await eli.getByRole('button', { name: 'Continue' }).click();
    await inbox(eli);
    await invitations.getByText('No invitations.').waitFor();

    await button(ben, 'Sign out').click();
    await button(ben, 'Forgot password?').click();
    await ben.getByRole('textbox', { name: 'Email' }).fill(addressOf('Ben'));
    await button(ben, 'Send link').click();
    await ben.getByRole('heading', { name: 'Check your email' }).waitFor();
    await ben.goto(await linkTo('Ben', '/reset-password'));
    await ben.getByLabel('New password').fill(NEW_PASSWORD);
    await ben.getByLabel('Repeat the password').fill(NEW_PASSWORD);
    await button(ben, 'Change password').click();
    await ben.getByRole('link', { name: 'Sign in' }).click();
    await ben.getByRole('textbox', { name: 'Email' }).fill(addressOf('Ben'));
    await ben.getByLabel('Password').fill(NEW_PASSWORD);
    await button(ben, 'Sign in').click();
    await inbox(ben);

    await section(page, 'People');
    const people = page.getByRole('list', { name: 'People' });
    for (const name of PEOPLE) await people.getByText(name, { exact: true }).waitFor();
    await button(people, 'Manage Cal').click();
    await page.getByRole('menuitem', { name: 'Change role…' }).click();
    await chooseOption(dialog.getByRole('combobox', { name: 'Role' }), 'Moderator');
    await button(dialog, 'Save').click();
    await people.getByText(`Moderator, ${addressOf('Cal')}`).waitFor();

    await section(page, 'Permissions');
    await chooseOption(page.getByRole('combobox', { name: 'Create public channels', exact: true }), 'Moderators');
    await button(page, 'Undo').waitFor();

    await section(page, 'Bots');
    await button(page, 'Create bot').click();
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('Tide clock');
    await dialog.getByRole('textbox', { name: /^Short name/ }).fill('tides');
    await button(dialog, 'Create bot').click();
    await dialog.getByRole('textbox', { name: 'API key' }).waitFor();
    await button(dialog, 'Done').click();
    await page.getByRole('list', { name: 'Bots' }).getByText('Tide clock').waitFor();

    await section(page, 'API keys');
    await button(page, 'Create a key').click();
    await dialog.getByLabel(/^Name/).fill('Backup');
    await button(dialog, 'Create').click();
    await dialog.getByRole('textbox', { name: 'API key' }).waitFor();
    await button(dialog, 'Done').click();
    await page.getByText('Backup').waitFor();

    await section(page, 'Custom emoji');
    await page.getByLabel(/^Image/).setInputFiles({ name: 'anchor.png', mimeType: 'image/png', buffer: PNG });
    await button(page, 'Add emoji').click();
    await page.getByRole('list', { name: 'Custom emoji' }).getByText('anchor').waitFor();

    await section(page, 'Audit log');
    const entries = page.getByRole('list', { name: 'Entries' });
    await entries.getByText('Ora added the emoji anchor').waitFor();
    const listed = (await entries.getByRole('listitem').allInnerTexts()).map((text) => text.split('\n')[0]);
    expect(listed.toReversed()).toEqual([
      ...['A visitor created the organization', 'A visitor created the account of Ora', 'Ora signed in'],
      'Ora added the provider Sign in with Harbour',
      ...PEOPLE.map(() => 'Ora created an invitation'),
      ...PASSWORD_USERS.flatMap((name) => [
        ...[`A visitor created the account of ${name}`, `${name} joined with an invitation`, `${name} signed in`],
      ]),
      ...['The service created the account of Eli', 'Eli joined with an invitation'],
      ...['Eli linked an identity to their own account', 'Eli signed in'],
      ...['Ben signed out', 'A visitor requested a new password for Ben'],
      ...[
        'A visitor used a link to set a new password for Ben',
        'A visitor replaced the API key of Ben',
        'Ben signed in',
      ],
      ...['Ora changed the role of Cal', 'Ora changed settings of the organization'],
      ...[
        'Ora created the account of the bot Tide clock',
        'Ora created the API key Backup',
        'Ora added the emoji anchor',
      ],
    ]);

    // The details name roles, permissions and groups as the pages do.
    for (const [text, details] of [
      ['Ora changed the role of Cal', /role Member Moderator$/],
      ['Ora changed settings', /Create public channels Members Moderators$/],
      ['Ora created the API key Backup', /scopes read user Ora expires at none$/],
      ['Eli joined with an invitation', /invited by Ora$/],
    ] as const) {
      const entry = entries.getByRole('listitem').filter({ hasText: text });
      await entry.locator('summary').press('Enter');
      const shown = async () => (await entry.locator('dl').innerText()).replace(/\s+/g, ' ');
      await expect.poll(shown).toMatch(details);
    }
    await chooseOption(page.getByRole('combobox', { name: 'Action' }), 'Created an invitation');
    await expect.poll(() => entries.getByRole('listitem').count()).toBe(PEOPLE.length);

    const atProvider = (problem: string) => problem.startsWith(`asked ${provider.issuer}/`) || problem === NO_ICON;
    expect(visitors.flatMap(({ problems }) => problems).filter((problem) => !atProvider(problem))).toEqual([]);
  });
});
