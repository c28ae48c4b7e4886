import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { globalId } from '../helpers/global-ids.ts';
import { HeldNetwork } from '../helpers/held-network.ts';
import type { Person } from '../helpers/person.ts';
import { type Chatter, channelLink, demoChat, newName, sidebarOf, write } from '../helpers/web.ts';

/** A view of the page. The content of the view contains `word`, which no other view contains. */
interface View {
  readonly address: string;
  /** Matches the heading of the view, which is displayed while its content is still loading. */
  readonly title: RegExp;
  readonly word?: string;
  /** The accessible name of the view's message field. */
  readonly field?: string;
}

describe.runIf(hasChromium)(`the chat on a slow network${CHROMIUM_NOTE}`, { timeout: 150_000 }, () => {
  const chat = demoChat();

  test.for(['forward', 'backward'] as const)(
    'shows nothing of the previous view while the next is being read: every pair of views, %s',
    async (direction) => {
      await using iris = await chat.enter('owner');
      const { page } = iris;
      const views = await viewsFor(iris, chat.person('moderator'));
      if (direction === 'backward') views.reverse();
      // Starts at a view that is not in the list. The inbox, where the user arrived, can be loaded before the network is held.
      await go(page, '/writing/scheduled');
      await page.reload();
      await page.getByRole('heading', { level: 1 }).waitFor();
      const network = await HeldNetwork.of(page);
      for (const [i, view] of views.entries()) {
        const loaded = views.slice(0, i);
        network.hold();
        for (const from of loaded) {
          const { text, fields } = await cross(page, from, view);
          const shown = loaded.filter(({ word }) => word !== undefined && text.includes(word));
          const step = `${from.address} to ${view.address}`;
          expect({ step, shown }).toEqual({ step, shown: [] });
          expect({ step, fields }).toEqual({ step, fields: fields.length === 0 ? [] : [view.field] });
        }
        await go(page, view.address);
        await network.release();
        await expect.poll(() => textOf(page)).toContain(view.word ?? '');
        await expect.poll(() => fieldsIn(page)).toEqual(view.field === undefined ? [] : [view.field]);
      }
    },
  );

  test.for([
    ['a conversation', 'Bela Novak', 'Aaron Weiss'],
    ['a channel', 'website', 'general'],
    ['a channel from a conversation', 'Bela Novak', 'general'],
    ['a conversation from a channel', 'website', 'Aaron Weiss'],
  ] as const)('sends a message to the displayed recipient while the network is slow: %s', async ([, first, second]) => {
    await using iris = await chat.enter('owner');
    const { page, person } = iris;
    const text = newName('to whom');
    for (const name of ['Aaron Weiss', 'Bela Novak']) {
      const { members } = await person.ok('GET', '/users');
      const { user_id: to } = members.find((one: { full_name: string }) => one.full_name === name);
      await person.ok('POST', '/messages', { type: 'direct', to: [to], content: 'Hello' });
    }
    const link = (name: string) =>
      name.includes(' ')
        ? sidebarOf(page).getByRole('link', { name: new RegExp(`^(active|idle|offline) ${name}\\b`) })
        : channelLink(page, name);
    const field = page.getByRole('main').getByRole('textbox', { name: /^Message / });
    await link(first).click();
    await expect.poll(() => field.getAttribute('aria-label')).toContain(first);
    const network = await HeldNetwork.of(page);
    network.hold();
    await link(second).click();
    await page.getByRole('heading', { level: 1, name: second }).waitFor();
    // The page must load the channel before it can display whether the viewer is permitted to write in it.
    if (second === 'general') await network.release();
    await expect.poll(() => field.getAttribute('aria-label')).toContain(second);
    await write(page, text);
    await network.release();
    const sent = async () => {
      const { messages } = await person.ok('GET', '/messages', { anchor: 'newest', num_before: 20, num_after: 0 });
      const found = messages.find(({ content }: { content: string }) => content.includes(text));
      const { display_recipient: to } = found ?? {};
      return typeof to === 'string' ? [to] : to?.map((one: { full_name: string }) => one.full_name);
    };
    await expect.poll(sent).toContain(second);
  });

  test('reads what could not be read offline when the browser is online again', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    await page.context().setOffline(true);
    await sidebarOf(page)
      .getByRole('link', { name: /^website/ })
      .click();
    await page.getByRole('heading', { level: 1, name: 'website' }).waitFor();
    const offline = page.getByRole('main').getByRole('alert').filter({ hasText: 'You are offline.' });
    await offline.first().waitFor();
    await page.context().setOffline(false);
    await page.getByRole('feed', { name: 'Messages in website' }).getByRole('article').first().waitFor();
    await page.getByRole('main').getByRole('textbox', { name: 'Message #website' }).waitFor();
    await expect.poll(() => offline.count()).toBe(0);
  });

  const REFUSALS = {
    'over the rate limit': {
      status: 429,
      body: { errors: [{ message: 'Too often', extensions: { code: 'RATE_LIMIT_HIT', retryAfterSeconds: 2 } }] },
    },
    'without room': {
      status: 507,
      body: { errors: [{ message: 'Full', extensions: { code: 'STORAGE_FULL', retryAfterSeconds: 2 } }] },
    },
    'out of time': {
      status: 200,
      body: {
        data: null,
        errors: [{ message: 'Late', extensions: { code: 'REQUEST_TIMEOUT', retryAfterSeconds: 2 } }],
      },
    },
  };
  test.for(Object.keys(REFUSALS) as (keyof typeof REFUSALS)[])(
    'shows a view that was opened while the service was %s, and retries only after the delay',
    async (refusal) => {
      await using iris = await chat.enter('owner');
      const { page } = iris;
      const views = await viewsFor(iris, chat.person('moderator'));
      await page.reload();
      await page.getByRole('heading', { level: 1 }).waitFor();
      const network = await HeldNetwork.of(page);
      // All views are tested with one reason of refusal. The views do not depend on the reason, so each other reason is tested
      // only with some views.
      for (const view of refusal === 'over the rate limit' ? views : views.slice(1, 4)) {
        const asked = new Map<string, number[]>();
        network.answer(({ query, variables }) => {
          const key = JSON.stringify([query, variables]);
          const times = [...(asked.get(key) ?? []), Date.now()];
          asked.set(key, times);
          return times.length === 1 ? REFUSALS[refusal] : undefined;
        });
        await go(page, view.address);
        await expect.poll(() => textOf(page), { message: view.address }).toContain(view.word ?? '');
        await expect.poll(() => fieldsIn(page)).toEqual(view.field === undefined ? [] : [view.field]);
        for (const [first = 0, second = first + 1_500] of asked.values()) {
          expect(second - first).toBeGreaterThanOrEqual(1_500);
        }
      }
    },
  );

  test('shows why a view cannot be read, and reads it when the user retries', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    const network = await HeldNetwork.of(page);
    const broken = { message: 'Something broke', extensions: { code: 'INTERNAL_ERROR' } };
    const main = page.getByRole('main');
    for (const [address, found] of [
      ['/people', 'Gus Marino'],
      ['/settings/account', 'Old password'],
      ['/writing/scheduled', /You have no scheduled messages|Scheduled for/],
      ['/channels', 'website'],
    ] as const) {
      network.answer(() => ({ status: 200, body: { data: null, errors: [broken] } }));
      await go(page, address);
      await main.getByRole('alert').filter({ hasText: 'Something broke' }).first().waitFor();
      network.answer(() => undefined);
      await main.getByRole('button', { name: 'Try again' }).first().click();
      await main.getByText(found).first().waitFor();
      await expect.poll(() => main.getByRole('alert').count()).toBe(0);
    }
  });
});

