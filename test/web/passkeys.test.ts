import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { faultsOf } from '../helpers/axe.ts';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { runCommand } from '../helpers/control.ts';
import { DemoChat } from '../helpers/web.ts';

const PASSWORD = 'correct horse battery';

describe.runIf(hasChromium)(`passkeys in the chat${CHROMIUM_NOTE}`, () => {
  let chat: DemoChat;
  beforeAll(async () => {
    chat = new DemoChat();
    await chat.start();
  });
  afterAll(() => chat[Symbol.asyncDispose]());

  /** Gives the browser an authenticator that verifies its user by itself. */
  async function addAuthenticator(page: Page): Promise<void> {
    const client = await page.context().newCDPSession(page);
    await client.send('WebAuthn.enable');
    const options = {
      ...({ protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true } as const),
      ...{ isUserVerified: true, automaticPresenceSimulation: true },
    };
    await client.send('WebAuthn.addVirtualAuthenticator', { options });
  }

  /** Opens the sign-in page at a host name, because browsers refuse passkeys for IP addresses. */
  async function openSignIn(page: Page): Promise<void> {
    await page.goto(`http://localhost:${chat.server.port}/settings/account`);
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
  }

  async function enterPassword(page: Page, email: string): Promise<void> {
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.getByRole('textbox', { name: 'Email' }).fill(email);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  }

  test('a person adds one, signs in with it as second step and alone, renames and removes it', async () => {
    const { email } = chat.person('member');
    await runCommand(chat.server.dataDir, 'user password', { org: '', user: email, password: PASSWORD });
    const { page, close } = await chat.openStranger();
    await addAuthenticator(page);
    await openSignIn(page);
    await enterPassword(page, email);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Laptop');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    expect((await dialog.locator('.recovery-codes').innerText()).split('\n')).toHaveLength(10);
    await dialog.getByRole('button', { name: 'I have saved the codes' }).click();
    await page.getByText('Recovery codes left: 10').waitFor();
    expect(await faultsOf(page)).toEqual([]);

    // A device has at most one passkey of a person.
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await dialog.getByRole('button', { name: 'Use a passkey instead' }).click();
    await dialog.getByText('already has a passkey for your account').waitFor();
    await page.keyboard.press('Escape');

    await page.getByRole('button', { name: 'Sign out of this browser' }).click();
    await enterPassword(page, email);
    await page.getByRole('heading', { name: 'Use your second factor' }).waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByText('Last used').first().waitFor();

    await page.getByRole('button', { name: 'Sign out of this browser' }).click();
    expect(await faultsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('button', { name: 'Rename Laptop' }).click();
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Notebook');
    await dialog.getByRole('button', { name: 'Rename', exact: true }).click();
    await page.getByRole('button', { name: 'Remove Notebook' }).click();
    await dialog.getByRole('button', { name: 'Use a passkey instead' }).click();
    await page.getByText('The passkey was removed.').waitFor();
    await page.getByText('With a second factor, a sign-in').waitFor();
    await close();
  });

  test('a person adds one at sign-in if a second factor is required, but not at an IP address', async () => {
    const owner = chat.person('owner');
    await owner.ok('PATCH', '/realm', { second_factor_required_role: 600 });
    const { email } = chat.person('member', 1);
    await runCommand(chat.server.dataDir, 'user password', { org: '', user: email, password: PASSWORD });
    const { page, close } = await chat.openStranger();
    await addAuthenticator(page);
    await openSignIn(page);
    await enterPassword(page, email);
    await page.getByRole('heading', { name: 'Add a second factor' }).waitFor();
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('button', { name: 'I have saved the codes' }).click();
    await page.getByRole('heading', { name: 'Second factor' }).waitFor();
    await page.getByRole('button', { name: 'Rename Passkey' }).waitFor();
    // The last second factor cannot be removed while one is required.
    expect(await page.getByRole('button', { name: 'Remove Passkey' }).count()).toBe(0);
    // Browsers refuse passkeys for IP addresses.
    await page.goto(`${chat.server.url}/settings/account`);
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Sign in with a passkey' }).count()).toBe(0);
    await close();
  });
});
