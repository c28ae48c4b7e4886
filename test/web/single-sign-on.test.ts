import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { faultsOf } from '../helpers/axe.ts';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { type OpenIdProvider, startOpenIdProvider } from '../helpers/openid-provider.ts';
import { chooseOption, DemoChat } from '../helpers/web.ts';

describe.runIf(hasChromium)(`single sign-on in the chat${CHROMIUM_NOTE}`, () => {
  let provider: OpenIdProvider;
  let chat: DemoChat;

  beforeAll(async () => {
    provider = await startOpenIdProvider();
    chat = new DemoChat();
    await chat.start();
  });
  afterAll(async () => {
    await chat[Symbol.asyncDispose]();
    await provider[Symbol.asyncDispose]();
  });

  const settings = async (page: Page) => {
    await page.goto(`${chat.server.url}/settings/profile`);
    await page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: 'Single sign-on' }).click();
  };

  test('an owner adds a provider, and a person gets an account by the button on the sign-in page', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await settings(page);
    await page.getByText('No identity providers.').waitFor();
    await page.getByRole('button', { name: 'Add a provider' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add a provider' });
    await dialog.getByLabel('Name on the button').fill('Sign in with Company');
    await dialog.getByLabel(/^Identifier/).fill('company');
    const redirectUri = await dialog.getByLabel(/^Redirect URI/).inputValue();
    expect(redirectUri).toMatch(/\/accounts\/login\/openid\/company\/callback$/);
    const { clientId, clientSecret } = await provider.register(redirectUri);
    await dialog.getByLabel(/^Issuer/).fill(provider.issuer);
    await dialog.getByLabel('Client id').fill(clientId);
    await dialog.getByLabel(/^Client secret/).fill(clientSecret);
    await dialog.getByLabel('Create accounts for people of these domains').check();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('List at least one').waitFor();
    await dialog.getByLabel(/^Email domains/).fill('company.example');
    await dialog.getByLabel(/^Groups claim/).fill('groups');
    await dialog.getByRole('button', { name: 'Add a value' }).click();
    await dialog.getByRole('textbox', { name: 'Value 1' }).fill('leads');
    await chooseOption(dialog.getByRole('combobox', { name: 'Role 1' }), 'Moderator');
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await faultsOf(page), colorScheme).toEqual([]);
    }
    await dialog.getByRole('button', { name: 'Save' }).click();
    const row = page.getByRole('list', { name: 'Identity providers' }).getByRole('listitem');
    await row.getByText('Sign in with Company').waitFor();

    const name = 'Petra Quist';
    provider.people.set('petra', {
      ...{ name, email: 'petra@company.example', email_verified: true, groups: ['leads'] },
    });
    const stranger = await chat.openStranger();
    const visitor = stranger.page;
    await visitor.goto(`${chat.server.url}/people`);
    await visitor.getByRole('link', { name: 'Sign in with Company' }).waitFor();
    expect(await faultsOf(visitor)).toEqual([]);
    await visitor.setViewportSize({ width: 390, height: 844 });
    const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
    expect(await visitor.evaluate(overflow)).toBe(0);
    await visitor.setViewportSize({ width: 1280, height: 800 });
    await visitor.getByRole('link', { name: 'Sign in with Company' }).press('Enter');
    await visitor.getByLabel('Person').fill('petra');
    await visitor.getByRole('button', { name: 'Continue' }).click();
    await visitor.getByRole('heading', { name: 'People', level: 1 }).waitFor();
    expect(new URL(visitor.url()).pathname).toBe('/people');
    const { members } = await iris.person.ok('GET', '/users');
    expect(members.find((one: { full_name: string }) => one.full_name === name)).toMatchObject({ role: 300 });

    // An app that opened the browser gets a code, which the page shows.
    await visitor.setViewportSize({ width: 390, height: 844 });
    await visitor.goto(`${chat.server.url}/accounts/login/openid/company?desktop_flow_otp=${'0'.repeat(64)}`);
    await visitor.getByRole('heading', { name: 'Continue in the app' }).waitFor();
    for (const colorScheme of ['dark', 'light'] as const) {
      await visitor.emulateMedia({ colorScheme });
      expect(await faultsOf(visitor), colorScheme).toEqual([]);
    }
    expect(await visitor.evaluate(overflow)).toBe(0);
    await visitor.keyboard.press('Tab');
    expect(await visitor.evaluate('document.activeElement.textContent')).toBe('Copy');
    await visitor.setViewportSize({ width: 1280, height: 800 });

    // A person who is not an owner sees neither the tab nor the list.
    await visitor.goto(`${chat.server.url}/settings/single-sign-on`);
    await visitor.getByText('Only owners can see these settings.').waitFor();
    expect(await visitor.getByRole('link', { name: 'Single sign-on' }).count()).toBe(0);

    // The linked identity is the only way to sign in.
    await visitor.goto(`${chat.server.url}/settings/account`);
    await visitor.getByRole('button', { name: 'Unlink Sign in with Company' }).click();
    const unlink = visitor.getByRole('dialog');
    await unlink.getByRole('button', { name: 'Unlink', exact: true }).click();
    await unlink.getByText('This is your only way to sign in.').waitFor();
    expect(await faultsOf(visitor)).toEqual([]);
    await unlink.getByRole('button', { name: 'Cancel' }).click();

    // The sign-out at the provider comes back to the sign-in page.
    await visitor.getByRole('button', { name: 'Sign out of this browser' }).click();
    const there = visitor.getByRole('link', { name: 'Sign out of the provider' });
    await there.waitFor();
    expect(await faultsOf(visitor)).toEqual([]);
    await there.click();
    await visitor.getByRole('button', { name: 'Yes, sign me out' }).click();
    await visitor.getByRole('heading', { name: 'Sign in', exact: true }).waitFor();
    await visitor.getByRole('link', { name: 'Sign in with Company' }).click();
    await visitor.getByLabel('Person').waitFor();
    await stranger.close();

    await row.getByRole('button', { name: 'Edit Sign in with Company' }).click();
    const edit = page.getByRole('dialog', { name: 'Edit Sign in with Company' });
    expect(await edit.getByRole('textbox', { name: 'Value 1' }).inputValue()).toBe('leads');
    await edit.getByLabel('People can sign in with this provider').uncheck();
    await edit.getByRole('button', { name: 'Save' }).click();
    await row.getByText('disabled').waitFor();
    const later = await chat.openStranger();
    await later.page.goto(chat.server.url);
    await later.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await later.page.getByRole('link', { name: 'Sign in with Company' }).count()).toBe(0);
    await later.close();

    await row.getByRole('button', { name: 'Delete Sign in with Company' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('No identity providers.').waitFor();
  });
});
