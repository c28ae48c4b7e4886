import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import type { Person } from '../helpers/person.ts';
import { startPushService } from '../helpers/push-service.ts';
import { demoChat, message, newName, open, sidebarOf } from '../helpers/web.ts';

const LAUNCH = { type: 'channel', to: 'website', topic: 'launch' };

describe.runIf(hasChromium)(`notifications in the page${CHROMIUM_NOTE}`, () => {
  const chat = demoChat();

  test('the title names the view and counts unread messages, and so does the icon', async () => {
    const mona = chat.person('moderator');
    await chat.person('owner').ok('POST', '/mark_all_as_read');
    await using iris = await chat.enter('owner');
    const { page, person } = iris;
    const organization = (await person.query('{ organization { name } }')).organization.name;
    await expect.poll(() => page.title()).toBe(`Inbox · ${organization}`);
    const iconless = await icon(page);
    await mona.ok('POST', '/messages', { type: 'direct', to: [person.id], content: newName('psst') });
    await expect.poll(() => page.title()).toBe(`(1) Inbox · ${organization}`);
    expect(await icon(page)).toContain('%3E1%3C%2Ftext');
    await open(page, 'website', 'launch');
    await expect.poll(() => page.title()).toBe(`(1) #website › launch · ${organization}`);
    await sidebarOf(page)
      .getByRole('link', { name: /Mona Lindqvist 1 unread$/ })
      .click();
    await expect.poll(() => page.title()).toBe(`Mona Lindqvist · ${organization}`);
    expect(await icon(page)).toBe(iconless);
    await sidebarOf(page).getByRole('link', { name: 'Settings' }).click();
    await expect.poll(() => page.title()).toBe(`Settings · ${organization}`);
    expect(iris.problems).toEqual([]);
  });

  test('the number follows the setting for the icon', async () => {
    const [iris, mona] = [chat.person('owner'), chat.person('moderator')];
    await iris.ok('POST', '/mark_all_as_read');
    await iris.ok('POST', '/user_topics', { stream_id: await channelId(iris), topic: 'launch', visibility_policy: 3 });
    await using here = await chat.enter('owner');
    for (const [value, number] of [
      [1, '(3) '],
      [2, '(2) '],
      [3, '(1) '],
      [4, ''],
    ] as const) {
      await iris.ok('PATCH', '/settings', { desktop_icon_count_display: value });
      if (value === 1) {
        await mona.ok('POST', '/messages', { ...LAUNCH, content: newName('followed') });
        await mona.ok('POST', '/messages', { ...LAUNCH, topic: 'other', content: newName('not followed') });
        await mona.ok('POST', '/messages', { type: 'direct', to: [iris.id], content: newName('direct') });
      }
      await expect.poll(() => here.page.title(), { message: String(value) }).toMatch(`${number}Inbox`);
    }
    await iris.ok('PATCH', '/settings', { desktop_icon_count_display: 1 });
    await iris.ok('POST', '/mark_all_as_read');
    expect(here.problems).toEqual([]);
  });

  test('a direct message notifies in one of two tabs, until it is read elsewhere', async () => {
    const mona = chat.person('moderator');
    await using iris = await chat.enter('owner', { permissions: ['notifications'] });
    const { page, person } = iris;
    await page.context().addInitScript(recordNotifications);
    const other = await page.context().newPage();
    for (const one of [page, other]) {
      await one.goto(`${chat.server.url}/inbox`);
      await sidebarOf(one).getByRole('status').filter({ hasText: 'Live' }).waitFor();
    }
    const text = newName('psst');
    const { id } = await mona.ok('POST', '/messages', { type: 'direct', to: [person.id], content: `**${text}**` });
    const inBoth = async () => [...(await notifications(page)), ...(await notifications(other))];
    await expect.poll(inBoth).toEqual([{ title: 'Mona Lindqvist', body: text, isClosed: false }]);
    await person.ok('POST', '/messages/flags', { messages: [id], op: 'add', flag: 'read' });
    await expect.poll(inBoth).toEqual([{ title: 'Mona Lindqvist', body: text, isClosed: true }]);
    expect(iris.problems).toEqual([]);
  });

  test('a click on a notification opens the message; messages that are seen or not for the user do not notify', async () => {
    const mona = chat.person('moderator');
    await using iris = await chat.enter('owner', { permissions: ['notifications'] });
    const { page, person } = iris;
    await page.context().addInitScript(recordNotifications);
    await page.reload();
    await open(page, 'website', 'launch');
    await page.getByRole('heading', { level: 1, name: /launch/ }).waitFor();
    await sidebarOf(page).getByRole('status').filter({ hasText: 'Live' }).waitFor();
    const [seen, plain, named] = [newName('seen'), newName('plain'), newName('named')];
    await mona.ok('POST', '/messages', { ...LAUNCH, content: `@**Iris Haddad** ${seen}` });
    await message(page, seen).waitFor();
    await mona.ok('POST', '/messages', { ...LAUNCH, topic: 'plans', content: plain });
    await mona.ok('POST', '/messages', { ...LAUNCH, topic: 'plans', content: `@**Iris Haddad** ${named}` });
    const shown = { title: 'Mona Lindqvist (#website › plans)', body: `@Iris Haddad ${named}`, isClosed: false };
    await expect.poll(() => notifications(page)).toEqual([shown]);
    await page.evaluate(() => (window as unknown as Recorded).recorded[0]?.onclick?.(new Event('click')));
    await page.getByRole('heading', { level: 1, name: /plans/ }).waitFor();
    await message(page, named).waitFor();
    // Each message arrives in one batch with the change of the setting before it.
    for (const isShown of [false, true, false, true, false]) {
      await person.ok('PATCH', '/settings', { pm_content_in_desktop_notifications: isShown });
      const secret = newName('secret');
      await mona.ok('POST', '/messages', { type: 'direct', to: [person.id], content: secret });
      await expect
        .poll(async () => (await notifications(page)).at(-1))
        .toMatchObject({ title: 'Mona Lindqvist', body: isShown ? secret : '' });
    }
    await person.ok('PATCH', '/settings', { pm_content_in_desktop_notifications: true });
    expect(iris.problems).toEqual([]);
  });

  test('a message that is read or deleted elsewhere before a tab in the background notifies does not notify', async () => {
    const mona = chat.person('moderator');
    await using iris = await chat.enter('owner', { permissions: ['notifications'] });
    const { page, person } = iris;
    await page.context().addInitScript(recordNotifications);
    await page.addInitScript(() => {
      document.hasFocus = () => false;
    });
    await page.reload();
    await sidebarOf(page).getByRole('status').filter({ hasText: 'Live' }).waitFor();
    const direct = async (content: string) =>
      (await mona.ok('POST', '/messages', { type: 'direct', to: [person.id], content })).id as number;
    const read = await direct('read at once');
    await person.ok('POST', '/messages/flags', { messages: [read], op: 'add', flag: 'read' });
    const deleted = await direct('deleted at once');
    await chat.person('owner').ok('DELETE', `/messages/${deleted}`);
    const kept = newName('kept');
    await direct(kept);
    await expect.poll(async () => (await notifications(page)).map(({ body }) => body)).toContain(kept);
    expect(await notifications(page)).toEqual([{ title: 'Mona Lindqvist', body: kept, isClosed: false }]);
    expect(iris.problems).toEqual([]);
  });

  test('a bar asks for the permission, and can be dismissed', async () => {
    await using iris = await chat.enter('owner');
    const { page } = iris;
    const bar = page.getByRole('complementary', { name: 'Notifications' });
    // Headless Chromium shows no permission prompt, so the user's answer is simulated.
    await page.addInitScript(() => {
      const state: { permission: NotificationPermission } = { permission: 'default' };
      Object.defineProperty(Notification, 'permission', { get: () => state.permission });
      Notification.requestPermission = async () => {
        state.permission = 'granted';
        return state.permission;
      };
    });
    await page.reload();
    await bar.getByRole('button', { name: 'Turn on notifications' }).click();
    await expect.poll(() => bar.count()).toBe(0);
    await page.reload();
    await bar.getByRole('button', { name: 'Not now' }).click();
    await expect.poll(() => bar.count()).toBe(0);
    await page.reload();
    await page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();
    expect(await bar.count()).toBe(0);
    expect(iris.problems).toEqual([]);
  });

  test('a browser that the service refuses to register for push messages shows the reason', async () => {
    await using iris = await chat.enter('owner', { serviceWorkers: 'allow', permissions: ['notifications'] });
    const { page } = iris;
    await page.addInitScript(() => {
      const keys = { p256dh: 'x', auth: 'x' };
      const known = { toJSON: () => ({ endpoint: 'https://192.168.1.7/push', keys }) };
      PushManager.prototype.getSubscription = async () => null;
      PushManager.prototype.subscribe = async () => known as unknown as PushSubscription;
    });
    await page.reload();
    const notice = page.getByText(
      'This browser cannot receive notifications while the page is closed. Invalid endpoint.',
    );
    await notice.waitFor();
  });

  test('the browser is registered for push messages, which the service worker shows, opens and removes', async () => {
    const mona = chat.person('moderator');
    await using pushes = await startPushService();
    await using iris = await chat.enter('owner', { serviceWorkers: 'allow', permissions: ['notifications'] });
    const { page, person } = iris;
    const { device, subscription } = pushes.reserve();
    // Headless Chromium has no push service, so the subscription is created at the push service of the test.
    await page.addInitScript((known) => {
      PushManager.prototype.getSubscription = async () => null;
      PushManager.prototype.subscribe = async () => ({ toJSON: () => known }) as PushSubscription;
    }, subscription);
    await page.reload();
    await expect
      .poll(async () => (await person.query('{ pushDevices(first: 5) { nodes { endpoint } } }')).pushDevices.nodes)
      .toEqual([{ endpoint: device.endpoint }]);
    await page.goto(`${chat.server.url}/settings/notifications`);
    const devices = page.getByRole('region', { name: 'Devices with push notifications' });
    await devices.getByRole('listitem').getByText('This browser. Added').waitFor();
    await devices.getByRole('button', { name: /^Remove / }).click();
    await devices.getByText('No browser or device receives push notifications.').waitFor();
    // Visits do not register the browser again.
    await page.reload();
    await devices.getByText('No browser or device receives push notifications.').waitFor();
    await devices.getByRole('button', { name: 'Add this browser' }).click();
    await devices.getByRole('listitem').getByText('This browser. Added').waitFor();
    await person.ok('PATCH', '/settings', { enable_online_push_notifications: true });
    const text = newName('psst');
    const { id } = await mona.ok('POST', '/messages', { type: 'direct', to: [person.id], content: text });
    await expect
      .poll(() => device.received.map(({ message: { title, body } }) => ({ title, body })))
      .toEqual([{ title: 'Mona Lindqvist', body: text }]);

    const [worker] = page.context().serviceWorkers();
    if (worker === undefined) throw new Error('The service worker does not run');
    const deliver = (data: unknown) =>
      worker.evaluate(async (given) => {
        const scope = globalThis as unknown as EventTarget & { PushEvent: typeof Event };
        const event = new scope.PushEvent('push', { data: JSON.stringify(given) } as EventInit);
        scope.dispatchEvent(event);
      }, data);
    const shown = () =>
      worker.evaluate(async () => {
        const { registration } = globalThis as unknown as { registration: ServiceWorkerRegistration };
        return (await registration.getNotifications()).map(({ title, body }) => ({ title, body }));
      });
    expect(iris.problems.join('\n')).toBe('');
    // While the user sees the page, the page notifies by itself.
    await page.goto('about:blank');
    await deliver(device.received[0]?.message);
    await expect.poll(shown).toEqual([{ title: 'Mona Lindqvist', body: text }]);
    await person.ok('POST', '/messages/flags', { messages: [id], op: 'add', flag: 'read' });
    await expect.poll(() => device.received.length).toBe(2);
    await deliver(device.received[1]?.message);
    await expect.poll(shown).toEqual([]);
  });
});

interface Recorded {
  readonly recorded: (Notification & { isClosed?: boolean })[];
}

/** Records the notifications that the page creates. Runs in the page. */
function recordNotifications(): void {
  const recorded: (Notification & { isClosed?: boolean })[] = [];
  const Real = Notification;
  Object.assign(window, {
    recorded,
    Notification: class extends Real {
      isClosed = false;
      constructor(title: string, options?: NotificationOptions) {
        super(title, options);
        recorded.push(this);
      }
      override close(): void {
        this.isClosed = true;
        super.close();
      }
    },
  });
}

const notifications = (page: Page) =>
  page.evaluate(() =>
    (window as unknown as Recorded).recorded.map(({ title, body, isClosed }) => ({ title, body, isClosed })),
  );

const icon = (page: Page) => page.locator('link[rel="icon"]').getAttribute('href');

const channelId = async (person: Person): Promise<number> =>
  (await person.ok('GET', '/get_stream_id', { stream: 'website' })).stream_id;
