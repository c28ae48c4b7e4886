import { Secret, TOTP } from 'otpauth';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { faultsOf } from '../helpers/axe.ts';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { runCommand } from '../helpers/control.ts';
import { globalId } from '../helpers/global-ids.ts';
import { chooseOption, DemoChat } from '../helpers/web.ts';

const PASSWORD = 'correct horse battery';

const codeOf = (secret: string, steps = 0): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 });

describe.runIf(hasChromium)(`API keys and second factors in the chat${CHROMIUM_NOTE}`, () => {
  let chat: DemoChat;
  beforeAll(async () => {
    chat = new DemoChat();
    await chat.start();
  });
  afterAll(() => chat[Symbol.asyncDispose]());

  const expectSound = async (page: Page) => {
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await faultsOf(page), colorScheme).toEqual([]);
    }
    await page.setViewportSize({ width: 390, height: 844 });
    const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
    expect(await page.evaluate(overflow)).toBe(0);
    await page.setViewportSize({ width: 1280, height: 800 });
  };

  test('a key is created, shown once, used, renamed and revoked', async () => {
    await using iris = await chat.enter('owner');
    const { page, person } = iris;
    await page.goto(`${chat.server.url}/settings/api-keys`);
    await page.getByRole('heading', { name: 'Your keys' }).waitFor();
    await page.getByRole('button', { name: 'Create a key', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Create an API key' });
    await dialog.getByLabel(/^Name/).fill('Deployment');
    await dialog.getByLabel('Send and edit').check();
    await chooseOption(dialog.getByRole('combobox', { name: 'Expires' }), 'In 30 days');
    await expectSound(page);
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    const secret = await dialog.getByRole('textbox', { name: 'API key' }).inputValue();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.getByText('Read, Send and edit').waitFor();
    await page.getByText(/^Never used, expires /).waitFor();
    await expectSound(page);
    const client = person.as(`Basic ${Buffer.from(`${person.email}:${secret}`).toString('base64')}`);
    expect((await client.rest('GET', '/users/me')).status).toBe(200);
    expect((await client.rest('POST', '/register')).body.required_scopes).toBe('events');
    await page.getByRole('button', { name: 'Rename Deployment' }).click();
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('Backup');
    await page.getByRole('dialog').getByRole('button', { name: 'Rename', exact: true }).click();
    await page.getByRole('button', { name: 'Revoke Backup' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByText('The API key was revoked.').waitFor();
    expect((await client.rest('GET', '/users/me')).status).toBe(401);
  });

  test('all bots of a person are listed with all their keys', async () => {
    await using mona = await chat.enter('moderator');
    const { page, person } = mona;
    const nameOf = (i: number) => `Crane ${String(i).padStart(2, '0')}`;
    const ids: number[] = [];
    for (let i = 1; i <= 21; i++) {
      ids.push((await person.ok('POST', '/bots', { full_name: nameOf(i), short_name: `crane-${i}` })).user_id);
    }
    const botId = globalId('User', ids[0] ?? 0);
    for (let i = 1; i <= 21; i++) {
      await person.mutate('createApiKey', { name: `Key ${i}`, scopes: ['READ'], botId }, 'secret');
    }
    await page.goto(`${chat.server.url}/settings/api-keys`);
    const bots = page.getByRole('list', { name: 'Your bots' });
    const first = bots.getByRole('region', { name: `Keys of ${nameOf(1)}` });
    await expect.poll(() => first.getByRole('button', { name: /^Revoke Key/ }).count()).toBe(21);
    const last = bots.getByRole('region', { name: `Keys of ${nameOf(21)}` });
    expect(await last.count()).toBe(0);
    await expectSound(page);
    await bots.getByRole('button', { name: 'More bots' }).click();
    await last.getByText('Only the default key.').waitFor();
    expect(await bots.getByRole('button', { name: 'More bots' }).count()).toBe(0);
  });

  /** Changes the payloads of a mutation that the page receives, as if the service could not read a field back. */
  const omit = (page: Page, mutation: string, field: string) =>
    page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes(`${mutation}(`) !== true) return route.fallback();
      const response = await route.fetch();
      const body = await response.json();
      body.data[mutation][field] = null;
      return route.fulfill({ response, body: JSON.stringify(body) });
    });

  test('a key is selected if the browser has no clipboard, and a key that is not returned is an error', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await page.addInitScript(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
    await page.goto(`${chat.server.url}/settings/api-keys`);
    await page.getByRole('heading', { name: 'Your keys' }).waitFor();
    const create = async (name: string) => {
      await page.getByRole('button', { name: 'Create a key', exact: true }).click();
      await page.getByRole('dialog').getByLabel(/^Name/).fill(name);
      await page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click();
    };
    await create('Copied by hand');
    const field = page.getByRole('dialog').getByRole('textbox', { name: 'API key' });
    await page.getByRole('button', { name: 'Copy API key' }).click();
    await page.getByText('Your browser did not allow copying the API key. It is selected').waitFor();
    const selected = await field.evaluate((input) => {
      const { selectionStart, selectionEnd } = input as HTMLInputElement;
      return document.activeElement === input ? [selectionStart, selectionEnd] : [];
    });
    expect(selected).toEqual([0, (await field.inputValue()).length]);
    await page.getByRole('button', { name: 'Done' }).click();
    await omit(page, 'createApiKey', 'secret');
    await create('Not returned');
    await page.getByRole('alert').getByText('The key was created, but the service did not return it.').waitFor();
    expect(await field.count()).toBe(0);
  });

  test('recovery codes that are not returned are an error', async () => {
    await using mona = await chat.enter('moderator');
    const { page } = mona;
    await omit(page, 'confirmSecondFactor', 'recoveryCodes');
    await page.goto(`${chat.server.url}/settings/account`);
    await page.getByRole('button', { name: 'Add an authenticator app' }).click();
    await page.getByRole('button', { name: 'Continue' }).click();
    const secret = await page.getByLabel('Secret').inputValue();
    await page.getByLabel('Code', { exact: true }).fill(codeOf(secret));
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.getByRole('alert').getByText('The service did not return the recovery codes.').waitFor();
    expect(await page.getByRole('button', { name: 'I have saved the codes' }).count()).toBe(0);
  });

  test('an owner requires a second factor, and a person adds it at sign-in, and signs in with it', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    const { email } = chat.person('member');
    await runCommand(chat.server.dataDir, 'user password', { org: '', user: email, password: PASSWORD });
    await page.goto(`${chat.server.url}/settings/security`);
    const saved = page.waitForResponse((reply) => reply.url().includes('/graphql'));
    await chooseOption(page.getByRole('combobox', { name: 'Require a second factor for' }), 'Everyone except guests');
    await saved;
    await expectSound(page);

    const stranger = await chat.openStranger();
    const visitor = stranger.page;
    await visitor.goto(chat.server.url);
    const enter = async () => {
      await visitor.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
      await visitor.getByRole('textbox', { name: 'Email' }).fill(email);
      await visitor.getByLabel('Password').fill(PASSWORD);
      await visitor.getByRole('button', { name: 'Sign in', exact: true }).click();
    };
    // The method `browser` is for other clients: the page does not offer itself.
    expect(await visitor.getByRole('region', { name: 'Single sign-on' }).count()).toBe(0);
    await enter();
    await visitor.getByRole('heading', { name: 'Add a second factor' }).waitFor();
    await visitor.getByRole('img', { name: 'QR code for the authenticator app' }).locator('path').waitFor();
    const secret = await visitor.getByLabel('Secret').inputValue();
    await expectSound(visitor);
    await visitor.getByLabel('Code', { exact: true }).fill('000000');
    await visitor.getByRole('button', { name: 'Sign in', exact: true }).click();
    await visitor.getByText('Wrong code!').waitFor();
    await visitor.getByLabel('Code', { exact: true }).fill(codeOf(secret, -1));
    await visitor.getByRole('button', { name: 'Sign in', exact: true }).click();
    const codes = (await visitor.locator('.recovery-codes').innerText()).split('\n');
    expect(codes).toHaveLength(10);
    await visitor.getByRole('button', { name: 'I have saved the codes' }).click();
    await visitor.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();

    await visitor.goto(`${chat.server.url}/settings/account`);
    await visitor.getByText('Recovery codes left: 10').waitFor();
    await visitor.getByRole('button', { name: 'Sign out of this browser' }).click();
    await enter();
    await visitor.getByRole('heading', { name: 'Enter your code' }).waitFor();
    await expectSound(visitor);
    await visitor.getByLabel('Code', { exact: true }).fill(codeOf(secret));
    await visitor.keyboard.press('Enter');
    await visitor.getByRole('heading', { level: 1 }).first().waitFor();
    await visitor.getByRole('heading', { name: 'Second factor' }).waitFor();
    await stranger.close();
  });
});