const textOf = async (page: Page): Promise<string> => (await page.getByRole('main').textContent()) ?? '';

const fieldsIn = (page: Page): Promise<(string | null)[]> =>
  page
    .getByRole('main')
    .getByRole('textbox', { name: /^Message / })
    .evaluateAll((fields) => fields.map((field) => field.getAttribute('aria-label')));

/**
 * Opens a view that is already loaded and waits until it is displayed. Then opens a second view that is not loaded.
 *
 * @returns The text and the message fields of the main pane at the time when it first has the heading of the second view.
 */
async function cross(page: Page, from: View, to: View): Promise<{ text: string; fields: (string | null)[] }> {
  const way = { from: from.address, word: from.word ?? '', to: to.address, title: to.title.source };
  return page.evaluate(async ({ from, word, to, title }) => {
    const main = document.querySelector('main');
    const text = () => main?.textContent ?? '';
    const go = (address: string) => {
      history.pushState(null, '', address);
      dispatchEvent(new PopStateEvent('popstate'));
    };
    const until = async (isSo: () => boolean, what: string) => {
      const giveUp = performance.now() + 15_000;
      while (!isSo()) {
        if (performance.now() > giveUp) throw new Error(`${from} to ${to}: ${what} in ${text()}`);
        await new Promise(requestAnimationFrame);
      }
    };
    go(from);
    await until(() => text().includes(word), `no ${word}`);
    go(to);
    await until(() => new RegExp(title).test(main?.querySelector('h1')?.textContent ?? ''), `no heading ${title}`);
    const fields = [...(main?.querySelectorAll('textarea') ?? [])].map((field) => field.getAttribute('aria-label'));
    return { text: text(), fields };
  }, way);
}

/** Navigates as a link of the page does, without a reload. */
const go = (page: Page, address: string): Promise<void> =>
  page.evaluate((to) => {
    history.pushState(null, '', to);
    dispatchEvent(new PopStateEvent('popstate'));
  }, address);

/**
 * Returns views of every kind, and several views of the kinds that differ by a channel, topic or user. The content of each is
 * displayed in no other view.
 */
