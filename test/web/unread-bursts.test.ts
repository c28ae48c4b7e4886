import { setTimeout } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Person } from '../helpers/person.ts';
import { demoChat, newName, sidebarOf } from '../helpers/web.ts';

/** Actions of each burst. Several run at the same time, so that responses and events overtake each other. */
const [ACTIONS, AT_ONCE] = [24, 6];
/** Maximum delay, in milliseconds, of the responses in one of the windows. Its events are not delayed. */
const LATE_MS = 1_500;

describe.runIf(hasChromium)(`unread counts under bursts${CHROMIUM_NOTE}`, { timeout: 240_000 }, () => {
  const chat = demoChat();

  test.for([1, 2, 3])('equal those of a fresh load, in two windows, one with late responses: seed %i', async (seed) => {
    const [bela, iris, mona] = [chat.person('member'), chat.person('owner'), chat.person('moderator')];
    const channels = await channelsOf(iris, [bela, mona], newName('burst').replace(' ', '-'));
    await using here = await chat.enter('member');
    await using there = await chat.enter('member');
    const random = numbersFrom(seed);
    // The service responds at once, and the window receives the response later.
    let until: Promise<unknown> = Promise.resolve();
    let responses = 0;
    await there.page.route('**/graphql', async (route) => {
      const response = await route.fetch();
      if (/query TopicsOfChannel/.test(route.request().postData() ?? '')) responses++;
      await Promise.all([until, setTimeout(random(LATE_MS))]);
      // Requests of views that were left are aborted.
      await route.fulfill({ response }).catch(() => undefined);
    });
    const windows = [here.page, there.page];
    const acts = actsOf({ bela, others: [iris, mona], channels }, random);
    const addresses = ['/inbox', ...channels.flatMap(({ id }) => [addressOf(id), `${addressOf(id)}/topics`])];
    const visit = () => goTo(windows[random(2)] as Page, addresses[random(addresses.length)] as string);
    const burst = async (some: readonly Act[]) => {
      for (let i = 0; i < ACTIONS; i += AT_ONCE)
        await Promise.all(Array.from({ length: AT_ONCE }, () => (some[random(some.length)] as Act)()));
    };
    for (const { id } of channels) {
      await burst([...acts, visit, visit, visit]);
      // The view lists all topics of the channel, and marks no messages as read.
      const view = `${addressOf(id)}/topics`;
      const before = responses;
      const { promise, resolve } = Promise.withResolvers<void>();
      until = promise;
      for (const page of windows) await goTo(page, view);
      await expect.poll(() => responses).toBeGreaterThan(before);
      await burst(acts);
      await expect.poll(() => badgesIn(here.page)).toContainEqual(expect.stringContaining('unread'));
      resolve();
      await using fresh = await chat.enter('member');
      await goTo(fresh.page, view);
      const compared = async () => {
        await fresh.page.reload();
        await fresh.page.getByRole('main').getByRole('listitem').first().waitFor();
        const [first, second, loaded] = await Promise.all([...windows, fresh.page].map(badgesIn));
        return [first, second].map((shown) => differences(shown, loaded));
      };
      await expect.poll(compared, { timeout: 20_000 }).toEqual([[], []]);
    }
    expect([...here.problems, ...there.problems]).toEqual([]);
  });
});

const differences = (shown: readonly string[] = [], loaded: readonly string[] = []): string[] => [
  ...shown.filter((one) => !loaded.includes(one)).map((one) => `shown: ${one}`),
  ...loaded.filter((one) => !shown.includes(one)).map((one) => `loaded: ${one}`),
];

type Act = () => Promise<unknown>;

interface Channel {
  readonly id: number;
  readonly name: string;
}

interface Setup {
  readonly bela: Person;
  readonly others: readonly Person[];
  readonly channels: readonly Channel[];
}

/** Creates two channels with a topic each, to which all users are subscribed. */
async function channelsOf(owner: Person, others: readonly Person[], name: string): Promise<Channel[]> {
  const names = ['a', 'b'].map((letter) => `${name}-${letter}`);
  const principals = [owner, ...others].map(({ id }) => id);
  const subscriptions = names.map((one) => ({ name: one }));
  await owner.ok('POST', '/users/me/subscriptions', { subscriptions, principals });
  const channels = [];
  for (const one of names) {
    const { stream_id: id } = await owner.ok('GET', `/get_stream_id?stream=${one}`);
    await owner.ok('POST', '/messages', { type: 'channel', to: one, topic: 'topic 0', content: 'Beginning' });
    channels.push({ id, name: one });
  }
  return channels;
}

/** Returns a generator of numbers from 0 to below a limit, which depend only on the seed. */
function numbersFrom(seed: number): (limit: number) => number {
  let state = seed * 2_654_435_761;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

function actsOf({ bela, others, channels }: Setup, random: (limit: number) => number): Act[] {
  const one = <T>(list: readonly T[]): T => list[random(list.length)] as T;
  const topic = () => `topic ${random(5)}`;
  const content = () => one(['hello', 'hello', `@**${bela.name}** hello`, '@**all** hello']);
  const ids: number[] = [];
  const say = async () => {
    const to = one(channels).name;
    const { id } = await one(others).ok('POST', '/messages', {
      type: 'channel',
      to,
      topic: topic(),
      content: content(),
    });
    ids.push(id);
  };
  const write = () => one(others).ok('POST', '/messages', { type: 'direct', to: [bela.id], content: content() });
  const flag = (op: 'add' | 'remove') => () =>
    bela.rest('POST', '/messages/flags', { messages: ids.slice(-1 - random(5)), op, flag: 'read' });
  const visibility = () =>
    bela.rest('POST', '/user_topics', { stream_id: one(channels).id, topic: topic(), visibility_policy: random(4) });
  const read = () => bela.rest('POST', '/mark_topic_as_read', { stream_id: one(channels).id, topic_name: topic() });
  const move = async () => {
    const moved = { propagate_mode: 'change_all', topic: topic(), stream_id: one(channels).id };
    await others[0]?.rest('PATCH', `/messages/${ids[random(ids.length)]}`, moved);
  };
  const remove = () => others[0]?.rest('DELETE', `/messages/${ids.pop()}`) ?? Promise.resolve();
  const rare = [
    ...[() => bela.ok('POST', '/mark_all_as_read'), move, remove],
    () => bela.rest('POST', '/mark_stream_as_read', { stream_id: one(channels).id }),
  ];
  return [say, say, say, say, write, flag('add'), flag('remove'), visibility, read, () => one(rare)()];
}

const addressOf = (channelId: number): string => `/channels/${encodeURIComponent(globalId('Channel', channelId))}/-`;

/** Opens an address without loading the page again. */
const goTo = (page: Page, address: string): Promise<unknown> =>
  page.evaluate((to) => {
    history.pushState(null, '', to);
    dispatchEvent(new PopStateEvent('popstate'));
  }, address);

/** Returns the names of all links in the sidebar, and of all topics of the open channel, with their unread counts. */
const badgesIn = async (page: Page): Promise<string[]> => [
  ...(await sidebarOf(page).getByRole('link').allTextContents()),
  ...(await page.getByRole('main').getByRole('listitem').allTextContents()),
];
