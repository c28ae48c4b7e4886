import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { isGroupPicked } from '../helpers/part.ts';
import { DemoChat, message, open, sidebarOf, write } from '../helpers/web.ts';

describe.runIf(hasChromium && isGroupPicked('web/drafts.test.ts'))(
  `what is not sent yet${CHROMIUM_NOTE}`,
  { timeout: 60_000 },
  () => {
    let chat: DemoChat;
    beforeAll(async () => {
      chat = await DemoChat.start();
    }, 60_000);
    afterAll(() => chat?.[Symbol.asyncDispose]());

    test('is there in the next window, goes on there, and is gone from both when it is sent', async () => {
      await using here = await chat.enter('member');
      await using there = await chat.enter('member');
      for (const { page } of [here, there]) await open(page, 'website', 'launch');
      await field(here.page).fill('Half a thought');
      await expect.poll(() => field(there.page).inputValue()).toBe('Half a thought');
      await field(there.page).fill('A whole thought');
      await expect.poll(() => field(here.page).inputValue()).toBe('A whole thought');
      await field(there.page).press('Control+Enter');
      await message(here.page, 'A whole thought').waitFor();
      await expect.poll(() => field(here.page).inputValue()).toBe('');
      await expect.poll(async () => (await here.person.ok('GET', '/drafts'))['count']).toBe(0);
      expect([...here.problems, ...there.problems]).toEqual([]);
    });

    test('is kept for each conversation, over a reload at once, and in a list from which one goes on', async () => {
      await using iris = await chat.enter('owner');
      const { page, person } = iris;
      const { count } = await person.ok('GET', '/drafts');
      await open(page, 'website', 'launch');
      await field(page).fill('about the launch');
      await open(page, 'website', 'build');
      await expect.poll(() => field(page).inputValue()).toBe('');
      await field(page).fill('about the build');
      await page.reload();
      await expect.poll(() => field(page).inputValue()).toBe('about the build');
      await expect.poll(async () => (await person.ok('GET', '/drafts'))['count']).toBe(count + 2);
      await sidebarOf(page).getByRole('link', { name: 'Drafts and later' }).click();
      const list = page.getByRole('list', { name: 'Drafts' });
      await list.getByText('about the build').waitFor();
      const launch = list.getByRole('listitem').filter({ hasText: 'about the launch' });
      await launch.getByRole('link', { name: '#website › launch' }).click();
      await expect.poll(() => field(page).inputValue()).toBe('about the launch');
      await page.goBack();
      await launch.getByRole('button', { name: 'Delete' }).click();
      await expect.poll(() => list.getByRole('listitem').count()).toBe(count + 1);
      await open(page, 'website', 'launch');
      await expect.poll(() => field(page).inputValue()).toBe('');
      expect(iris.problems).toEqual([]);
    });

    test('is saved before one signs out, is not for who signs in next, and is there when one is back', async () => {
      await using gus = await chat.enter('guest');
      const { page, person } = gus;
      const signIn = async (name: string) => {
        await page.getByRole('region', { name: 'The demo' }).getByRole('button', { name }).click();
        await open(page, 'website', 'launch');
      };
      const next = chat.person('member');
      const before = await next.ok('GET', '/drafts');
      await open(page, 'website', 'launch');
      await field(page).fill('Just before I go');
      await page.getByRole('button', { name: 'Sign out' }).click();
      await signIn('Bela Novak');
      expect(await field(page).inputValue()).not.toBe('Just before I go');
      expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage }))).not.toContain('Just before I go');
      await page.getByRole('button', { name: 'Sign out' }).click();
      await signIn('Gus Marino');
      await expect.poll(() => field(page).inputValue()).toBe('Just before I go');
      expect((await next.ok('GET', '/drafts'))['count']).toBe(before['count']);
      const { drafts } = await person.ok('GET', '/drafts');
      const contents = drafts.map(({ content }: { content: string }) => content);
      expect(contents.filter((text: string) => text === 'Just before I go')).toHaveLength(1);
    });

    test('waits in a tab for who wrote it, though somebody else signs in and out there meanwhile', async () => {
      await using gus = await chat.enter('guest');
      const { page } = gus;
      const signIn = async (name: string) => {
        await page.getByRole('region', { name: 'The demo' }).getByRole('button', { name }).click();
        await open(page, 'website', 'launch');
      };
      const kept = () => page.evaluate(() => JSON.stringify({ ...sessionStorage }));
      let isRefused = true;
      await page.route('**/graphql', (route) =>
        isRefused && route.request().postData()?.includes('SendMessage') ? route.abort() : route.fallback(),
      );
      await open(page, 'website', 'launch');
      await write(page, 'For when I am back');
      await page.getByRole('region', { name: 'Not sent yet' }).getByText('For when I am back').waitFor();
      // The session ends elsewhere, and not by their signing out.
      await page.context().clearCookies();
      await page.goto(chat.startUrl);
      await signIn('Bela Novak');
      expect(await page.getByRole('region', { name: 'Not sent yet' }).count()).toBe(0);
      await write(page, 'Of no use any more');
      await page.getByRole('region', { name: 'Not sent yet' }).getByText('Of no use any more').waitFor();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('region', { name: 'The demo' }).waitFor();
      expect(await kept()).toContain('For when I am back');
      expect(await kept()).not.toContain('Of no use any more');
      isRefused = false;
      await signIn('Gus Marino');
      await message(page, 'For when I am back').waitFor();
      await expect.poll(() => page.getByRole('region', { name: 'Not sent yet' }).count()).toBe(0);
    });

    test('is one draft with the last words, though the answer to its making was lost', async () => {
      await using bela = await chat.enter('member');
      const { page, person } = bela;
      const keys: (string | undefined)[] = [];
      await page.route('**/graphql', async (route) => {
        if (!route.request().postData()?.includes('CreateDraft')) return route.fallback();
        keys.push(route.request().headers()['idempotency-key']);
        const response = await route.fetch();
        return keys.length === 1 ? route.abort() : route.fulfill({ response });
      });
      const { count } = await person.ok('GET', '/drafts');
      await open(page, 'website', 'launch');
      await field(page).fill('A thought');
      await expect.poll(() => keys.length).toBe(1);
      await field(page).fill('A thought that goes on');
      const contents = async () => {
        const { drafts } = await person.ok('GET', '/drafts');
        return drafts
          .map(({ content }: { content: string }) => content)
          .filter((text: string) => text.startsWith('A t'));
      };
      await expect.poll(contents).toEqual(['A thought that goes on']);
      expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
      await field(page).press('Control+Enter');
      await message(page, 'A thought that goes on').waitFor();
      await expect.poll(async () => (await person.ok('GET', '/drafts'))['count']).toBe(count);
      await expect.poll(() => field(page).inputValue()).toBe('');
    });
  },
);

/** Where one writes. */
const field = (page: Page) => page.getByRole('form', { name: 'Write a message' }).getByLabel(/^Message /);
