import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { faultsOf } from '../helpers/axe.ts';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { type Mailbox, openMailbox } from '../helpers/mailbox.ts';
import { chooseOption, DemoChat, newName } from '../helpers/web.ts';

const PASSWORD = 'correct horse battery';
const NEW_PASSWORD = 'another good battery';

describe.runIf(hasChromium)(`joining and passwords in the chat${CHROMIUM_NOTE}`, () => {
  let mailbox: Mailbox;
  let chat: DemoChat;
  let stranger: { readonly page: Page; close(): Promise<void> };

  beforeAll(async () => {
    mailbox = await openMailbox();
    chat = new DemoChat({ SMTP_URL: mailbox.url, ORGANIZATION_CREATION: 'on' });
    await chat.start();
    stranger = await chat.openStranger();
  });
  afterAll(async () => {
    await stranger.close();
    await chat[Symbol.asyncDispose]();
    await mailbox[Symbol.asyncDispose]();
  });

  /** Waits for an email to an address whose text contains a link. @returns The link. */
  async function linkTo(address: string, path: string): Promise<string> {
    const found = () =>
      mailbox.mails
        .filter(({ to }) => to.includes(address))
        .map(({ raw }) => raw.replace(/=\r?\n/g, '').replaceAll('=3D', '='))
        .flatMap((raw) => new RegExp(`http://\\S+${path}\\S+`).exec(raw)?.[0] ?? [])
        .at(-1);
    await expect.poll(found, { timeout: 20_000 }).toBeDefined();
    return found() ?? '';
  }

  const signIn = async (page: Page, email: string, password: string) => {
    await page.getByRole('textbox', { name: 'Email' }).fill(email);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  };

  test('an owner creates a link, a person joins with it, resets the password, and signs in', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await page.goto(`${chat.server.url}/people/invitations`);
    await page.getByRole('button', { name: 'Invite people' }).click();
    const dialog = page.getByRole('dialog', { name: 'Invite people' });
    await dialog.getByRole('button', { name: 'By link' }).click();
    await chooseOption(dialog.getByRole('combobox', { name: 'Valid for' }), '3 days');
    await dialog.getByRole('button', { name: 'Create link' }).click();
    const link = await dialog.getByRole('textbox', { name: 'Link' }).inputValue();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('list', { name: 'Invitations' }).getByText('Invitation link').waitFor();

    const name = newName('Zoe');
    const email = `${name.toLowerCase().replace(' ', '.')}@new.example`;
    const visitor = stranger.page;
    await visitor.goto(link);
    await visitor.getByRole('textbox', { name: 'Email' }).fill(email);
    await visitor.getByRole('button', { name: 'Continue' }).click();
    await visitor.getByRole('heading', { name: 'Check your email' }).waitFor();
    await visitor.goto(await linkTo(email, '/join/'));
    await visitor.getByRole('textbox', { name: 'Full name' }).fill(name);
    await visitor.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await visitor.getByLabel('Repeat the password').fill(PASSWORD);
    await visitor.getByRole('button', { name: 'Join' }).click();
    await visitor.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();

    await visitor.getByRole('button', { name: 'Sign out' }).click();
    await visitor.getByRole('button', { name: 'Forgot password?' }).click();
    await visitor.getByRole('textbox', { name: 'Email' }).fill(email);
    await visitor.getByRole('button', { name: 'Send link' }).click();
    await visitor.getByRole('heading', { name: 'Check your email' }).waitFor();
    await visitor.goto(await linkTo(email, '/reset-password'));
    await visitor.getByLabel('New password').fill(NEW_PASSWORD);
    await visitor.getByLabel('Repeat the password').fill(NEW_PASSWORD);
    await visitor.getByRole('button', { name: 'Change password' }).click();
    await visitor.getByRole('heading', { name: 'Password changed' }).waitFor();
    await visitor.getByRole('link', { name: 'Sign in' }).click();
    await signIn(visitor, email, PASSWORD);
    await visitor.getByRole('alert').waitFor();
    await signIn(visitor, email, NEW_PASSWORD);
    await visitor.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();

    await page.getByRole('button', { name: 'Revoke the link' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByText('No invitations.').waitFor();
    await visitor.goto(link);
    await visitor.getByText('This invitation was revoked.').waitFor();
    expect(iris.problems).toEqual([]);
  });

  test('people are invited by email by keyboard, addresses with an account are named, and resending works', async () => {
    await using bela = await chat.enter('member');
    const { page } = bela;
    await page.goto(`${chat.server.url}/people/invitations`);
    await page.getByRole('button', { name: 'Invite people' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Invite people' });
    const email = `${newName('max').replace(' ', '.')}@new.example`;
    const addresses = dialog.getByRole('textbox', { name: 'Email addresses' });
    await expect.poll(() => addresses.evaluate((field) => field === document.activeElement)).toBe(true);
    await page.keyboard.type(`${email} ${chat.person('owner').email}`);
    await dialog.getByRole('button', { name: 'Send invitations' }).press('Enter');
    await dialog.getByRole('list', { name: 'Not invited' }).getByText('already has an account').waitFor();
    await page.keyboard.press('Escape');
    const row = page.getByRole('list', { name: 'Invitations' }).getByRole('listitem').filter({ hasText: email });
    await row.waitFor();
    const first = await linkTo(email, '/join/');
    await row.getByRole('button', { name: /^Resend/ }).press('Enter');
    await expect.poll(() => linkTo(email, '/join/'), { timeout: 20_000 }).not.toBe(first);
    await row.getByRole('button', { name: /^Revoke/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click();
    await expect.poll(() => row.count()).toBe(0);
    expect(bela.problems).toEqual([]);
  });

  test('a visitor signs up where no invitation is required, and another one creates an organization, by keyboard', async () => {
    const { page, close } = await chat.openStranger();
    const home = chat.server.url;
    await page.goto(home);
    await page.getByRole('link', { name: 'Create an organization' }).waitFor();
    expect(await page.getByRole('link', { name: 'Create an account' }).count()).toBe(0);
    await chat.person('owner').ok('PATCH', '/realm', { invite_required: false });
    await page.reload();
    await page.getByRole('link', { name: 'Create an account' }).press('Enter');
    const email = `${newName('uma').replace(' ', '.')}@new.example`;
    await page.getByRole('textbox', { name: 'Email' }).fill(email);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Check your email' }).waitFor();
    await page.goto(await linkTo(email, '/sign-up/'));
    await page.getByRole('textbox', { name: 'Full name' }).fill(newName('Uma'));
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await page.getByLabel('Repeat the password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('link', { name: 'Create an organization' }).press('Enter');
    const owner = `${newName('ora').replace(' ', '.')}@new.example`;
    await page.getByRole('textbox', { name: 'Name of the organization' }).fill('Acme Ships');
    await page.getByRole('textbox', { name: 'Subdomain' }).fill('acme-ships');
    await page.getByRole('textbox', { name: 'Email' }).fill(owner);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Check your email' }).waitFor();
    const link = await linkTo(owner, '/sign-up/');
    expect(new URL(link).hostname).toBe('acme-ships.localhost');
    await page.goto(link);
    await page.getByText('You become the owner of Acme Ships.').waitFor();
    await page.getByRole('textbox', { name: 'Full name' }).fill('Ora Owner');
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await page.getByLabel('Repeat the password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();
    await page.goto(link);
    await page.getByText('This link was already used').waitFor();
    await close();
  });

  test.for(['dark', 'light'] as const)(
    'the pages fit a narrow %s screen, and have no serious axe finding',
    async (colorScheme) => {
      const { page } = stranger;
      const owner = chat.person('owner');
      const { invite_link } = await owner.ok('POST', '/invites/multiuse');
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width: 390, height: 800 });
      const email = `${newName('via').replace(' ', '.')}@new.example`;
      await owner.ok('POST', '/invites', { invitee_emails: email, stream_ids: [] });
      const own = ['/reset-password?token=x', '/sign-up', '/sign-up/x', '/new-organization', '/join/x'];
      const urls = [invite_link, await linkTo(email, '/join/'), ...own.map((path) => `${chat.server.url}${path}`)];
      for (const url of urls) {
        await page.goto(url);
        await page.getByRole('heading', { level: 1 }).waitFor();
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
        expect(await faultsOf(page), url).toEqual([]);
      }
    },
  );
});