async function viewsFor({ person }: Chatter, mona: Person): Promise<View[]> {
  const word = () => newName('word').replace(' ', '');
  const user = async (name: string) => {
    const { users } = await person.query(`{ users(first: 1, nameContains: "${name}") { nodes { id databaseId } } }`);
    return users.nodes[0] as { id: string; databaseId: number };
  };
  const channel = async (name: string) => {
    const { channels } = await person.query(`{ channels(first: 1, nameContains: "${name}") { nodes { id } } }`);
    return channels.nodes[0].id as string;
  };
  const [aaron, bela, cleo] = await Promise.all([user('Aaron'), user('Bela'), user('Cleo')]);
  const say = async (to: object, text = word(), from = person) =>
    (await from.ok('POST', '/messages', { ...to, content: text })).id as number;

  const [quay, vault] = [newName('quay').replace(' ', '-'), newName('vault').replace(' ', '-')];
  await person.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name: vault }], invite_only: true });
  await mona.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name: quay }] });
  const channelView = async (name: string, from: Person): Promise<View> => {
    const own = word();
    await say({ type: 'channel', to: name, topic: word() }, own, from);
    const address = `/channels/${await channel(name)}/-`;
    return { address, title: new RegExp(`${name}$|^Channel$`), word: own, field: `Message #${name}` };
  };
  const topicView = async (name: string): Promise<View> => {
    const [topic, own] = [word(), word()];
    await say({ type: 'channel', to: name, topic }, own);
    const address = `/channels/${await channel(name)}/-/.${topic}`;
    return { address, title: new RegExp(topic), word: own, field: `Message #${name} › ${topic}` };
  };
  const topicsView = async (name: string): Promise<View> => {
    const topic = word();
    await say({ type: 'channel', to: name, topic });
    return { address: `/channels/${await channel(name)}/-/topics`, title: /all topics/, word: topic };
  };
  const directView = async (names: string, ...people: { id: string; databaseId: number }[]): Promise<View> => {
    const own = word();
    await say({ type: 'direct', to: people.map(({ databaseId }) => databaseId) }, own);
    const address = `/direct/${people
      .map(({ id }) => id)
      .toSorted()
      .join('.')}`;
    return { address, title: new RegExp(names), word: own, field: `Message ${names}` };
  };
  const searchView = async (): Promise<View> => {
    const [text, own] = [word(), word()];
    await say({ type: 'channel', to: 'general', topic: word() }, `${text} ${own}`);
    return { address: `/search/${text}`, title: /Search/, word: own };
  };
  const messageView = async (): Promise<View> => {
    const [own, topic] = [word(), word()];
    const id = await say({ type: 'channel', to: 'website', topic }, own);

    const title = new RegExp(`^Finding|${topic}`);
    return { address: `/messages/${globalId('Message', id)}`, title, word: own, field: `Message #website › ${topic}` };
  };

  const [starred, mentioned, snippet, draft, group] = [word(), word(), word(), word(), word()];
  const star = await say({ type: 'channel', to: 'general', topic: word() }, starred);
  await person.ok('POST', '/messages/flags', { messages: [star], op: 'add', flag: 'starred' });
  await say({ type: 'channel', to: 'general', topic: word() }, `@**Iris Haddad** ${mentioned}`, mona);
  await person.ok('POST', '/saved_snippets', { title: snippet, content: 'Thanks' });
  await person.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: draft }] });
  await person.ok('POST', '/user_groups/create', { name: group, description: 'Some', members: [person.id] });
  return [
    { address: '/inbox', title: /Inbox/ },
    await channelView('website', person),
    await directView('Aaron Weiss', aaron),
    await topicView('website'),
    await searchView(),
    await channelView(vault, person),
    await directView('Bela Novak', bela),
    await topicView('general'),
    await topicsView('website'),
    { address: '/views/starred', title: /Starred/, word: starred },
    await channelView(quay, mona),
    await directView('Bela Novak and Aaron Weiss', aaron, bela),
    await messageView(),
    await searchView(),
    { address: '/people', title: /People/, word: 'Gus Marino' },
    { address: '/settings/preferences', title: /Settings/, word: 'Mark messages as read on scroll' },
    await channelView('general', person),
    // The viewer has no conversation with this user yet.
    { address: `/direct/${cleo.id}`, title: /Cleo Dumas|Direct messages/, field: 'Message Cleo Dumas' },
    { address: '/people/groups', title: /Groups/, word: group },
    { address: '/writing/snippets', title: /Snippets/, word: snippet },
    await topicsView('general'),
    { address: '/views/mentions', title: /Mentions/, word: mentioned },
    { address: '/writing/drafts', title: /Drafts/, word: draft },
    { address: '/settings/account', title: /Settings/, word: 'Old password' },
    // This view has no `word`, because it opens at the first unread message, which varies.
    { address: '/views/all', title: /All messages/ },
    { address: '/channels', title: /Channels/, word: quay },
  ];
}
