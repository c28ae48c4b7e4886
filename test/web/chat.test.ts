import type { Page, Request, Route } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { faultsOf } from '../helpers/axe.ts';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import {
  type Chatter,
  channelLink,
  demoChat,
  message,
  newName,
  notSent,
  open,
  sidebarOf,
  write,
} from '../helpers/web.ts';

describe.runIf(hasChromium)(`the chat in two browsers${CHROMIUM_NOTE}`, () => {
  const chat = demoChat();

  test('shows a sent message to another user immediately, once and rendered', async () => {
    await using iris = await chat.enter('owner');
    await using bela = await chat.enter('member');
    for (const { page } of [iris, bela]) {
      await open(page, 'website', 'launch');
      // Waits until the list is loaded, because messages in the loaded list are not announced.
      await page
        .locator('[role=feed]:not([aria-busy=true]) [role=article], [role=feed]:not([aria-busy=true]) article')
        .first()
        .waitFor();
    }
    const said = newName('Is this there?');
    await write(iris.page, `${said.replace('this', '**this**')} :tada: $$x^2$$`);
    for (const { page } of [iris, bela]) {
      await message(page, said).waitFor();
      await expect.poll(() => message(page, said).count()).toBe(1);
      await expect.poll(() => message(page, said).getByText('🎉').count()).toBe(1);
    }
    await expect.poll(() => notSent(iris.page).count()).toBe(0);
    // Screen readers announce the message once, without interrupting other speech.
    const announced = bela.page.locator('[aria-live="polite"]');
    await expect.poll(() => announced.textContent()).toContain(`Iris Haddad: ${said}`);
    expect([...iris.problems, ...bela.problems]).toEqual([]);
  });

  test('counts unread messages of a topic until the user opens it', async () => {
    await using iris = await chat.enter('owner');
    await using bela = await chat.enter('member');
    await open(iris.page, 'general');
    await open(bela.page, 'website', 'build');
    const general = channelLink(bela.page, 'general');
    const before = /\d+/.exec((await general.textContent()) ?? '')?.[0] ?? '0';
    await open(iris.page, 'general', 'summer party');
    const [one, another] = [newName('one more'), newName('and another')];
    for (const text of [one, another]) await write(iris.page, text);
    await expect.poll(() => general.textContent()).toBe(`general${Number(before) + 2} unread`);
    await open(bela.page, 'general', 'summer party');
    await message(bela.page, another).waitFor();
    await expect.poll(() => general.textContent()).toBe('general');
  });

  test('continues without a gap or reload after the service is killed and restarted', {
    timeout: 120_000,
  }, async () => {
    await using iris = await chat.enter('owner');
    await using bela = await chat.enter('member');
    for (const { page } of [iris, bela]) {
      await open(page, 'website', 'launch');
      await page.evaluate(() => Object.assign(window, { isStillHere: true }));
    }
    const texts: string[] = [];
    for (const round of [1, 2, 3]) {
      const [before, during] = [newName(`before kill ${round}`), newName(`while it was dead ${round}`)];
      await write(iris.page, before);
      await chat.server.kill9();
      await write(iris.page, during);
      await iris.page.getByText('Waiting for the connection').first().waitFor();
      await chat.server.restart();
      texts.push(before, during);
      for (const { page } of [iris, bela]) await message(page, during).waitFor();
    }
    for (const { page } of [iris, bela]) {
      for (const text of texts) await expect.poll(() => message(page, text).count()).toBe(1);
      expect(await page.evaluate(() => 'isStillHere' in window)).toBe(true);
      await sidebarOf(page).getByRole('status').filter({ hasText: 'Live' }).waitFor();
    }
  });

  test('shows the state of the connection, in words only while there is none', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    const state = sidebarOf(page).getByRole('status');
    await state.filter({ hasText: 'Live' }).waitFor();
    const width = async () => (await state.boundingBox())?.width ?? 0;
    expect(await width()).toBeLessThan(2);
    await page.context().setOffline(true);
    await state.filter({ hasText: 'Offline' }).waitFor();
    expect(await width()).toBeGreaterThan(20);
    await page.context().setOffline(false);
    await state.filter({ hasText: 'Live' }).waitFor();
  });

  test('keeps a message written offline over a reload, and sends it once', async () => {
    await using bela = await chat.enter('member');
    await using iris = await chat.enter('owner');
    const written = newName('written in a tunnel');
    for (const { page } of [bela, iris]) await open(page, 'website', 'launch');
    await bela.page.context().setOffline(true);
    await write(bela.page, written);
    await bela.page.getByText('Waiting for the connection').waitFor();
    await bela.page.context().setOffline(false);
    await bela.page.reload();
    for (const { page } of [bela, iris]) await message(page, written).waitFor();
    await expect.poll(() => message(bela.page, written).count()).toBe(1);
  });

  test('shows that a message was rejected, and sends it again on request', async () => {
    await using gus = await chat.enter('guest');
    await open(gus.page, 'website', 'launch');
    const please = newName('please');
    let refusals = 0;
    await gus.page.route('**/graphql', async (route) => {
      if (!route.request().postData()?.includes('SendMessage') || refusals > 0) return route.continue();
      refusals++;
      const error = { __typename: 'ValidationError', code: 'BAD_REQUEST', message: 'Not just now', path: null };
      return route.fulfill({ json: { data: { sendMessage: error } } });
    });
    await write(gus.page, please);
    await gus.page.getByRole('alert').getByText("Couldn't send: Not just now").waitFor();
    await gus.page.getByRole('button', { name: 'Retry' }).click();
    await message(gus.page, please).waitFor();
    await expect.poll(() => gus.page.getByRole('alert').count()).toBe(0);
  });

  test('shows that its version differs from that of the service, and sends after a reload', async () => {
    await using gus = await chat.enter('guest');
    const { page } = gus;
    await open(page, 'website', 'launch');
    const said = newName('over an upgrade');
    const banner = page.getByRole('status', { name: 'Version' });
    expect(await banner.textContent()).toBe('');
    // Renames the mutation in the request, as if the service had a newer version without this mutation.
    await page.route('**/graphql', (route) =>
      route.continue({ postData: route.request().postData()?.replace('sendMessage(', 'sendLetter(') ?? '' }),
    );
    await write(page, said);
    await banner.getByText('A new version of the chat is available.').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.unroute('**/graphql');
    await banner.getByRole('button', { name: 'Reload' }).click();
    await message(page, said).waitFor();
    await expect.poll(() => notSent(page).count()).toBe(0);
    expect(await banner.textContent()).toBe('');
  });

  test('shows a sent message until it is in the list, even if the page is busy for long', async () => {
    await using bela = await chat.enter('member');
    const { page } = bela;
    const said = newName('busy as a bee');
    const [heard, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    page.on('websocket', (socket) =>
      socket.on('framereceived', ({ payload }) => String(payload).includes(said) && heard.resolve()),
    );
    await page.reload();
    await page.route('**/graphql', async (route) => {
      if (!route.request().postData()?.includes('SendMessage')) return route.fallback();
      const response = await route.fetch();
      await heard.promise;
      await route.fulfill({ response });
      answered.resolve();
    });
    await open(page, 'website', 'launch');
    await page.getByRole('feed', { name: 'Messages in website, launch' }).waitFor();
    await page.evaluate(() => {
      const waiting: (() => void)[] = [];
      const rest = () => {
        window.requestIdleCallback = (act) => setTimeout(act);
        for (const act of waiting) act();
      };
      window.requestIdleCallback = (act) => waiting.push(act as () => void);
      Object.assign(window, { rest });
    });
    await write(page, said);
    const pending = notSent(page).getByText(said);
    // Waits until the page has processed the response to the mutation, and the event.
    await answered.promise;
    await page.evaluate(() => new Promise((resolve) => setTimeout(() => requestAnimationFrame(resolve))));
    expect(await pending.count()).toBe(1);
    expect(await message(page, said).count()).toBe(0);
    await page.evaluate(() => (window as unknown as { rest(): void }).rest());
    await message(page, said).waitFor();
    await expect.poll(() => pending.count()).toBe(0);
  });

  test('shows a message that arrives while its list is being read', async () => {
    await using bela = await chat.enter('member');
    const { page } = bela;
    await allRead(bela);
    await using held = await holdTimeline(page);
    await open(page, 'website');
    await held.isAnswered;
    const content = newName('between two answers');
    await chat.person('owner').ok('POST', '/messages', { ...LAUNCH, content });
    // A higher unread count shows that the page has received the event.
    await channelLink(page, 'website').getByText(/[1-9]/).first().waitFor();
    held.release();
    await message(page, content).waitFor();
  });

  test('reads a list again if a message was moved while it was being read', async () => {
    await using bela = await chat.enter('member');
    const { page } = bela;
    const iris = chat.person('owner');
    const topic = { type: 'channel', to: 'website', topic: newName('old place') };
    const place = newName('new place');
    const { id } = await iris.ok('POST', '/messages', { ...topic, content: 'moved on its way' });
    await iris.ok('POST', '/messages', { ...topic, content: 'stays where it is' });
    await open(page, 'website');
    await message(page, 'stays where it is').first().waitFor();
    await using held = await holdTimeline(page);
    await open(page, 'website', topic.topic);
    await held.isAnswered;
    await iris.ok('PATCH', `/messages/${id}`, { topic: place, propagate_mode: 'change_one' });
    const topics = sidebarOf(page).getByRole('list', { name: 'Topics in website' });
    await topics.getByRole('link', { name: place }).waitFor();
    held.release();
    await message(page, 'stays where it is').waitFor();
    await expect.poll(() => message(page, 'moved on its way').count()).toBe(0);
  });

  test('reads a list again if a new event queue was registered while it was being read', async () => {
    await using bela = await chat.enter('member');
    const { page, person } = bela;
    await allRead(bela);
    const registered = page.waitForResponse((reply) => isOf(reply.request(), 'mutation Register('));
    await page.reload();
    const { data } = await (await registered).json();
    await open(page, 'website', 'build');
    await page.getByRole('feed', { name: 'Messages in website, build' }).waitFor();
    const isLost = Promise.withResolvers<void>();
    const isSaid = Promise.withResolvers<void>();
    await page.route('**/graphql', async (route) => {
      if (!isOf(route.request(), 'mutation Register(')) return route.fallback();
      isLost.resolve();
      await isSaid.promise;
      return route.fallback();
    });
    await using held = await holdTimeline(page);
    await open(page, 'website', 'launch');
    await held.isAnswered;
    await person.ok('DELETE', '/events', { queue_id: data.registerEventQueue.queueId });
    await isLost.promise;
    const content = newName('while nobody listened');
    await chat.person('owner').ok('POST', '/messages', { ...LAUNCH, content });
    const again = page.waitForResponse((reply) => isOf(reply.request(), 'mutation Register('));
    isSaid.resolve();
    await again;
    // The page gets unread counts when it registers a queue. So a count shows that the page has registered again.
    await channelLink(page, 'website').getByText(/[1-9]/).first().waitFor();
    held.release();
    await message(page, content).waitFor();
  });

  test('signs in with one click from the start URL, and shows that a start URL has expired', async () => {
    await using mona = await chat.enter('moderator');
    const { page } = mona;
    expect(page.url()).not.toContain('start=');
    expect(await page.evaluate(() => document.cookie)).toBe('');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.goto(`${chat.server.url}/#start=${'x'.repeat(43)}`);
    await page.getByText('This start address is not valid').waitFor();
    expect(page.url()).not.toContain('start=');
  });

  test('keeps the scroll position to a pixel when older messages are prepended', async () => {
    await using bela = await chat.enter('member');
    const { person, page } = bela;
    await open(page, 'website', 'launch');
    const long = { type: 'channel', to: 'website', topic: newName('long'), read_by_sender: true };
    for (let i = 0; i < 130; i++) {
      const content = `line ${i}\n\n${'more '.repeat(i % 40)}`;
      await person.ok('POST', '/messages', { ...long, content });
    }
    await page.reload();
    await open(page, 'website', long.topic);
    const list = page.getByRole('feed');
    await message(page, 'line 129').waitFor();
    const shown = await page.getByRole('article').count();
    expect(shown).toBeLessThan(130);
    const { id, y } = await list.evaluate((element) => {
      // Scrolls to a position at which older messages are loaded, and does not scroll further.
      element.scrollTo(0, 300);
      const edge = element.getBoundingClientRect().top;
      const row = [...element.querySelectorAll('article')].find((one) => one.getBoundingClientRect().bottom > edge);
      return { id: row?.dataset['id'] ?? '', y: row?.getBoundingClientRect().y ?? 0 };
    });
    await expect.poll(() => page.getByRole('article').count()).toBeGreaterThan(shown);
    expect(Math.abs((await topOf(page, id)) - y)).toBeLessThanOrEqual(1);
  });

  test('keeps a new scroll position if content changes in the same frame', async () => {
    await using bela = await chat.enter('member');
    const { person, page } = bela;
    const long = { type: 'channel', to: 'website', topic: newName('scrolled'), read_by_sender: true };
    for (let i = 0; i < 40; i++) await person.ok('POST', '/messages', { ...long, content: `line ${i}` });
    await page.reload();
    await open(page, 'website', long.topic);
    await message(page, 'line 39').waitFor();
    // Scrolls to a position near the end, then to one in the middle.
    for (const to of [500, 200]) {
      const y = await page.getByRole('feed').evaluate(async (element, top) => {
        // The browser dispatches scroll events before it draws a frame. If a script scrolls within a frame, the event is
        // dispatched with the next frame.
        await new Promise((resolve) => requestAnimationFrame(resolve));
        element.scrollTop = top;
        const row = [...element.querySelectorAll('article')].at(30);
        const before = row?.getBoundingClientRect().y ?? 0;
        // Makes content below the row taller, as an image does when it has loaded.
        element.querySelector<HTMLElement>('article:last-of-type')?.style.setProperty('padding-bottom', `${top}px`);
        for (let i = 0; i < 5; i++) await new Promise((resolve) => requestAnimationFrame(resolve));
        return (row?.getBoundingClientRect().y ?? 0) - before;
      }, to);
      expect(Math.abs(y)).toBeLessThanOrEqual(1);
    }
  });
});

