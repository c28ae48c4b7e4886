import type { Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_NOTE, hasChromium } from '../helpers/chromium.ts';
import { isGroupPicked } from '../helpers/part.ts';
import type { Person } from '../helpers/person.ts';
import { channelLink, demoChat, message, newName, open, sidebarOf, write } from '../helpers/web.ts';

describe.runIf(hasChromium && isGroupPicked('web/topics.test.ts'))(
  `topics in the chat${CHROMIUM_NOTE}`,
  { timeout: 60_000 },
  () => {
    const chat = demoChat();

    test('whoever looks at a topic goes on looking at it when it is resolved, and when it is not any more', async () => {
      await using iris = await chat.enter('owner');
      await using bela = await chat.enter('member');
      const topic = newName('leak');
      await say(chat.person('moderator'), 'general', topic, 'It drips');
      for (const { page } of [iris, bela]) await open(page, 'general', topic);
      await act(iris.page, 'Mark as resolved');
      for (const { page } of [iris, bela]) {
        await topicLink(page, 'general', `${topic} resolved`).waitFor();
        await page.getByRole('heading', { name: `✔ ${topic}`, level: 1 }).waitFor();
        await message(page, 'It drips').waitFor();
      }
      await write(bela.page, 'It drips no more');
      await message(iris.page, 'It drips no more').waitFor();
      await act(iris.page, 'Mark as not resolved');
      for (const { page } of [iris, bela]) {
        await topicLink(page, 'general', topic).waitFor();
        await page.getByRole('heading', { name: `› ${topic}`, level: 1 }).waitFor();
        await message(page, 'It drips no more').waitFor();
      }
      expect([...iris.problems, ...bela.problems]).toEqual([]);
    });

    test('a topic is followed and muted by its viewer, in all of their windows', async () => {
      await using here = await chat.enter('member');
      await using there = await chat.enter('member');
      const topic = newName('rota');
      await say(chat.person('owner'), 'general', topic, 'Who is on duty?');
      await open(here.page, 'general', topic);
      await open(there.page, 'general', topic);
      const steps = [
        ['Follow', 'You follow the topic.', `${topic} followed`],
        ['Do not follow any more', 'The topic is as its channel is.', topic],
        ['Mute the topic', 'The topic is muted.', `${topic} muted`],
        ['Unmute', 'The topic is as its channel is.', topic],
      ] as const;
      for (const [action, said, name] of steps) {
        await act(here.page, action);
        await here.page.getByText(said).last().waitFor();
        for (const { page } of [here, there]) await topicLink(page, 'general', name).waitFor();
      }
      expect([...here.problems, ...there.problems]).toEqual([]);
    });

    test('what comes in a muted topic is not counted for its channel', async () => {
      await using gus = await chat.enter('guest');
      const iris = chat.person('owner');
      const [loud, quiet] = [newName('loud'), newName('quiet')];
      for (const topic of [loud, quiet]) await say(iris, 'general', topic, 'Beginning');
      await gus.person.ok('POST', '/mark_all_as_read');
      await open(gus.page, 'general', quiet);
      await act(gus.page, 'Mute the topic');
      await topicLink(gus.page, 'general', `${quiet} muted`).waitFor();
      await open(gus.page, 'website', 'launch');
      await expect.poll(() => channelLink(gus.page, 'general').textContent()).toBe('general');
      await say(iris, 'general', quiet, 'Unheard');
      await say(iris, 'general', loud, 'Heard');
      await expect.poll(() => channelLink(gus.page, 'general').textContent()).toBe('general1 unread');
      await channelLink(gus.page, 'general').click();
      await topicLink(gus.page, 'general', `${quiet} muted 1 unread`).waitFor();
    });

    test('all topics of a channel are listed, found by a part of their names, and acted upon', async () => {
      await using gus = await chat.enter('guest');
      const { page } = gus;
      const [tea, coffee] = [newName('tea'), newName('coffee')];
      for (const topic of [tea, coffee]) await say(chat.person('owner'), 'general', topic, `About ${topic}`);
      await channelLink(page, 'general').click();
      await sidebarOf(page).getByRole('link', { name: 'All topics' }).click();
      const list = page.getByRole('list', { name: 'Topics in general' }).last();
      await list.getByRole('link', { name: `${coffee} 1 unread` }).waitFor();
      await page.getByRole('searchbox', { name: 'Filter the topics' }).fill(tea.toUpperCase());
      await expect.poll(() => list.getByRole('link').count()).toBe(1);
      await list.getByRole('button', { name: `Actions on ${tea}` }).click();
      await page.getByRole('menuitem', { name: 'Mark as read' }).click();
      await list.getByRole('link', { name: tea, exact: true }).waitFor();
      await list.getByRole('link', { name: tea }).click();
      await message(page, `About ${tea}`).waitFor();
      expect(gus.problems).toEqual([]);
    });
  },
);

const say = (person: Person, to: string, topic: string, content: string) =>
  person.ok('POST', '/messages', { type: 'channel', to, topic, content });

/** Does with the topic that is open what its menu names so. */
async function act(page: Page, action: string): Promise<void> {
  await page.getByRole('button', { name: 'Topic actions' }).click();
  await page.getByRole('menuitem', { name: action, exact: true }).click();
}

/** A topic in the sidebar. @param name With what is so of it. */
const topicLink = (page: Page, channel: string, name: string): Locator =>
  sidebarOf(page)
    .getByRole('list', { name: `Topics in ${channel}` })
    .getByRole('link', { name, exact: true });