const LAUNCH = { type: 'channel', to: 'website', topic: 'launch' } as const;

/** Marks all messages as read, so that later counts start from zero. */
async function allRead({ page, person }: Chatter): Promise<void> {
  await person.ok('POST', '/mark_all_as_read');
  await expect.poll(() => channelLink(page, 'website').textContent()).toBe('website');
}

const isOf = (request: Request, operation: string): boolean => request.postData()?.includes(operation) === true;

/** Delays the first response to a query of messages until the test releases it. Later responses are not delayed. */
async function holdTimeline(page: Page) {
  const [answered, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isFirst = true;
  const hold = async (route: Route) => {
    if (!isFirst || !isOf(route.request(), 'query Timeline(')) return route.fallback();
    isFirst = false;
    const response = await route.fetch();
    answered.resolve();
    await released.promise;
    return route.fulfill({ response });
  };
  await page.route('**/graphql', hold);
  return {
    isAnswered: answered.promise,
    release: released.resolve,
    [Symbol.asyncDispose]: () => page.unroute('**/graphql', hold),
  };
}

/** Returns the vertical position of a message in the viewport, in pixels. */
const topOf = (page: Page, id: string) =>
  page.getByRole('feed').evaluate((list, wanted) => {
    const row = [...list.querySelectorAll('article')].find((one) => one.dataset['id'] === wanted);
    return row?.getBoundingClientRect().y ?? Number.NaN;
  }, id);
